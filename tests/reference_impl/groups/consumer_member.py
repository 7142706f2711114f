"""A member of a KIP-848 group, whose heartbeats a test sends one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from model.vocabulary import Offset, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.groups.consumer_group import ConsumerGroup
from reference_impl.groups.coordinator import GroupCoordinator
from reference_impl.node.bugs import NO_BUGS
from reference_impl.protocol.consumer_groups import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribed,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeated,
)
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffset,
    FetchedOffsets,
    FetchOffsets,
)
from reference_impl.protocol.messages import ErrorCode, NodeId
from tests.reference_impl.conftest import InstantCluster

StartCluster = Callable[..., InstantCluster]
NONE = ErrorCode.NONE


class Member:
    """A member of the group `g`, with its epoch and partitions from the last response."""

    def __init__(
        self,
        cluster: InstantCluster,
        name: str,
        instance: str | None = None,
        rebalance_timeout_ms: int = 10_000,
    ) -> None:
        self.cluster, self.name, self.instance = cluster, name, instance
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.at = cluster.coordinator("g", transactional=False)
        self.epoch = 0
        self.owned: tuple[TopicPartition, ...] = ()

    def request(self, **other: Any) -> ConsumerGroupHeartbeat:
        fields: dict[str, Any] = {"member_epoch": self.epoch, "owned": self.owned} | other
        if fields["member_epoch"] == 0:
            fields |= {"rebalance_timeout_ms": self.rebalance_timeout_ms, "owned": ()}
            fields.setdefault("topics", ("t",))
        return ConsumerGroupHeartbeat(
            group="g", member_id=self.name, instance_id=self.instance, **fields
        )

    def call(self, **other: Any) -> ConsumerGroupHeartbeated:
        answer = self.cluster.call(self.request(**other), self.at)
        assert isinstance(answer, ConsumerGroupHeartbeated)
        return answer

    def heartbeat(self, **other: Any) -> ErrorCode:
        """Sends a heartbeat and applies the response, including the partitions to revoke."""
        answer = self.call(**other)
        if answer.error is NONE:
            self.epoch = answer.member_epoch
            self.owned = self.owned if answer.assignment is None else answer.assignment
        return answer.error

    @property
    def part(self) -> list[int]:
        return [place.index for place in self.owned]

    def commit(self, offset: int, index: int = 0, **other: Any) -> ErrorCode:
        place = TopicPartition("t", index)
        who: dict[str, Any] = {"member_id": self.name, "generation": self.epoch} | other
        request = CommitOffsets(
            group="g", offsets=((place, CommittedOffset(offset=Offset(offset))),), **who
        )
        return ErrorCode(self.cluster.call(request, self.at).error)

    def offset(self, index: int = 0, **other: Any) -> int | ErrorCode | None:
        request = FetchOffsets(group="g", topic_partitions=(TopicPartition("t", index),), **other)
        answer = self.cluster.call(request, self.at)
        assert isinstance(answer, FetchedOffsets)
        if answer.error:
            return answer.error
        ((_, committed, _),) = answer.offsets
        return None if committed is None else committed.offset


def described(member: Member) -> ConsumerGroupDescribed:
    answer = member.cluster.call(ConsumerGroupDescribe(group="g"), member.at)
    assert isinstance(answer, ConsumerGroupDescribed)
    return answer


def group_at(cluster: InstantCluster, broker: int) -> ConsumerGroup | None:
    node = cluster.nodes[NodeId(broker)]
    assert isinstance(node, Broker)
    for place, role in node.local_coordinators.roles.items():
        if isinstance(role, GroupCoordinator):
            known = role.consumers.caught_up(node.replicas[place].log, NO_BUGS).groups
            if "g" in known:
                return known["g"]
    return None


def moved_to_another(cluster: InstantCluster, member: Member) -> None:
    cluster.restart(member.at)
    cluster.pass_time(15_000)
    member.at = cluster.coordinator("g", transactional=False)
