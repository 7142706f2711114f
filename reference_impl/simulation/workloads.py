"""The applications in the runs of a sweep (a series of simulated runs): transactions, a
consume-produce pipeline, and readers.

Each application ends at a fixed time. If its producer cannot be used any more, the application
creates another producer.
"""

from __future__ import annotations

from random import Random
from typing import Final

from model.vocabulary import TopicPartition
from reference_impl.protocol.controller import CreateTopic
from reference_impl.protocol.transactions import TransactionVersion
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.cluster import TOPIC_PARTITION
from reference_impl.simulation.programs import Application, Pause, Program, ProgramFactory
from reference_impl.simulation.reader import Reader
from reference_impl.simulation.subscription import Subscription
from reference_impl.simulation.transactional_producer import TransactionalProducer

ACCOUNTS: Final = CreateTopic(topic="accounts", topic_partitions=2, min_insync_replicas=2)
INVOICES: Final = CreateTopic(topic="invoices", topic_partitions=1, min_insync_replicas=2)
GROUP: Final = "billing"
TRANSACTION_MS: Final = 400
PAUSE_MS: Final = 10
REPLACED_EVERY: Final = 8  # transactions, on average


def transfers(
    name: str,
    seed: int,
    until_ms: int,
    *,
    version: TransactionVersion = TransactionVersion.V2,
    send_attempts: int | None = None,
) -> ProgramFactory:
    """Returns a program that runs transactions with one record for each account (a topic
    partition).

    The program aborts a quarter of the transactions. If a send has no response after
    `send_attempts` requests, the program aborts the transaction, and the producer continues with
    the next one. If `send_attempts` is None, the send is repeated until a response arrives. After
    some transactions, a new instance replaces the producer. The replaced instance then runs one
    more transaction, which a broker must refuse.
    """
    coins, replacements = Random(f"transfers {name} {seed}"), Random(f"replaced {name} {seed}")

    def program(app: Application) -> Program:
        brokers = BrokerClient(app=app)
        places = yield from brokers.topic_partitions(ACCOUNTS.topic)
        number, replaced = 0, None
        while app.now_ms < until_ms:
            producer = TransactionalProducer(
                app=app,
                brokers=brokers,
                transactional_id=name,
                version=version,
                timeout_ms=TRANSACTION_MS,
                send_attempts=send_attempts,
            )
            yield from producer.init_transactions()
            if replaced is not None:
                number += 1
                replaced.begin()
                yield from replaced.send(places[0], f"{name}{number} of the replaced instance")
                yield from replaced.commit()
                replaced = None
            while producer.over is None and app.now_ms < until_ms:
                producer.begin()
                number += 1
                for place in places:
                    yield from producer.send(place, f"{name}{number} to {place.index}")
                yield from producer.abort() if coins.randrange(4) == 0 else producer.commit()
                yield Pause(PAUSE_MS)
                if producer.over is None and replacements.randrange(REPLACED_EVERY) == 0:
                    replaced = producer
                    break

    return program


def bills(
    name: str, until_ms: int, *, version: TransactionVersion = TransactionVersion.V2
) -> ProgramFactory:
    """Returns a program that reads orders as a member of a group, and writes an invoice for each
    order.

    Each transaction commits the invoices and the read positions together. Each invoice has its own
    number. So if an order is processed again, its invoice has another value: the analysis of
    histories assumes that no value is sent twice (`values-are-unique`).
    """

    def program(app: Application) -> Program:
        brokers = BrokerClient(app=app)
        consumer = Subscription(app=app, brokers=brokers, group=GROUP, topic=TOPIC_PARTITION.topic)
        output = TopicPartition(INVOICES.topic, 0)
        number = 0
        while app.now_ms < until_ms:
            producer = TransactionalProducer(
                app=app,
                brokers=brokers,
                transactional_id=name,
                version=version,
                timeout_ms=TRANSACTION_MS,
            )
            yield from producer.init_transactions()
            yield from consumer.resume()
            while producer.over is None and app.now_ms < until_ms:
                yield from consumer.ensure_membership()
                producer.begin(group=GROUP)
                for record in (yield from consumer.poll_in_transaction()):
                    number += 1
                    yield from producer.send(output, f"{name}{number} for {record.value}")
                if not consumer.empty_polls:
                    member = consumer.member
                    yield from producer.send_offsets(
                        GROUP,
                        consumer.positions,
                        generation=member.generation,
                        member_id=member.member_id,
                    )
                if (yield from producer.commit()) != "ok":
                    yield from consumer.resume()
        yield from consumer.member.leave()

    return program


def reads(topic: CreateTopic, until_ms: int = 0) -> ProgramFactory:
    """Returns a program that polls committed records until `until_ms`, and then reads to the end
    of each log.
    """

    def program(app: Application) -> Program:
        brokers = BrokerClient(app=app)
        places = yield from brokers.topic_partitions(topic.topic)
        readers = [Reader(app=app, brokers=brokers, topic_partition=place) for place in places]
        while app.now_ms < until_ms:
            for reader in readers:
                yield from reader.poll()
                if app.now_ms % 5 == 0:
                    yield from reader.end_offset()
        for reader in readers:
            yield from reader.read_to_end()

    return program
