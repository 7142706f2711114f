"""Validates the requests that commit and fetch the offsets of a group.

A client without a generation may commit offsets while the group has no members. If the group does
not exist, the commit creates the group. Clients older than KIP-447 send a transactional commit
without a generation, a member id or an instance id. Such a commit is not fenced. When a member
fetches offsets, only a KIP-848 group checks the member's id and epoch.

Source: KIP-98, KIP-447, KIP-848, KIP-1251; OffsetMetadataManager.validateOffsetCommit,
ClassicGroup.validateOffsetCommit, ConsumerGroup.validateOffsetCommit and
ConsumerGroup.validateOffsetFetch of Apache Kafka; docs/kafka-rules.md E2, E5.
"""

from __future__ import annotations

from typing import Final

from model.vocabulary import TopicPartition
from reference_impl.groups.classic_group import ClassicGroup, GroupState
from reference_impl.groups.consumer_group import ConsumerGroup
from reference_impl.groups.membership import member_error
from reference_impl.groups.offsets import GroupOffsets
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.protocol.groups import CommitOffsets, FetchedOffsets, FetchOffsets
from reference_impl.protocol.messages import ErrorCode

METADATA_MAX_CHARACTERS: Final = 4_096  # offset.metadata.max.bytes


def commit_error(
    request: CommitOffsets,
    classic: ClassicGroup,
    consumer: ConsumerGroup,
    bugs: Bugs,
    *,
    exists: bool,
) -> ErrorCode:
    is_txn = request.transactional_id is not None
    is_anonymous = request.generation < 0 and not request.member_id and request.instance_id is None
    if is_txn and (is_anonymous or Bug.GENERATION_NOT_CHECKED in bugs):
        return ErrorCode.NONE
    if not exists:
        if request.generation < 0:
            return ErrorCode.NONE
        knows = request.knows_member_epochs and not is_txn
        return ErrorCode.GROUP_ID_NOT_FOUND if knows else ErrorCode.ILLEGAL_GENERATION
    if _is_classic(classic, consumer):
        return _classic_error(request, classic, is_anonymous=is_anonymous, is_txn=is_txn)
    places = [place for place, _ in request.offsets]
    error = consumer.commit_error(request.member_id, request.generation, places, bugs)
    if is_txn:
        is_stale = error is ErrorCode.STALE_MEMBER_EPOCH
        return ErrorCode.ILLEGAL_GENERATION if is_stale else error
    is_old = request.member_id in consumer.members and not request.knows_member_epochs
    return ErrorCode.UNSUPPORTED_VERSION if is_old else error


def with_too_large_metadata(request: CommitOffsets) -> frozenset[TopicPartition]:
    """Returns the topic partitions whose metadata string in the request is too long.

    Kafka: OffsetMetadataManager.isMetadataInvalid.
    """
    return frozenset(
        place for place, kept in request.offsets if len(kept.metadata) > METADATA_MAX_CHARACTERS
    )


def _is_classic(classic: ClassicGroup, consumer: ConsumerGroup) -> bool:
    return bool(classic.members) or consumer.epoch == 0


def _classic_error(
    request: CommitOffsets, group: ClassicGroup, *, is_anonymous: bool, is_txn: bool
) -> ErrorCode:
    if request.generation < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    if is_anonymous:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = member_error(group, request)
    if error is ErrorCode.NONE and group.state is GroupState.COMPLETING and not is_txn:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return error


def fetch_offsets(
    request: FetchOffsets, offsets: GroupOffsets, classic: ClassicGroup, consumer: ConsumerGroup
) -> FetchedOffsets:
    """Returns the group's committed offsets, or an error. If the request has `require_stable`, an
    offset that an open transaction may still change is replaced by the error
    UNSTABLE_OFFSET_COMMIT.
    """
    error = ErrorCode.NONE
    if not _is_classic(classic, consumer):
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
