"""Handles the heartbeat of KIP-848: validates it, and changes the group and the member in these
steps:

    rejected <- valid? -> new or existing member -> group changed? -> new target assignment, if due
                                                                   -> the member reconciles

If a response was lost, the member sends its previous epoch again. Such a heartbeat is accepted.

Source: KIP-848; KAFKA-19233, KAFKA-20442; Apache Kafka, GroupMetadataManager.
Simplified: a member that lost two responses in a row is still accepted, whereas Kafka fences it.
Each heartbeat compares the metadata of the subscribed topics and matches regular expressions. Kafka
does so at most every ten seconds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reference_impl.groups.assignors import ASSIGNORS
from reference_impl.groups.consumer_group import (
    NOTHING,
    ConsumerGroup,
    ConsumerMember,
    MemberState,
)
from reference_impl.groups.reconciliation import reconciled
from reference_impl.groups.topic_patterns import is_pattern, matching
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.node.context import Context
from reference_impl.protocol.consumer_groups import (
    JOINS,
    LEAVES,
    LEAVES_FOR_A_WHILE,
    ConsumerGroupDescribed,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeated,
    DescribedMember,
)
from reference_impl.protocol.messages import ErrorCode

HeartbeatResult = tuple[ConsumerGroup, ConsumerGroupHeartbeated]
NO_EPOCH: Final = -1


def heartbeat(
    group: ConsumerGroup, context: Context, request: ConsumerGroupHeartbeat
) -> HeartbeatResult:
    """Returns the group after the heartbeat, and the response. The response must be sent when the
    change of the group is replicated.
    """
    error = heartbeat_error(
        group, request, context.bugs, context.broker_settings.consumer_group_max_size
    )
    if error is not ErrorCode.NONE:
        return group, ConsumerGroupHeartbeated(error=error)
    if request.member_epoch < JOINS:
        return _left(group, context, request)
    if request.topic_regex and not is_pattern(request.topic_regex):
        return group, ConsumerGroupHeartbeated(error=ErrorCode.INVALID_REGULAR_EXPRESSION)
    before, member = _joined(group, context, request)
    is_changed = (before.topics, before.regex) != (member.topics, member.regex)
    member = replace(member, epoch=max(member.epoch, JOINS))
    group = group.started.with_member(member, instead_of=before.member_id)
    group = _with_changes(_with_matched_topics(group, context), context, is_changed=is_changed)
    member = group.members[member.member_id]
    group = group.with_due_target(context.now_ms, context.broker_settings.member_assignment_ms)
    after = reconciled(member, group, request.owned if request.member_epoch else ())
    is_full = subscribes(request) and None not in (request.rebalance_timeout_ms, request.owned)
    answer = ConsumerGroupHeartbeated(
        member_id=after.member_id,
        member_epoch=after.epoch,
        heartbeat_ms=context.broker_settings.member_heartbeat_ms,
        assignment=tuple(sorted(after.assigned))
        if is_full or after.assigned != before.assigned
        else None,
    )
    return group if after == group.members[after.member_id] else group.with_member(after), answer


def without_members(group: ConsumerGroup, context: Context, *member_ids: str) -> ConsumerGroup:
    """Returns the group without these members, in a new group epoch."""
    group = _with_changes(group.without(*member_ids), context, is_changed=True)
    if group.members:
        return group
    # An empty group needs no assignment (KAFKA-20442).
    assignment_epoch = group.epoch
    if Bug.EMPTY_GROUP_UNSETTLED in context.bugs:
        assignment_epoch = group.assignment_epoch
    return replace(group, assignment_epoch=assignment_epoch, empty_since_ms=context.now_ms)


def heartbeat_error(
    group: ConsumerGroup, request: ConsumerGroupHeartbeat, bugs: Bugs, most_members: int
) -> ErrorCode:
    """Returns the error that rejects a heartbeat, or NONE.

    A group with `most_members` members admits no new member. It does not even admit a new process
    of a static member.
    """
    epoch = request.member_epoch
    malformed = malformed_error(request)
    if malformed is not ErrorCode.NONE:
        return malformed
    if group.epoch == 0 and epoch != JOINS:
        return ErrorCode.GROUP_ID_NOT_FOUND
    static = group.of_instance(request.instance_id)
    known = group.members.get(request.member_id)
    if epoch >= JOINS and known is None and len(group.members) >= most_members:
        # Kafka: GroupMetadataManager.throwIfConsumerGroupIsFull.
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    is_replaced = static is not None and static.member_id != request.member_id
    if epoch == JOINS:
        has_left = static is not None and static.epoch == LEAVES_FOR_A_WHILE
        if is_replaced and not has_left:
            return ErrorCode.UNRELEASED_INSTANCE_ID
        refuses = Bug.REJOIN_REFUSED in bugs and known is not None
        return ErrorCode.FENCED_MEMBER_EPOCH if refuses and not has_left else ErrorCode.NONE
    if is_replaced:
        return ErrorCode.FENCED_INSTANCE_ID
    if known is None or (request.instance_id is not None and static is None):
        return ErrorCode.UNKNOWN_MEMBER_ID
    if epoch < JOINS or epoch == known.epoch:
        return ErrorCode.NONE
    owns_its_own = request.owned is not None and known.assigned.keys() >= set(request.owned)
    is_accepted = epoch == known.previous_epoch and owns_its_own
    return ErrorCode.NONE if is_accepted else ErrorCode.FENCED_MEMBER_EPOCH


def subscribes(request: ConsumerGroupHeartbeat) -> bool:
    """Returns True if the heartbeat contains a subscription, even if this subscription is empty."""
    return request.topics is not None or request.topic_regex is not None


def malformed_error(request: ConsumerGroupHeartbeat) -> ErrorCode:
    """Returns the error of a malformed heartbeat, or NONE. A malformed heartbeat is rejected
    whatever the state of its group is.

    Kafka: GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid.
    """
    epoch = request.member_epoch
    has_no_id = not request.member_id and (request.names_itself or epoch > JOINS or epoch == LEAVES)
    is_malformed = (
        has_no_id
        or not request.group
        or request.instance_id == ""
        or epoch < LEAVES_FOR_A_WHILE
        or (epoch == LEAVES_FOR_A_WHILE and request.instance_id is None)
        or (epoch == JOINS and (request.rebalance_timeout_ms is None or not subscribes(request)))
        or (epoch == JOINS and request.owned != ())
    )
    if is_malformed:
        return ErrorCode.INVALID_REQUEST
    is_known = request.assignor is None or request.assignor in ASSIGNORS
    return ErrorCode.NONE if is_known else ErrorCode.UNSUPPORTED_ASSIGNOR


def _joined(
    group: ConsumerGroup, context: Context, request: ConsumerGroupHeartbeat
) -> tuple[ConsumerMember, ConsumerMember]:
    """Returns the member before its heartbeat, and the member after its heartbeat. A new member has
    the epoch -1 before its heartbeat.
    """
    member_id = request.member_id or f"member-{context.new_producer_id:x}"
    # the old process of a static member, which a new process may replace
    static = group.of_instance(request.instance_id)
    known = group.members.get(member_id, static)
    # The epoch of a new member before its first heartbeat.
    before = known or ConsumerMember(member_id=member_id, epoch=NO_EPOCH)
    after = replace(
        before,
        member_id=member_id,
        instance_id=request.instance_id or before.instance_id,
        client_id=request.client_id,
        topics=before.topics if request.topics is None else tuple(sorted(set(request.topics))),
        regex=before.regex if request.topic_regex is None else request.topic_regex,
        assignor=request.assignor or before.assignor,
        rebalance_timeout_ms=before.rebalance_timeout_ms
        if request.rebalance_timeout_ms is None
        else request.rebalance_timeout_ms,
    )
    return before, after


def _left(
    group: ConsumerGroup, context: Context, request: ConsumerGroupHeartbeat
) -> HeartbeatResult:
    answer = ConsumerGroupHeartbeated(
        member_id=request.member_id, member_epoch=request.member_epoch
    )
    if request.member_epoch == LEAVES:
        return without_members(group, context, request.member_id), answer
    member = replace(
        group.members[request.member_id],
        epoch=LEAVES_FOR_A_WHILE,
        state=MemberState.STABLE,
        revoking=NOTHING,
    )
    return group.with_member(member), answer


def _with_matched_topics(group: ConsumerGroup, context: Context) -> ConsumerGroup:
    if not any(member.regex or member.matched for member in group.members.values()):
        return group
    topics = frozenset(context.coordinators.partition_counts())
    members = {
        member_id: replace(member, matched=matching(member.regex, topics))
        for member_id, member in group.members.items()
    }
    return replace(group, members=members)


def _with_changes(group: ConsumerGroup, context: Context, *, is_changed: bool) -> ConsumerGroup:
    wanted = {topic for member in group.members.values() for topic in member.subscribed}
    counts = context.coordinators.partition_counts()
    topics = {topic: counts[topic] for topic in sorted(wanted & counts.keys())}
    if not is_changed and topics == group.topics:
        return group
    # the target assignment must be computed again
    return replace(group, epoch=group.epoch + 1, topics=topics)


def describe(group: ConsumerGroup) -> ConsumerGroupDescribed:
    return ConsumerGroupDescribed(
        state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor=group.assignor,
        members=tuple(
            DescribedMember(
                member_id=member_id,
                instance_id=member.instance_id,
                client_id=member.client_id,
                member_epoch=member.epoch,
                topics=member.topics,
                topic_regex=member.regex,
                assignment=tuple(sorted(member.owned)),
                target=tuple(sorted(group.target.get(member_id, frozenset()))),
            )
            for member_id, member in sorted(group.members.items())
        ),
    )
