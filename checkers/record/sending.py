"""Processes that send records, one after another. Each send is one operation of the history.

A process waits for the result of each send. Two processes share each producer, so the producer can
put records of both processes into one request, and can have several requests in flight.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException

from checkers.record import outcomes
from checkers.record.clients import Clients
from checkers.record.options import RecordOptions
from checkers.record.processes import Shared, Threads, Topic
from model.histories import Send

PROCESSES_PER_PRODUCER: Final = 2
GIVE_UP_AFTER_S: Final = 60.0  # wait for one send, and in total for sends that ended `info`


@dataclass(slots=True)
class SharedProducer:
    """A producer that several processes share. After a fatal error, it is replaced by a new
    producer.
    """

    make: Callable[[], Any]
    now: Any = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.now = self.make()

    def renew(self, refusing: Any) -> None:
        """Replaces the failed producer `refusing`. Does nothing if another process has already
        replaced it.
        """
        with self._lock:
            if self.now is refusing:
                self.now = self.make()


def start_senders(
    options: RecordOptions, shared: Shared, clients: Clients, topic: Topic, threads: Threads
) -> None:
    senders = options.producers * PROCESSES_PER_PRODUCER
    shares = [options.sends // senders + (n < options.sends % senders) for n in range(senders)]
    producers = [
        SharedProducer(lambda: clients.producer(options.acks)) for _ in range(options.producers)
    ]
    for number, share in enumerate(shares):
        rng = random.Random(f"send {options.seed} {number}")
        producer = producers[number % options.producers]
        pause_s = options.pause_s
        threads.start(send_all, shared, topic, producer, count=share, pause_s=pause_s, rng=rng)


def send_all(
    shared: Shared,
    topic: Topic,
    producer: SharedProducer,
    *,
    count: int,
    pause_s: float,
    rng: random.Random,
) -> None:
    """Sends `count` records, each to a random partition.

    If the outcome of a send is unknown, a new process sends the following records. There are two
    cases of an unknown outcome. Either there is no delivery report for 60 seconds, or the report
    has an error after which the record may have been appended. The function returns early when
    sends with unknown outcomes have taken 60 seconds in total.
    """
    process = shared.new_process()
    unanswered_s = 0.0
    for number in range(count):
        if shared.stopped.wait(pause_s * 2 * rng.random()):
            return
        index = rng.randrange(topic.partitions)
        began = time.monotonic()
        if _send(shared, topic, producer, process, f"{process}.{number}", index) == "info":
            process = shared.new_process()
            unanswered_s += time.monotonic() - began
        if unanswered_s >= GIVE_UP_AFTER_S:
            return


def _send(
    shared: Shared,
    topic: Topic,
    shared_producer: SharedProducer,
    process: int,
    value: str,
    index: int,
) -> str:
    key = topic.key(index)
    producer = shared_producer.now
    operation = shared.history.invoke(process, "send", (Send(key, value),))
    ended: list[str] = []

    def reported(error: Any, message: Any) -> None:
        outcome = outcomes.of_delivery(error)
        offset = None if error is not None else outcomes.offset_of(message)
        did = (Send(key, value, offset),)
        shared.history.complete(operation, outcome, did, outcomes.reason(error))
        ended.append(outcome)

    try:
        producer.produce(topic.name, value=value, partition=index, on_delivery=reported)
    except (KafkaException, BufferError) as error:  # the client rejected it before queueing it
        refusal = error.args[0]
        is_kafka_error = isinstance(refusal, KafkaError)
        reason = outcomes.reason(refusal) if is_kafka_error else str(error)
        shared.history.complete(operation, "fail", error=reason)
        if is_kafka_error and refusal.code() == KafkaError._FATAL:
            shared_producer.renew(producer)
        return "fail"
    until = time.monotonic() + GIVE_UP_AFTER_S
    while not ended and not shared.stopped.is_set() and time.monotonic() < until:
        try:
            producer.poll(0.02)  # another thread of this producer may receive the delivery report
        except KafkaException as error:
            if not error.args[0].fatal():
                raise
            # delivery reports of its queued records still follow
    return ended[0] if ended else "info"  # stopped, or never reported: the operation stays open
