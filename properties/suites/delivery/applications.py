"""The applications of Kafka's documents: each a program of a few lines, with a database.

What an application does between two `yield`s nobody interrupts. `at.step()` marks the moments at
which it may die, or be held up for so long that its group goes on without it: it does not know,
and is a zombie.

Source: D0 (position and processing, the two-phase commit), D1 (the consumer's side), D2 (the
pipeline, side effects, the idempotent consumer, a database beside Kafka); KIP-447.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Final

from model.vocabulary import Offset, TopicPartition
from properties.claims.delivery import Rewind
from properties.suites.delivery.stores import store
from properties.suites.delivery.stores.store import Conflict, Store, transaction
from reference_impl.protocol.requests import Response
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.cluster import TOPIC_PARTITION
from reference_impl.simulation.programs import Application, Call, Pause, Program
from reference_impl.simulation.subscription import OffsetReset, Subscription
from reference_impl.simulation.transactional_producer import TransactionalProducer

GROUP: Final = "billing"
OUTPUT: Final = TopicPartition("invoices", 0)
STEP_MS: Final = 2
HELD_MS: Final = 20
TRANSACTION_MS: Final = 400  # transaction.timeout.ms
AUTO_COMMIT_MS: Final = 50  # auto.commit.interval.ms, a hundredth of Kafka's

Asking = Generator[Call | Pause, Response | None, None]
ProgramFactory = Callable[["Instance"], Program]


@dataclass(slots=True, kw_only=True)
class Instance:
    """One process of an application, and the databases that outlive it."""

    app: Application
    database: Store
    elsewhere: Store  # another one, for positions that are not kept with the output
    brokers: BrokerClient = field(init=False)
    consumer: Subscription = field(init=False)
    steps: int = 0
    is_held: bool = False
    waiting: list[str] = field(default_factory=list[str])  # polled, and handed over
    rewind_to: Offset | None = None
    rewinds: list[Rewind] = field(default_factory=list[Rewind])

    def __post_init__(self) -> None:
        self.brokers = BrokerClient(app=self.app)
        self.consumer = self.subscribed()

    def subscribed(self, offset_reset: OffsetReset = "earliest") -> Subscription:
        """The consumer, a member of the group."""
        self.consumer = Subscription(
            app=self.app,
            brokers=self.brokers,
            group=GROUP,
            topic=TOPIC_PARTITION.topic,
            offset_reset=offset_reset,
        )
        return self.consumer

    def producer(self, transactional_id: str | None = None) -> TransactionalProducer:
        """A transactional producer; without a name it has one that nobody else has."""
        return TransactionalProducer(
            app=self.app,
            brokers=self.brokers,
            transactional_id=transactional_id or f"billing-{self.app.client_id}",
            timeout_ms=TRANSACTION_MS,
        )

    def step(self) -> Asking:
        """Here the process may die, or be held up; it is heard of by its group until then."""
        self.steps += 1
        yield Pause(STEP_MS)
        while self.is_held:
            yield Pause(HELD_MS)
        yield from self.consumer.member.heartbeat()

    def seek_to_kept(self, kept_in: Store) -> None:
        """The consumer goes on where this database says that the application is."""
        for place in self.consumer.positions:
            self.consumer.seek(place, Offset(store.position(kept_in, str(place))))

    def keep_positions(self, keeps: Store) -> None:
        """This database says from now on that the application is where its consumer is."""
        for place, offset in self.consumer.positions.items():
            store.set_position(keeps, str(place), offset)


# ---------------------------------------------------------------- position and processing, D0


def position_first(at: Instance) -> Program:
    """Commits, then processes: what it has committed and not processed when it dies is lost."""
    while True:
        records = yield from at.consumer.poll()
        if records and (yield from at.consumer.commit()):
            for record in records:
                yield from at.step()
                store.add_effect(at.database, record.value)


def processing_first(at: Instance) -> Program:
    """Processes, then commits: what it has processed and not committed when it dies comes again."""
    while True:
        for record in (yield from at.consumer.poll()):
            store.add_effect(at.database, record.value)
            yield from at.step()
        yield from at.consumer.commit()


def rewinding(at: Instance, *, by_commit: bool = False) -> Program:
    """The same, and when it is told to it goes back; with `by_commit` it only commits that."""
    while True:
        if at.rewind_to is not None and TOPIC_PARTITION in at.consumer.readers:
            to, at.rewind_to = min(at.consumer.positions[TOPIC_PARTITION], at.rewind_to), None
            at.rewinds.append(Rewind(at.app.process, to, at.app.now_ns))
            if by_commit:
                yield from at.consumer.member.commit({TOPIC_PARTITION: to})
            else:
                at.consumer.seek(TOPIC_PARTITION, to)
        for record in (yield from at.consumer.poll()):
            yield from at.step()
            store.add_effect(at.database, record.value)


def idempotent_consumer(at: Instance) -> Program:
    """Notes the message in the transaction of its effect; one that is known does nothing."""
    while True:
        for record in (yield from at.consumer.poll()):
            with transaction(at.database):
                if store.mark_consumed(at.database, record.value):
                    store.add_effect(at.database, record.value)
            yield from at.step()
        yield from at.consumer.commit()


def noting_apart(at: Instance) -> Program:
    """Notes that the message is consumed in a transaction of its own, before the effect."""
    while True:
        for record in (yield from at.consumer.poll()):
            is_new = store.mark_consumed(at.database, record.value)
            yield from at.step()
            if is_new:
                store.add_effect(at.database, record.value)
        yield from at.consumer.commit()


# ---------------------------------------------------------------- clients that commit by themselves


def committing_in_poll(at: Instance, *, offset_reset: OffsetReset = "earliest") -> Program:
    """A poll commits, when it is due, what earlier polls gave: the application is done with it."""
    at.subscribed(offset_reset)
    while True:
        yield from at.consumer.commit_due(AUTO_COMMIT_MS)
        for record in (yield from at.consumer.poll()):
            yield from at.step()
            store.add_effect(at.database, record.value)


def committing_behind(at: Instance) -> Program:
    """A thread of the client commits, when it is due, what the application was given."""
    while True:
        for record in (yield from at.consumer.poll()):
            yield from at.consumer.commit_due(AUTO_COMMIT_MS)
            yield from at.step()
            store.add_effect(at.database, record.value)


def handing_over(at: Instance) -> Program:
    """Polls again before what it was given is processed: another thread has it."""
    while True:
        at.waiting += (record.value for record in (yield from at.consumer.poll()))
        yield from at.consumer.commit_due(AUTO_COMMIT_MS)
        yield from at.step()
        if at.waiting:
            store.add_effect(at.database, at.waiting.pop(0))


# ---------------------------------------------------------------- the position in a database, D0


def position_with_output(at: Instance, *, looks: bool = True) -> Program:
    """Output and position in one transaction, if the position still is what it was (`looks`)."""
    while True:
        yield from at.consumer.ensure_membership()
        at.seek_to_kept(at.database)
        before = at.consumer.positions
        records = yield from at.consumer.read()
        if not records:
            continue
        yield from at.step()
        try:
            with transaction(at.database):
                for record in records:
                    store.add_effect(at.database, record.value)
                if looks:
                    for place, offset in at.consumer.positions.items():
                        store.advance_position(at.database, str(place), before[place], offset)
                else:
                    at.keep_positions(at.database)
        except Conflict:
            continue  # another instance was faster: from where it is


def two_databases(at: Instance, *, output_first: bool) -> Program:
    """Output here, position there, one after the other."""
    while True:
        yield from at.consumer.ensure_membership()
        at.seek_to_kept(at.elsewhere)
        records = yield from at.consumer.read()
        for does_output in (output_first, not output_first) if records else ():
            if does_output:
                for record in records:
                    store.add_effect(at.database, record.value)
            else:
                at.keep_positions(at.elsewhere)
            yield from at.step()


def two_phase_commit(at: Instance) -> Program:
    """The output is prepared; the position, in one write, decides; then the output is committed.

    Who starts looks first for what was prepared and never ended: the position says how it ends. The
    last participant need not prepare: its own commit is the decision.
    """
    for name in at.database.prepared():
        key, _, next_offset = name.rpartition("@")
        is_decided = store.position(at.elsewhere, key) >= int(next_offset)
        (at.database.commit_prepared if is_decided else at.database.roll_back_prepared)(name)
    while True:
        yield from at.consumer.ensure_membership()
        at.seek_to_kept(at.elsewhere)
        records = yield from at.consumer.read()
        for place, offset in at.consumer.positions.items() if records else ():
            name = f"{place}@{offset}"
            with transaction(at.database, prepare_as=name):
                for record in records:
                    store.add_effect(at.database, record.value)
            yield from at.step()
            store.set_position(at.elsewhere, str(place), offset)
            yield from at.step()
            at.database.commit_prepared(name)
            yield from at.step()


# ---------------------------------------------------------------- pipelines, D2


def pipeline(
    at: Instance, *, tells_generation: bool = True, transactional_id: str | None = None
) -> Program:
    """Consumes, processes and produces, with its position, in one transaction."""
    producer = at.producer(transactional_id)
    yield from producer.init_transactions()
    while producer.over is None:
        yield from at.consumer.ensure_membership()
        producer.begin(group=GROUP)
        for record in (yield from at.consumer.poll_in_transaction()):
            yield from at.step()
            yield from producer.send(OUTPUT, record.value)
        yield from send_offsets(at, producer, tells_generation=tells_generation)
        if (yield from producer.commit()) != "ok":
            yield from at.consumer.resume()


def producing_apart(at: Instance) -> Program:
    """A transaction for each output, and the position behind it, by itself."""
    producer = at.producer()
    yield from producer.init_transactions()
    while producer.over is None:
        for record in (yield from at.consumer.poll()):
            producer.begin()
            yield from producer.send(OUTPUT, record.value)
            yield from producer.commit()
            yield from at.step()
        yield from at.consumer.commit()


def with_side_effect(at: Instance, *, is_guarded: bool = False) -> Program:
    """A pipeline whose processing does something besides: it calls, it writes to a database."""
    producer = at.producer()
    yield from producer.init_transactions()
    while producer.over is None:
        yield from at.consumer.ensure_membership()
        producer.begin(group=GROUP)
        for record in (yield from at.consumer.poll_in_transaction()):
            with transaction(at.database):
                if not is_guarded or store.mark_consumed(at.database, record.value):
                    store.add_effect(at.database, record.value)
            yield from at.step()
            yield from producer.send(OUTPUT, record.value)
        yield from send_offsets(at, producer)
        if (yield from producer.commit()) != "ok":
            yield from at.consumer.resume()


def kafka_then_database(at: Instance, *, repairs: bool = False) -> Program:
    """Commits the transaction of Kafka, then that of the database.

    Between the two the position has moved on, and what it read will not come again: a repair begins
    where the database is (`repairs`), knows what it has, and says the rest downstream again.
    """
    producer = at.producer()
    yield from producer.init_transactions()
    while producer.over is None:
        yield from at.consumer.ensure_membership()
        if repairs:
            at.seek_to_kept(at.database)
        producer.begin(group=GROUP)
        records = yield from at.consumer.poll_in_transaction()
        for record in records:
            yield from producer.send(OUTPUT, record.value)
        yield from send_offsets(at, producer)
        if (yield from producer.commit()) != "ok":
            yield from at.consumer.resume()
            continue
        if records:
            yield from at.step()
        with transaction(at.database):
            for record in records:
                if not repairs or store.mark_consumed(at.database, record.value):
                    store.add_effect(at.database, record.value)
            at.keep_positions(at.database)


def database_then_kafka(
    at: Instance, *, is_idempotent: bool = False, drops_known: bool = False
) -> Program:
    """Commits the transaction of the database, then that of Kafka.

    Between the two the database has the effect, and the message comes again. An idempotent consumer
    has the effect once, and still says the result downstream, unless it `drops_known` messages.
    """
    producer = at.producer()
    yield from producer.init_transactions()
    while producer.over is None:
        yield from at.consumer.ensure_membership()
        producer.begin(group=GROUP)
        for record in (yield from at.consumer.poll_in_transaction()):
            with transaction(at.database):
                is_new = not is_idempotent or store.mark_consumed(at.database, record.value)
                if is_new:
                    store.add_effect(at.database, record.value)
            if is_new or not drops_known:
                yield from producer.send(OUTPUT, record.value)
            yield from at.step()
        yield from send_offsets(at, producer)
        if (yield from producer.commit()) != "ok":
            yield from at.consumer.resume()


def send_offsets(
    at: Instance, producer: TransactionalProducer, *, tells_generation: bool = True
) -> Asking:
    """The positions, as a part of the transaction; KIP-447: and in which generation they are so."""
    if at.consumer.empty_polls:
        return
    member = at.consumer.member
    if tells_generation:
        yield from producer.send_offsets(
            GROUP,
            at.consumer.positions,
            generation=member.generation,
            member_id=member.member_id,
        )
    else:
        yield from producer.send_offsets(GROUP, at.consumer.positions)
    yield from at.step()
