"""A partition in the metadata of one broker: its leader, ISR, ELR and replicas.

A broker before Kafka 4.0 has no ELR and does not support DescribeTopicPartitions, so it receives a
Metadata request.

Source: KIP-966.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from checkers.systems.requests import call
from reference_impl.wire.connections.listening import Address
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.plain_messages import ConnectionClosed

NO_LEADER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """The state of a partition. `leader` is -1 if the partition has no leader."""

    leader: int
    isr: frozenset[int]
    replicas: tuple[int, ...]
    elr: frozenset[int] = frozenset()
    last_known_elr: frozenset[int] = frozenset()
    leader_epoch: int = -1

    def __str__(self) -> str:
        leader = "none" if self.leader == NO_LEADER else str(self.leader)
        return (
            f"leader {leader}, ISR {_listed(self.isr)}, ELR {_listed(self.elr)}, "
            f"replicas {_listed(self.replicas)}, epoch {self.leader_epoch}"
        )


def _listed(nodes: Iterable[int]) -> str:
    return "[" + " ".join(map(str, nodes)) + "]"


def partition_state(broker: Address, topic: str, partition: int = 0) -> PartitionState | None:
    """Returns the partition in the metadata of one broker, or None if the broker does not know
    the partition. Raises OSError if the broker does not respond.
    """
    try:
        found = call(
            broker,
            Api.DESCRIBE_TOPIC_PARTITIONS,
            0,
            {"topics": [{"name": topic}], "response_partition_limit": 1000},
        )["topics"]
    except ConnectionClosed:  # a broker before 4.0 closes it for a request that it lacks
        found = call(broker, Api.METADATA, 9, {"topics": [{"name": topic}]})["topics"]
    partitions: list[dict[str, Any]] = [each for one in found for each in one["partitions"]]
    for each in partitions:
        if each["partition_index"] == partition:
            return PartitionState(
                leader=each["leader_id"],
                leader_epoch=each["leader_epoch"],
                isr=frozenset(each["isr_nodes"]),
                replicas=tuple(each["replica_nodes"]),
                elr=frozenset(each.get("eligible_leader_replicas") or ()),
                last_known_elr=frozenset(each.get("last_known_elr") or ()),
            )
    return None
