"""Handles DescribeCluster and DescribeTopicPartitions requests.

Source: KIP-700, KIP-919, KIP-1073 (DescribeCluster), KIP-966 (DescribeTopicPartitions);
AuthHelper.computeDescribeClusterResponse, DescribeTopicPartitionsRequestHandler of Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.controller import MetadataImage, PartitionState
from reference_impl.protocol.coordinators import INTERNAL_TOPICS
from reference_impl.protocol.messages import NO_BROKER, ErrorCode
from reference_impl.protocol.topic_names import invalid_name
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.broker.authorized_operations import (
    NO_OPERATIONS,
    OF_TOPIC,
    cluster_operations,
)
from reference_impl.wire.requests.broker.served_broker import ServedBroker, image
from reference_impl.wire.requests.broker.topic_ids import TopicIds, ids_of
from reference_impl.wire.requests.cluster.control_plane import CLUSTER_ID

BROKERS, CONTROLLERS = 1, 2  # endpoint types
ENDPOINT_TYPES_SINCE: Final = 1  # DescribeCluster
MOST_PARTITIONS: Final = 2_000  # max.request.partition.size.limit


async def describe_cluster(broker: ServedBroker, call: Call) -> bytes:
    body = call.body
    endpoint_type = getattr(body, "endpoint_type", BROKERS)
    if endpoint_type != BROKERS:
        error, why = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported type {endpoint_type}"
        if endpoint_type == CONTROLLERS:
            error, why = ErrorCode.MISMATCHED_ENDPOINT_TYPE, "This endpoint is of a broker"
        if call.version < ENDPOINT_TYPES_SINCE:
            error = ErrorCode.INVALID_REQUEST
        return call.respond(
            error_code=error,
            error_message=why,
            endpoint_type=BROKERS,
            cluster_id="",
            controller_id=NO_BROKER,
            brokers=(),
            cluster_authorized_operations=NO_OPERATIONS,
        )
    shows_fenced = getattr(body, "include_fenced_brokers", False)
    states = [one for one in (await image(broker)).brokers if shows_fenced or not one.fenced]
    return call.respond(
        error_code=0,
        error_message=None,
        endpoint_type=BROKERS,
        cluster_id=CLUSTER_ID,
        controller_id=broker.broker_id,  # in KRaft: any broker, which forwards requests
        brokers=tuple(
            call.make(
                "DescribeClusterBroker",
                broker_id=one.broker_id,
                host=broker.addresses[one.broker_id][0],
                port=broker.addresses[one.broker_id][1],
                rack=None,
                is_fenced=one.fenced,
            )
            for one in states
        ),
        cluster_authorized_operations=cluster_operations(body),
    )


async def describe_topic_partitions(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to DescribeTopicPartitions. If the cursor is invalid, every topic
    that the request names has the error INVALID_REQUEST.
    """
    seen = await image(broker)
    topics = _by_topic(seen)
    cursor = call.body.cursor
    first = "" if cursor is None else cursor.topic_name
    wanted = {topic.name for topic in call.body.topics} or topics.keys()
    found: list[Any] = []
    # The cursor must name a topic of the request, and no negative partition.
    is_elsewhere = bool(call.body.topics) and first not in wanted
    if cursor is not None and (is_elsewhere or cursor.partition_index < 0):
        found += [_rejected(call, topic.name) for topic in call.body.topics]
        return _described(call, found, None)
    left = max(1, min(MOST_PARTITIONS, call.body.response_partition_limit))
    live = [one.broker_id for one in seen.brokers if not one.fenced]
    for name in sorted(one for one in wanted if one >= first):
        if left <= 0:
            return _described(call, found, (name, 0))
        start = cursor.partition_index if cursor is not None and name == first else 0
        shown = topics.get(name, [])[start : start + left]
        found.append(_topic(call, name, ids_of(seen), shown if name in topics else None, live))
        left -= len(shown)
        if start + len(shown) < len(topics.get(name, [])):
            return _described(call, found, (name, start + len(shown)))
    return _described(call, found, None)


def _by_topic(seen: MetadataImage) -> dict[str, list[tuple[TopicPartition, PartitionState]]]:
    topics: dict[str, list[tuple[TopicPartition, PartitionState]]] = {}
    for place, state in seen.topic_partitions:
        topics.setdefault(place.topic, []).append((place, state))
    return topics


def _described(call: Call, topics: Sequence[Any], cursor: tuple[str, int] | None) -> bytes:
    following = None
    if cursor is not None:
        following = call.make("Cursor", topic_name=cursor[0], partition_index=cursor[1])
    return call.respond(topics=tuple(topics), next_cursor=following)


def _rejected(call: Call, name: str) -> Any:
    return call.make(
        "DescribeTopicPartitionsResponseTopic",
        error_code=ErrorCode.INVALID_REQUEST,
        name=name,
        topic_id=None,
        is_internal=False,
        partitions=(),
        topic_authorized_operations=NO_OPERATIONS,
    )


def _topic(
    call: Call,
    name: str,
    ids: TopicIds,
    partitions: Sequence[tuple[TopicPartition, PartitionState]] | None,
    live: Sequence[BrokerId],
) -> Any:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    error = ErrorCode.NONE
    if partitions is None:
        error = ErrorCode.INVALID_TOPIC_EXCEPTION if invalid_name(name) else unknown
    return call.make(
        "DescribeTopicPartitionsResponseTopic",
        error_code=error,
        name=name,
        topic_id=ids.by_name.get(name),
        is_internal=name in INTERNAL_TOPICS,
        partitions=tuple(_partition(call, place, state, live) for place, state in partitions or ()),
        topic_authorized_operations=OF_TOPIC,
    )


def _partition(
    call: Call, place: TopicPartition, state: PartitionState, live: Sequence[BrokerId]
) -> Any:
    has_leader = state.leader != NO_BROKER
    last = () if state.last_known_leader == NO_BROKER else (state.last_known_leader,)
    return call.make(
        "DescribeTopicPartitionsResponsePartition",
        error_code=ErrorCode.NONE if has_leader else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=place.index,
        leader_id=state.leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=state.replicas,
        isr_nodes=state.isr,
        eligible_leader_replicas=state.elr,
        last_known_elr=last,
        offline_replicas=tuple(one for one in state.replicas if one not in live),
    )
