"""The membership of classic groups: how members join, leave and expire, and how the group
rebalances.

The first rebalance of a group also waits for group.initial.rebalance.delay.ms. A member that has
joined must send SyncGroup within the longest rebalance timeout of all members. Otherwise the member
is removed.

Source: KIP-62, KIP-134, KIP-345, KIP-394; KAFKA-8500; docs/kafka-rules.md E1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reference_impl.groups.classic_group import ClassicGroup, GroupState, Member
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, StepResult
from reference_impl.protocol.groups import (
    NO_MEMBER,
    CommitOffsets,
    HeartbeatedGroup,
    HeartbeatGroup,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
    LeftGroup,
    SyncedGroup,
    SyncGroup,
)
from reference_impl.protocol.messages import ErrorCode

NONE: Final = ErrorCode.NONE


def join(
    group: ClassicGroup, context: Context, requester: Requester, request: JoinGroup
) -> StepResult[ClassicGroup]:
    """Handles a JoinGroup request. Usually, the member waits for the next generation. It gets a
    response at once after an error, or if no rebalance is necessary.
    """
    member_id = request.member_id
    if not _has_room(group, member_id, context.broker_settings.group_max_size):
        full = JoinedGroup(error=ErrorCode.GROUP_MAX_SIZE_REACHED)
        return group.without(member_id), (requester.reply(full),)
    rejected = _join_error(group, request)
    if rejected is not None:
        return group, (requester.reply(rejected),)
    static = group.of_instance(request.instance_id)
    new_id = f"{request.instance_id or request.client_id or 'member'}-{context.new_producer_id:x}"
    if member_id == NO_MEMBER and request.instance_id is None and request.needs_id_first:
        until_ms = context.now_ms + request.session_timeout_ms
        pending_members = replace(
            group, pending_members={**group.pending_members, new_id: until_ms}
        )
        required = JoinedGroup(error=ErrorCode.MEMBER_ID_REQUIRED, member_id=new_id)
        return pending_members, (requester.reply(required),)
    is_replaced = (
        Bug.STATIC_REPLACED_WHEN_STABLE not in context.bugs or group.state is GroupState.STABLE
    )
    if member_id == NO_MEMBER and static is not None and is_replaced:
        return _join_again(group, context, requester, request, static, new_id)
    known = group.members.get(member_id)
    stays = group.state is GroupState.COMPLETING or (
        group.state is GroupState.STABLE and member_id != group.leader
    )
    if known is not None and known.protocols == request.protocols and stays:
        # A retry, or an unnecessary join: nothing has changed.
        heard = replace(known, last_heartbeat_ms=context.now_ms)
        return group.with_member(heard), (requester.reply(group.joined(known)),)
    member = Member(
        client_id=request.client_id,
        member_id=member_id or new_id,
        instance_id=request.instance_id,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        protocols=request.protocols,
        last_heartbeat_ms=context.now_ms,
        assignment=known.assignment if known is not None else b"",
        joining=requester,
    )
    group = replace(
        group,
        protocol_type=request.protocol_type,
        pending_members={
            id_: ms for id_, ms in group.pending_members.items() if id_ != member.member_id
        },
    )
    return rebalance(group.with_member(member), context)


def _has_room(group: ClassicGroup, member_id: str, limit: int) -> bool:
    # Kafka: GroupMetadataManager.acceptJoiningMember.
    known = group.members.get(member_id)
    match group.state:
        case GroupState.EMPTY:
            return True
        case GroupState.PREPARING:
            joining = sum(one.joining is not None for one in group.members.values())
            return joining < limit or (known is not None and known.joining is not None)
        case GroupState.COMPLETING | GroupState.STABLE:
            return known is not None or len(group.members) < limit


def _join_error(group: ClassicGroup, request: JoinGroup) -> JoinedGroup | None:
    # Kafka: GroupMetadataManager.classicGroupJoinToClassicGroup, classicGroupJoinExistingMember.
    member_id = request.member_id
    exists = group != ClassicGroup(group=group.group)
    if member_id != NO_MEMBER and not exists:
        return JoinedGroup(error=ErrorCode.UNKNOWN_MEMBER_ID, member_id=member_id)
    if not group.admits(request):
        return JoinedGroup(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id=member_id)
    if member_id in {NO_MEMBER, *group.pending_members}:
        return None
    error = identity_error(group, member_id, request.instance_id)
    if error is ErrorCode.NONE:
        return None
    return JoinedGroup(error=error, member_id=member_id)


def _join_again(
    group: ClassicGroup,
    context: Context,
    requester: Requester,
    request: JoinGroup,
    old: Member,
    new_id: str,
) -> StepResult[ClassicGroup]:
    # A new process of a static member joins. Waiting requests of the old process are fenced.
    # Kafka: GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin.
    error = ErrorCode.FENCED_INSTANCE_ID
    fenced: Effects = ()
    if old.joining is not None:
        answer = JoinedGroup(error=error, member_id=old.member_id)
        fenced += (old.joining.reply(answer),)
    if old.syncing is not None:
        fenced += (old.syncing.reply(SyncedGroup(error=error)),)
    leader = group.leader
    group = group.replaced(old, new_id)
    member = replace(
        group.members[new_id],
        protocols=request.protocols,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        last_heartbeat_ms=context.now_ms,
    )
    group = group.with_member(member)
    # If the preferred protocol does not change, the generation does not change, either.
    if group.state is GroupState.STABLE and group.voted_protocol == group.protocol:
        joined = group.joined(member, skips_assignment=True)
        if not request.knows_skipping:
            # An old client would compute an assignment if the response named it as the leader.
            joined = replace(joined, leader=leader, members=(), skips_assignment=False)
        return group, (*fenced, requester.reply(joined))
    group, effects = rebalance(group.with_member(replace(member, joining=requester)), context)
    return group, fenced + effects


def rebalance(group: ClassicGroup, context: Context) -> StepResult[ClassicGroup]:
    effects: Effects = ()
    if group.state is not GroupState.PREPARING:
        # Members that wait for the assignment of the last generation get an error.
        error = ErrorCode.REBALANCE_IN_PROGRESS
        effects = tuple(
            member.syncing.reply(SyncedGroup(error=error))
            for member in group.members.values()
            if member.syncing is not None
        )
        is_first = group.state is GroupState.EMPTY
        group = group.in_state(
            GroupState.PREPARING,
            deadline_ms=context.now_ms + group.rebalance_timeout_ms,
            opens_ms=context.now_ms + is_first * context.broker_settings.group_initial_delay_ms,
            members={id_: replace(m, syncing=None) for id_, m in group.members.items()},
            awaited_syncs=frozenset(),
        )
    group, ended = _ended(group, context)
    return group, effects + ended


def _ended(group: ClassicGroup, context: Context) -> StepResult[ClassicGroup]:
    if group.state is not GroupState.PREPARING or context.now_ms < group.opens_ms:
        return group, ()
    if not group.all_joined and context.now_ms < group.deadline_ms:
        return group, ()
    if group.is_waited_for:
        # The rebalance continues until a member joins, or until the sessions expire.
        return replace(group, deadline_ms=context.now_ms + group.rebalance_timeout_ms), ()
    group = group.completed(context.now_ms)
    effects = tuple(
        member.joining.reply(group.joined(member))
        for member in group.members.values()
        if member.joining is not None
    )
    members = {
        id_: replace(member, joining=None, last_heartbeat_ms=context.now_ms)
        for id_, member in group.members.items()
    }
    return replace(group, members=members), effects


def leave(
    group: ClassicGroup, context: Context, requester: Requester, request: LeaveGroup
) -> StepResult[ClassicGroup]:
    results: list[tuple[str, str | None, ErrorCode]] = []
    left = group
    for member_id, instance_id in request.members:
        leaving, error = _leaving(left, member_id, instance_id)
        if error is ErrorCode.NONE:
            left = left.without(leaving)
        results.append((member_id, instance_id, error))
    effects: Effects = ()
    if len(left.members) < len(group.members) and left.state is not GroupState.EMPTY:
        left, effects = rebalance(left, context)
    return left, (requester.reply(LeftGroup(members=tuple(results))), *effects)


def _leaving(group: ClassicGroup, member_id: str, instance_id: str | None) -> tuple[str, ErrorCode]:
    # Kafka: GroupMetadataManager.classicGroupLeaveToClassicGroup.
    # An administrator may send only the instance id of a static member.
    if member_id == NO_MEMBER:
        static = group.of_instance(instance_id)
        return ("", ErrorCode.UNKNOWN_MEMBER_ID) if static is None else (static.member_id, NONE)
    if member_id in group.pending_members:
        return member_id, NONE
    return member_id, identity_error(group, member_id, instance_id)


def without_expired_members(group: ClassicGroup, context: Context) -> StepResult[ClassicGroup]:
    silent = {
        member.member_id
        for member in group.members.values()
        if member.joining is None
        and context.now_ms - member.last_heartbeat_ms >= member.session_timeout_ms
    }
    if group.awaited_syncs and context.now_ms >= group.sync_deadline_ms:
        # Kafka: GroupMetadataManager.expirePendingSync.
        silent |= group.awaited_syncs
    kept = {id_: ms for id_, ms in group.pending_members.items() if context.now_ms < ms}
    if len(kept) < len(group.pending_members):
        group = replace(group, pending_members=kept)
    if not silent:
        return _ended(group, context)
    for member_id in sorted(silent):
        group = group.without(member_id)
    return rebalance(group, context)


# ---------------------------------------------------------------- validation


def heartbeat(
    group: ClassicGroup, context: Context, requester: Requester, request: HeartbeatGroup
) -> StepResult[ClassicGroup]:
    error = member_error(group, request)
    if error is ErrorCode.NONE:
        member = replace(group.members[request.member_id], last_heartbeat_ms=context.now_ms)
        group = group.with_member(member)
        if group.state is GroupState.PREPARING:
            error = ErrorCode.REBALANCE_IN_PROGRESS
    return group, (requester.reply(HeartbeatedGroup(error=error)),)


def member_error(
    group: ClassicGroup, request: SyncGroup | HeartbeatGroup | CommitOffsets
) -> ErrorCode:
    """Returns NONE if the sender is a member and the request names the present generation. If the
    sender is not a member, returns the error of `identity_error`. If the request names another
    generation, returns ILLEGAL_GENERATION.
    """
    error = identity_error(group, request.member_id, request.instance_id)
    if error is ErrorCode.NONE and request.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def identity_error(group: ClassicGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    """Returns NONE if this member id and instance id belong to a member of the group. Otherwise,
    returns UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.

    Kafka: ClassicGroup.validateMember.
    """
    if instance_id is not None:
        static = group.of_instance(instance_id)
        if static is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if static.member_id != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    return ErrorCode.NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID


def must_be_logged(before: ClassicGroup, after: ClassicGroup, bugs: Bugs) -> bool:
    """Returns True if the group must be appended to the log before its next assignment. This is the
    case if its last member has left, or if a new process has replaced a static member of a stable
    group.
    """
    is_emptied = after.state is GroupState.EMPTY and before.state is not GroupState.EMPTY
    is_replaced = after.state is GroupState.STABLE and after.members.keys() != before.members.keys()
    return is_emptied or (is_replaced and Bug.STATIC_REPLACEMENT_NOT_KEPT not in bugs)
