"""Handles Fetch requests: reads the partitions of a request or of its fetch session, with long
polls.

The drawing shows the steps of a fetch. After a read, the fetch asks whether it can be answered. The
answer is yes if one of three conditions is met:

    partitions of the request, and of its session -> read -> min_bytes, an error, or time over?
                                                      ^             | no            | yes
                                                      |             v               v
                                                      +--- a partition is readable  respond

A replica that has not changed is the same object, and is not read again (module `fetch_sessions`).

Source: KafkaApis.handleFetchRequest, ReplicaManager.fetchMessages, DelayedFetch; KIP-74 (limits),
KIP-227 (sessions), KIP-320, KIP-392, KIP-516 (topic ids), KIP-951.
Simplified: Each fetch is handled as the fetch of a consumer, whatever its replica id is. A broker
fetches from another broker by a message between nodes, which does not pass this handler.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from model.vocabulary import TopicPartition
from reference_impl.protocol.messages import ErrorCode, Fetch, Fetched
from reference_impl.protocol.replacing import replace
from reference_impl.wire.messages.adapter import Call, milliseconds
from reference_impl.wire.requests.broker.fetch_partition import FetchPartition
from reference_impl.wire.requests.broker.fetch_sessions import (
    FINAL_EPOCH,
    IDS_SINCE,
    Answers,
    SessionError,
)
from reference_impl.wire.requests.broker.served_broker import (
    UNKNOWN_TOPIC_ID,
    ServedBroker,
    request_core,
    topic_ids,
)
from reference_impl.wire.requests.records.leader_hints import LeaderHints

FROM_ANY_REPLICA: Final = 11  # a consumer may read from a follower (KIP-392)
DIVERGES_SINCE: Final = 12  # a request has the last fetched epoch (KIP-595)
HINTS_SINCE: Final = 16  # an error in `HINTED` comes with the leader (KIP-951)
HINTED: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
# Errors of partitions that do not exist. Kafka does not read these, and names them last.
UNKNOWN: Final = frozenset({UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
READ_COMMITTED: Final = 1
FETCH_MAX_BYTES: Final = 57_671_680  # fetch.max.bytes, of a response (KafkaApis.handleFetchRequest)
READS_IN_A_ROW: Final = 200  # then the event loop does other work


async def fetch(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to Fetch, after at most the longest wait that the request permits."""
    body = call.body
    sessions = broker.fetch_sessions
    ids = await topic_ids(broker) if call.version >= IDS_SINCE else None
    context = sessions.begin(call.version, body, ids, _now_ms())
    if isinstance(context, SessionError):
        return _refused(call, context)
    answers = await _long_poll(broker, call, [*context.partitions])
    epoch = getattr(body, "session_epoch", FINAL_EPOCH)
    ended = sessions.end(context, epoch, answers, _now_ms())
    if isinstance(ended, SessionError):
        return _refused(call, ended)
    chosen, session_id = ended
    is_hinted = call.version >= HINTS_SINCE
    moved = [one.place for one, answer in chosen if is_hinted and answer.error in HINTED]
    hints = await LeaderHints.of(broker, call, moved)
    return call.respond(
        error_code=0,
        session_id=session_id,
        responses=_by_topic(call, chosen, hints),
        **hints.endpoints(),
    )


def _refused(call: Call, refused: SessionError) -> bytes:
    return call.respond(error_code=refused.error, session_id=refused.session_id, responses=())


# ---------------------------------------------------------------- reading


async def _long_poll(broker: ServedBroker, call: Call, wanted: list[FetchPartition]) -> Answers:
    # The answers of unknown partitions come last.
    body = call.body
    deadline_ms = _now_ms() + milliseconds(body.max_wait)
    max_bytes = min(body.max_bytes, FETCH_MAX_BYTES)
    places = [one.place for one in wanted if one.name is not None]
    absent: set[int] | None = None
    while True:
        read = [*map(broker.replica, places)]
        answers = await _read(broker, call, wanted, max_bytes)
        answers.sort(key=lambda one: one[1].error in UNKNOWN)
        known = [answer for _, answer in answers if answer.error not in UNKNOWN]
        enough = sum(len(answer.batches) for answer in known) >= min(body.min_bytes, max_bytes)
        stops = any(answer.error or answer.diverging_epoch is not None for answer in known)
        missing = {id(one) for one, answer in answers if answer.error in UNKNOWN}
        absent = missing if absent is None else absent
        # A partition that is deleted during the wait ends it. Kafka: DelayedFetch, case C.
        stops = stops or not missing <= absent
        now_ms = _now_ms()
        if not known or enough or stops or now_ms >= deadline_ms:
            return answers

        def is_unchanged(read: list[object] = read) -> bool:
            return all(map(_is, map(broker.replica, places), read))

        await broker.readable(places, deadline_ms - now_ms, is_unchanged)
        if call.version >= IDS_SINCE:
            # Topics may have been created again, with other ids.
            ids = await topic_ids(broker)
            for one in wanted:
                if one.name is not None:
                    one.resolve(ids)


def _is(one: object, other: object) -> bool:
    return one is other


async def _read(
    broker: ServedBroker, call: Call, wanted: list[FetchPartition], max_bytes: int
) -> Answers:
    # The first batch may exceed the limit. Kafka: ReplicaManager.readFromLog.
    read_committed = call.body.isolation_level == READ_COMMITTED
    any_replica = call.version >= FROM_ANY_REPLICA
    answers: Answers = []
    left = max_bytes
    has_batches = False
    reads = 0
    for partition in wanted:
        error = _error_before_read(partition)
        if error is not ErrorCode.NONE:
            answers.append((partition, _without_data(partition.place, error)))
            continue
        request = partition.request(read_committed=read_committed, any_replica=any_replica)
        answer = _unchanged(broker, partition)
        if answer is None:
            reads += 1
            if not reads % READS_IN_A_ROW:
                await asyncio.sleep(0)
            answer = await _read_now(broker, partition, request, min(request.max_bytes, left))
            if has_batches and len(answer.batches) > min(request.max_bytes, left):
                answer = replace(answer, batches=b"", aborted=())
            has_batches = has_batches or bool(answer.batches)
            left = max(0, left - len(answer.batches))
        answers.append((partition, answer))
    return answers


def _error_before_read(partition: FetchPartition) -> ErrorCode:
    if partition.name is None:
        return UNKNOWN_TOPIC_ID
    return ErrorCode.INCONSISTENT_TOPIC_ID if partition.is_inconsistent else ErrorCode.NONE


def _unchanged(broker: ServedBroker, partition: FetchPartition) -> Fetched | None:
    return partition.answer_of(broker.replica(partition.place)) if partition.unchanged else None


async def _read_now(
    broker: ServedBroker, partition: FetchPartition, request: Fetch, max_bytes: int
) -> Fetched:
    replica = broker.replica(partition.place)
    answer = await request_core(broker, replace(request, max_bytes=max_bytes), Fetched)
    if answer.error:
        answer = _without_data(partition.place, answer.error)
    is_final = replica is None or answer.error or answer.batches or answer.diverging_epoch
    partition.keep(request, None if is_final else answer, replica)
    return answer


def _without_data(place: TopicPartition, error: ErrorCode) -> Fetched:
    # Kafka: LogReadResult.
    return Fetched(topic_partition=place, error=error)


# ---------------------------------------------------------------- the response


def _by_topic(call: Call, chosen: Answers, hints: LeaderHints) -> tuple[Any, ...]:
    # Neighbouring partitions of a topic are together. Kafka: FetchResponse.toMessage.
    topics: list[tuple[FetchPartition, list[Any]]] = []
    for partition, answer in chosen:
        part = _fetched(call, partition.index, answer, hints.beside(partition.place))
        if topics and _is_same_topic(topics[-1][0], partition):
            topics[-1][1].append(part)
        else:
            topics.append((partition, [part]))
    return tuple(
        call.make(
            "FetchableTopicResponse",
            topic=first.name,
            topic_id=first.topic_id,
            partitions=tuple(parts),
        )
        for first, parts in topics
    )


def _is_same_topic(one: FetchPartition, other: FetchPartition) -> bool:
    if one.topic_id is not None:
        return one.topic_id == other.topic_id
    return one.name == other.name


def _fetched(call: Call, index: int, answer: Fetched, hint: Mapping[str, Any]) -> Any:
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
