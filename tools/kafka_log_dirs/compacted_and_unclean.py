"""Creates log directories after compaction and after an unclean election, small enough for tests.

`log_dirs_compacted` has committed transactions, aborted transactions and tombstones. One broker was
down for a while, and then copied the compacted log.

`log_dirs_unclean` has the logs after an unclean election. With min.insync.replicas=1, a leader
commits records after its followers were killed. Then the leader is killed, and a restarted follower
that was not in sync becomes the leader. The new leader assigns the same offsets to other records.
The first leader does not restart, so it never truncates its log. All brokers are killed by SIGKILL.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from checkers.systems.apache_kafka.cluster import Cluster
from checkers.systems.apache_kafka.settings import SAFE, UNSAFE
from tools.kafka_log_dirs.one_life import BROKERS, LEFT_OUT, running

SMALL: Final = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "replica.high.watermark.checkpoint.interval.ms": "500",
}
CLEANED: Final = {
    "log.roll.ms": "1000",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.delete.retention.ms": "1000",
}
TOPIC: Final = "states"
ROUNDS: Final = 12
PAUSE_S: Final = 4.0  # longer than a session, and than a checkpoint takes


def make(into: Path) -> None:
    """Writes `log_dirs_compacted` and `log_dirs_unclean` into the folder, and replaces earlier
    copies.
    """
    with tempfile.TemporaryDirectory(prefix="urteil-kafka-") as folder:
        _compacted(Path(folder) / "compacted", into / "log_dirs_compacted")
        _unclean(Path(folder) / "unclean", into / "log_dirs_unclean")


def _compacted(base: Path, into: Path) -> None:
    with running(base, {**SAFE, **SMALL, **CLEANED}) as cluster:
        _create(cluster, {"cleanup.policy": "compact", "max.compaction.lag.ms": "2000"})
        plain = _producer(cluster, **{"enable.idempotence": True, "compression.type": "lz4"})
        transactional = _producer(cluster, **{"transactional.id": "x"})
        transactional.init_transactions(60)
        for number in range(ROUNDS):
            for each in range(20):
                value = f"{number}-{each}" if (number + each) % 5 else None
                plain.produce(TOPIC, key=f"k{each % 7}", value=value, partition=0)
            plain.flush()
            transactional.begin_transaction()
            for each in range(4):
                transactional.produce(TOPIC, key=f"t{each % 3}", value=f"{number}", partition=0)
            if number % 3:
                transactional.commit_transaction(60)
            else:
                transactional.abort_transaction(60)
            time.sleep(1)
            if number == ROUNDS // 2:
                cluster.kill(BROKERS[1])
            if number == ROUNDS - 3:
                cluster.start(BROKERS[1])
        time.sleep(4 * PAUSE_S)  # time for the cleaner to finish
    _copy(cluster, into)


def _unclean(base: Path, into: Path) -> None:
    with running(base, {**UNSAFE, **SMALL}) as cluster:
        _create(cluster, {})
        _send(cluster, "all")
        time.sleep(PAUSE_S)
        first = _leader_among(cluster, *BROKERS)
        followers = [node for node in BROKERS if node != first]
        for node in followers:
            cluster.kill(node)
        time.sleep(PAUSE_S)
        _send(cluster, "alone")
        time.sleep(PAUSE_S)
        cluster.kill(first)
        for node in followers:
            cluster.start(node)
        _leader_among(cluster, *followers)
        _send(cluster, "others")
        time.sleep(PAUSE_S)
        for node in followers:
            cluster.kill(node)
    _copy(cluster, into)


def _create(cluster: Cluster, settings: dict[str, str]) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for topic in admin.create_topics([NewTopic(TOPIC, 1, 3, config=settings)]).values():
        topic.result()
    _leader_among(cluster, *BROKERS)


def _leader_among(cluster: Cluster, *nodes: int) -> int:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    while True:
        try:
            leader = int(admin.list_topics(TOPIC, timeout=5).topics[TOPIC].partitions[0].leader)
        except (KafkaException, KeyError):
            leader = -1  # no broker answers yet
        if leader in nodes:
            return leader
        time.sleep(0.5)


def _producer(cluster: Cluster, **settings: Any) -> Any:
    common = {"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 20, "log_level": 0}
    return Producer({**common, "batch.num.messages": 5, **settings})


def _send(cluster: Cluster, what: str) -> None:
    producer = _producer(cluster, acks=1)
    for number in range(10):
        producer.produce(TOPIC, value=f"{what} {number}", partition=0)
    assert producer.flush(60) == 0


def _copy(cluster: Cluster, into: Path) -> None:
    shutil.rmtree(into, ignore_errors=True)
    for node in BROKERS:
        left_out = shutil.ignore_patterns(*LEFT_OUT, "*.deleted")  # the cleaner has replaced these
        shutil.copytree(cluster.log_dir(node), into / f"broker-{node}", ignore=left_out)
