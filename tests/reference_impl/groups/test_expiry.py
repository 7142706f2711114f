"""Offsets and groups are forgotten: when nobody was a member for long enough, and not before."""

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
from tests.reference_impl.conftest import Conversation

Converse = Callable[..., Conversation]
NONE = ErrorCode.NONE
TP = TopicPartition("t", 0)
RETENTION_MS = 60_000
SOON_MS = 70_000  # the retention, and until the coordinator looks


PATIENCE = replace(conftest.PATIENCE, offsets_retention_ms=RETENTION_MS, offsets_check_ms=5_000)


@pytest.fixture
def converse(converse: Converse) -> Converse:
    """Coordinators that forget sooner."""
    return partial(converse, timeouts=PATIENCE)


class Group:
    """The group `g`, with one member of either protocol, or none."""

    def __init__(self, talk: Conversation) -> None:
        self.talk = talk
        self.at = talk.coordinator("g", transactional=False)
        self.who: dict[str, Any] = {}

    def ask(self, request: Any) -> Any:
        return self.talk.ask(request, self.at)

    def commit(self, offset: int, **who: Any) -> ErrorCode:
        offsets = ((TP, CommittedOffset(offset=Offset(offset))),)
        request = CommitOffsets(group="g", offsets=offsets, **(who or self.who))
        return ErrorCode(self.ask(request).error)

    def offset(self) -> int | None:
        ((_, committed, _),) = self.ask(FetchOffsets(group="g", topic_partitions=(TP,))).offsets
        return None if committed is None else committed.offset

    def joins(self, protocol: str, topic: str = "t") -> None:
        if protocol == "classic":
            protocols = (("range", b""),)
            number = self.talk.tell(
                JoinGroup(group="g", protocols=protocols, needs_id_first=False), self.at
            )
            self.talk.pass_time(4_000)
            joined: Any = self.talk.answers[number]
            self.who = {"member_id": joined.member_id, "generation": joined.generation}
            self.ask(SyncGroup(group="g", **self.who))
        else:
            told = self.ask(
                ConsumerGroupHeartbeat(
                    group="g",
                    member_id="m",
                    member_epoch=0,
                    topics=(topic,),
                    rebalance_timeout_ms=1_000,
                )
            )
            self.who = {"member_id": "m", "generation": told.member_epoch}

    def lives(self, protocol: str, ms: int) -> None:
        """Time passes, and the member beats."""
        for _ in range(ms // 5_000):
            self.talk.pass_time(5_000)
            if protocol == "classic":
                assert self.ask(HeartbeatGroup(group="g", **self.who)).error is NONE
            else:
                epoch = self.who["generation"]
                request = ConsumerGroupHeartbeat(group="g", member_id="m", member_epoch=epoch)
                assert self.ask(request).error is NONE

    def leaves(self, protocol: str) -> None:
        if protocol == "classic":
            self.ask(LeaveGroup(group="g", members=((self.who["member_id"], None),)))
        else:
            self.ask(ConsumerGroupHeartbeat(group="g", member_id="m", member_epoch=-1))
        self.who = {}

    def is_known(self) -> bool:
        node: Any = self.talk.nodes[self.at]  # type: ignore[index]
        roles = [
            r for r in node.local_coordinators.roles.values() if isinstance(r, GroupCoordinator)
        ]
        return any("g" in role.groups or "g" in role.consumers.groups for role in roles)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("bugs", [NO_BUGS, frozenset({Bug.OFFSETS_EXPIRE_WHILE_ALIVE})])
def test_time_counts_while_the_group_stands_empty(
    converse: Converse, bugs: Bugs, protocol: str
) -> None:
    """KAFKA-13636: a member that has nothing new to commit keeps its position."""
    talk = converse(bugs=bugs)
    talk.create("t", 1)
    group = Group(talk)
    group.joins(protocol)
    assert group.commit(7) is NONE
    group.lives(protocol, SOON_MS)
    assert group.offset() == (None if bugs else 7)
    if bugs:
        return
    group.leaves(protocol)
    talk.pass_time(RETENTION_MS - 10_000)
    assert group.offset() == 7
    talk.pass_time(20_000)
    assert group.offset() is None
    talk.pass_time(10_000)
    assert not group.is_known()
    told = group.ask(ConsumerGroupDescribe(group="g"))
    assert told.error is ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_of_no_group_count_from_their_commit(converse: Converse) -> None:
    group = Group(converse())
    group.commit(1)
    group.talk.pass_time(RETENTION_MS // 2)
    group.commit(2)
    group.talk.pass_time(RETENTION_MS // 2 + 10_000)
    assert group.offset() == 2
    group.talk.pass_time(RETENTION_MS // 2)
    assert group.offset() is None


def test_offsets_of_a_topic_that_nobody_subscribes_to_any_more_expire(converse: Converse) -> None:
    group = Group(converse())
    group.joins("consumer", topic="u")
    assert group.commit(7) is NONE
    group.lives("consumer", SOON_MS)
    assert (group.offset(), group.is_known()) == (None, True)


def test_what_pends_in_a_transaction_is_not_forgotten(converse: Converse) -> None:
    group = Group(converse())
    at = group.talk.coordinator("x", transactional=True)
    told: Any = group.talk.ask(InitProducerId(transactional_id="x", timeout_ms=600_000), at)
    who = {
        "transactional_id": "x",
        "producer_id": told.producer_id,
        "producer_epoch": told.producer_epoch,
    }
    assert group.commit(1) is NONE
    group.talk.ask(AddOffsetsToTxn(**who, group="g"), at)
    assert group.commit(2, **who) is NONE
    group.talk.pass_time(SOON_MS)
    assert group.offset() == 1
    group.talk.ask(EndTxn(**who, result=TxnResult.ABORT), at)
    group.talk.pass_time(10_000)
    assert group.offset() is None


@pytest.mark.parametrize(
    ("bugs", "offset"), [(NO_BUGS, 9), (frozenset({Bug.OFFSETS_DROPPED_WITH_GROUP}), None)]
)
def test_a_new_coordinator_knows_what_was_committed_after_a_group_was_forgotten(
    converse: Converse, bugs: Bugs, offset: int | None
) -> None:
    """KAFKA-4704."""
    talk = converse(brokers=3, bugs=bugs)
    talk.create("t", 1)
    group = Group(talk)
    group.joins("classic")
    group.leaves("classic")
    talk.pass_time(10_000)
    assert not group.is_known()
    assert group.commit(9) is NONE
    assert group.offset() == 9
    talk.restart(group.at)
    talk.pass_time(12_000)
    group.at = talk.coordinator("g", transactional=False)
    assert group.offset() == offset
