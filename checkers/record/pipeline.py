"""A member of a consumer group that consumes, transforms and produces in transactions.

In a transaction, the member polls a few records of the group's input, sends one output record for
each of them, and commits the input offsets. In the history, the transaction is one operation `txn`.
If the transaction does not commit, the member seeks back to the committed offsets of the group.

Some failures are caused on purpose, because they occur in production:

    abort     the application aborts the transaction
    replace   a new producer with the same transactional id is created during the transaction,
              before or after the old producer has sent; the coordinator must fence the old one
    leave     the member leaves its group and joins again, which causes a rebalance

A member that notices a rebalance sends nothing, because another member may already own the polled
partitions. If the group's coordinator died, a client call may never return, in spite of its
time-out (librdkafka#5456, #5511). In this case, the member abandons the call and the producer.

Source: KIP-98, KIP-447; librdkafka, "Transactional producer API".
Simplified: The member sends one output record for each input record, to a random partition.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

from checkers.record import outcomes
from checkers.record.clients import PAUSE_S, Clients
from checkers.record.processes import Shared, Topic
from checkers.record.reading import polled
from model.histories import (
    Assigned,
    CommitOffset,
    FetchOffset,
    MicroOperation,
    Outcome,
    Poll,
    Rebalanced,
    Send,
)

POLL_WINDOW_S: Final = 0.25
RECORDS_AT_ONCE: Final = 8
CALL_S: Final = 5.0  # time-out of one client call; a call may be repeated
STEP_S: Final = 20.0  # time limit of a transaction
Mishap = Literal["none", "abort", "replace before", "replace after"]
MISHAPS: Final[Mapping[Mishap, int]] = {
    "none": 40,
    "abort": 4,
    "replace before": 1,
    "replace after": 1,
}
LEAVES_EVERY: Final = 60  # steps, on average


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    source: Topic
    target: Topic
    group: str


@dataclass(slots=True, kw_only=True)
class Pipeline:
    shared: Shared
    clients: Clients
    route: Route
    transactional_id: str
    rng: random.Random
    process: int = -1
    producer: Any = None
    consumer: Any = None
    _touched: set[str] = field(default_factory=set[str])  # partitions that a rebalance moved

    def run(self, done: Callable[[], bool]) -> None:
        self._renew()
        self._join()
        while not done() and not self.shared.stopped.is_set():
            if self.rng.randrange(LEAVES_EVERY) == 0:
                self._leave()
                self._join()
            self._step()
        self._leave()

    # ------------------------------------------------------------ the group

    def _join(self) -> None:
        # The process and its producer stay the same.
        operation = self.shared.history.invoke(
            self.process,
            "subscribe",
            tuple(Assigned(key) for key in self.route.source.keys),
            group=self.route.group,
        )
        self._touched.clear()
        self.consumer = self.clients.member(self.route.group)
        callbacks = {
            "on_assign": self._on_rebalance,
            "on_revoke": self._on_rebalance,
            "on_lost": self._on_rebalance,
        }
        self.consumer.subscribe([self.route.source.name], **callbacks)
        self.shared.history.complete(operation, "ok")

    def _leave(self) -> None:
        _with_timeout(self.consumer.close)

    def _on_rebalance(self, _consumer: Any, partitions: list[Any]) -> None:
        self._touched.update(f"{place.topic}-{place.partition}" for place in partitions)

    def _poll_records(self) -> tuple[Poll, ...]:
        until = time.monotonic() + POLL_WINDOW_S
        seen: list[Poll] = []
        while len(seen) < RECORDS_AT_ONCE and not self._touched:
            message = self.consumer.poll(max(0.0, until - time.monotonic()))
            if message is not None and message.error() is None:
                seen.append(polled(message))
            elif time.monotonic() >= until:
                break
        return tuple(seen)

    def _rewind(self) -> None:
        until = time.monotonic() + STEP_S
        while not self.shared.stopped.is_set():
            assigned = self.consumer.assignment()
            fetched = fetch_offsets(
                self.shared, self.consumer, self.process, self.route.group, assigned
            )
            if fetched is None:
                if time.monotonic() > until:
                    self._leave()
                    self._join()
                    return
                continue
            for place in fetched:
                if place.offset < 0:
                    place.offset = OFFSET_BEGINNING
                try:
                    self.consumer.seek(place)
                except KafkaException as error:
                    # it has not started to fetch: it will start at the group's offset
                    if error.args[0].code() != KafkaError._STATE:
                        raise
            return

    # ------------------------------------------------------------ the producer

    def _renew(self) -> None:
        while not self.shared.stopped.is_set():
            self.process, self.producer, ready = self._instance()
            if ready:
                return

    def _instance(self) -> tuple[int, Any, bool]:
        """Creates a producer, which is a new process of the history.

        Returns the number of the process, the producer, and True if `init_transactions` succeeded.
        """
        process = self.shared.new_process()
        producer = self.clients.transactional_producer(self.transactional_id)
        operation = self.shared.history.invoke(
            process, "init_producer", transactional_id=self.transactional_id
        )
        error = with_retries(lambda: producer.init_transactions(CALL_S))
        outcome: Outcome = "ok" if error is None else "info"
        self.shared.history.complete(operation, outcome, error=outcomes.reason(error))
        return process, producer, error is None

    # ------------------------------------------------------------ a step

    def _step(self) -> None:
        operation = self.shared.history.invoke(
            self.process,
            "txn",
            transactional_id=self.transactional_id,
            group=self.route.group,
            isolation="read_committed",
        )
        seen = self._poll_records()
        if self._touched:
            rebalanced = tuple(Rebalanced(key) for key in sorted(self._touched))
            did: tuple[MicroOperation, ...] = (*seen, *rebalanced)
            self.shared.history.complete(operation, "fail", did, "a rebalance, nothing was sent")
            self._touched.clear()
            self._rewind()
        elif not seen:
            self.shared.history.complete(operation, "ok")
        else:
            self._transact(operation, seen)

    def _transact(self, operation: int, seen: tuple[Poll, ...]) -> None:
        (mishap,) = self.rng.choices(list(MISHAPS), list(MISHAPS.values()))
        attempt = Attempt(
            pipeline=self,
            operation=operation,
            seen=seen,
            sends=[Send(self._any_key(), f"{poll.value}:{operation}") for poll in seen],
        )
        self.shared.history.update(operation, attempt.did)
        successor = None
        if mishap == "replace before":
            successor = self._instance()
        error = attempt.prepare()
        if mishap == "replace after":
            successor = self._instance()
        replaced = successor is not None and successor[2]
        outcome, reason, usable = attempt.end(error, abort=mishap == "abort", replaced=replaced)
        self.shared.history.complete(operation, outcome, attempt.did, reason)
        if successor is not None and successor[2]:
            self.process, self.producer, _ = successor
        elif successor is not None or not usable:
            self._renew()
        if outcome != "ok" or successor is not None:
            self._rewind()

    def _any_key(self) -> str:
        return self.route.target.key(self.rng.randrange(self.route.target.partitions))


@dataclass(slots=True, kw_only=True)
class Attempt:
    pipeline: Pipeline
    operation: int
    seen: tuple[Poll, ...]
    sends: list[Send]

    @property
    def commits(self) -> dict[str, int]:
        """The offset to commit in each input partition: the offset after the last polled record."""
        return {poll.key: poll.offset + 1 for poll in self.seen if poll.offset is not None}

    @property
    def did(self) -> tuple[MicroOperation, ...]:
        commits = (CommitOffset(key, offset) for key, offset in self.commits.items())
        return (*self.sends, *self.seen, *commits)

    def prepare(self) -> Any:
        """Begins a transaction, and sends its output records and its input offsets.

        Returns the first error, or None if all calls succeed.
        """
        producer, consumer = self.pipeline.producer, self.pipeline.consumer
        try:
            producer.begin_transaction()
            for number, send in enumerate(self.sends):
                topic, _, index = send.key.rpartition("-")
                report = self._reported(number)
                producer.produce(topic, value=send.value, partition=int(index), on_delivery=report)
            producer.flush(STEP_S)
        except KafkaException as error:
            return error.args[0]
        places = [
            TopicPartition(key.rpartition("-")[0], int(key.rpartition("-")[2]), offset)
            for key, offset in self.commits.items()
        ]
        member = consumer.consumer_group_metadata()
        return _with_timeout(lambda: producer.send_offsets_to_transaction(places, member, CALL_S))

    def _reported(self, number: int) -> Callable[[Any, Any], None]:
        def report(error: Any, message: Any) -> None:
            if error is None:
                send = self.sends[number]
                self.sends[number] = Send(send.key, send.value, outcomes.offset_of(message))

        return report

    def end(self, error: Any, *, abort: bool, replaced: bool) -> tuple[Outcome, str | None, bool]:
        """Commits or aborts the transaction.

        The transaction is aborted if `abort` is true, if an earlier call failed with `error`, or if
        the commit fails. `replaced` is true if another producer has replaced this producer.

        Returns three values: the outcome, the reason for an abort, and True if the producer can be
        used again.
        """
        producer = self.pipeline.producer
        requested = False
        if error is None and not abort:
            self._record_end_request()
            requested = True
            error = with_retries(lambda: producer.commit_transaction(CALL_S))
            if error is None:
                return "ok", None, True
        reason = "the application aborted it" if error is None else outcomes.reason(error)
        if error is None or not error.fatal():
            if not requested:
                self._record_end_request()
            refused = with_retries(lambda: producer.abort_transaction(CALL_S))
            if refused is None:
                return "fail", reason, True
            reason = f"{reason}; the abort: {outcomes.reason(refused)}"
            error = refused if error is None else error
        return outcomes.of_transaction(error, requested=requested, replaced=replaced), reason, False

    def _record_end_request(self) -> None:
        history = self.pipeline.shared.history
        history.update(self.operation, self.did, end_asked_ns=history.now_ns())


def fetch_offsets(
    shared: Shared, consumer: Any, process: int, group: str, places: list[Any]
) -> list[Any] | None:
    """Returns the committed offsets of the group in the partitions `places`, or None if the
    request fails.
    """
    operation = shared.history.invoke(
        process, "fetch_offset", group=group, isolation="read_committed"
    )
    try:
        fetched: list[Any] = consumer.committed(places, timeout=CALL_S) if places else []
        refused = next((place.error for place in fetched if place.error is not None), None)
    except KafkaException as error:
        fetched, refused = [], error.args[0]
    if refused is not None:
        shared.history.complete(operation, "fail", error=outcomes.reason(refused))
        return None
    did = tuple(
        FetchOffset(f"{place.topic}-{place.partition}", place.offset if place.offset >= 0 else None)
        for place in fetched
    )
    shared.history.complete(operation, "ok", did)
    return fetched


def commit_beginnings(shared: Shared, clients: Clients, route: Route) -> None:
    """Commits offset 0 of each input partition, before the group has members.

    Without a committed offset, librdkafka may move a member back to the beginning of a partition if
    a response to ListOffsets is late (docs/findings/late-list-offsets.md).
    """
    did = tuple(CommitOffset(key, 0) for key in route.source.keys)
    process = shared.new_process()
    operation = shared.history.invoke(process, "commit_offset", did, group=route.group)
    consumer = clients.reader("read_committed", group=route.group).consumer
    places = [TopicPartition(route.source.name, n, 0) for n in range(route.source.partitions)]

    def commit() -> None:
        for place in consumer.commit(offsets=places, asynchronous=False):
            if place.error is not None:
                raise KafkaException(place.error)

    error = with_retries(commit)
    consumer.close()
    outcome: Outcome = "ok" if error is None else "info"
    shared.history.complete(operation, outcome, did, outcomes.reason(error))


def with_retries(call: Callable[[], object]) -> Any:
    """Repeats `call` for at most `STEP_S` seconds, until it succeeds. Returns None after a success,
    and the latest error otherwise.

    The call is not repeated if the error is not retriable, or if an earlier call did not return and
    blocks the client.
    """
    until = time.monotonic() + STEP_S
    while True:
        try:
            call()
        except KafkaException as error:
            refusal = error.args[0]
            is_blocked = refusal.code() == KafkaError._CONFLICT  # by a call that did not return
            if is_blocked or not refusal.retriable() or time.monotonic() > until:
                return refusal
            time.sleep(PAUSE_S)
        else:
            return None


def _with_timeout(call: Callable[[], object]) -> Any:
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(with_retries(call)), daemon=True)
    thread.start()
    thread.join(STEP_S + 2 * CALL_S)
    lost = KafkaError(KafkaError._TIMED_OUT, "the client call did not return")
    return answers[0] if answers else lost
