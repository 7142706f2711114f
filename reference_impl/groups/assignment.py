"""Handles the SyncGroup requests of classic groups. Each event has the following effect:

    SyncGroup of any member       waits for the assignment; in a stable group, responds at once
    SyncGroup of the leader       also appends the assignment to the log, if no append has begun
    the assignment is in the log  all waiting members get their assignments
    the append has failed         all waiting members get the error, and a rebalance begins

Source: KIP-62, KIP-345; docs/kafka-rules.md E1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from reference_impl.groups import membership
from reference_impl.groups.classic_group import ClassicGroup, GroupState, Member
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, StepResult
from reference_impl.protocol.groups import SyncedGroup, SyncGroup
from reference_impl.protocol.messages import ErrorCode


class SyncResult(NamedTuple):
    """The result of a SyncGroup request: the changed group, the responses, and whether the
    assignment must be appended to the log.
    """

    group: ClassicGroup
    effects: Effects = ()
    is_to_be_written: bool = False


def sync(
    group: ClassicGroup,
    context: Context,
    requester: Requester,
    request: SyncGroup,
    *,
    is_written: bool,
) -> SyncResult:
    """Handles a SyncGroup request. If the request is invalid or a rebalance is in progress, the
    member gets an error. If the group is stable, the member gets its assignment at once. Otherwise,
    the member waits until the assignment is in the log.

    `is_written` is True if an append of the assignment is in progress already.
    """
    error = membership.member_error(group, request)
    if error is ErrorCode.NONE and not _is_consistent(group, request):
        error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if error is ErrorCode.NONE and group.state is GroupState.PREPARING:
        error = ErrorCode.REBALANCE_IN_PROGRESS
    if error is not ErrorCode.NONE:
        return SyncResult(group, (requester.reply(SyncedGroup(error=error)),))
    member = replace(group.members[request.member_id], last_heartbeat_ms=context.now_ms)
    group = replace(group, awaited_syncs=group.awaited_syncs - {member.member_id})
    if group.state is GroupState.STABLE:
        return SyncResult(
            group.with_member(member), (requester.reply(assignment_response(group, member)),)
        )
    group = group.with_member(replace(member, syncing=requester))
    if request.member_id != group.leader or is_written:
        return SyncResult(group)
    assignments = dict(request.assignments)
    members = {
        id_: replace(member, assignment=assignments.get(id_, b""))
        for id_, member in group.members.items()
    }
    return SyncResult(replace(group, members=members), is_to_be_written=True)


def _is_consistent(group: ClassicGroup, request: SyncGroup) -> bool:
    # Kafka: GroupMetadataManager.validateSyncGroup.
    return request.protocol_type in {None, group.protocol_type} and request.protocol in {
        None,
        group.protocol,
    }


def on_assignment_appended(
    group: ClassicGroup, context: Context, generation: int, error: ErrorCode
) -> StepResult[ClassicGroup]:
    """Handles the end of the append of the assignment of `generation`. Sends each waiting member
    its assignment. If the append has failed, sends `error` instead, and begins a rebalance. Does
    nothing if the next rebalance has begun already.
    """
    if group.generation != generation or group.state is not GroupState.COMPLETING:
        return group, ()  # a rebalance has begun, and has sent the waiting members an error
    answered = replace(
        group,
        members={id_: replace(member, syncing=None) for id_, member in group.members.items()},
    )
    after = answered if error else answered.in_state(GroupState.STABLE)
    effects: Effects = tuple(
        member.syncing.reply(
            SyncedGroup(error=error) if error else assignment_response(after, member)
        )
        for member in group.members.values()
        if member.syncing is not None
    )
    if not error:
        return after, effects
    after, more = membership.rebalance(after, context)
    return after, effects + more


def assignment_response(group: ClassicGroup, member: Member) -> SyncedGroup:
    return SyncedGroup(
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        assignment=group.members[member.member_id].assignment,
    )
