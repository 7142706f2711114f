"""The consumer applications that Kafka's documents describe, each with a few lines of code and a
database.

An application is a generator function. Its parameter `at` is the process that runs the application
(see the module `instance`).

Source: docs/sources.md DOC0 (position and processing, the two-phase commit), DOC1 (the consumer's
side), DOC2 (the pipeline, side effects, the idempotent consumer, a database next to Kafka);
KIP-447.
"""

from __future__ import annotations

from properties.claims.delivery import Rewind
from properties.suites.delivery.instance import (
    AUTO_COMMIT_MS,
    GROUP,
    OUTPUT,
    Instance,
    Steps,
)
from properties.suites.delivery.stores import store
from properties.suites.delivery.stores.store import Conflict, transaction
from reference_impl.simulation.cluster import TOPIC_PARTITION
from reference_impl.simulation.programs import Program
from reference_impl.simulation.subscription import OffsetReset
from reference_impl.simulation.transactional_producer import TransactionalProducer

# ---------------------------------------------------------------- position and processing, DOC0


def position_first(at: Instance) -> Program:
    """Commits the position before it processes the records.

    If the process dies between the commit and the processing, the records are never processed.
    """
    while True:
        records = yield from at.consumer.poll()
        if records and (yield from at.consumer.commit()):
            for record in records:
                yield from at.step()
                store.add_effect(at.database, record.value)


def processing_first(at: Instance) -> Program:
    """Commits the position after it has processed the records.

    If the process dies between the processing and the commit, the records are processed a second
    time.
    """
    while True:
        for record in (yield from at.consumer.poll()):
            store.add_effect(at.database, record.value)
            yield from at.step()
        yield from at.consumer.commit()


def rewinding(at: Instance, *, by_commit: bool = False) -> Program:
    """Processes records, and goes back to a lower position when the suite requests it.

    By default, the application seeks to the lower position. If `by_commit` is true, the application
    only commits the lower position, and continues to read at its previous position.
    """
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
    """Marks each message as consumed and stores its effect, in one database transaction.

    If the message is marked already, the application stores no second effect.
    """
    while True:
        for record in (yield from at.consumer.poll()):
            with transaction(at.database):
                if store.mark_consumed(at.database, record.value):
                    store.add_effect(at.database, record.value)
            yield from at.step()
        yield from at.consumer.commit()


def marking_apart(at: Instance) -> Program:
    """Marks each message as consumed in one transaction, and stores the effect of the message in
    a later transaction.
    """
    while True:
        for record in (yield from at.consumer.poll()):
            is_new = store.mark_consumed(at.database, record.value)
            yield from at.step()
            if is_new:
                store.add_effect(at.database, record.value)
        yield from at.consumer.commit()


# ---------------------------------------------------------------- clients with auto-commit


def committing_in_poll(at: Instance, *, offset_reset: OffsetReset = "earliest") -> Program:
    """Commits the positions of earlier polls at the beginning of a later poll, as automatic commits
    do.

    A commit is due every `AUTO_COMMIT_MS`. At this time, all records of the earlier polls have been
    processed.
    """
    at.subscribed(offset_reset)
    while True:
        yield from at.consumer.commit_due(AUTO_COMMIT_MS)
        for record in (yield from at.consumer.poll()):
            yield from at.step()
            store.add_effect(at.database, record.value)


def committing_in_background(at: Instance) -> Program:
    """Commits the positions of all received records every `AUTO_COMMIT_MS`, even if the records are
    not processed yet.

    Clients that commit automatically in a background thread behave in the same way.
    """
    while True:
        for record in (yield from at.consumer.poll()):
            yield from at.consumer.commit_due(AUTO_COMMIT_MS)
            yield from at.step()
            store.add_effect(at.database, record.value)


def handing_over(at: Instance) -> Program:
    """Polls new records while records of earlier polls are not processed yet.

    A program that hands its records over to another thread behaves in the same way.
    """
    while True:
        at.waiting += (record.value for record in (yield from at.consumer.poll()))
        yield from at.consumer.commit_due(AUTO_COMMIT_MS)
        yield from at.step()
        if at.waiting:
            store.add_effect(at.database, at.waiting.pop(0))


# ---------------------------------------------------------------- the position in a database, DOC0


def position_with_output(at: Instance, *, checks_position: bool = True) -> Program:
    """Stores the output and the position in one database transaction.

    If `checks_position`, the transaction fails when another instance of the application has moved
    the stored position.
    """
    while True:
        yield from at.consumer.ensure_membership()
        at.seek_to_stored(at.database)
        before = at.consumer.positions
        records = yield from at.consumer.read()
        if not records:
            continue
        yield from at.step()
        try:
            with transaction(at.database):
                for record in records:
                    store.add_effect(at.database, record.value)
                if checks_position:
                    for place, offset in at.consumer.positions.items():
                        store.advance_position(at.database, str(place), before[place], offset)
                else:
                    at.store_positions(at.database)
        except Conflict:
            continue  # another instance was faster: continue from its position


def two_databases(at: Instance, *, output_first: bool) -> Program:
    """Stores the output in one database and the position in another database, in two separate
    transactions.

    If `output_first`, the output is stored before the position, otherwise after it.
    """
    while True:
        yield from at.consumer.ensure_membership()
        at.seek_to_stored(at.elsewhere)
        records = yield from at.consumer.read()
        for does_output in (output_first, not output_first) if records else ():
            if does_output:
                for record in records:
                    store.add_effect(at.database, record.value)
            else:
                at.store_positions(at.elsewhere)
            yield from at.step()


def two_phase_commit(at: Instance) -> Program:
    """Prepares the output in one database, stores the position in another database, and commits the
    output.

    A new instance first ends each prepared transaction. If the position for the output is stored,
    the instance commits the transaction. Otherwise, the instance rolls the transaction back.
    """
    for name in at.database.prepared():
        key, _, next_offset = name.rpartition("@")
        is_decided = store.position(at.elsewhere, key) >= int(next_offset)
        (at.database.commit_prepared if is_decided else at.database.roll_back_prepared)(name)
    while True:
        yield from at.consumer.ensure_membership()
        at.seek_to_stored(at.elsewhere)
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


# ---------------------------------------------------------------- pipelines, DOC2


def pipeline(
    at: Instance, *, sends_generation: bool = True, transactional_id: str | None = None
) -> Program:
    """Consumes records, and sends one output for each record. One transaction contains the outputs
    and the position.

    The function `send_offsets` explains the parameter `sends_generation`. By default, each process
    has its own transactional id.
    """
    producer = at.producer(transactional_id)
    yield from producer.init_transactions()
    while producer.over is None:
        yield from at.consumer.ensure_membership()
        producer.begin(group=GROUP)
        for record in (yield from at.consumer.poll_in_transaction()):
            yield from at.step()
            yield from producer.send(OUTPUT, record.value)
        yield from send_offsets(at, producer, sends_generation=sends_generation)
        if (yield from producer.commit()) != "ok":
            yield from at.consumer.resume()


def producing_apart(at: Instance) -> Program:
    """Sends each output in a transaction of its own, and commits the position outside of these
    transactions.
    """
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
    """Runs a pipeline that also writes each message to a database, as a side effect.

    If `is_guarded`, the application writes a message only if the database does not mark the message
    as consumed.
    """
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
    """Commits the Kafka transaction before the database transaction.

    If the process dies between the two commits, the database lacks records below the committed
    position. If `repairs`, the next process starts at the position in the database. It sends all
    results from this position to Kafka again, and stores only the effects that the database lacks.
    """
    producer = at.producer()
    yield from producer.init_transactions()
    while producer.over is None:
        yield from at.consumer.ensure_membership()
        if repairs:
            at.seek_to_stored(at.database)
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
            at.store_positions(at.database)


def database_then_kafka(
    at: Instance, *, is_idempotent: bool = False, drops_known: bool = False
) -> Program:
    """Commits the database transaction before the Kafka transaction.

    If the process dies between the two commits, the next process receives the message again. Each
    line has the arguments, and the reaction of the next process:

        by default                         stores a second effect, and sends the result
        with `is_idempotent`               stores no second effect, and sends the result
        with `is_idempotent, drops_known`  stores and sends nothing, so the result is lost
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
    at: Instance, producer: TransactionalProducer, *, sends_generation: bool = True
) -> Steps:
    """Adds the consumer's positions to the transaction of the producer.

    If `sends_generation`, the request has the member's generation, so the coordinator rejects the
    request of a zombie (KIP-447). After a poll without records, the function does nothing.
    """
    if at.consumer.empty_polls:
        return
    member = at.consumer.member
    if sends_generation:
        yield from producer.send_offsets(
            GROUP,
            at.consumer.positions,
            generation=member.generation,
            member_id=member.member_id,
        )
    else:
        yield from producer.send_offsets(GROUP, at.consumer.positions)
    yield from at.step()
