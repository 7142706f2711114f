"""Wire handlers of Fetch, ListOffsets and OffsetForLeaderEpoch.

A fetch reads each of its topic partitions at once. It gets its response in one of three cases:
`min_bytes` are available, an error occurs, or `max_wait_ms` have passed. Until then it waits, and
reads all its topic partitions again as soon as one of them has more to read.

Source: ReplicaManager; KIP-74 (fetch limits), KIP-227, KIP-320, KIP-392, KIP-516 (topic ids),
KIP-951.
Simplified: no fetch sessions (each fetch is a full one, as in Kafka when its session cache is
full). Each fetch is handled as the fetch of a consumer, whatever replica id it has, because brokers
communicate in-process.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from model.vocabulary import LeaderEpoch, Offset, TopicPartition
from reference_impl.protocol.messages import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ErrorCode,
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
    OffsetForLeaderEpoch,
    OffsetOfLeaderEpoch,
)
from reference_impl.protocol.replacing import replace
from reference_impl.wire.adapter import Call, milliseconds
from reference_impl.wire.leader_hints import LeaderHints
from reference_impl.wire.served_broker import (
    FETCH_SESSION_ID_NOT_FOUND,
    UNKNOWN_TOPIC_ID,
    ServedBroker,
    naming,
    request_core,
)
from reference_impl.wire.topic_ids import named_topics

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
FROM_ANY_REPLICA: Final = 11  # Fetch: a consumer may read from a follower (KIP-392)
HINTS_SINCE: Final = 16  # Fetch: who leads, beside the errors of `HINTED` (KIP-951)
HINTED: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
DIVERGES_SINCE: Final = 12  # Fetch: a request has the last fetched epoch (KIP-595)
OFFSET_NOT_AVAILABLE_SINCE: Final = 5  # the version of ListOffsets that knows this error
NO_SESSION: Final = 0
INITIAL_EPOCH, FINAL_EPOCH = 0, -1  # of a fetch session: the request is a full one
READ_COMMITTED: Final = 1
FETCH_MAX_BYTES: Final = 57_671_680  # fetch.max.bytes, of a response (KafkaApis.handleFetchRequest)


# ---------------------------------------------------------------- Fetch


async def fetch(broker: ServedBroker, call: Call) -> bytes:
    """Handles Fetch; returns the response frame, after at most `max_wait_ms`."""
    body = call.body
    # Kafka: FetchManager.newContext, with an empty session cache.
    if getattr(body, "session_epoch", FINAL_EPOCH) not in {INITIAL_EPOCH, FINAL_EPOCH}:
        return call.respond(error_code=FETCH_SESSION_ID_NOT_FOUND, session_id=0, responses=())
    topics = await named_topics(broker, body.topics)
    requests = {
        TopicPartition(name, wanted.partition): Fetch(
            topic_partition=TopicPartition(name, wanted.partition),
            fetch_offset=Offset(wanted.fetch_offset),
            current_leader_epoch=LeaderEpoch(getattr(wanted, "current_leader_epoch", -1)),
            last_fetched_epoch=LeaderEpoch(getattr(wanted, "last_fetched_epoch", -1)),
            max_bytes=wanted.partition_max_bytes,
            read_committed=body.isolation_level == READ_COMMITTED,
            any_replica=call.version >= FROM_ANY_REPLICA,
            cuts_last=True,
        )
        for topic, name in topics
        if name is not None
        for wanted in topic.partitions
    }
    found = await _long_poll(broker, body, requests)
    is_hinted = call.version >= HINTS_SINCE
    moved = [place for place, one in found.items() if is_hinted and one.error in HINTED]
    hints = await LeaderHints.of(broker, call, moved)
    responses = tuple(
        call.make(
            "FetchableTopicResponse",
            **naming(topic),
            partitions=tuple(
                _fetched(
                    call,
                    wanted.partition,
                    found.get(TopicPartition(name or "", wanted.partition)),
                    hints.beside(TopicPartition(name or "", wanted.partition)),
                )
                for wanted in topic.partitions
            ),
        )
        for topic, name in topics
    )
    return call.respond(
        error_code=0, session_id=NO_SESSION, responses=responses, **hints.endpoints()
    )


async def _long_poll(
    broker: ServedBroker, body: Any, requests: dict[TopicPartition, Fetch]
) -> dict[TopicPartition, Fetched]:
    now_ms = _now_ms()
    deadline_ms = now_ms + milliseconds(body.max_wait)
    max_bytes = min(body.max_bytes, FETCH_MAX_BYTES)
    while True:
        found = await _read(broker, requests, max_bytes)
        answers = found.values()
        enough = sum(len(answer.batches) for answer in answers) >= min(body.min_bytes, max_bytes)
        stops = any(answer.error or answer.diverging_epoch is not None for answer in answers)
        now_ms = _now_ms()
        if enough or stops or now_ms >= deadline_ms:
            return found
        await broker.readable(requests.keys(), deadline_ms - now_ms)


async def _read(
    broker: ServedBroker, requests: dict[TopicPartition, Fetch], max_bytes: int
) -> dict[TopicPartition, Fetched]:
    """Returns each topic partition's response, in total at most `max_bytes` of batches.

    The first batch may exceed the limit.

    Kafka: ReplicaManager.readFromLog.
    """
    found: dict[TopicPartition, Fetched] = {}
    left = max_bytes
    for topic_partition, request in requests.items():
        limit = min(request.max_bytes, left)
        answer = await request_core(broker, replace(request, max_bytes=limit), Fetched)
        is_first = not any(earlier.batches for earlier in found.values())
        if len(answer.batches) > limit and not is_first:
            answer = replace(answer, batches=b"", aborted=())
        found[topic_partition] = answer
        left = max(0, left - len(answer.batches))
    return found


def _fetched(call: Call, index: int, answer: Fetched | None, hint: Mapping[str, Any]) -> Any:
    """Returns the part of the response for one topic partition.

    With an error, the part has no data except the leader hint. Kafka: LogReadResult.
    """
    if answer is None or answer.error:
        error = UNKNOWN_TOPIC_ID if answer is None else answer.error
        answer = Fetched(topic_partition=TopicPartition("", index), error=error)
    diverging = answer.diverging_epoch
    shows_aborted = (
        call.body.isolation_level == READ_COMMITTED and not answer.error and diverging is None
    )
    divergence: dict[str, Any] = {}
    if diverging is not None and call.version >= DIVERGES_SINCE:
        end = call.make(
            "EpochEndOffset", epoch=diverging.leader_epoch, end_offset=diverging.end_offset
        )
        divergence = {"diverging_epoch": end}
    return call.make(
        "PartitionData",
        partition_index=index,
        error_code=answer.error,
        high_watermark=answer.high_watermark,
        last_stable_offset=answer.last_stable_offset,
        log_start_offset=answer.log_start_offset,
        aborted_transactions=tuple(
            call.make(
                "AbortedTransaction", producer_id=one.producer_id, first_offset=one.first_offset
            )
            for one in answer.aborted
        )
        if shows_aborted
        else None,
        records=answer.batches,
        **divergence,
        **hint,
    )


def _now_ms() -> int:
    return int(asyncio.get_running_loop().time() * 1000)


# ---------------------------------------------------------------- offsets


async def list_offsets(broker: ServedBroker, call: Call) -> bytes:
    """Handles ListOffsets; returns the response frame.

    A topic partition that the request names twice gets one response, INVALID_REQUEST.
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
