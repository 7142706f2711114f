"""The processes of a history: threads that call an unmodified client and record what it says.

Each has at most one operation open. After an `info` a process ends and the thread goes on as a new
one: what the old one left behind may still take effect, and nobody may follow it in its name.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from checkers.record import outcomes
from checkers.record.store import HistoryWriter
from model.histories import EndOffset, MicroOperation, Poll, Send

POLL_S: Final = 0.1
QUERY_S: Final = 5.0
RECORDS_AT_ONCE: Final = 100


@dataclass(slots=True)
class Shared:
    """What all processes of one recording see."""

    history: HistoryWriter
    topic: str
    partitions: int
    stopped: threading.Event = field(default_factory=threading.Event)
    sent: threading.Event = field(default_factory=threading.Event)  # every sender is done
    _processes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def new_process(self) -> int:
        with self._lock:
            self._processes += 1
            return self._processes - 1

    def key(self, index: int) -> str:
        """The topic partition as a history names it."""
        return f"{self.topic}-{index}"


# ---------------------------------------------------------------- send


@dataclass(slots=True)
class SharedProducer:
    """A producer of several processes; a new one takes its place after a fatal error.

    An idempotent producer that has lost track of its sequence numbers refuses everything from then
    on: the application has to make another.
    """

    make: Callable[[], Any]
    now: Any = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.now = self.make()

    def renew(self, refusing: Any) -> None:
        """Makes a new one, unless another process has done so."""
        with self._lock:
            if self.now is refusing:
                self.now = self.make()


def send_all(shared: Shared, producer: SharedProducer, *, count: int, rng: random.Random) -> None:
    """Sends so many records, one after the other, each to a partition drawn by lot."""
    process = shared.new_process()
    for number in range(count):
        if shared.stopped.is_set():
            return
        index = rng.randrange(shared.partitions)
        if _send(shared, producer, process, f"{process}.{number}", index) == "info":
            process = shared.new_process()


def _send(
    shared: Shared, shared_producer: SharedProducer, process: int, value: str, index: int
) -> str:
    key = shared.key(index)
    producer = shared_producer.now
    operation = shared.history.invoke(process, "send", (Send(key, value),))
    ended: list[str] = []

    def reported(error: Any, message: Any) -> None:
        outcome = outcomes.of_delivery(error)
        offset = message.offset() if error is None and message.offset() >= 0 else None
        did = (Send(key, value, offset),)
        shared.history.complete(operation, outcome, did, outcomes.reason(error))
        ended.append(outcome)

    try:
        producer.produce(shared.topic, value=value, partition=index, on_delivery=reported)
    except (KafkaException, BufferError) as error:  # refused here: it was never queued
        refusal = error.args[0]
        known = isinstance(refusal, KafkaError)
        told = outcomes.reason(refusal) if known else str(error)
        shared.history.complete(operation, "fail", error=told)
        if known and refusal.code() == KafkaError._FATAL:
            shared_producer.renew(producer)
        return "fail"
    while not ended and not shared.stopped.is_set():
        try:
            producer.poll(0.02)  # another thread of this producer may be the one that is told
        except KafkaException as error:
            if not error.args[0].fatal():
                raise
            # the reports of what it still held are yet to come
    return ended[0] if ended else "info"  # stopped: the operation stays open


# ---------------------------------------------------------------- poll


def poll_until(
    shared: Shared, consumer: Any, done: Callable[[int, tuple[MicroOperation, ...]], bool]
) -> None:
    """Assigns every partition from its beginning, then polls until `done(process, seen)`."""
    process = shared.new_process()
    assigned = shared.history.invoke(process, "assign")
    consumer.assign(
        [
            TopicPartition(shared.topic, index, OFFSET_BEGINNING)
            for index in range(shared.partitions)
        ]
    )
    shared.history.complete(assigned, "ok")
    seen: tuple[MicroOperation, ...] = ()
    while not shared.stopped.is_set() and not done(process, seen):
        seen = _poll(shared, consumer, process)


def _poll(shared: Shared, consumer: Any, process: int) -> tuple[MicroOperation, ...]:
    """One poll; what came with an error event came nevertheless.

    An error that names no topic is about the client (a coordinator, which nobody here needs; a
    connection that was cut), not about what this poll could read.
    """
    operation = shared.history.invoke(process, "poll")
    seen: list[MicroOperation] = []
    error = None
    for message in consumer.consume(RECORDS_AT_ONCE, POLL_S):
        if message.error() is not None:
            error = message.error() if message.topic() else error
            continue
        value = (message.value() or b"").decode(errors="backslashreplace")
        seen.append(Poll(shared.key(message.partition()), message.offset(), value))
    did = tuple(seen)
    if error is None or did:
        shared.history.complete(operation, "ok", did)
    else:
        shared.history.complete(operation, "fail", (), outcomes.reason(error))
    return did


# ---------------------------------------------------------------- end offsets


def ask_end_offsets(shared: Shared, consumer: Any, *, pause_s: float, rng: random.Random) -> None:
    """Asks the cluster for the end of one partition after the other until all is sent."""
    process = shared.new_process()
    while not shared.sent.is_set() and not shared.stopped.is_set():
        end_offset(shared, consumer, process, rng.randrange(shared.partitions))
        shared.sent.wait(pause_s)


def end_offset(shared: Shared, consumer: Any, process: int, index: int) -> int | None:
    """The end of a partition as its leader tells it, never from the client's cache; None: refused.

    A question changes nothing, so one that got no answer is a `fail`.
    """
    operation = shared.history.invoke(process, "end_offset")
    try:
        _, end = consumer.get_watermark_offsets(
            TopicPartition(shared.topic, index), timeout=QUERY_S, cached=False
        )
    except KafkaException as error:
        shared.history.complete(operation, "fail", error=outcomes.reason(error.args[0]))
        return None
    shared.history.complete(operation, "ok", (EndOffset(shared.key(index), end),))
    return int(end)
