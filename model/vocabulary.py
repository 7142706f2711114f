"""Distinct types for Kafka's identifiers. With these types, a type checker finds code that confuses
two identifiers, such as a producer id and a broker id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NewType

BrokerId = NewType("BrokerId", int)
Offset = NewType("Offset", int)  # a position in a partition log, 0-based
LeaderEpoch = NewType("LeaderEpoch", int)  # counts the leaders of a topic partition; -1: unknown
PartitionEpoch = NewType("PartitionEpoch", int)  # counts the changes of a topic partition's state
BrokerEpoch = NewType("BrokerEpoch", int)  # grows with each registration of a broker
ProducerId = NewType("ProducerId", int)  # -1: not an idempotent producer
ProducerEpoch = NewType("ProducerEpoch", int)
Sequence = NewType("Sequence", int)  # numbers the records of a producer epoch, per topic partition

NO_PRODUCER_ID: Final = ProducerId(-1)
UNKNOWN_LEADER_EPOCH: Final = LeaderEpoch(-1)


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """A partition of a topic. Its text has the form `orders-0`."""

    topic: str
    index: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.index}"
