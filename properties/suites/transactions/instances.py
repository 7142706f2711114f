"""The clients of the suite `transactions`: instances of a transactional id, readers, and checks.

An instance is one application with one transactional producer. The Hypothesis rules add actions to
the queue of the instance. The instance runs these actions in order until its producer is fenced or
has failed. Then the rules start another instance.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from model.histories import FetchOffset, Isolation, Outcome, Poll
from model.vocabulary import TopicPartition
from properties.claims.transactions import Ends
from reference_impl.protocol.groups import FetchedOffsets, FetchOffsets
from reference_impl.protocol.messages import RETRIABLE, ErrorCode
from reference_impl.protocol.transactions import TransactionVersion
from reference_impl.simulation.broker_client import BACKOFF_MS, BrokerClient, error_of
from reference_impl.simulation.programs import Application, Pause, Program, ProgramFactory, Steps
from reference_impl.simulation.reader import Reader
from reference_impl.simulation.sender import Sender
from reference_impl.simulation.transactional_producer import TransactionalProducer
from reference_impl.simulation.world import NoProgress

IDLE_MS: Final = 10
SEND_ATTEMPTS: Final = 2
LIST_EVERY_MS: Final = 200
LEVELS: Final[tuple[Isolation, ...]] = ("read_committed", "read_uncommitted")
GROUP: Final = "readers"

Action = Callable[[TransactionalProducer], Steps[Any]]


@dataclass(slots=True, kw_only=True)
class Instance:
    """An application with one transactional producer. It has a queue of actions, and a list of
    the outcomes of its transactions.
    """

    transactional_id: str
    version: TransactionVersion
    timeout_ms: int
    todo: deque[Action] = field(default_factory=deque[Action])
    is_busy: bool = True
    is_over: bool = False
    in_transaction: bool = (
        False  # `begin` is queued or done, and neither `commit` nor `abort` is queued
    )
    work: str = ""  # the work of the open transaction; a retry after an abort has the same one
    attempt: int = 0
    sent: int = 0
    outcomes: list[Outcome] = field(default_factory=list[Outcome])

    def program(self, app: Application) -> Program:
        """Runs the queued actions in order until the producer is fenced or has failed."""
        producer = TransactionalProducer(
            app=app,
            brokers=BrokerClient(app=app),
            transactional_id=self.transactional_id,
            version=self.version,
            timeout_ms=self.timeout_ms,
            attempts=12,
            send_attempts=SEND_ATTEMPTS,
            call_ms=80,
        )
        yield from producer.init_transactions()
        while producer.over is None:
            self.is_busy = bool(self.todo)
            if self.todo:
                yield from self.todo.popleft()(producer)
            else:
                yield Pause(IDLE_MS)
        if app.open is not None:
            yield from producer.abort()
        self.ends()

    def ends(self) -> None:
        self.is_busy, self.in_transaction, self.is_over = False, False, True

    def begin(self, producer: TransactionalProducer) -> Steps[None]:
        producer.begin(group=GROUP)
        yield Pause(0)

    def commit(self, producer: TransactionalProducer) -> Steps[None]:
        self.outcomes.append((yield from producer.commit()))

    def abort(self, producer: TransactionalProducer) -> Steps[None]:
        self.outcomes.append((yield from producer.abort()))


def reads_until_killed(place: TopicPartition, isolation: Isolation) -> ProgramFactory:
    """Returns a program that polls a topic partition from offset 0 until the program is killed.

    After each poll, the program requests the end offset.
    """

    def program(app: Application) -> Program:
        reader = Reader(
            app=app, brokers=BrokerClient(app=app), topic_partition=place, isolation=isolation
        )
        while True:
            yield from reader.poll()
            yield from reader.end_offset()
            yield Pause(IDLE_MS)

    return program


def reads_to_end(
    places: tuple[TopicPartition, ...], isolation: Isolation, found: dict[str, tuple[Poll, ...]]
) -> ProgramFactory:
    def program(app: Application) -> Program:
        for place in places:
            reader = Reader(
                app=app, brokers=BrokerClient(app=app), topic_partition=place, isolation=isolation
            )
            found[str(place)] = yield from reader.read_to_end()

    return program


def awaits_equal_ends(places: tuple[TopicPartition, ...], found: dict[str, Ends]) -> ProgramFactory:
    """Returns a program that requests the end offsets of the partitions at both isolation levels.

    The program ends when the two end offsets are equal in every partition, so no transaction is
    open. It stores the end offsets in `found`.
    """

    def program(app: Application) -> Program:
        committed, uncommitted = (
            [
                Reader(
                    app=app, brokers=BrokerClient(app=app), topic_partition=place, isolation=level
                )
                for place in places
            ]
            for level in LEVELS
        )
        while True:
            for stable, high in zip(committed, uncommitted, strict=True):
                last_stable_offset = yield from stable.end_offset()
                high_watermark = yield from high.end_offset()
                key = str(stable.topic_partition)
                found[key] = Ends(last_stable_offset, high_watermark)
            if all(ends.last_stable_offset == ends.high_watermark for ends in found.values()):
                return
            yield Pause(LIST_EVERY_MS)

    return program


def sends_without_transaction(place: TopicPartition, value: str) -> ProgramFactory:
    def program(app: Application) -> Program:
        yield from Sender(app=app, brokers=BrokerClient(app=app)).send(place, value)

    return program


def fetches_offset(place: TopicPartition, isolation: Isolation) -> ProgramFactory:
    """Returns a program that fetches the committed offset of the group `GROUP` for the partition
    `place`.

    If the isolation level is read_committed, the program repeats the fetch while an open
    transaction may change the offset.
    """

    def program(app: Application) -> Program:
        brokers = BrokerClient(app=app)
        app.begin("fetch_offset", group=GROUP, isolation=isolation)
        request = FetchOffsets(
            group=GROUP, topic_partitions=(place,), require_stable=isolation == "read_committed"
        )
        while True:
            answer = yield from brokers.call_coordinator(GROUP, request)
            assert isinstance(answer, FetchedOffsets), error_of(answer)
            if answer.error is not ErrorCode.NONE and answer.error not in RETRIABLE:
                raise NoProgress(f"the offsets of {GROUP} are not answered: {answer.error.name}")
            kept, error = next(((it, error) for _, it, error in answer.offsets), (None, None))
            if error is ErrorCode.NONE:
                break
            yield Pause(BACKOFF_MS)
        app.end("ok", FetchOffset(str(place), None if kept is None else kept.offset))

    return program


def commits_once(instance: Instance, places: tuple[TopicPartition, ...]) -> ProgramFactory:
    """Returns a program that commits one transaction. If an attempt fails, the program makes
    another attempt with a new producer.
    """

    def program(app: Application) -> Program:
        brokers = BrokerClient(app=app)
        for attempt in range(1_000):
            producer = TransactionalProducer(
                app=app,
                brokers=brokers,
                transactional_id=instance.transactional_id,
                version=instance.version,
                timeout_ms=instance.timeout_ms,
            )
            if (yield from producer.init_transactions()):
                producer.begin(group=GROUP)
                for place in places:
                    yield from producer.send(place, f"end {place}:{attempt}")
                if (yield from producer.commit()) == "ok":
                    return
            yield Pause(BACKOFF_MS)

    return program
