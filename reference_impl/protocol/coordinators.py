"""Finds the broker that coordinates a group or a transactional id.

The hash of the id selects a partition of an internal topic, whose leader is the coordinator.

Source: KIP-98; `Utils.abs(id.hashCode()) % partitions`, as in GroupCoordinatorService and
TransactionStateManager.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.controller import MetadataImage
from reference_impl.protocol.messages import NO_BROKER, NodeId
from reference_impl.protocol.topic_id import topic_id

TRANSACTION_STATE: Final = "__transaction_state"
CONSUMER_OFFSETS: Final = "__consumer_offsets"
INTERNAL_TOPICS: Final = (TRANSACTION_STATE, CONSUMER_OFFSETS)


@dataclass(frozen=True, slots=True)
class Coordinators:
    """The coordinators and the topic ids that a broker computes from its metadata.

    A topic's id is computed from its name and its incarnation, which is the number of deleted
    topics of this name.
    """

    leaders: Mapping[TopicPartition, BrokerId] = field(
        default_factory=dict[TopicPartition, BrokerId]
    )
    incarnations: Mapping[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def of(cls, image: MetadataImage) -> Coordinators:
        return cls(
            {topic_partition: state.leader for topic_partition, state in image.topic_partitions},
            {place.topic: state.incarnation for place, state in image.topic_partitions},
        )

    def topic_id(self, topic: str) -> UUID:
        return topic_id(topic, self.incarnations.get(topic, 0))

    def partition_counts(self) -> dict[str, int]:
        return dict(Counter(topic_partition.topic for topic_partition in self.leaders))

    def partition_for(self, topic: str, key: str) -> TopicPartition | None:
        """Returns the partition of the internal topic `topic` that stores this group or
        transactional id. Returns None if the internal topic does not exist.
        """
        count = sum(topic_partition.topic == topic for topic_partition in self.leaders)
        return TopicPartition(topic, java_hash(key) % count) if count else None

    def leader(self, topic: str, key: str) -> NodeId | None:
        """Returns the coordinator of this group or transactional id. Returns None if its partition
        has no leader or does not exist.
        """
        place = self.partition_for(topic, key)
        leader = self.leaders.get(place, NO_BROKER) if place is not None else NO_BROKER
        return None if leader == NO_BROKER else NodeId(leader)


NO_COORDINATORS: Final = Coordinators()


def java_hash(text: str) -> int:
    """Returns the absolute value of Java's `String.hashCode`, or 0 for -2**31 as in Kafka.

    >>> java_hash("hello"), java_hash("polygenelubricants")
    (99162322, 0)
    """
    units = text.encode("utf-16-be")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8) + low) & 0xFFFF_FFFF
    return value if value < 2**31 else (2**32 - value) % 2**31
