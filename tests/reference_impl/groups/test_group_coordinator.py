"""Classic groups: generations, static members, and the states of a group."""

from __future__ import annotations

from typing import Any

import pytest

from model.vocabulary import Offset
from reference_impl.groups.classic_group import PREDECESSORS, ClassicGroup, GroupState
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffset,
    HeartbeatGroup,
    JoinGroup,
    LeaveGroup,
    SyncGroup,
)
from reference_impl.protocol.messages import ErrorCode
from tests.reference_impl.groups.classic import NONE, TP, Group


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


def test_a_leader_that_joins_again_begins_a_rebalance(group: Group) -> None:
    joined = group.alone()
    again = group.response(group.join(joined.member_id))
    assert (again.error, again.generation) == (NONE, joined.generation + 1)


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


def test_an_old_client_that_replaces_the_leader_does_not_lead(group: Group) -> None:
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
    """The response to a rejected JoinGroup has the member id of the request.

    Kafka: GroupMetadataManager.classicGroupJoinExistingMember.
    """
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
    """The only member of a group is rejected if it rejoins with entirely different protocols.

    The coordinator also compares the new protocols with the member's own earlier ones.

    Kafka: ClassicGroup.supportsProtocols.
    """
    joined = group.alone()
    odd = group.response(group.join(joined.member_id, protocols=(("sticky", b""),)))
    assert odd.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_sync_with_another_protocol_is_rejected(group: Group) -> None:
    """A SyncGroup request is rejected if its protocol is not the protocol of the group.

    Kafka: GroupMetadataManager.validateSyncGroup.
    """
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
    """A LeaveGroup request that names no member of the group removes nobody.

    Kafka: GroupMetadataManager.classicGroupLeaveToClassicGroup.
    """
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
