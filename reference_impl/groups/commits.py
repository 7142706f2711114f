"""Validation of offset commits, and responses to offset fetches.

Members may commit in their own generation (classic group) or member epoch (KIP-848 group). A client
outside the group may commit while the group has no members. A transactional commit without a member
id comes from a client older than KIP-447, and is not fenced.

Source: KIP-98, KIP-447, KIP-848, KIP-1251; docs/kafka-rules.md E2, E5.
"""

from __future__ import annotations

from reference_impl.groups.classic_group import ClassicGroup, GroupState
from reference_impl.groups.consumer_group import ConsumerGroup
from reference_impl.groups.membership import member_error
from reference_impl.groups.offsets import GroupOffsets
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.protocol.groups import CommitOffsets, FetchedOffsets, FetchOffsets
from reference_impl.protocol.messages import ErrorCode


def commit_error(
    request: CommitOffsets, classic: ClassicGroup, consumer: ConsumerGroup, bugs: Bugs
) -> ErrorCode:
    """Returns the error that rejects an offset commit, or NONE; the group may be classic or of
    KIP-848.
    """
    is_txn = request.transactional_id is not None
    is_member = bool(request.member_id) or request.instance_id is not None
    if not request.group:
        return ErrorCode.INVALID_GROUP_ID
    if is_txn and Bug.GENERATION_NOT_CHECKED in bugs:
        return ErrorCode.NONE
    if is_txn and request.generation < 0 and not is_member:
        return ErrorCode.NONE
    if classic.members or consumer.epoch == 0:
        return _classic_error(request, classic, is_member=is_member, is_txn=is_txn)
    places = [place for place, _ in request.offsets]
    error = consumer.commit_error(request.member_id, request.generation, places, bugs)
    is_stale = error is ErrorCode.STALE_MEMBER_EPOCH
    return ErrorCode.ILLEGAL_GENERATION if is_txn and is_stale else error


def _classic_error(
    request: CommitOffsets, group: ClassicGroup, *, is_member: bool, is_txn: bool
) -> ErrorCode:
    if request.generation < 0 and not is_member:
        return ErrorCode.UNKNOWN_MEMBER_ID if group.members else ErrorCode.NONE
    if not group.members:
        return ErrorCode.ILLEGAL_GENERATION
    error = member_error(group, request)
    if error is ErrorCode.NONE and group.state is GroupState.COMPLETING and not is_txn:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return error


def fetch_offsets(
    request: FetchOffsets, offsets: GroupOffsets, consumer: ConsumerGroup
) -> FetchedOffsets:
    """Returns the response with the group's committed offsets. With `require_stable` a topic
    partition gets an error if an open transaction may still change its offset.
    """
    error = consumer.fetch_error(request.member_id, request.member_epoch)
    if error is not ErrorCode.NONE:
        return FetchedOffsets(error=error)
    known = offsets.of(request.group)
    wanted = request.topic_partitions
    places = tuple(sorted(known)) if wanted is None else wanted
    return FetchedOffsets(
        offsets=tuple(
            (place, None, ErrorCode.UNSTABLE_OFFSET_COMMIT)
            if request.require_stable and offsets.is_unstable(request.group, place)
            else (place, known.get(place), ErrorCode.NONE)
            for place in places
        )
    )
