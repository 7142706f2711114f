"""Measures the cost of exactly-once compared with at-least-once, on the same brokers.

Real clients reach the reference broker over the network. The compared programs consume the same
records, send one output for each record, and commit their position:

    at least once        sends, waits for all acknowledgements, commits once for 100 records
    a commit for each    sends, waits and commits for each single record
    transactions of n    n records and the position in one transaction

Only this work is timed. The claim `exactly_once_costs` states that the ratios to at-least-once are
above 1.

If a transaction begins while markers of the previous transaction are being written, it gets
CONCURRENT_TRANSACTIONS. librdkafka then retries after retry.backoff.ms, by default 100 ms. So a
small transaction takes 110 ms. With a backoff of 10 ms, it takes 37 ms.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition, libversion
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.pairs import Pairing, paired, write_results
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving

RECORDS = 200
LARGEST = 100
SIZES = (1, 10, LARGEST)
SOURCE, TARGET = "source", "target"
names = (f"run-{number}" for number in itertools.count())


def run() -> list[Pairing]:
    with serving(ServeOptions(brokers=3)) as cluster:
        servers = cluster.bootstrap_servers
        _fill(servers)
        baseline = ("at least once", partial(at_least_once, servers, LARGEST))
        ways: list[tuple[str, Callable[[], float]]] = [
            ("a commit for each record", partial(at_least_once, servers, 1)),
            *((f"transactions of {size}", partial(transactions, servers, size)) for size in SIZES),
        ]
        return [paired(way, baseline, runs=3, own=True) for way in ways]


def facts() -> dict[str, object]:
    return {
        "records": RECORDS,
        "brokers": 3,
        "confluent-kafka": version("confluent-kafka"),
        "librdkafka": libversion()[0],
        "load": round(os.getloadavg()[0], 1),  # of the machine: other work affects the figures
    }


def at_least_once(servers: str, size: int) -> float:
    """Returns the seconds for all records, if offsets are committed after every `size` records."""
    producer = Producer(
        {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 0, "log_level": 0}
    )
    producer.produce(TARGET, b"the connection stands")
    producer.flush()
    consumer, batches = _consuming(servers, size)
    started = time.perf_counter()
    for batch in batches:
        for message in batch:
            producer.produce(TARGET, message.value())
        producer.flush()
        consumer.commit(offsets=[_behind(batch)], asynchronous=False)
    spent = time.perf_counter() - started
    consumer.close()
    return spent


def transactions(servers: str, size: int) -> float:
    """Returns the seconds for all records, in transactions of `size` records."""
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "transactional.id": next(names),
            "linger.ms": 0,
            "log_level": 0,
        }
    )
    producer.init_transactions()
    consumer, batches = _consuming(servers, size)
    started = time.perf_counter()
    for batch in batches:
        producer.begin_transaction()
        for message in batch:
            producer.produce(TARGET, message.value())
        producer.send_offsets_to_transaction([_behind(batch)], consumer.consumer_group_metadata())
        producer.commit_transaction()
    spent = time.perf_counter() - started
    consumer.close()
    return spent


def _consuming(servers: str, size: int) -> tuple[Any, list[list[Any]]]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": next(names),
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.committed([TopicPartition(SOURCE, 0)])
    consumer.assign([TopicPartition(SOURCE, 0, 0)])
    records: list[Any] = []
    while len(records) < RECORDS:
        records += [m for m in consumer.consume(RECORDS - len(records), 1) if m.error() is None]
    return consumer, [records[at : at + size] for at in range(0, RECORDS, size)]


def _behind(batch: list[Any]) -> Any:
    return TopicPartition(SOURCE, 0, batch[-1].offset() + 1)


def _fill(servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(t, 1, 3) for t in (SOURCE, TARGET)]).values():
        made.result()
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    for number in range(RECORDS):
        producer.produce(SOURCE, f"v{number}".encode())
    producer.flush()


if __name__ == "__main__":
    found = run()
    for pairing in found:
        sys.stdout.write(f"{pairing.ours}: {pairing.ratio.median:.3g} times {pairing.baseline}\n")
    sys.stdout.write(f"kept in {write_results('exactly_once_costs', found, facts())}\n")
