"""Offsets and groups expire after a group has been empty for long enough, and not before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from model.vocabulary import Offset, TopicPartition
from reference_impl.groups.coordinator import GroupCoordinator
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.protocol.consumer_groups import ConsumerGroupDescribe, ConsumerGroupHeartbeat
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffset,
    FetchOffsets,
    HeartbeatGroup,
    JoinGroup,
    LeaveGroup,
    SyncGroup,
)
from reference_impl.protocol.messages import ErrorCode, InitProducerId
from reference_impl.protocol.transactions import AddOffsetsToTxn, EndTxn, TxnResult
from tests.reference_impl import conftest
from tests.reference_impl.conftest import InstantCluster

StartCluster = Callable[..., InstantCluster]
NONE = ErrorCode.NONE
TP = TopicPartition("t", 0)
RETENTION_MS = 60_000
SOON_MS = 70_000  # the retention, and until the coordinator looks


TIMEOUTS = replace(conftest.TIMEOUTS, offsets_retention_ms=RETENTION_MS, offsets_check_ms=5_000)


@pytest.fixture
def start_cluster(start_cluster: StartCluster) -> StartCluster:
    return partial(start_cluster, broker_settings=TIMEOUTS)


class Group:
    """The group `g`, of the classic or the KIP-848 protocol, with one member or none."""

    def __init__(self, cluster: InstantCluster) -> None:
        self.cluster = cluster
        self.at = cluster.coordinator("g", transactional=False)
        self.who: dict[str, Any] = {}

    def call(self, request: Any) -> Any:
        return self.cluster.call(request, self.at)

    def commit(self, offset: int, **who: Any) -> ErrorCode:
        offsets = ((TP, CommittedOffset(offset=Offset(offset))),)
        request = CommitOffsets(group="g", offsets=offsets, **(who or self.who))
        return ErrorCode(self.call(request).error)

    def offset(self) -> int | None:
        ((_, committed, _),) = self.call(FetchOffsets(group="g", topic_partitions=(TP,))).offsets
        return None if committed is None else committed.offset

    def joins(self, protocol: str, topic: str = "t") -> None:
        if protocol == "classic":
            protocols = (("range", b""),)
            number = self.cluster.send(
                JoinGroup(group="g", protocols=protocols, needs_id_first=False), self.at
            )
            self.cluster.pass_time(4_000)
            joined: Any = self.cluster.answers[number]
            self.who = {"member_id": joined.member_id, "generation": joined.generation}
            self.call(SyncGroup(group="g", **self.who))
        else:
            response = self.call(
                ConsumerGroupHeartbeat(
                    group="g",
                    member_id="m",
                    member_epoch=0,
                    topics=(topic,),
                    rebalance_timeout_ms=1_000,
                    owned=(),
                )
            )
            self.who = {"member_id": "m", "generation": response.member_epoch}

    def lives(self, protocol: str, ms: int) -> None:
        for _ in range(ms // 5_000):
            self.cluster.pass_time(5_000)
            if protocol == "classic":
                assert self.call(HeartbeatGroup(group="g", **self.who)).error is NONE
            else:
                epoch = self.who["generation"]
                request = ConsumerGroupHeartbeat(group="g", member_id="m", member_epoch=epoch)
                assert self.call(request).error is NONE

    def leaves(self, protocol: str) -> None:
        if protocol == "classic":
            self.call(LeaveGroup(group="g", members=((self.who["member_id"], None),)))
        else:
            self.call(ConsumerGroupHeartbeat(group="g", member_id="m", member_epoch=-1))
        self.who = {}

    def is_known(self) -> bool:
        node: Any = self.cluster.nodes[self.at]  # type: ignore[index]
        roles = [
            r for r in node.local_coordinators.roles.values() if isinstance(r, GroupCoordinator)
        ]
        return any("g" in role.groups or "g" in role.consumers.groups for role in roles)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("bugs", [NO_BUGS, frozenset({Bug.OFFSETS_EXPIRE_WHILE_ALIVE})])
def test_offsets_expire_only_while_the_group_is_empty(
    start_cluster: StartCluster, bugs: Bugs, protocol: str
) -> None:
    """While a group has a member, its offsets do not expire, even without new commits.

    The offsets expire after the member has left. The seeded bug OFFSETS_EXPIRE_WHILE_ALIVE breaks
    this rule (KAFKA-13636).
    """
    cluster = start_cluster(bugs=bugs)
    cluster.create("t", 1)
    group = Group(cluster)
    group.joins(protocol)
    assert group.commit(7) is NONE
    group.lives(protocol, SOON_MS)
    assert group.offset() == (None if bugs else 7)
    if bugs:
        return
    group.leaves(protocol)
    cluster.pass_time(RETENTION_MS - 10_000)
    assert group.offset() == 7
    cluster.pass_time(20_000)
    assert group.offset() is None
    cluster.pass_time(10_000)
    assert not group.is_known()
    response = group.call(ConsumerGroupDescribe(group="g"))
    assert response.error is ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_without_a_group_expire_by_their_commit_time(start_cluster: StartCluster) -> None:
    group = Group(start_cluster())
    group.commit(1)
    group.cluster.pass_time(RETENTION_MS // 2)
    group.commit(2)
    group.cluster.pass_time(RETENTION_MS // 2 + 10_000)
    assert group.offset() == 2
    group.cluster.pass_time(RETENTION_MS // 2)
    assert group.offset() is None


def test_offsets_of_a_topic_without_subscribers_expire(start_cluster: StartCluster) -> None:
    group = Group(start_cluster())
    group.joins("consumer", topic="u")
    assert group.commit(7) is NONE
    group.lives("consumer", SOON_MS)
    assert (group.offset(), group.is_known()) == (None, True)


def test_offsets_pending_in_a_transaction_do_not_expire(start_cluster: StartCluster) -> None:
    group = Group(start_cluster())
    at = group.cluster.coordinator("x", transactional=True)
    response: Any = group.cluster.call(InitProducerId(transactional_id="x", timeout_ms=600_000), at)
    who = {
        "transactional_id": "x",
        "producer_id": response.producer_id,
        "producer_epoch": response.producer_epoch,
    }
    assert group.commit(1) is NONE
    group.cluster.call(AddOffsetsToTxn(**who, group="g"), at)
    assert group.commit(2, **who) is NONE
    group.cluster.pass_time(SOON_MS)
    assert group.offset() == 1
    group.cluster.call(EndTxn(**who, result=TxnResult.ABORT), at)
    group.cluster.pass_time(10_000)
    assert group.offset() is None


@pytest.mark.parametrize(
    ("bugs", "offset"), [(NO_BUGS, 9), (frozenset({Bug.OFFSETS_DROPPED_WITH_GROUP}), None)]
)
def test_a_new_coordinator_has_offsets_committed_after_an_expiry(
    start_cluster: StartCluster, bugs: Bugs, offset: int | None
) -> None:
    """A new coordinator has an offset that was committed after the group had expired.

    With the seeded bug OFFSETS_DROPPED_WITH_GROUP the new coordinator drops the offset
    (KAFKA-4704).
    """
    cluster = start_cluster(brokers=3, bugs=bugs)
    cluster.create("t", 1)
    group = Group(cluster)
    group.joins("classic")
    group.leaves("classic")
    cluster.pass_time(10_000)
    assert not group.is_known()
    assert group.commit(9) is NONE
    assert group.offset() == 9
    cluster.restart(group.at)
    cluster.pass_time(12_000)
    group.at = cluster.coordinator("g", transactional=False)
    assert group.offset() == offset
