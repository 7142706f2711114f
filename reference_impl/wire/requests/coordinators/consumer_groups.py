"""Handles ConsumerGroupHeartbeat and ConsumerGroupDescribe, the requests of KIP-848.

A subscription contains topic names, but an assignment contains topic ids.

Source: KIP-848, KIP-1082; Kafka message schemas.
Simplified: Racks are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from model.vocabulary import TopicPartition
from reference_impl.protocol.consumer_groups import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribed,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeated,
    DescribedMember,
)
from reference_impl.wire.messages.adapter import Call, milliseconds, span
from reference_impl.wire.requests.broker.authorized_operations import (
    NO_OPERATIONS,
    group_operations,
)
from reference_impl.wire.requests.broker.served_broker import (
    ServedBroker,
    named_topics,
    request_core,
    topic_ids,
)
from reference_impl.wire.requests.broker.topic_ids import TopicIds

NAMES_ITSELF_SINCE = 1  # ConsumerGroupHeartbeat (KIP-1082)
CONSUMER_PROTOCOL = 1  # the type of a member, since version 1


async def heartbeat(broker: ServedBroker, call: Call) -> bytes:
    body = call.body
    owned = (
        None if body.topic_partitions is None else await named_topics(broker, body.topic_partitions)
    )
    rebalance_timeout_ms = milliseconds(body.rebalance_timeout)
    request = ConsumerGroupHeartbeat(
        group=body.group_id,
        member_id=body.member_id,
        names_itself=call.version >= NAMES_ITSELF_SINCE,
        client_id=call.client_id or "",
        member_epoch=body.member_epoch,
        instance_id=body.instance_id,
        rebalance_timeout_ms=None if rebalance_timeout_ms < 0 else rebalance_timeout_ms,
        topics=body.subscribed_topic_names,
        topic_regex=getattr(body, "subscribed_topic_regex", None),
        assignor=body.server_assignor,
        owned=None
        if owned is None
        else tuple(
            TopicPartition(name, index)
            for topic, name in owned
            if name is not None
            for index in topic.partitions
        ),
    )
    answer = await request_core(broker, request, ConsumerGroupHeartbeated)
    ids = await topic_ids(broker)
    return call.respond(
        error_code=answer.error,
        member_id=answer.member_id or None,
        member_epoch=answer.member_epoch,
        heartbeat_interval=span(answer.heartbeat_ms),
        assignment=None if answer.assignment is None else _assignment(call, answer.assignment, ids),
    )


async def describe(broker: ServedBroker, call: Call) -> bytes:
    groups: list[Any] = []
    ids = await topic_ids(broker)
    operations = group_operations(call.body)
    for group in call.body.group_ids:
        answer = await request_core(
            broker, ConsumerGroupDescribe(group=group), ConsumerGroupDescribed
        )
        groups.append(
            call.make(
                "DescribedGroup",
                error_code=answer.error,
                group_id=group,
                group_state=answer.state,
                group_epoch=answer.group_epoch,
                assignment_epoch=answer.assignment_epoch,
                assignor_name=answer.assignor,
                members=tuple(_member(call, member, ids) for member in answer.members),
                authorized_operations=NO_OPERATIONS if answer.error else operations,
            )
        )
    return call.respond(groups=tuple(groups))


def _member(call: Call, member: DescribedMember, ids: TopicIds) -> Any:
    return call.make(
        "Member",
        member_id=member.member_id,
        instance_id=member.instance_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host="",
        subscribed_topic_names=member.topics,
        subscribed_topic_regex=member.topic_regex,
        assignment=_assignment(call, member.assignment, ids),
        target_assignment=_assignment(call, member.target, ids),
        member_type=CONSUMER_PROTOCOL,
    )


def _assignment(call: Call, places: Iterable[TopicPartition], ids: TopicIds) -> Any:
    by_topic: dict[str, list[int]] = {}
    for place in places:
        by_topic.setdefault(place.topic, []).append(place.index)
    return call.make(
        "Assignment",
        topic_partitions=tuple(
            call.make(
                "TopicPartitions",
                topic_id=ids.by_name[topic],
                topic_name=topic,
                partitions=tuple(indexes),
            )
            for topic, indexes in by_topic.items()
            if topic in ids.by_name
        ),
    )
