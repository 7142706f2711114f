"""Handles ListOffsets and OffsetForLeaderEpoch requests.

Source: ReplicaManager; KIP-320.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from model.vocabulary import LeaderEpoch, TopicPartition
from reference_impl.protocol.messages import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ErrorCode,
    ListedOffsets,
    ListOffsets,
    OffsetForLeaderEpoch,
    OffsetOfLeaderEpoch,
)
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.broker.served_broker import ServedBroker, request_core

# ListOffsets: the version that knows the query (ReplicaManager.timestampMinSupportedVersion).
QUERIES: Final[Mapping[int, int]] = {
    LATEST_TIMESTAMP: 1,
    EARLIEST_TIMESTAMP: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}
NEVER: Final = 1 << 15
OFFSET_NOT_AVAILABLE_SINCE: Final = 5  # the version of ListOffsets that knows this error
READ_COMMITTED: Final = 1


# ---------------------------------------------------------------- offsets


async def list_offsets(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to ListOffsets. If the request names a topic partition twice, the
    response contains the topic partition one time, with the error INVALID_REQUEST.
    """
    places = Counter(
        (topic.name, wanted.partition_index)
        for topic in call.body.topics
        for wanted in topic.partitions
    )

    async def listed(topic: str, wanted: Any) -> Any:
        if places[topic, wanted.partition_index] > 1:
            answer = ListedOffsets(error=ErrorCode.INVALID_REQUEST)
        elif wanted.timestamp < 0 and call.version < QUERIES.get(wanted.timestamp, NEVER):
            answer = ListedOffsets(error=ErrorCode.UNSUPPORTED_VERSION)
        else:
            request = ListOffsets(
                topic_partition=TopicPartition(topic, wanted.partition_index),
                timestamp=wanted.timestamp,
                read_committed=getattr(call.body, "isolation_level", 0) == READ_COMMITTED,
                replica_id=call.body.replica_id,
                current_leader_epoch=LeaderEpoch(getattr(wanted, "current_leader_epoch", -1)),
            )
            answer = await request_core(broker, request, ListedOffsets)
        error = answer.error
        if error is ErrorCode.OFFSET_NOT_AVAILABLE and call.version < OFFSET_NOT_AVAILABLE_SINCE:
            error = ErrorCode.LEADER_NOT_AVAILABLE
        return call.make(
            "ListOffsetsPartitionResponse",
            partition_index=wanted.partition_index,
            error_code=error,
            timestamp=answer.timestamp,
            offset=answer.offset,
            leader_epoch=answer.leader_epoch,
        )

    wanted_of: dict[str, dict[int, Any]] = {}
    for topic in call.body.topics:
        by_index = wanted_of.setdefault(topic.name, {})
        by_index.update((wanted.partition_index, wanted) for wanted in topic.partitions)
    topics = [
        call.make(
            "ListOffsetsTopicResponse",
            name=name,
            partitions=tuple([await listed(name, wanted) for wanted in by_index.values()]),
        )
        for name, by_index in wanted_of.items()
    ]
    return call.respond(topics=tuple(topics))


async def offset_for_leader_epoch(broker: ServedBroker, call: Call) -> bytes:
    async def ended(topic: str, wanted: Any) -> Any:
        request = OffsetForLeaderEpoch(
            topic_partition=TopicPartition(topic, wanted.partition),
            leader_epoch=LeaderEpoch(wanted.leader_epoch),
            current_leader_epoch=LeaderEpoch(wanted.current_leader_epoch),
        )
        answer = await request_core(broker, request, OffsetOfLeaderEpoch)
        return call.make(
            "EpochEndOffset",
            error_code=answer.error,
            partition=wanted.partition,
            leader_epoch=answer.end.leader_epoch,
            end_offset=answer.end.end_offset,
        )

    topics = [
        call.make(
            "OffsetForLeaderTopicResult",
            topic=topic.topic,
            partitions=tuple([await ended(topic.topic, wanted) for wanted in topic.partitions]),
        )
        for topic in call.body.topics
    ]
    return call.respond(topics=tuple(topics))
