"""Handles the requests of administrators to a group coordinator. The requests list, describe and
delete groups, and delete committed offsets.

A group that consists only of committed offsets counts as an empty classic group.

Source: KIP-222, KIP-229, KIP-496; Apache Kafka, GroupMetadataManager.describeGroups,
GroupMetadataManager.listGroups, ClassicGroup.validateDeleteGroup,
OffsetMetadataManager.deleteOffsets.
Simplified: the description of a classic group does not name the hosts of the members.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Final

from model.vocabulary import TopicPartition
from reference_impl.groups import consumer_group_log
from reference_impl.groups import offsets as group_offsets
from reference_impl.groups.classic_group import ClassicGroup, GroupState, Member
from reference_impl.groups.consumer_group import ConsumerGroup
from reference_impl.groups.coordinator import GroupCoordinator, PendingResponse
from reference_impl.log.partition_log import PartitionLog
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import StepResult
from reference_impl.protocol.group_administration import (
    DeletedGroup,
    DeletedOffsets,
    DeleteGroup,
    DeleteOffsets,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroup,
    GroupAdministration,
    ListedGroup,
)
from reference_impl.protocol.messages import ErrorCode

CONSUMER_PROTOCOL: Final = "consumer"
CLASSIC_TYPE, CONSUMER_TYPE = "classic", "consumer"
_COUNT: Final = struct.Struct(">hi")  # the version, and the number of topics
_LENGTH: Final = struct.Struct(">h")


def on_request(
    coordinator: GroupCoordinator,
    context: Context,
    requester: Requester,
    request: GroupAdministration,
) -> StepResult[GroupCoordinator]:
    match request:
        case DescribeGroup(group=group):
            is_classic = coordinator.exists(group) and group not in coordinator.consumers.groups
            described = DescribedGroup(error=ErrorCode.GROUP_ID_NOT_FOUND)
            if is_classic:
                described = describe(coordinator.classic(group))
            return coordinator, (requester.reply(described),)
        case DeleteGroup():
            return _delete_group(coordinator, context, requester, request)
        case DeleteOffsets():
            return _delete_offsets(coordinator, context, requester, request)


def _delete_group(
    coordinator: GroupCoordinator, context: Context, requester: Requester, request: DeleteGroup
) -> StepResult[GroupCoordinator]:
    group = request.group
    classic, consumer = coordinator.classic(group), coordinator.consumer(group)
    error = deletion_error(classic, consumer, exists=coordinator.exists(group))
    if error is not ErrorCode.NONE:
        return coordinator, (requester.reply(DeletedGroup(error=error)),)
    offsets = coordinator.offsets
    entries = [group_offsets.tombstone(group, at) for at in offsets.places_of(group)]
    entries += [classic.tombstone()] if classic.generation else []
    entries += consumer_group_log.tombstones(consumer)
    coordinator = replace(
        coordinator,
        groups={id_: known for id_, known in coordinator.groups.items() if id_ != group},
        offsets=offsets.without_group(group),
    )
    owed = PendingResponse(requester, request, DeletedGroup())
    return coordinator.once_written(context, group, entries, owed)


def _delete_offsets(
    coordinator: GroupCoordinator, context: Context, requester: Requester, request: DeleteOffsets
) -> StepResult[GroupCoordinator]:
    group, places = request.group, request.topic_partitions
    error, errors = ErrorCode.NONE, dict[TopicPartition, ErrorCode]()
    if request.of_deleted_topic:
        gone = set(places)
    else:
        classic, consumer = coordinator.classic(group), coordinator.consumer(group)
        error = offset_deletion_error(classic, exists=coordinator.exists(group))
        errors = {
            place: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            for place in places
            if is_read(place, classic, consumer)
        }
        known = {*coordinator.offsets.places_of(group)} if not error else set[TopicPartition]()
        gone = known - errors.keys()
    entries = [group_offsets.tombstone(group, at) for at in places if at in gone]
    owed = PendingResponse(requester, request, DeletedOffsets(error=error, errors=errors))
    return coordinator.once_written(context, group, entries, owed)


def listed(
    coordinator: GroupCoordinator, log: PartitionLog, context: Context
) -> tuple[ListedGroup, ...] | None:
    """Returns all groups of a coordinator. Returns None if the coordinator is still loading its
    groups.
    """
    if log.high_watermark < coordinator.loaded_at:
        return None
    known = coordinator.caught_up(log, context)
    consumers = known.consumers.groups
    classic = dict.fromkeys((*known.groups, *sorted(known.offsets.groups)))
    return (
        *(listed_classic(known.classic(id_)) for id_ in classic if id_ not in consumers),
        *map(listed_consumer, consumers.values()),
    )


def offsets_in(
    coordinator: GroupCoordinator,
    topic_partitions: frozenset[TopicPartition],
    log: PartitionLog,
    context: Context,
) -> dict[str, tuple[TopicPartition, ...]]:
    """Returns, for each group, the partitions of `topic_partitions` in which the group has a
    committed or pending offset. Offsets that are not replicated yet are included.
    """
    whole = log.with_high_watermark(log.end_offset)
    return coordinator.offsets.caught_up(whole, context.bugs).in_partitions(topic_partitions)


# ---------------------------------------------------------------- descriptions and rules


def describe(group: ClassicGroup) -> DescribedGroup:
    is_stable = group.state is GroupState.STABLE
    return DescribedGroup(
        state=group.state.value,
        protocol_type=group.protocol_type,
        protocol=group.protocol if is_stable else "",
        members=tuple(
            DescribedGroupMember(
                member_id=member.member_id,
                instance_id=member.instance_id,
                client_id=member.client_id,
                metadata=_metadata(member, group.protocol) if is_stable else b"",
                assignment=member.assignment if is_stable else b"",
            )
            for member in group.members.values()
        ),
    )


def listed_classic(group: ClassicGroup) -> ListedGroup:
    return ListedGroup(
        group=group.group,
        protocol_type=group.protocol_type,
        state=group.state.value,
        type=CLASSIC_TYPE,
    )


def listed_consumer(group: ConsumerGroup) -> ListedGroup:
    return ListedGroup(
        group=group.group, protocol_type=CONSUMER_PROTOCOL, state=group.state, type=CONSUMER_TYPE
    )


def deletion_error(classic: ClassicGroup, consumer: ConsumerGroup, *, exists: bool) -> ErrorCode:
    if not exists:
        return ErrorCode.GROUP_ID_NOT_FOUND
    is_empty = classic.state is GroupState.EMPTY and not consumer.members
    return ErrorCode.NONE if is_empty else ErrorCode.NON_EMPTY_GROUP


def offset_deletion_error(classic: ClassicGroup, *, exists: bool) -> ErrorCode:
    """Returns the error that rejects the deletion of a group's offsets, or NONE. The error is
    GROUP_ID_NOT_FOUND if `exists` is False.

    If the group has members and its protocol type is not `consumer`, the subscriptions of its
    members are unknown. In this case, the error is NON_EMPTY_GROUP.
    """
    if not exists:
        return ErrorCode.GROUP_ID_NOT_FOUND
    # The subscriptions of other groups are unknown. Their offsets are deleted only without members.
    is_of_consumers = classic.protocol_type == CONSUMER_PROTOCOL
    is_empty = classic.state is GroupState.EMPTY
    return ErrorCode.NONE if is_of_consumers or is_empty else ErrorCode.NON_EMPTY_GROUP


def is_read(place: TopicPartition, classic: ClassicGroup, consumer: ConsumerGroup) -> bool:
    """Returns True if a member of the group may read the topic of the topic partition `place`. A
    member may read the topic in three cases: it subscribes to the topic, its subscription is
    unreadable, or it is in a classic group of consumers that has chosen no protocol yet.

    Kafka: ClassicGroup.computeSubscribedTopics.
    """
    if consumer.members:
        return any(place.topic in member.subscribed for member in consumer.members.values())
    if classic.protocol_type != CONSUMER_PROTOCOL or not classic.members:
        return False
    if not classic.protocol:
        return True
    found = [_subscription(_metadata(one, classic.protocol)) for one in classic.members.values()]
    # An unreadable subscription may have the topic.
    return any(topics is None or place.topic in topics for topics in found)


def _metadata(member: Member, protocol: str) -> bytes:
    return dict(member.protocols).get(protocol, b"")


def _subscription(metadata: bytes) -> frozenset[str] | None:
    """Returns the topics in the subscription of a classic consumer, or None if it is unreadable.

    >>> sorted(_subscription(b"\\0\\1" + b"\\0\\0\\0\\1" + b"\\0\\3abc" + b"userdata") or ())
    ['abc']
    """
    try:
        _, count = _COUNT.unpack_from(metadata)
        at, topics = _COUNT.size, list[str]()
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(metadata, at)
            at += _LENGTH.size + length
            topics.append(metadata[at - length : at].decode())
    except (struct.error, UnicodeDecodeError):
        return None
    return frozenset(topics)
