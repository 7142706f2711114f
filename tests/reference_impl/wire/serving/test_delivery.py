"""Delivery by real applications, killed by SIGKILL at fixed points and then started again.

Each application is a process with confluent-kafka and a database file.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from properties.suites.delivery.stores import store
from properties.suites.delivery.stores.sqlite import SqliteStore
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving

VALUES = ("a", "b", "c", "d", "e", "f")

APPLICATION = """
import os, signal, sys, time
from pathlib import Path
from confluent_kafka import Consumer, TopicPartition
from properties.suites.delivery.stores import store
from properties.suites.delivery.stores.store import transaction
from properties.suites.delivery.stores.sqlite import SqliteStore

servers, topic, file, dies_at = *sys.argv[1:4], sys.argv[4]
database, done = SqliteStore(Path(file)), 0
settings = {{"bootstrap.servers": servers, "group.id": topic, "log_level": 0, **{settings}}}

def moment(value):
    if value == dies_at:
        os.kill(os.getpid(), signal.SIGKILL)

def polled(consumer):
    while True:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            yield message, message.value().decode()
            if message.value() == b"f":
                return
{conduct}
"""

# The position is in the database, with the output.
POSITION_WITH_OUTPUT = """
consumer = Consumer(settings)
since = store.position(database, topic)
consumer.assign([TopicPartition(topic, 0, since)])
for message, value in polled(consumer):
    with transaction(database):
        store.add_effect(database, value)
        store.advance_position(database, topic, since, message.offset() + 1)
        since = message.offset() + 1
    moment(value)
"""

# The position is in the group; if `knows`, a value that is processed twice has one effect.
POSITION_IN_GROUP = """
consumer = Consumer(settings)
consumer.subscribe([topic])
for message, value in polled(consumer):
    with transaction(database):
        if not {knows} or store.mark_consumed(database, value):
            store.add_effect(database, value)
    moment(value)
    consumer.commit(message, asynchronous=False)
consumer.close()
"""

# Only the client's auto-commit commits; processing takes longer than its interval.
DEFAULTS = """
consumer = Consumer(settings)
consumer.subscribe([topic])
for message, value in polled(consumer):
    if value == dies_at:
        time.sleep(6)  # auto.commit.interval.ms is 5000
    moment(value)
    store.add_effect(database, value)
consumer.close()
"""

BY_HAND = '{"enable.auto.commit": False, "session.timeout.ms": 1000, "heartbeat.interval.ms": 200}'
SHORT_SESSIONS = replace(SERVED, group_min_session_ms=1_000)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Served]:
    with serving(ServeOptions(brokers=1, broker_settings=SHORT_SESSIONS)) as served:
        yield served


def stored(
    cluster: Served, topic: str, tmp_path: Path, conduct: str, *, settings: str = BY_HAND
) -> tuple[str, ...]:
    """Runs an application twice and returns the values in its database.

    The first run is killed while it handles the value `c`.
    """
    sends(cluster, topic)
    program = APPLICATION.format(settings=settings, conduct=conduct)
    file = tmp_path / "store.db"
    for dies_at, code in (("c", -signal.SIGKILL), ("nowhere", 0)):
        words = [cluster.bootstrap_servers, topic, str(file), dies_at]
        assert subprocess.run([sys.executable, "-c", program, *words]).returncode == code
    database = SqliteStore(file)
    effects = store.effects(database)
    database.close()
    return effects


def sends(cluster: Served, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "enable.idempotence": True,
            "log_level": 0,
        }
    )
    for value in VALUES:
        producer.produce(topic, value.encode())
    assert producer.flush(10) == 0
    group = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": topic, "log_level": 0}
    )
    begins = [TopicPartition(topic, 0, 0)]
    while True:
        try:
            group.commit(offsets=begins, asynchronous=False)
            break
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
    group.close()


def test_with_position_and_output_in_one_transaction_nothing_is_lost_or_repeated(
    cluster: Served, tmp_path: Path
) -> None:
    assert stored(cluster, "external", tmp_path, POSITION_WITH_OUTPUT) == VALUES


def test_a_consumed_messages_table_makes_redelivery_harmless(
    cluster: Served, tmp_path: Path
) -> None:
    conduct = POSITION_IN_GROUP.format(knows=True)
    assert stored(cluster, "idempotent", tmp_path, conduct) == VALUES


def test_without_that_table_uncommitted_records_are_processed_again(
    cluster: Served, tmp_path: Path
) -> None:
    conduct = POSITION_IN_GROUP.format(knows=False)
    assert stored(cluster, "repeating", tmp_path, conduct) == ("a", "b", "c", "c", "d", "e", "f")


def test_the_defaults_of_confluent_kafka_lose_records_not_yet_processed(
    cluster: Served, tmp_path: Path
) -> None:
    # librdkafka commits in the background what it has handed out: a result, not an error
    quick = '{"session.timeout.ms": 1000, "heartbeat.interval.ms": 200}'  # not about delivery
    found = stored(cluster, "defaults", tmp_path, DEFAULTS, settings=quick)
    assert found == ("a", "b", "d", "e", "f")
