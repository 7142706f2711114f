"""Committed offsets of classic groups: in and outside transactions, and after failovers."""

from __future__ import annotations

from typing import Any

import pytest

from model.vocabulary import Offset, ProducerEpoch, ProducerId
from reference_impl.groups.classic_group import GroupState
from reference_impl.groups.coordinator import GroupCoordinator
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.settings import KAFKA_SETTINGS
from reference_impl.protocol.controller import DeleteTopic
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffset,
    JoinedGroup,
    LeaveGroup,
)
from reference_impl.protocol.messages import ErrorCode, InitProducerId
from reference_impl.protocol.transactions import (
    AddOffsetsToTxn,
    EndTxn,
    TransactionVersion,
    TxnResult,
)
from tests.reference_impl.groups.classic import NONE, TP, Group, StartCluster


def test_commits_need_a_current_generation(group: Group) -> None:
    assert group.offset() is None
    assert group.commit(3) is NONE  # the group has no members
    joined = group.alone()
    assert group.commit(4, joined) is NONE
    assert group.commit(5) is ErrorCode.UNKNOWN_MEMBER_ID
    stranger = JoinedGroup(generation=1, member_id="stranger")
    assert group.commit(5, stranger) is ErrorCode.UNKNOWN_MEMBER_ID
    late = JoinedGroup(generation=0, member_id=joined.member_id)
    assert group.commit(5, late) is ErrorCode.ILLEGAL_GENERATION
    group.join()
    assert group.state() is GroupState.PREPARING
    assert group.commit(6, joined) is NONE  # before it joins again
    group.join(joined.member_id)
    current = JoinedGroup(generation=2, member_id=joined.member_id)
    assert group.commit(7, current) is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.offset() == 6


def test_without_a_generation_commits_need_an_empty_group(group: Group) -> None:
    """A commit without a generation is accepted only if the group is empty.

    Kafka: ClassicGroup.validateOffsetCommit.
    """
    joined = group.alone()
    gone = JoinedGroup(generation=-1, member_id=joined.member_id)
    assert group.commit(1, gone) is ErrorCode.ILLEGAL_GENERATION
    group.cluster.call(LeaveGroup(group="g", members=((joined.member_id, None),)), group.at)
    assert group.state() is GroupState.EMPTY
    assert group.commit(2, gone) is NONE
    assert group.commit(3, joined) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.offset() == 2


def test_an_unknown_instance_id_is_an_unknown_member(group: Group) -> None:
    """A request with an unknown group.instance.id gets UNKNOWN_MEMBER_ID.

    Kafka: ClassicGroup.validateMember.
    """
    joined = group.alone()
    assert group.heartbeat(joined, "no instance") is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.commit(1, joined, instance_id="no instance") is ErrorCode.UNKNOWN_MEMBER_ID


def test_offsets_in_a_deleted_topic_are_deleted_although_a_member_reads_it(group: Group) -> None:
    """Kafka: OffsetMetadataManager.onTopicsDeleted."""
    group.cluster.create(TP.topic)
    assert group.commit(4, group.alone()) is NONE
    assert group.offset() == 4
    assert group.cluster.call(DeleteTopic(topic=TP.topic)).error is NONE
    assert group.offset() is None
    assert group.state() is GroupState.STABLE


class Pipeline:
    """A transactional producer that commits offsets of the group in its transactions."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.at = group.cluster.coordinator("t", transactional=True)
        response = group.cluster.call(InitProducerId(transactional_id="t"), self.at)
        self.who: dict[str, Any] = {
            "transactional_id": "t",
            "producer_id": ProducerId(response.producer_id),
            "producer_epoch": ProducerEpoch(response.producer_epoch),
        }

    def commit(self, offset: int, joined: JoinedGroup | None = None) -> ErrorCode:
        added = self.group.cluster.call(AddOffsetsToTxn(**self.who, group="g"), self.at)
        assert added.error is NONE
        return self.group.commit(offset, joined, **self.who)

    def commit_in_v2(self, offset: int, joined: JoinedGroup | None = None) -> ErrorCode:
        """Commits offsets in V2, without an AddOffsetsToTxn request; returns the error.

        The commit request itself adds the group's partition to the transaction.
        """
        return self.group.commit(offset, joined, adds_partition=True, **self.who)

    def end(
        self, result: TxnResult, version: TransactionVersion = TransactionVersion.V1
    ) -> ErrorCode:
        request = EndTxn(**self.who, result=result, version=version)
        return ErrorCode(self.group.cluster.call(request, self.at).error)


def test_transactional_offsets_take_effect_at_commit(group: Group) -> None:
    pipeline = Pipeline(group)
    assert pipeline.commit(5) is NONE
    assert (group.offset(), group.offset(stable=True)) == (
        None, ErrorCode.UNSTABLE_OFFSET_COMMIT,
    )  # fmt: skip
    assert pipeline.end(TxnResult.COMMIT) is NONE
    assert (group.offset(), group.offset(stable=True)) == (5, 5)
    assert pipeline.commit(9) is NONE
    pipeline.end(TxnResult.ABORT)
    assert (group.offset(), group.offset(stable=True)) == (5, 5)


def test_a_later_commit_wins_over_an_earlier_one_with_a_later_marker(group: Group) -> None:
    pipeline = Pipeline(group)
    assert pipeline.commit(5) is NONE
    assert group.commit(8) is NONE
    pipeline.end(TxnResult.COMMIT)
    assert group.offset() == 8


def test_a_rejected_commit_has_opened_its_transaction(group: Group) -> None:
    """A transactional commit that the group rejects has opened the transaction nevertheless.

    Kafka adds the group's partition to the transaction first
    (GroupCoordinatorService.commitTransactionalOffsets), and checks the member afterwards
    (OffsetMetadataManager.validateTransactionalOffsetCommit).
    """
    joined, pipeline = group.alone(), Pipeline(group)
    stranger = JoinedGroup(generation=1, member_id="stranger")
    assert pipeline.commit_in_v2(5, stranger) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.offset(stable=True) is None  # nothing is pending
    assert pipeline.end(TxnResult.COMMIT, TransactionVersion.V2) is NONE
    assert group.offset() is None
    late = JoinedGroup(generation=0, member_id=joined.member_id)
    epoch = pipeline.who["producer_epoch"]
    pipeline.who["producer_epoch"] = ProducerEpoch(epoch + 1)
    assert pipeline.commit_in_v2(6, joined) is NONE
    assert pipeline.commit_in_v2(7, late) is ErrorCode.ILLEGAL_GENERATION  # it is open already
    assert pipeline.end(TxnResult.COMMIT, TransactionVersion.V2) is NONE
    assert group.offset() == 6


def test_an_aborted_commit_has_created_its_group(group: Group) -> None:
    """A transactional commit creates its group, even if the transaction aborts.

    A commit by an unknown member shows whether the group exists. If it exists, the error is
    UNKNOWN_MEMBER_ID. If not, the error is ILLEGAL_GENERATION.

    Kafka: OffsetMetadataManager.validateTransactionalOffsetCommit, ClassicGroup.validateMember.
    """
    pipeline, stranger = Pipeline(group), JoinedGroup(generation=4, member_id="stranger")
    assert pipeline.commit(5, stranger) is ErrorCode.ILLEGAL_GENERATION  # there is no such group
    assert pipeline.commit(5) is NONE
    assert pipeline.end(TxnResult.ABORT) is NONE
    assert pipeline.commit(5, stranger) is ErrorCode.UNKNOWN_MEMBER_ID
    assert pipeline.end(TxnResult.ABORT) is NONE
    group.cluster.pass_time(KAFKA_SETTINGS.offsets_check_ms + 10_000)
    assert pipeline.commit(5, stranger) is ErrorCode.ILLEGAL_GENERATION  # it was forgotten


def test_transactional_offsets_outside_the_transaction_are_rejected(group: Group) -> None:
    pipeline = Pipeline(group)
    assert group.commit(5, **pipeline.who) is ErrorCode.INVALID_TXN_STATE
    assert group.offset() is None


@pytest.mark.parametrize(
    ("bugs", "after_commit", "after_abort"),
    [
        (NO_BUGS, 5, 5),
        (frozenset({Bug.OFFSETS_DESPITE_ABORT}), 5, 9),
        (frozenset({Bug.OFFSETS_LOST_AT_COMMIT}), None, None),
    ],
)
def test_a_bug_commits_aborted_offsets_or_loses_committed_ones(
    start_cluster: StartCluster, bugs: Bugs, after_commit: int | None, after_abort: int | None
) -> None:
    group = Group(start_cluster(bugs=bugs))
    pipeline = Pipeline(group)
    pipeline.commit(5)
    pipeline.end(TxnResult.COMMIT)
    assert group.offset() == after_commit
    pipeline.commit(9)
    pipeline.end(TxnResult.ABORT)
    assert group.offset() == after_abort


@pytest.mark.parametrize(
    ("bugs", "error"),
    [
        (NO_BUGS, ErrorCode.ILLEGAL_GENERATION),
        (frozenset({Bug.GENERATION_NOT_CHECKED}), NONE),
    ],
)
def test_bug_generation_not_checked_accepts_the_offsets_of_a_zombie(
    start_cluster: StartCluster, bugs: Bugs, error: ErrorCode
) -> None:
    """A commit by a member of an old generation is rejected, except with the seeded bug.

    The seeded bug GENERATION_NOT_CHECKED accepts these offsets (KIP-447).
    """
    group = Group(start_cluster(bugs=bugs))
    zombie = group.alone()
    group.join()
    group.join(zombie.member_id)
    assert Pipeline(group).commit(5, zombie) is error


def test_a_new_coordinator_has_the_generation_and_committed_and_pending_offsets(
    start_cluster: StartCluster,
) -> None:
    cluster = start_cluster(brokers=3)
    group = Group(cluster)
    joined = group.alone(session_timeout_ms=60_000)
    assert group.commit(4, joined) is NONE
    pipeline = Pipeline(group)
    assert pipeline.commit(7, joined) is NONE
    first = group.at
    cluster.restart(first)  # what it had in memory is gone
    cluster.pass_time(15_000)
    for asked in range(1, 4):
        group.at = asked
        if group.heartbeat(joined) is not ErrorCode.NOT_COORDINATOR:
            break
    assert group.heartbeat(joined) is NONE
    assert (group.offset(), group.offset(stable=True)) == (4, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    pipeline.at = cluster.coordinator("t", transactional=True)
    pipeline.end(TxnResult.COMMIT)
    cluster.pass_time(5_000)
    assert group.offset(stable=True) == 7


def test_an_offset_is_not_returned_before_it_is_replicated(start_cluster: StartCluster) -> None:
    cluster = start_cluster(brokers=3)
    group = Group(cluster)
    assert group.commit(1) is NONE
    assert group.offset() == 1
    place = next(
        place
        for place, role in cluster.nodes[group.at].local_coordinators.roles.items()
        if isinstance(role, GroupCoordinator) and role.offsets.committed
    )
    is_dropped: list[object] = []

    def fetches(to: int, message: object) -> bool:
        from_others = to == group.at and getattr(message, "sender", 0) in {1, 2, 3} - {group.at}
        if from_others:
            is_dropped.append(message)
        return from_others

    cluster.is_dropped = fetches
    request = CommitOffsets(group="g", offsets=((TP, CommittedOffset(offset=Offset(2))),))
    number = cluster.send(request, group.at)
    assert cluster.answers.get(number) is None
    assert cluster.nodes[group.at].replicas[place].log.end_offset == 2
    assert group.offset() == 1
