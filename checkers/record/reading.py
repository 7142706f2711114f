"""Processes that read assigned partitions from the beginning, and processes that query offsets.

If an unclean election truncated the log below the position of a reader, the reader begins again
from the beginning, as a new process. An application that needs every record does the same.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from checkers.record import outcomes
from checkers.record.clients import Reader
from checkers.record.processes import Shared, Topic
from model.histories import Assigned, EndOffset, MicroOperation, Poll, StartOffset

POLL_S: Final = 0.1
QUERY_S: Final = 5.0
RECORDS_AT_ONCE: Final = 100
READ_WITHIN_S: Final = 20.0  # the final phase ends after this time without a record
POSITION_GONE: Final = frozenset({
    KafkaError._AUTO_OFFSET_RESET,
    KafkaError._LOG_TRUNCATION,
    KafkaError.OFFSET_OUT_OF_RANGE,
})  # fmt: skip

Done = Callable[[int, tuple[MicroOperation, ...]], bool]


def poll_until(shared: Shared, reader: Reader, topics: Sequence[Topic], done: Done) -> None:
    """Polls all partitions from their beginnings, until `done` returns True or the recording stops.

    Before each poll, `done` is called with the process of the reader and the records of the
    previous poll.
    """
    process = _assigned(shared, reader, topics)
    seen: tuple[MicroOperation, ...] = ()
    while not shared.stopped.is_set() and not done(process, seen):
        seen, gone = _poll(shared, reader, process)
        if gone:
            process = _assigned(shared, reader, topics)


def _assigned(shared: Shared, reader: Reader, topics: Sequence[Topic]) -> int:
    process = shared.new_process()
    keys = tuple(Assigned(key) for topic in topics for key in topic.keys)
    operation = shared.history.invoke(process, "assign", keys)
    reader.read_up_to.clear()
    reader.consumer.assign(
        [
            TopicPartition(topic.name, index, OFFSET_BEGINNING)
            for topic in topics
            for index in range(topic.partitions)
        ]
    )
    shared.history.complete(operation, "ok")
    return process


def _poll(shared: Shared, reader: Reader, process: int) -> tuple[tuple[MicroOperation, ...], bool]:
    operation = shared.history.invoke(process, "poll", isolation=reader.isolation)
    seen: list[MicroOperation] = []
    error = None
    gone = False
    for message in reader.consumer.consume(RECORDS_AT_ONCE, POLL_S):
        if message.error() is not None and message.error().code() == KafkaError._PARTITION_EOF:
            reader.read_up_to[f"{message.topic()}-{message.partition()}"] = message.offset()
            continue
        if message.error() is not None:
            error = message.error() if message.topic() else error
            gone = gone or message.error().code() in POSITION_GONE
            continue
        seen.append(polled(message))
    did = tuple(seen)
    if error is None or did:
        shared.history.complete(operation, "ok", did)
    else:
        shared.history.complete(operation, "fail", (), outcomes.reason(error))
    return did, gone


def polled(message: Any) -> Poll:
    value = (message.value() or b"").decode(errors="backslashreplace")
    return Poll(f"{message.topic()}-{message.partition()}", message.offset(), value)


# ---------------------------------------------------------------- ends and starts


def query_end_offsets(
    shared: Shared, reader: Reader, topic: Topic, *, pause_s: float, rng: random.Random
) -> None:
    """Queries the end offsets of random partitions, until every record has been sent or the
    recording stops.
    """
    process = shared.new_process()
    while not shared.sent.is_set() and not shared.stopped.is_set():
        end_offset(shared, reader, process, topic, rng.randrange(topic.partitions))
        shared.sent.wait(pause_s)


def end_offset(
    shared: Shared, reader: Reader, process: int, topic: Topic, index: int
) -> int | None:
    """Returns the end offset of a partition at the reader's isolation level, or None if the
    query fails.
    """
    bounds = _bounds(shared, reader, process, topic, index, "end_offset")
    return None if bounds is None else bounds[1]


def start_offset(
    shared: Shared, reader: Reader, process: int, topic: Topic, index: int
) -> int | None:
    """Returns the log start offset of a partition, or None if the query fails."""
    bounds = _bounds(shared, reader, process, topic, index, "start_offset")
    return None if bounds is None else bounds[0]


def _bounds(
    shared: Shared, reader: Reader, process: int, topic: Topic, index: int, f: str
) -> tuple[int, int] | None:
    operation = shared.history.invoke(process, f, isolation=reader.isolation)
    try:
        start, end = reader.consumer.get_watermark_offsets(
            TopicPartition(topic.name, index), timeout=QUERY_S, cached=False
        )
    except KafkaException as error:
        shared.history.complete(operation, "fail", error=outcomes.reason(error.args[0]))
        return None
    key = topic.key(index)
    did = EndOffset(key, end) if f == "end_offset" else StartOffset(key, start)
    shared.history.complete(operation, "ok", (did,))
    return start, end


# ---------------------------------------------------------------- to the end


def read_to_the_end(
    shared: Shared, reader: Reader, querying: Reader, topics: Sequence[Topic]
) -> tuple[str, ...]:
    """Reads every partition up to its end offset with `reader`. Before that, the client `querying`
    queries the end offsets. Returns the partitions that could not be read to their end, as texts
    such as `orders-0`.
    """
    ends = _ends(shared, querying, topics)
    quiet_until = time.monotonic() + READ_WITHIN_S

    def done(_process: int, seen: tuple[MicroOperation, ...]) -> bool:
        nonlocal quiet_until
        if seen:
            quiet_until = time.monotonic() + READ_WITHIN_S
        return not _unread(ends, reader.read_up_to) or time.monotonic() > quiet_until

    poll_until(shared, reader, topics, done)
    for each in (reader, querying):
        each.consumer.close()
    return _unread(ends, reader.read_up_to)


def _ends(shared: Shared, querying: Reader, topics: Sequence[Topic]) -> dict[str, int]:
    # -1: the query did not succeed in time.
    process = shared.new_process()
    until = time.monotonic() + READ_WITHIN_S
    ends: dict[str, int] = {}
    for topic in topics:
        for index, key in enumerate(topic.keys):
            end = None
            while end is None and time.monotonic() < until and not shared.stopped.is_set():
                end = end_offset(shared, querying, process, topic, index)
            ends[key] = -1 if end is None else end
            start_offset(shared, querying, process, topic, index)
    return ends


def _unread(ends: Mapping[str, int], reached: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(key for key, end in ends.items() if end < 0 or reached.get(key, 0) < end)
