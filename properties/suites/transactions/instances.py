"""The clients of the suite `transactions`: instances of a transactional id that do what they are
told, readers, and whoever looks at the end.

An instance is one application with one transactional producer. It does its deeds one after the
other; when its producer is over it does nothing any more, and another instance is to be made.
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
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.transactions import TransactionVersion
from reference_impl.simulation.broker_client import BACKOFF_MS, BrokerClient, error_of
from reference_impl.simulation.programs import Application, Pause, Program, ProgramFactory, Steps
from reference_impl.simulation.reader import Reader
from reference_impl.simulation.sender import Sender
from reference_impl.simulation.transactional_producer import TransactionalProducer

IDLE_MS: Final = 10
SEND_ATTEMPTS: Final = 2
ASK_EVERY_MS: Final = 200
LEVELS: Final[tuple[Isolation, ...]] = ("read_committed", "read_uncommitted")
GROUP: Final = "readers"

Deed = Callable[[TransactionalProducer], Steps[Any]]


@dataclass(slots=True, kw_only=True)
class Instance:
    """One instance of a transactional id: what it has still to do, and what came of it."""

    transactional_id: str
    version: TransactionVersion
    timeout_ms: int
    todo: deque[Deed] = field(default_factory=deque[Deed])
    is_busy: bool = True
    is_over: bool = False
    in_transaction: bool = False  # it was told to begin, and not yet to end
    work: str = ""  # of the transaction that is open
    attempt: int = 0
    sent: int = 0
    outcomes: list[Outcome] = field(default_factory=list[Outcome])

    def conduct(self, app: Application) -> Program:
        """The application; it is over with its producer."""
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
        """Nothing more is to be expected of it."""
        self.is_busy, self.in_transaction, self.is_over = False, False, True

    def begin(self, producer: TransactionalProducer) -> Steps[None]:
        """A transaction begins."""
        producer.begin(group=GROUP)
        yield Pause(0)

    def commit(self, producer: TransactionalProducer) -> Steps[None]:
        """It is committed."""
        self.outcomes.append((yield from producer.commit()))

    def abort(self, producer: TransactionalProducer) -> Steps[None]:
        """It is aborted."""
        self.outcomes.append((yield from producer.abort()))


def reads_for_ever(place: TopicPartition, isolation: Isolation) -> ProgramFactory:
    """Reads a topic partition from its beginning, and asks for its end after each look."""

    def conduct(app: Application) -> Program:
        reader = Reader(
            app=app, brokers=BrokerClient(app=app), topic_partition=place, isolation=isolation
        )
        while True:
            yield from reader.poll()
            yield from reader.end_offset()
            yield Pause(IDLE_MS)

    return conduct


def reads_once(
    places: tuple[TopicPartition, ...], isolation: Isolation, found: dict[str, tuple[Poll, ...]]
) -> ProgramFactory:
    """Reads topic partitions from their beginnings to their ends."""

    def conduct(app: Application) -> Program:
        for place in places:
            reader = Reader(
                app=app, brokers=BrokerClient(app=app), topic_partition=place, isolation=isolation
            )
            found[str(place)] = yield from reader.read_to_end()

    return conduct


def compares_ends(places: tuple[TopicPartition, ...], found: dict[str, Ends]) -> ProgramFactory:
    """Asks for both ends of topic partitions until they are the same."""

    def conduct(app: Application) -> Program:
        waits, all_there = (
            [
                Reader(
                    app=app, brokers=BrokerClient(app=app), topic_partition=place, isolation=level
                )
                for place in places
            ]
            for level in LEVELS
        )
        while True:
            for stable, high in zip(waits, all_there, strict=True):
                last_stable_offset = yield from stable.end_offset()
                high_watermark = yield from high.end_offset()
                key = str(stable.topic_partition)
                found[key] = Ends(last_stable_offset, high_watermark)
            if all(ends.last_stable_offset == ends.high_watermark for ends in found.values()):
                return
            yield Pause(ASK_EVERY_MS)

    return conduct


def sends_plainly(place: TopicPartition, value: str) -> ProgramFactory:
    """Sends one record outside of any transaction."""

    def conduct(app: Application) -> Program:
        yield from Sender(app=app, brokers=BrokerClient(app=app)).send(place, value)

    return conduct


def asks_for_offset(place: TopicPartition, isolation: Isolation) -> ProgramFactory:
    """Asks how far the group is; at read_committed it waits for transactions that may change it."""

    def conduct(app: Application) -> Program:
        brokers = BrokerClient(app=app)
        app.begin("fetch_offset", group=GROUP, isolation=isolation)
        request = FetchOffsets(
            group=GROUP, topic_partitions=(place,), require_stable=isolation == "read_committed"
        )
        while True:
            answer = yield from brokers.call_coordinator(GROUP, request)
            assert isinstance(answer, FetchedOffsets), error_of(answer)
            ((_, kept, error),) = answer.offsets
            if error is ErrorCode.NONE:
                break
            yield Pause(BACKOFF_MS)
        app.end("ok", FetchOffset(str(place), None if kept is None else kept.offset))

    return conduct


def works_once(instance: Instance, places: tuple[TopicPartition, ...]) -> ProgramFactory:
    """Commits one transaction, however many instances that takes."""

    def conduct(app: Application) -> Program:
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

    return conduct
