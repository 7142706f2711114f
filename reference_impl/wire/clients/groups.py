"""Writes the requests about consumer groups, and reads their responses (see `dialogue`)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from model.vocabulary import (
    UNKNOWN_LEADER_EPOCH,
    LeaderEpoch,
    Offset,
    TopicPartition,
)
from reference_impl.protocol.consumer_groups import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeated,
)
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffset,
    CommittedOffsets,
    FetchedOffsets,
    FetchOffsets,
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
from reference_impl.wire.clients.dialogue import (
    Names,
    Values,
    by_topic,
    error_code,
    optional_name,
    worst_of,
)
from reference_impl.wire.clients.frames import Writer
from reference_impl.wire.messages.adapter import span

UNCHANGED: Final = -1  # a rebalance timeout that a heartbeat need not repeat


def commit_offsets(request: CommitOffsets, writer: Writer, names: Names) -> Values:
    return {
        "group_id": names.sent(request.group),
        "generation_id_or_member_epoch": request.generation,
        "member_id": request.member_id,
        "group_instance_id": request.instance_id,
        "retention_time": span(-1),
        "topics": _offsets(request, writer, names, "OffsetCommitRequest"),
    }


def commit_in_transaction(request: CommitOffsets, writer: Writer, names: Names) -> Values:
    return {
        "transactional_id": optional_name(request.transactional_id, names),
        "group_id": names.sent(request.group),
        "producer_id": request.producer_id,
        "producer_epoch": request.producer_epoch,
        "generation_id": request.generation,
        "member_id": request.member_id,
        "group_instance_id": request.instance_id,
        "topics": _offsets(request, writer, names, "TxnOffsetCommitRequest"),
    }


def _offsets(request: CommitOffsets, writer: Writer, names: Names, part: str) -> tuple[Any, ...]:
    by_topic: dict[str, list[Any]] = {}
    for place, committed in request.offsets:
        made = writer.make(
            f"{part}Partition",
            partition_index=place.index,
            committed_offset=committed.offset,
            committed_leader_epoch=committed.leader_epoch,
            committed_metadata=committed.metadata,
        )
        by_topic.setdefault(place.topic, []).append(made)
    return tuple(
        writer.make(f"{part}Topic", name=names.sent(topic), partitions=tuple(made))
        for topic, made in by_topic.items()
    )


def committed_offsets(_request: CommitOffsets, body: Any, _names: Names) -> CommittedOffsets:
    errors = (one.error_code for topic in body.topics for one in topic.partitions)
    return CommittedOffsets(error=worst_of(errors))


def fetch_offsets(request: FetchOffsets, writer: Writer, names: Names) -> Values:
    topics = None
    if request.topic_partitions is not None:
        topics = tuple(
            writer.make(
                "OffsetFetchRequestTopic", name=names.sent(topic), partition_indexes=indexes
            )
            for topic, indexes in by_topic(request.topic_partitions)
        )
    return {
        "group_id": names.sent(request.group),
        "topics": topics,
        "require_stable": request.require_stable,
    }


def fetched_offsets(request: FetchOffsets, body: Any, names: Names) -> FetchedOffsets:
    """Returns the committed offsets in a response.

    The offset of a topic partition is None in three cases: the group has not committed an offset
    for it, the response does not contain it, or the group does not exist.
    """
    found = tuple(
        (
            TopicPartition(names.received(topic.name), one.partition_index),
            _committed(one),
            error_code(one.error_code),
        )
        for topic in body.topics
        for one in topic.partitions
    )
    error = error_code(getattr(body, "error_code", 0))
    # Kafka returns the offset -1 for missing ones. The broker kfake omits the topic partitions, and
    # returns GROUP_ID_NOT_FOUND for an unknown group.
    if error not in {ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND}:
        return FetchedOffsets(error=error, offsets=found)
    there = {place for place, _, _ in found}
    missing = [place for place in request.topic_partitions or () if place not in there]
    nothing = ((place, None, ErrorCode.NONE) for place in missing)
    return FetchedOffsets(offsets=(*found, *nothing))


def _committed(one: Any) -> CommittedOffset | None:
    if one.committed_offset < 0:
        return None
    epoch = getattr(one, "committed_leader_epoch", UNKNOWN_LEADER_EPOCH)
    return CommittedOffset(
        offset=Offset(one.committed_offset),
        leader_epoch=LeaderEpoch(epoch),
        metadata=one.metadata or "",
    )


def join_group(request: JoinGroup, writer: Writer, names: Names) -> Values:
    return {
        "group_id": names.sent(request.group),
        "session_timeout": span(request.session_timeout_ms),
        "rebalance_timeout": span(request.rebalance_timeout_ms),
        "member_id": request.member_id,
        "group_instance_id": request.instance_id,
        "protocol_type": request.protocol_type,
        "protocols": tuple(
            writer.make("JoinGroupRequestProtocol", name=name, metadata=metadata)
            for name, metadata in request.protocols
        ),
        "reason": None,
    }


def joined_group(_request: JoinGroup, body: Any, _names: Names) -> JoinedGroup:
    return JoinedGroup(
        error=error_code(body.error_code),
        generation=body.generation_id,
        protocol_type=getattr(body, "protocol_type", None) or "",
        protocol=body.protocol_name or "",
        leader=body.leader,
        member_id=body.member_id,
        members=tuple(
            (one.member_id, getattr(one, "group_instance_id", None), one.metadata)
            for one in body.members
        ),
        skips_assignment=getattr(body, "skip_assignment", False),
    )


def sync_group(request: SyncGroup, writer: Writer, names: Names) -> Values:
    return {
        "group_id": names.sent(request.group),
        "generation_id": request.generation,
        "member_id": request.member_id,
        "group_instance_id": request.instance_id,
        "assignments": tuple(
            writer.make("SyncGroupRequestAssignment", member_id=member_id, assignment=assignment)
            for member_id, assignment in request.assignments
        ),
    }


def synced_group(_request: SyncGroup, body: Any, _names: Names) -> SyncedGroup:
    return SyncedGroup(
        error=error_code(body.error_code),
        protocol_type=getattr(body, "protocol_type", None) or "",
        protocol=getattr(body, "protocol_name", None) or "",
        assignment=body.assignment,
    )


def heartbeat(request: HeartbeatGroup, _writer: Writer, names: Names) -> Values:
    return {
        "group_id": names.sent(request.group),
        "generation_id": request.generation,
        "member_id": request.member_id,
        "group_instance_id": request.instance_id,
    }


def heartbeated(_request: HeartbeatGroup, body: Any, _names: Names) -> HeartbeatedGroup:
    return HeartbeatedGroup(error=error_code(body.error_code))


def leave_group(request: LeaveGroup, writer: Writer, names: Names) -> Values:
    return {
        "group_id": names.sent(request.group),
        "members": tuple(
            writer.make("MemberIdentity", member_id=member, group_instance_id=instance, reason=None)
            for member, instance in request.members
        ),
    }


def left_group(_request: LeaveGroup, body: Any, _names: Names) -> LeftGroup:
    return LeftGroup(
        error=error_code(body.error_code),
        members=tuple(
            (one.member_id, one.group_instance_id, error_code(one.error_code))
            for one in body.members
        ),
    )


def consumer_heartbeat(request: ConsumerGroupHeartbeat, writer: Writer, names: Names) -> Values:
    owned = None
    if request.owned is not None:
        owned = tuple(
            writer.make("TopicPartitions", topic_id=names.ids[topic], partitions=indexes)
            for topic, indexes in by_topic(request.owned)
        )
    timeout_ms = request.rebalance_timeout_ms
    topics = request.topics
    return {
        "group_id": names.sent(request.group),
        "member_id": request.member_id,
        "member_epoch": request.member_epoch,
        "instance_id": request.instance_id,
        "rack_id": None,
        "rebalance_timeout": span(UNCHANGED if timeout_ms is None else timeout_ms),
        "subscribed_topic_names": None if topics is None else tuple(map(names.sent, topics)),
        "subscribed_topic_regex": None,
        "server_assignor": request.assignor,
        "topic_partitions": owned,
    }


def consumer_heartbeated(
    _request: ConsumerGroupHeartbeat, body: Any, names: Names
) -> ConsumerGroupHeartbeated:
    assignment = None
    if body.assignment is not None:
        assignment = tuple(
            TopicPartition(names.topic_of(topic.topic_id), index)
            for topic in body.assignment.topic_partitions
            for index in topic.partitions
        )
    return ConsumerGroupHeartbeated(
        error=error_code(body.error_code),
        member_id=body.member_id or "",
        member_epoch=body.member_epoch,
        heartbeat_ms=round(body.heartbeat_interval / timedelta(milliseconds=1)),
        assignment=assignment,
    )
