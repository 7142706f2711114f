"""Copies the log directories of a small, healthy Kafka cluster at two moments, for tests.

The copy `log_dirs_killed` is made after SIGKILL of all brokers: index files are still preallocated,
and checkpoints lag behind the logs. The copy `log_dirs_stopped` is made later, after the recovery
of the brokers, further writes and a clean shutdown.

Before the kill, the program writes two topics, each with one partition, three replicas and small
segments:

    orders    one idempotent producer for each compression; halfway, the leader is killed
    payments  transactions of two producers in turn: committed, aborted, fenced by a newer
              instance of the same transactional id, committed with the offsets of a group,
              and one that stays open

The metadata log of the cluster is left out, because it contains paths of local files.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from checkers.systems.apache_kafka import cluster as apache_kafka
from checkers.systems.apache_kafka import jars
from checkers.systems.apache_kafka.cluster import Cluster
from checkers.systems.apache_kafka.settings import SAFE
from checkers.systems.system import Layout, Settings

BROKERS: Final = (1, 2, 3)
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
RECORDS: Final = 24  # of each producer
ROLLED_AFTER_MS: Final = 1_500
SMALL: Final = {
    **SAFE,
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "log.roll.ms": str(ROLLED_AFTER_MS),
    "replica.high.watermark.checkpoint.interval.ms": "1000",
}
LEFT_OUT: Final = ("__cluster_metadata-*", "bootstrap.checkpoint", "*.lock", ".lock")


def running(folder: Path, settings: Settings) -> AbstractContextManager[Cluster]:
    found = jars.download(jars.DEFAULT_VERSION)
    return apache_kafka.running(folder, found, Layout(settings=settings))


def make(into: Path) -> None:
    """Writes `log_dirs_killed` and `log_dirs_stopped` into the folder, and replaces earlier
    copies.
    """
    with tempfile.TemporaryDirectory(prefix="urteil-kafka-") as folder:
        with running(Path(folder) / "cluster", SMALL) as cluster:
            _create_topics(cluster)
            for codec in CODECS:
                _orders(cluster, codec)
                if codec == "snappy":
                    _replace_leader(cluster)
            left_open = _payments(cluster)
            for node in BROKERS:
                cluster.kill(node)
            _copy(cluster, into / "log_dirs_killed")
            for node in BROKERS:
                cluster.start(node)
            cluster.await_brokers(*BROKERS)
            _await_leader(cluster, "orders")
            _orders(cluster, "none")
            del left_open  # it stays open: no commit, no abort
        _copy(cluster, into / "log_dirs_stopped")


def _create_topics(cluster: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    made = admin.create_topics([NewTopic(name, 1, 3) for name in ("orders", "payments")])
    for topic in made.values():
        topic.result()
    for name in made:
        _await_leader(cluster, name)


def _await_leader(cluster: Cluster, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    while True:
        described = admin.list_topics(topic, timeout=5).topics[topic].partitions.get(0)
        if described is not None and described.leader >= 0 and len(described.isrs) == len(BROKERS):
            return int(described.leader)
        time.sleep(0.2)


def _producer(cluster: Cluster, **settings: Any) -> Any:
    common = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "enable.idempotence": True,
        "linger.ms": 20,
        "batch.num.messages": 4,
        "log_level": 0,
    }
    return Producer({**common, **{name.replace("_", "."): at for name, at in settings.items()}})


def _orders(cluster: Cluster, codec: str) -> None:
    producer = _producer(cluster, compression_type=codec)
    for number in range(RECORDS):
        producer.produce(
            "orders", value=f"{codec} {number} {'.' * 40}", key=str(number), partition=0
        )
        if number == RECORDS // 2:
            producer.flush()
            time.sleep(ROLLED_AFTER_MS / 1_000)  # the next record begins a segment
    assert producer.flush(30) == 0


def _replace_leader(cluster: Cluster) -> None:
    leader = _await_leader(cluster, "orders")
    cluster.kill(leader)
    time.sleep(3)
    cluster.start(leader)
    cluster.await_brokers(*BROKERS)
    _await_leader(cluster, "orders")


def _payments(cluster: Cluster) -> Any:
    """Writes the topic `payments`, and returns the producer whose transaction stays open."""
    one = _producer(cluster, transactional_id="one", compression_type="lz4")
    two = _producer(cluster, transactional_id="two")
    for producer in (one, two):
        producer.init_transactions(30)
    for number in range(4):
        for name, producer in (("one", one), ("two", two)):
            producer.begin_transaction()
            _pay(producer, f"{name} {number}")
        for name, producer in (("one", one), ("two", two)):
            if (number + (name == "two")) % 2:
                producer.abort_transaction(30)
            else:
                producer.commit_transaction(30)
        time.sleep(ROLLED_AFTER_MS / 2_000)
    _commit_offsets(cluster, one)
    two.begin_transaction()
    _pay(two, "fenced")
    newer = _producer(cluster, transactional_id="two")
    newer.init_transactions(30)  # fences `two` and aborts what it left
    left_open = _producer(cluster, transactional_id="open", transaction_timeout_ms=900_000)
    left_open.init_transactions(30)
    left_open.begin_transaction()
    _pay(left_open, "open")
    newer.begin_transaction()
    _pay(newer, "behind the open one")
    newer.commit_transaction(30)
    return left_open


def _pay(producer: Any, what: str) -> None:
    for part in range(3):
        producer.produce("payments", value=f"{what} {part}", partition=0)
    assert producer.flush(30) == 0


def _commit_offsets(cluster: Cluster, producer: Any) -> None:
    member = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "audit"})
    producer.begin_transaction()
    _pay(producer, "with offsets")
    next_read = [TopicPartition("orders", 0, 7)]
    producer.send_offsets_to_transaction(next_read, member.consumer_group_metadata(), 30)
    producer.commit_transaction(30)
    member.close()


def _copy(cluster: Cluster, into: Path) -> None:
    shutil.rmtree(into, ignore_errors=True)
    for node in BROKERS:
        left_out = shutil.ignore_patterns(*LEFT_OUT)
        shutil.copytree(cluster.log_dir(node), into / f"broker-{node}", ignore=left_out)
