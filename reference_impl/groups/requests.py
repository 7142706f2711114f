"""Handles the requests to a group coordinator: membership, heartbeats, offsets and descriptions. A
response is sent at one of two times:

    request -> an error, or no group changes -> response at once
            -> a group changes               -> append to the log -> replicated: response

The response to JoinGroup or SyncGroup also waits for requests of other members.

Source: KIP-62, KIP-98, KIP-345, KIP-447, KIP-848; docs/kafka-rules.md E1 to E5.
Simplified: a new coordinator responds COORDINATOR_LOAD_IN_PROGRESS until the high watermark has
reached the log end at its election. No group has members of both protocols (classic and KIP-848).
"""

from __future__ import annotations

from dataclasses import replace

from reference_impl.groups import (
    administration,
    assignment,
    consumer_group_log,
    heartbeat,
    membership,
    sessions,
)
from reference_impl.groups import commits as group_commits
from reference_impl.groups import offsets as group_offsets
from reference_impl.groups.classic_group import ClassicGroup
from reference_impl.groups.coordinator import GroupCoordinator, PendingAppend, PendingResponse
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Reply, StepResult
from reference_impl.protocol.consumer_groups import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribed,
    ConsumerGroupHeartbeat,
)
from reference_impl.protocol.group_administration import (
    DeleteGroup,
    DeleteOffsets,
    DescribeGroup,
)
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffsets,
    FetchOffsets,
    GroupRequest,
    GroupResponse,
    HeartbeatGroup,
    JoinGroup,
    LeaveGroup,
    SyncGroup,
    refusal,
)
from reference_impl.protocol.messages import ErrorCode


def on_request(
    coordinator: GroupCoordinator,
    context: Context,
    requester: Requester,
    request: GroupRequest,
    log: PartitionLog,
) -> StepResult[GroupCoordinator]:
    if log.high_watermark < coordinator.loaded_at:
        return coordinator, (requester.reply(response_while_loading(request)),)
    coordinator = coordinator.caught_up(log, context)
    match request:
        case ConsumerGroupHeartbeat():
            return _heartbeat(coordinator, context, requester, request)
        case ConsumerGroupDescribe():
            described = _described(coordinator, request)
            return coordinator.once_written(
                context, request.group, [], PendingResponse(requester, request, described)
            )
        case CommitOffsets():
            return _commit(coordinator, context, requester, request)
        case FetchOffsets():
            response = group_commits.fetch_offsets(
                request,
                coordinator.offsets,
                coordinator.classic(request.group),
                coordinator.consumer(request.group),
            )
            return coordinator, (requester.reply(response),)
        case DescribeGroup() | DeleteGroup() | DeleteOffsets():
            return administration.on_request(coordinator, context, requester, request)
        case _:
            return _on_classic_request(coordinator, context, requester, request)


def response_while_loading(request: GroupRequest) -> GroupResponse:
    """Returns the response to a request that arrives while the coordinator is loading its log. The
    response to a Heartbeat has no error, so the member remains in its group. Every other response
    has the error COORDINATOR_LOAD_IN_PROGRESS.

    Kafka: GroupCoordinatorService.heartbeat.
    """
    is_heartbeat = isinstance(request, HeartbeatGroup)
    error = ErrorCode.NONE if is_heartbeat else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return refusal(request, error)


def _on_classic_request(
    coordinator: GroupCoordinator,
    context: Context,
    requester: Requester,
    request: JoinGroup | SyncGroup | HeartbeatGroup | LeaveGroup,
) -> StepResult[GroupCoordinator]:
    before = group = coordinator.classic(request.group)
    consumer = coordinator.consumers.groups.get(request.group)
    if consumer is not None and consumer.members:
        is_new = isinstance(request, JoinGroup)
        error = "INCONSISTENT_GROUP_PROTOCOL" if is_new else "UNKNOWN_MEMBER_ID"
        return coordinator, (requester.reply(refusal(request, ErrorCode[error])),)
    match request:
        case JoinGroup():
            group, effects = membership.join(group, context, requester, request)
        case SyncGroup():
            return _sync(coordinator, context, requester, request, group)
        case HeartbeatGroup():
            group, effects = membership.heartbeat(group, context, requester, request)
        case LeaveGroup():
            group, effects = membership.leave(group, context, requester, request)
    coordinator = coordinator.with_classic(group)
    takes_over = consumer is not None and bool(group.members)
    entries = consumer_group_log.tombstones(consumer) if consumer and takes_over else []
    if membership.must_be_logged(before, group, context.bugs):
        entries.append(group.entry(context.now_ms))
    if not entries:
        return coordinator, effects
    mine = [
        effect
        for effect in effects
        if isinstance(effect, Reply) and (effect.to, effect.correlation) == requester
    ]
    owed = tuple(PendingResponse(requester, request, reply.response) for reply in mine)
    coordinator, sent = coordinator.append(context, entries, PendingAppend(request.group, owed))
    return coordinator, (*(effect for effect in effects if effect not in mine), *sent)


def _heartbeat(
    coordinator: GroupCoordinator,
    context: Context,
    requester: Requester,
    request: ConsumerGroupHeartbeat,
) -> StepResult[GroupCoordinator]:
    classic = coordinator.classic(request.group)
    if classic.members or classic.pending_members:
        error = ErrorCode.GROUP_ID_NOT_FOUND  # the group has the classic protocol
        return coordinator, (requester.reply(refusal(request, error)),)
    before = coordinator.consumer(request.group)
    after, answer = heartbeat.heartbeat(before, context, request)
    clocks = coordinator.clocks
    if answer.error is ErrorCode.NONE:
        clocks = sessions.after_heartbeat(clocks, before, after, answer.member_id, context.now_ms)
    entries = consumer_group_log.entries(before, after)
    if entries and before.epoch == 0 and classic.generation:
        entries.append(classic.tombstone())
    owed = PendingResponse(requester, request, answer)
    return replace(coordinator, clocks=clocks).once_written(context, request.group, entries, owed)


def _sync(
    coordinator: GroupCoordinator,
    context: Context,
    requester: Requester,
    request: SyncGroup,
    group: ClassicGroup,
) -> StepResult[GroupCoordinator]:
    is_written = any(
        written.generation == group.generation for written in coordinator.appends_of(group)
    )
    after, effects, is_to_be_written = assignment.sync(
        group, context, requester, request, is_written=is_written
    )
    coordinator = coordinator.with_classic(after)
    if not is_to_be_written:
        return coordinator, effects
    written = PendingAppend(request.group, (), after.generation)
    return coordinator.append(context, [after.entry(context.now_ms)], written)


def _commit(
    coordinator: GroupCoordinator, context: Context, requester: Requester, request: CommitOffsets
) -> StepResult[GroupCoordinator]:
    group = coordinator.classic(request.group)
    is_txn = request.transactional_id is not None
    error = ErrorCode.NONE if is_txn else coordinator.commit_error(request, context.bugs)
    too_large = group_commits.with_too_large_metadata(request)
    entries = [
        group_offsets.entry(request.group, at, kept, context.now_ms)
        for at, kept in request.offsets
        if at not in too_large
    ]
    committed = CommittedOffsets(error=error, too_large=too_large)
    if error is not ErrorCode.NONE or not entries:
        if error is ErrorCode.NONE and too_large:  # such a commit also creates the group
            offsets = coordinator.offsets.with_group(request.group)
            coordinator = replace(coordinator, offsets=offsets)
        return coordinator, (requester.reply(committed),)
    member = group.members.get(request.member_id)
    heard = None if member is None else replace(member, last_heartbeat_ms=context.now_ms)
    if heard is not None:
        coordinator = coordinator.with_classic(group.with_member(heard))
    return coordinator.append(
        context,
        entries,
        PendingAppend(request.group, (PendingResponse(requester, request, committed),)),
        transactional_id=request.transactional_id,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        adds_partition=request.adds_partition,
        knows_abortable=request.knows_abortable,
    )


def _described(
    coordinator: GroupCoordinator, request: ConsumerGroupDescribe
) -> ConsumerGroupDescribed:
    group = coordinator.consumers.groups.get(request.group)
    if group is None:
        return ConsumerGroupDescribed(error=ErrorCode.GROUP_ID_NOT_FOUND)
    return heartbeat.describe(group)
