"""Classic groups: generations, static members, offsets in and outside transactions, failovers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from model.vocabulary import Offset, ProducerEpoch, ProducerId, TopicPartition
from reference_impl.groups.classic_group import PREDECESSORS, ClassicGroup, GroupState
from reference_impl.groups.coordinator import GroupCoordinator
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.timeouts import KAFKA_TIMEOUTS
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffset,
    FetchedOffsets,
    FetchOffsets,
    HeartbeatGroup,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
    SyncedGroup,
    SyncGroup,
)
from reference_impl.protocol.messages import ErrorCode, InitProducerId
from reference_impl.protocol.transactions import (
    AddOffsetsToTxn,
    EndTxn,
    TransactionVersion,
    TxnResult,
)

InstantCluster = Any  # of conftest
StartCluster = Callable[..., InstantCluster]
TP = TopicPartition("in", 0)
NONE = ErrorCode.NONE


class Group:
    def __init__(self, cluster: InstantCluster) -> None:
        self.cluster = cluster
        self.at = cluster.coordinator("g", transactional=False)

    def join(self, member_id: str = "", instance: str | None = None, **other: Any) -> int:
        """Sends JoinGroup, without waiting for the response; returns the correlation id."""
        request = JoinGroup(
            group="g",
            member_id=member_id,
            instance_id=instance,
            protocols=other.pop("protocols", (("range", b"m"),)),
            needs_id_first=False,
            **other,
        )
        return int(self.cluster.send(request, self.at))

    def response(self, number: int) -> Any:
        return self.cluster.answers.get(number)

    def sync(self, joined: JoinedGroup, **parts: bytes) -> int:
        request = SyncGroup(
            group="g",
            generation=joined.generation,
            member_id=joined.member_id,
            assignments=tuple(
                (member_id, parts.get(f"part{n}", b"all"))
                for n, (member_id, _, _) in enumerate(joined.members)
            ),
        )
        return int(self.cluster.send(request, self.at))

    def heartbeat(self, joined: JoinedGroup, instance: str | None = None) -> ErrorCode:
        request = HeartbeatGroup(
            group="g",
            generation=joined.generation,
            member_id=joined.member_id,
            instance_id=instance,
        )
        return ErrorCode(self.cluster.call(request, self.at).error)

    def alone(self, **other: Any) -> JoinedGroup:
        """Joins one member, and returns its response once the group is stable."""
        number = self.join(**other)
        self.cluster.pass_time(4_000)  # the first generation waits for others
        joined = self.response(number)
        assert isinstance(joined, JoinedGroup)
        assert self.cluster.answers[self.sync(joined)] == SyncedGroup(
            protocol_type="consumer", protocol="range", assignment=b"all"
        )
        return joined

    def commit(self, offset: int, joined: JoinedGroup | None = None, **other: Any) -> ErrorCode:
        request = CommitOffsets(
            group="g",
            offsets=((TP, CommittedOffset(offset=Offset(offset), metadata="why")),),
            generation=joined.generation if joined else -1,
            member_id=joined.member_id if joined else "",
            **other,
        )
        return ErrorCode(self.cluster.call(request, self.at).error)

    def offset(self, *, stable: bool = False) -> int | ErrorCode | None:
        request = FetchOffsets(group="g", topic_partitions=(TP,), require_stable=stable)
        answer = self.cluster.call(request, self.at)
        assert isinstance(answer, FetchedOffsets)
        ((_, committed, error),) = answer.offsets
        return error or (None if committed is None else committed.offset)

    def state(self) -> GroupState:
        roles = self.cluster.nodes[self.at].local_coordinators.roles.values()
        (state,) = [
            role.groups["g"].state
            for role in roles
            if isinstance(role, GroupCoordinator) and "g" in role.groups
        ]
        return state


@pytest.fixture
def group(start_cluster: StartCluster) -> Group:
    return Group(start_cluster())


# ---------------------------------------------------------------- generations


def test_members_join_one_generation_and_its_leader_assigns(group: Group) -> None:
    first, second = group.join(client_id="a"), group.join(client_id="b")
    assert (group.response(first), group.state()) == (None, GroupState.PREPARING)
    group.cluster.pass_time(4_000)
    leader, other = group.response(first), group.response(second)
    assert (leader.generation, other.generation, other.members) == (1, 1, ())
    assert [member_id for member_id, _, _ in leader.members] == [leader.member_id, other.member_id]
    waiting = group.sync(other)
    assert (group.response(waiting), group.state()) == (None, GroupState.COMPLETING)
    assert group.response(group.sync(leader, part0=b"x", part1=b"y")).assignment == b"x"
    assert (group.response(waiting).assignment, group.state()) == (b"y", GroupState.STABLE)


def test_a_new_member_makes_all_members_join_again(group: Group) -> None:
    old = group.alone()
    new = group.join()
    assert group.heartbeat(old) is ErrorCode.REBALANCE_IN_PROGRESS
    again = group.join(old.member_id)
    assert (group.response(again).generation, group.response(new).generation) == (2, 2)
    assert group.heartbeat(old) is ErrorCode.ILLEGAL_GENERATION


def test_a_member_that_expires_or_leaves_is_removed(group: Group) -> None:
    joined = group.alone(session_timeout_ms=6_000)
    group.cluster.pass_time(8_000)
    assert group.heartbeat(joined) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.state() is GroupState.EMPTY
    joined = group.alone()
    leaving = LeaveGroup(group="g", members=((joined.member_id, None), ("nobody", None)))
    answer = group.cluster.call(leaving, group.at)
    assert [error for _, _, error in answer.members] == [NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert group.state() is GroupState.EMPTY


def test_a_member_that_does_not_join_in_time_is_removed(group: Group) -> None:
    old = group.alone(rebalance_timeout_ms=5_000, session_timeout_ms=60_000)
    new = group.join()
    group.cluster.pass_time(70_000)
    assert [member_id for member_id, _, _ in group.response(new).members] == [
        group.response(new).member_id
    ]
    assert group.heartbeat(old) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_new_member_gets_member_id_required_since_v4(group: Group) -> None:
    request = JoinGroup(group="g", protocols=(("range", b""),), client_id="app")
    required = group.cluster.call(request, group.at)
    assert required.error is ErrorCode.MEMBER_ID_REQUIRED
    assert required.member_id.startswith("app-")
    assert group.response(group.join("invented")).error is ErrorCode.UNKNOWN_MEMBER_ID
    group.alone(member_id=required.member_id)


def test_a_protocol_without_common_support_is_rejected(group: Group) -> None:
    group.alone()
    odd = group.response(group.join(protocols=(("sticky", b""),)))
    assert odd.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert group.state() is GroupState.STABLE


def test_a_static_member_rejoins_without_a_rebalance_and_fences_its_old_process(
    group: Group,
) -> None:
    old = group.alone(instance="one")
    new = group.response(group.join(instance="one"))
    assert (new.error, new.generation, group.state()) == (NONE, 1, GroupState.STABLE)
    assert (new.leader, new.skips_assignment) == (new.member_id, True)
    assert group.response(group.sync(new)).assignment == b"all"
    assert group.heartbeat(old, "one") is ErrorCode.FENCED_INSTANCE_ID
    assert group.heartbeat(new, "one") is NONE


def test_a_static_member_may_rejoin_with_other_metadata(group: Group) -> None:
    """A static member may rejoin with other metadata, and the generation stays.

    The group rebalances only if the preferred protocol changes.

    Kafka: GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin.
    """
    old = group.alone(instance="one")
    other = group.response(group.join(instance="one", protocols=(("range", b"other"),)))
    assert (other.error, other.generation, group.state()) == (NONE, 1, GroupState.STABLE)
    assert [metadata for _, _, metadata in other.members] == [b"other"]
    more = (("sticky", b""), ("range", b""))
    rejoined = group.response(group.join(instance="one", protocols=more))
    assert rejoined.generation == old.generation + 1  # "sticky" is preferred now
    assert rejoined.protocol == "sticky"


def test_an_old_client_that_replaces_the_leader_is_not_told_that_it_leads(group: Group) -> None:
    """A static member that replaces the group leader does not become leader if its client is old.

    Before JoinGroup version 9 the response names the replaced member as the leader.

    Kafka: GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin.
    """
    old = group.alone(instance="one")
    new = group.response(group.join(instance="one", knows_skipping=False))
    assert (new.error, new.generation, new.leader) == (NONE, 1, old.member_id)
    assert (new.members, new.skips_assignment) == ((), False)
    assert group.response(group.sync(new)).assignment == b"all"


def test_a_leader_that_does_not_join_again_is_replaced(group: Group) -> None:
    """If the group leader does not rejoin in time, a member that has rejoined becomes leader.

    The old leader is a static member, so it stays in the group.

    Kafka: ClassicGroup.maybeElectNewJoinedLeader.
    """
    long: dict[str, Any] = {"rebalance_timeout_ms": 5_000, "session_timeout_ms": 300_000}
    leader = group.alone(instance="one", **long)
    new = group.join(**long)
    group.cluster.pass_time(7_000)
    joined = group.response(new)
    assert joined.leader == joined.member_id != leader.member_id
    assert [instance for _, instance, _ in joined.members] == ["one", None]


def test_without_a_joined_member_the_rebalance_goes_on(group: Group) -> None:
    """A rebalance does not end at its timeout if no member has rejoined.

    The group then has only a static member that has not rejoined. The rebalance ends when this
    member rejoins.

    Kafka: GroupMetadataManager.completeClassicGroupJoin.
    """
    long: dict[str, Any] = {"rebalance_timeout_ms": 5_000, "session_timeout_ms": 300_000}
    static = group.alone(instance="one", **long)
    new = group.join(**long)
    group.cluster.pass_time(7_000)
    leaving = LeaveGroup(group="g", members=((group.response(new).member_id, None),))
    group.cluster.call(leaving, group.at)
    group.cluster.pass_time(12_000)
    assert group.state() is GroupState.PREPARING
    again = group.join(static.member_id, "one", **long)
    assert group.response(again).generation == 3


@pytest.mark.parametrize(
    ("session_ms", "error"),
    [
        (5_999, ErrorCode.INVALID_SESSION_TIMEOUT),
        (6_000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_000, ErrorCode.MEMBER_ID_REQUIRED),
        (1_800_001, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_the_session_timeout_has_bounds(group: Group, session_ms: int, error: ErrorCode) -> None:
    """A member is rejected if its session timeout is outside the configured bounds.

    The bounds are group.min.session.timeout.ms and group.max.session.timeout.ms.

    Kafka: GroupCoordinatorService.joinGroup.
    """
    request = JoinGroup(group="g", protocols=(("range", b""),), session_timeout_ms=session_ms)
    assert group.cluster.call(request, group.at).error is error


def test_an_empty_group_id_has_offsets_but_no_members(group: Group) -> None:
    """Membership requests with an empty group id are rejected; an offset commit is accepted.

    Kafka: GroupCoordinatorService.joinGroup, syncGroup, heartbeat, leaveGroup and commitOffsets.
    """
    at = group.cluster.coordinator("", transactional=False)
    requests = (
        JoinGroup(group="", member_id="m", protocols=(("range", b""),)),
        SyncGroup(group="", generation=1, member_id="m"),
        HeartbeatGroup(group="", generation=1, member_id="m"),
        LeaveGroup(group="", members=(("m", None),)),
    )
    answers = [group.cluster.call(request, at) for request in requests]
    assert {answer.error for answer in answers} == {ErrorCode.INVALID_GROUP_ID}
    assert answers[0].member_id == "m"
    commit = CommitOffsets(group="", offsets=((TP, CommittedOffset(offset=Offset(1))),))
    assert group.cluster.call(commit, at).error is NONE


def test_a_rejected_join_names_the_member(group: Group) -> None:
    """Kafka: GroupMetadataManager.classicGroupJoinExistingMember."""
    group.alone(instance="one")
    unknown = group.response(group.join("invented"))
    fenced = group.response(group.join("invented", "one"))
    odd = group.response(group.join("invented", protocols=(("sticky", b""),)))
    assert [answer.error for answer in (unknown, fenced, odd)] == [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ]
    assert {unknown.member_id, fenced.member_id, odd.member_id} == {"invented"}


def test_a_member_may_not_drop_the_only_protocol_of_the_group(group: Group) -> None:
    """The only member of a group is rejected if it rejoins without a protocol that it had before.

    The check also counts the protocols with which this member joined earlier.

    Kafka: ClassicGroup.supportsProtocols.
    """
    joined = group.alone()
    odd = group.response(group.join(joined.member_id, protocols=(("sticky", b""),)))
    assert odd.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_sync_with_another_protocol_is_rejected(group: Group) -> None:
    """Kafka: GroupMetadataManager.validateSyncGroup."""
    joined = group.alone()
    request = SyncGroup(
        group="g",
        generation=1,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol="sticky",
    )
    answer = group.cluster.call(request, group.at)
    assert answer.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_an_administrator_removes_only_the_member_that_the_request_names(group: Group) -> None:
    """Kafka: GroupMetadataManager.classicGroupLeaveToClassicGroup."""
    joined = group.alone()
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    for member in ((joined.member_id, "no instance"), ("", None), ("", "no instance")):
        answer = group.cluster.call(LeaveGroup(group="g", members=(member,)), group.at)
        assert [error for _, _, error in answer.members] == [unknown]
    assert group.state() is GroupState.STABLE


def test_states_change_only_by_the_table() -> None:
    for before in GroupState:
        known = ClassicGroup(group="g", state=before)
        for after in GroupState:
            if before in PREDECESSORS[after]:
                assert known.in_state(after).state is after
            else:
                with pytest.raises(ValueError, match=f"{before.value} -> {after.value}"):
                    known.in_state(after)


# ---------------------------------------------------------------- offsets


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
    """Kafka: ClassicGroup.validateOffsetCommit."""
    joined = group.alone()
    gone = JoinedGroup(generation=-1, member_id=joined.member_id)
    assert group.commit(1, gone) is ErrorCode.ILLEGAL_GENERATION
    group.cluster.call(LeaveGroup(group="g", members=((joined.member_id, None),)), group.at)
    assert group.state() is GroupState.EMPTY
    assert group.commit(2, gone) is NONE
    assert group.commit(3, joined) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.offset() == 2


def test_an_unknown_instance_id_is_an_unknown_member(group: Group) -> None:
    """Kafka: ClassicGroup.validateMember."""
    joined = group.alone()
    assert group.heartbeat(joined, "no instance") is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.commit(1, joined, instance_id="no instance") is ErrorCode.UNKNOWN_MEMBER_ID


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
    """A group that exists looks for the member before it compares the generation.

    Kafka: OffsetMetadataManager.validateTransactionalOffsetCommit, ClassicGroup.validateMember.
    """
    pipeline, stranger = Pipeline(group), JoinedGroup(generation=4, member_id="stranger")
    assert pipeline.commit(5, stranger) is ErrorCode.ILLEGAL_GENERATION  # there is no such group
    assert pipeline.commit(5) is NONE
    assert pipeline.end(TxnResult.ABORT) is NONE
    assert pipeline.commit(5, stranger) is ErrorCode.UNKNOWN_MEMBER_ID
    assert pipeline.end(TxnResult.ABORT) is NONE
    group.cluster.pass_time(KAFKA_TIMEOUTS.offsets_check_ms + 10_000)
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
def test_bugs_of_offsets_in_transactions(
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
    """A member of an old generation commits offsets: an error, except with the seeded bug.

    The seeded bug GENERATION_NOT_CHECKED accepts these offsets (KIP-447).
    """
    group = Group(start_cluster(bugs=bugs))
    zombie = group.alone()
    group.join()
    group.join(zombie.member_id)
    assert Pipeline(group).commit(5, zombie) is error


# ---------------------------------------------------------------- failover


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
