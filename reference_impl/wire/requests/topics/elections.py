"""Handles ElectLeaders requests: preferred and unclean elections.

Source: KIP-183, KIP-460; ReplicationControlManager.electLeaders of Apache Kafka.
"""

from __future__ import annotations

from typing import Any, Final

from model.vocabulary import TopicPartition
from reference_impl.protocol.controller import HeldElection, HoldElection
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.broker.served_broker import (
    ServedBroker,
    existing_partitions,
    request_core,
)

PREFERRED, UNCLEAN = 0, 1  # election types; version 0 has preferred ones alone
ELECTION_TYPES: Final = (PREFERRED, UNCLEAN)


async def elect_leaders(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to ElectLeaders. If the request names no topics, a leader is elected
    for each partition that needs an election.
    """
    body = call.body
    kind = getattr(body, "election_type", PREFERRED)
    if kind not in ELECTION_TYPES:
        return call.respond(error_code=ErrorCode.INVALID_REQUEST, replica_election_results=())
    wanted = (
        sorted(await existing_partitions(broker))
        if body.topic_partitions is None
        else [
            TopicPartition(topic.topic, index)
            for topic in body.topic_partitions
            for index in topic.partitions
        ]
    )
    by_topic: dict[str, list[Any]] = {}
    for place in wanted:
        rows = by_topic.setdefault(place.topic, [])
        request = HoldElection(topic_partition=place, is_unclean=kind == UNCLEAN)
        answer = await request_core(broker, request, HeldElection)
        if body.topic_partitions is None and answer.error is ErrorCode.ELECTION_NOT_NEEDED:
            continue
        made = call.make(
            "PartitionResult",
            partition_id=place.index,
            error_code=answer.error,
            error_message=answer.message or None,
        )
        rows.append(made)
    return call.respond(
        error_code=0,
        replica_election_results=tuple(
            call.make("ReplicaElectionResult", topic=topic, partition_result=tuple(rows))
            for topic, rows in by_topic.items()
        ),
    )
