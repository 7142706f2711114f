"""Handles AlterPartitionReassignments and ListPartitionReassignments requests.

Source: KIP-455, KIP-860; ControllerApis.handleAlterPartitionReassignments,
handleListPartitionReassignments, QuorumController.alterPartitionReassignments of Apache Kafka.
Simplified: The partitions of a request are altered one after the other, and the timeout is not
used.
"""

from __future__ import annotations

from typing import Any

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.protocol.reassignment import (
    AlteredReassignment,
    AlterReassignment,
    ListedReassignments,
    ListReassignments,
    Reassignment,
)
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.broker.served_broker import ServedBroker, request_core


async def alter_partition_reassignments(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to AlterPartitionReassignments, after each reassignment has begun or
    was rejected. The new replicas may still lack records at this time.
    """
    body = call.body
    allows_change = getattr(body, "allow_replication_factor_change", True)

    async def altered(topic: str, partition: Any) -> Any:
        replicas = partition.replicas
        request = AlterReassignment(
            topic_partition=TopicPartition(topic, partition.partition_index),
            replicas=None if replicas is None else tuple(map(BrokerId, replicas)),
            allows_factor_change=allows_change,
        )
        answer = await request_core(broker, request, AlteredReassignment)
        return call.make(
            "ReassignablePartitionResponse",
            partition_index=partition.partition_index,
            error_code=answer.error,
            error_message=answer.message or None,
        )

    responses = [
        call.make(
            "ReassignableTopicResponse",
            name=topic.name,
            partitions=tuple([await altered(topic.name, one) for one in topic.partitions]),
        )
        for topic in body.topics
    ]
    return call.respond(
        allow_replication_factor_change=allows_change if responses else True,
        error_code=0,
        error_message=None if responses else "",
        responses=tuple(responses),
    )


async def list_partition_reassignments(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to ListPartitionReassignments. If the request has null for the
    topics, the response lists all partitions that are being reassigned.
    """
    wanted = call.body.topics
    places = None
    if wanted is not None:
        named = ((topic.name, index) for topic in wanted for index in topic.partition_indexes)
        places = tuple(TopicPartition(topic, index) for topic, index in named)
    request = ListReassignments(topic_partitions=places)
    listed = await request_core(broker, request, ListedReassignments)
    by_topic: dict[str, list[Reassignment]] = {}
    for one in listed.reassignments:
        by_topic.setdefault(one.topic_partition.topic, []).append(one)
    return call.respond(
        error_code=0,
        error_message=None,
        topics=tuple(
            call.make(
                "OngoingTopicReassignment",
                name=topic,
                partitions=tuple(
                    call.make(
                        "OngoingPartitionReassignment",
                        partition_index=one.topic_partition.index,
                        replicas=one.replicas,
                        adding_replicas=one.adding,
                        removing_replicas=one.removing,
                    )
                    for one in ongoing
                ),
            )
            for topic, ongoing in by_topic.items()
        ),
    )
