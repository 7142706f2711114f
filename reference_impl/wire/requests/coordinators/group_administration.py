"""Handles DescribeGroups, ListGroups, DeleteGroups and OffsetDelete requests.

Source: KIP-222, KIP-229, KIP-496 (OffsetDelete), KIP-518 (states), KIP-848 (types), KIP-1043;
KafkaApis, GroupCoordinatorService of Apache Kafka.
Simplified: Members have no host.
"""

from __future__ import annotations

from typing import Any, Final

from model.vocabulary import TopicPartition
from reference_impl.protocol.group_administration import (
    DeletedGroup,
    DeletedOffsets,
    DeleteGroup,
    DeleteOffsets,
    DescribedGroup,
    DescribeGroup,
    ListedGroups,
    ListGroups,
)
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.broker.authorized_operations import (
    NO_OPERATIONS,
    group_operations,
)
from reference_impl.wire.requests.broker.served_broker import (
    ServedBroker,
    existing_partitions,
    request_core,
)

DEAD: Final = "Dead"
UNKNOWN_IS_ERROR_SINCE: Final = 6  # DescribeGroups: GROUP_ID_NOT_FOUND (KIP-1043)


async def describe_groups(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to DescribeGroups. Before version 6, an unknown group is described as
    a dead group, without an error.
    """
    groups: list[Any] = []
    operations = group_operations(call.body)
    for group in call.body.groups:
        answer = await request_core(broker, DescribeGroup(group=group), DescribedGroup)
        is_unknown = answer.error is ErrorCode.GROUP_ID_NOT_FOUND
        is_shown = not is_unknown or call.version >= UNKNOWN_IS_ERROR_SINCE
        made = call.make(
            "DescribedGroup",
            error_code=answer.error if is_shown else ErrorCode.NONE,
            error_message=f"Group {group} not found." if is_unknown and is_shown else None,
            group_id=group,
            group_state=DEAD if is_unknown else answer.state,
            protocol_type=answer.protocol_type,
            protocol_data=answer.protocol,
            members=tuple(
                call.make(
                    "DescribedGroupMember",
                    member_id=one.member_id,
                    group_instance_id=one.instance_id,
                    client_id=one.client_id,
                    client_host="",
                    member_metadata=one.metadata,
                    member_assignment=one.assignment,
                )
                for one in answer.members
            ),
            authorized_operations=NO_OPERATIONS if answer.error and is_shown else operations,
        )
        groups.append(made)
    return call.respond(groups=tuple(groups))


async def list_groups(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to ListGroups. The filters of the request ignore case.

    Kafka: GroupMetadataManager.listGroups.
    """
    answer = await request_core(broker, ListGroups(), ListedGroups)
    states = {text.strip().lower() for text in getattr(call.body, "states_filter", ())}
    types = {text.lower() for text in getattr(call.body, "types_filter", ())}
    return call.respond(
        error_code=answer.error,
        groups=tuple(
            call.make(
                "ListedGroup",
                group_id=one.group,
                protocol_type=one.protocol_type,
                group_state=one.state,
                group_type=one.type,
            )
            for one in answer.groups
            if (not states or one.state.lower() in states)
            and (not types or one.type.lower() in types)
        ),
    )


async def delete_groups(broker: ServedBroker, call: Call) -> bytes:
    results: list[Any] = []
    for group in dict.fromkeys(call.body.groups_names):
        answer = await request_core(broker, DeleteGroup(group=group), DeletedGroup)
        results.append(call.make("DeletableGroupResult", group_id=group, error_code=answer.error))
    return call.respond(results=tuple(results))


async def offset_delete(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to OffsetDelete. After an error of the whole group, the response has
    no topics.
    """
    body = call.body
    existing = await existing_partitions(broker)
    places = dict.fromkeys(
        TopicPartition(topic.name, one.partition_index)
        for topic in body.topics
        for one in topic.partitions
    )
    known = tuple(place for place in places if place in existing)
    request = DeleteOffsets(group=body.group_id, topic_partitions=known)
    answer = await request_core(broker, request, DeletedOffsets)
    if answer.error:
        return call.respond(error_code=answer.error, topics=())

    def result(place: TopicPartition) -> ErrorCode:
        if place not in existing:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return answer.errors.get(place, ErrorCode.NONE)

    by_topic: dict[str, list[TopicPartition]] = {}
    for place in places:
        by_topic.setdefault(place.topic, []).append(place)
    return call.respond(
        error_code=0,
        topics=tuple(
            call.make(
                "OffsetDeleteResponseTopic",
                name=topic,
                partitions=tuple(
                    call.make(
                        "OffsetDeleteResponsePartition",
                        partition_index=place.index,
                        error_code=result(place),
                    )
                    for place in found
                ),
            )
            for topic, found in by_topic.items()
        ),
    )
