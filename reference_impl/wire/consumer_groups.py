"""ConsumerGroupHeartbeat and ConsumerGroupDescribe: the groups of KIP-848.

Topics have names in what a member subscribes to and ids in what it owns.

Source: KIP-848, KIP-1082; the message schemas of Apache Kafka.
Simplified: a subscription by regular expression is refused; racks are not looked at.
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
from reference_impl.wire.adapter import Call, milliseconds, span, topic_id
from reference_impl.wire.served_broker import ServedBroker, named_topics, request_core

INVALID_REGULAR_EXPRESSION = 128
CONSUMER_PROTOCOL = 1  # the type of a member, since version 1


async def heartbeat(broker: ServedBroker, call: Call) -> bytes:
    """The response frame, once what it tells is replicated."""
    body = call.body
    if getattr(body, "subscribed_topic_regex", None):
        return call.respond(
            error_code=INVALID_REGULAR_EXPRESSION,
            error_message="subscriptions by regular expression are not served",
            member_epoch=0,
            heartbeat_interval=span(0),
        )
    owned = (
        None if body.topic_partitions is None else await named_topics(broker, body.topic_partitions)
    )
    rebalance_timeout_ms = milliseconds(body.rebalance_timeout)
    request = ConsumerGroupHeartbeat(
        group=body.group_id,
        member_id=body.member_id,
        member_epoch=body.member_epoch,
        instance_id=body.instance_id,
        rebalance_timeout_ms=None if rebalance_timeout_ms < 0 else rebalance_timeout_ms,
        topics=body.subscribed_topic_names,
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
    said = await request_core(broker, request, ConsumerGroupHeartbeated)
    return call.respond(
        error_code=said.error,
        member_id=said.member_id or None,
        member_epoch=said.member_epoch,
        heartbeat_interval=span(said.heartbeat_ms),
        assignment=None if said.assignment is None else _assignment(call, said.assignment),
    )


async def describe(broker: ServedBroker, call: Call) -> bytes:
    """The response frame."""
    groups: list[Any] = []
    for group in call.body.group_ids:
        said = await request_core(
            broker, ConsumerGroupDescribe(group=group), ConsumerGroupDescribed
        )
        groups.append(
            call.make(
                "DescribedGroup",
                error_code=said.error,
                group_id=group,
                group_state=said.state,
                group_epoch=said.group_epoch,
                assignment_epoch=said.assignment_epoch,
                assignor_name=said.assignor,
                members=tuple(_member(call, member) for member in said.members),
            )
        )
    return call.respond(groups=tuple(groups))


def _member(call: Call, member: DescribedMember) -> Any:
    return call.make(
        "Member",
        member_id=member.member_id,
        instance_id=member.instance_id,
        member_epoch=member.member_epoch,
        client_id="",
        client_host="",
        subscribed_topic_names=member.topics,
        assignment=_assignment(call, member.assignment),
        target_assignment=_assignment(call, member.target),
        member_type=CONSUMER_PROTOCOL,
    )


def _assignment(call: Call, places: Iterable[TopicPartition]) -> Any:
    by_topic: dict[str, list[int]] = {}
    for place in places:
        by_topic.setdefault(place.topic, []).append(place.index)
    return call.make(
        "Assignment",
        topic_partitions=tuple(
            call.make(
                "TopicPartitions",
                topic_id=topic_id(topic),
                topic_name=topic,
                partitions=tuple(indexes),
            )
            for topic, indexes in by_topic.items()
        ),
    )
