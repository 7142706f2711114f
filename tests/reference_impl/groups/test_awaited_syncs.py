"""Classic groups: a member that has joined and sends no SyncGroup is removed in time.

Kafka: GroupMetadataManager.schedulePendingSync and expirePendingSync.
"""

from __future__ import annotations

from typing import Any, Final

from reference_impl.groups.classic_group import GroupState
from reference_impl.protocol.messages import ErrorCode
from tests.reference_impl.groups.classic import Group

PATIENT: Final[dict[str, Any]] = {"session_timeout_ms": 300_000, "rebalance_timeout_ms": 10_000}


def test_a_member_without_sync_group_is_removed_after_the_rebalance_timeout(group: Group) -> None:
    first, second = group.join(**PATIENT), group.join(**PATIENT)
    group.cluster.pass_time(4_000)
    leader, silent = group.response(first), group.response(second)
    assert group.response(group.sync(leader)).error is ErrorCode.NONE
    group.cluster.pass_time(5_000)
    assert group.heartbeat(silent) is ErrorCode.NONE
    group.cluster.pass_time(6_000)
    assert group.heartbeat(silent) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.state() is GroupState.PREPARING


def test_a_group_whose_members_send_no_sync_group_is_empty(group: Group) -> None:
    number = group.join(**PATIENT)
    group.cluster.pass_time(4_000)
    joined = group.response(number)
    assert group.state() is GroupState.COMPLETING
    group.cluster.pass_time(11_000)
    assert group.heartbeat(joined) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.state() is GroupState.EMPTY


def test_the_longest_rebalance_timeout_of_a_member_counts(group: Group) -> None:
    group.join(**PATIENT)
    slow: dict[str, Any] = {**PATIENT, "rebalance_timeout_ms": 60_000}
    silent = group.join(**slow)
    group.cluster.pass_time(14_000)
    assert group.heartbeat(group.response(silent)) is ErrorCode.NONE
    group.cluster.pass_time(50_000)
    assert group.heartbeat(group.response(silent)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_members_that_sent_sync_group_stay(group: Group) -> None:
    joined = group.alone(**PATIENT)
    group.cluster.pass_time(60_000)
    assert group.heartbeat(joined) is ErrorCode.NONE
    assert group.state() is GroupState.STABLE


def test_the_next_rebalance_ends_the_wait(group: Group) -> None:
    """The time for SyncGroup begins again with each generation."""
    number = group.join(**PATIENT)
    group.cluster.pass_time(10_000)
    silent = group.response(number)
    new = group.join(**PATIENT)
    again = group.join(silent.member_id, **PATIENT)
    assert group.response(again).generation == group.response(new).generation == 2
    group.cluster.pass_time(8_000)
    assert group.heartbeat(group.response(again)) is ErrorCode.NONE
    group.cluster.pass_time(4_000)
    assert group.heartbeat(group.response(again)) is ErrorCode.UNKNOWN_MEMBER_ID
