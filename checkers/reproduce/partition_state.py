"""A partition in the metadata of one broker: its leader, ISR, ELR and replicas.

Brokers before 4.0 have no ELR, and receive a Metadata request, not DescribeTopicPartitions.

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
    """A partition's state; `leader` is -1 if there is none."""

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
    """Returns the partition in one broker's metadata, or None; raises OSError without an answer."""
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
