"""Each of three brokers is a process. Clients continue if one is killed, stopped or shut down."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from model.vocabulary import BrokerId
from reference_impl.node.bugs import bugs_named
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.serving.options import CannotServe, ServeOptions
from reference_impl.wire.serving.serving import Served, serving
from tests.reference_impl.wire.one_topic import fetch, leader, produce, values
from tests.reference_impl.wire.waiting import until

SHORT = replace(SERVED, heartbeat_ms=150, session_timeout_ms=1_500, replica_fetch_timeout_ms=1_000)
BROKERS = (BrokerId(1), BrokerId(2), BrokerId(3))
WITHIN_S = 60.0
Connect = Callable[..., Any]  # the fixture of the folder above


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(ServeOptions(processes=True, broker_settings=SHORT)) as cluster:
        yield cluster


@pytest.fixture
def cluster(served: Served) -> Iterator[Served]:
    """The module's cluster; after the test every broker runs again."""
    yield served
    for broker_id in BROKERS:
        if broker_id not in served.pids:
            served.start(broker_id)
    served.await_calm()


def settings(cluster: Served, **others: Any) -> dict[str, Any]:
    return {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0, **others}


def create(cluster: Served, topic: str) -> None:
    new = NewTopic(topic, 1, 3, config={"min.insync.replicas": "2"})
    admin = AdminClient(settings(cluster))
    admin.create_topics([new])[topic].result(WITHIN_S)


def read(cluster: Served, topic: str, count: int) -> list[bytes]:
    """Reads `count` committed values of the topic as a member of a group, and commits the offsets.

    Fails if it has read fewer values after a minute.
    """
    group = settings(cluster, **{"group.id": topic, "auto.offset.reset": "earliest"})
    consumer = Consumer(group)
    consumer.subscribe([topic])
    found: list[bytes] = []

    def polled() -> bool:
        for message in consumer.consume(500, 0.2):
            assert message.error() is None
            found.append(message.value() or b"")
        return len(found) >= count

    until(polled)
    consumer.commit(asynchronous=False)
    consumer.close()
    return found


class Sender:
    """A producer with acks=all, and the values that were acknowledged."""

    def __init__(self, cluster: Served, topic: str, **others: Any) -> None:
        self.topic = topic
        idempotent = {"enable.idempotence": True, "linger.ms": 0, **others}
        self.producer = Producer(settings(cluster, **idempotent))
        self.acknowledged: list[bytes] = []

    def send(self, *numbers: int) -> None:
        for number in numbers:
            self.producer.produce(self.topic, b"%d" % number, on_delivery=self._delivered)
            self.producer.poll(0)

    def flush(self) -> None:
        assert self.producer.flush(WITHIN_S) == 0

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        assert error is None, error
        self.acknowledged.append(message.value())


# ---------------------------------------------------------------- kill -9


def test_a_killed_leader_loses_nothing_acknowledged_and_continues_with_its_log(
    cluster: Served, connect: Connect
) -> None:
    create(cluster, "killed")
    sender = Sender(cluster, "killed")
    sender.send(*range(100))
    sender.flush()
    first = leader(connect(cluster.bootstrap_servers), "killed")
    os.kill(cluster.pids[BrokerId(first)], signal.SIGKILL)
    sender.send(*range(100, 200))
    sender.flush()
    assert sender.acknowledged == [b"%d" % number for number in range(200)]
    other = connect(cluster.bootstrap_servers, first % 3)
    assert leader(other, "killed") not in {first, -1}
    assert read(cluster, "killed", 200) == sender.acknowledged
    assert until(lambda: BrokerId(first) not in cluster.pids)
    assert any(note.endswith("has ended: killed by signal 9") for note in cluster.notes)
    cluster.start(BrokerId(first))
    cluster.await_calm()
    until(lambda: first in isr(other, "killed"))
    with pytest.raises(CannotServe, match=f"broker {first} is up; kill it first"):
        cluster.start(BrokerId(first))


def isr(connection: Any, topic: str) -> set[int]:
    (found,) = connection.call(Api.METADATA, 9, topics=[{"name": topic}]).topics
    return set(found.partitions[0].isr_nodes)


def test_a_transaction_commits_although_its_coordinator_is_killed(
    cluster: Served, connect: Connect
) -> None:
    create(cluster, "transferred")
    sender = Sender(cluster, "transferred", **{"transactional.id": "transfer"})
    sender.producer.init_transactions(WITHIN_S)
    sender.producer.begin_transaction()
    sender.send(1, 2, 3)
    sender.flush()
    asked = connect(cluster.bootstrap_servers)
    coordinator = asked.call(Api.FIND_COORDINATOR, 3, key="transfer", key_type=1).node_id
    os.kill(cluster.pids[BrokerId(coordinator)], signal.SIGKILL)
    sender.producer.commit_transaction(WITHIN_S)
    assert read(cluster, "transferred", 3) == [b"1", b"2", b"3"]


def test_a_broker_that_acknowledges_too_early_loses_a_record_when_it_is_killed(
    connect: Connect,
) -> None:
    bugs = bugs_named("ack-before-replication")
    with serving(
        ServeOptions(brokers=2, processes=True, broker_settings=SHORT, bugs=bugs)
    ) as cluster:
        asked = connect(cluster.bootstrap_servers)
        create_on_two(asked, "t")
        first = leader(asked, "t")
        led, other = (connect(cluster.bootstrap_servers, place - 1) for place in (first, 3 - first))
        follower = cluster.pids[BrokerId(3 - first)]
        os.kill(follower, signal.SIGSTOP)
        for number in range(2):  # the first one answers the fetch that waits at the leader
            answer = led.call(Api.PRODUCE, 9, **produce("t", b"%d" % number, sequence=number))
            assert error_of(answer) is ErrorCode.NONE
        os.kill(cluster.pids[BrokerId(first)], signal.SIGKILL)
        os.kill(follower, signal.SIGCONT)
        until(lambda: leader(other, "t") == 3 - first)
        answer = other.call(Api.PRODUCE, 9, **produce("t", b"instead", sequence=1))
        assert error_of(answer) is ErrorCode.NONE
        found = values(other.call(Api.FETCH, 12, **fetch("t", 0, max_wait=500)))
        assert found in ([b"0", b"instead"], [b"instead"]), "1 was acknowledged, and is lost"


# ---------------------------------------------------------------- SIGSTOP


def test_a_stopped_leader_acknowledges_and_shows_nothing_stale_when_it_continues(
    cluster: Served, connect: Connect
) -> None:
    create(cluster, "stopped")
    sender = Sender(cluster, "stopped")
    sender.send(1)
    sender.flush()
    first = leader(connect(cluster.bootstrap_servers), "stopped")
    old, reader = (connect(cluster.bootstrap_servers, first - 1) for _ in range(2))
    other = connect(cluster.bootstrap_servers, first % 3)
    pid = cluster.pids[BrokerId(first)]
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: leader(other, "stopped") not in {first, -1})
        second = leader(other, "stopped")
        led = connect(cluster.bootstrap_servers, second - 1)
        until(lambda: leader(led, "stopped") == second)  # it has applied the metadata too
        answer = led.call(Api.PRODUCE, 9, **produce("stopped", b"2"))
        assert error_of(answer) is ErrorCode.NONE
        # They wait in the socket of the stopped process.
        old.send(Api.PRODUCE, 9, **produce("stopped", b"stale", sequence=0))
        reader.send(Api.FETCH, 12, **fetch("stopped", 0, max_wait=0))
    finally:
        os.kill(pid, signal.SIGCONT)
    assert error_of(old.answer(Api.PRODUCE, 9)) is not ErrorCode.NONE
    assert b"stale" not in values(reader.answer(Api.FETCH, 12))
    cluster.await_calm()
    refused = until(
        lambda: error_of(old.call(Api.PRODUCE, 9, **produce("stopped", b"stale", sequence=1)))
    )
    assert refused is ErrorCode.NOT_LEADER_OR_FOLLOWER
    until(lambda: isr(other, "stopped") == set(BROKERS))
    found = values(led.call(Api.FETCH, 12, **fetch("stopped", 0, max_wait=0)))
    assert found == [b"1", b"2"]


def error_of(produced: Any) -> ErrorCode:
    (found,) = produced.responses[0].partition_responses
    return ErrorCode(found.error_code)


# ---------------------------------------------------------------- SIGTERM


def test_a_terminated_broker_hands_its_leaderships_over_and_stops_cleanly(
    tmp_path: Path, connect: Connect
) -> None:
    data = tmp_path / "data"
    options = ServeOptions(brokers=2, processes=True, data_dir=data, broker_settings=SERVED)
    with serving(options) as cluster:
        asked = connect(cluster.bootstrap_servers)
        create_on_two(asked, "t")
        first = leader(asked, "t")
        other = connect(cluster.bootstrap_servers, first % 2)
        answer = connect(cluster.bootstrap_servers, first - 1).call(
            Api.PRODUCE, 9, **produce("t", b"kept")
        )
        assert error_of(answer) is ErrorCode.NONE
        os.kill(cluster.pids[BrokerId(first)], signal.SIGTERM)
        until(lambda: BrokerId(first) not in cluster.pids)
        assert leader(other, "t") not in {first, -1}
        folder = data / f"broker-{first}"
        assert (folder / ".kafka_cleanshutdown").exists()
        assert any(note.endswith("has ended: it has shut down") for note in cluster.notes)
    with serving(replace(options, processes=False)) as cluster:
        asked = connect(cluster.bootstrap_servers)
        led = connect(cluster.bootstrap_servers, until(lambda: max(0, leader(asked, "t"))) - 1)
        assert values(led.call(Api.FETCH, 12, **fetch("t", 0, max_wait=500))) == [b"kept"]


def create_on_two(connection: Any, topic: str) -> None:
    new = {"name": topic, "num_partitions": 1, "replication_factor": 2}
    connection.call(Api.CREATE_TOPICS, 7, topics=[new], timeout=5000)
    until(lambda: leader(connection, topic) > 0)


# ---------------------------------------------------------------- users, and what is refused


ERIK = {"name": "erik", "mechanism": 1, "iterations": 4096, "salt": b"s", "salted_password": b"p"}


def alter(connection: Any) -> tuple[int, str | None]:
    (result,) = connection.call(
        Api.ALTER_USER_SCRAM_CREDENTIALS, 0, deletions=[], upsertions=[ERIK]
    ).results
    return result.error_code, result.error_message


def users(cluster: Served, connect: Connect, broker_id: BrokerId) -> list[str]:
    client = connect(cluster.bootstrap_servers, broker_id - 1)
    described = client.call(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, users=None)
    return [result.user for result in described.results]


def test_credentials_change_at_all_brokers_and_outlast_a_kill(
    cluster: Served, connect: Connect
) -> None:
    assert alter(connect(cluster.bootstrap_servers)) == (ErrorCode.NONE, None)
    assert [users(cluster, connect, broker_id) for broker_id in BROKERS] == [["erik"]] * 3
    cluster.kill(BROKERS[1])
    cluster.start(BROKERS[1])
    cluster.await_calm()
    assert users(cluster, connect, BROKERS[1]) == ["erik"]


def test_credentials_that_a_data_directory_has_are_known(tmp_path: Path, connect: Connect) -> None:
    options = ServeOptions(brokers=1, data_dir=tmp_path)
    with serving(options) as cluster:
        assert alter(connect(cluster.bootstrap_servers)) == (ErrorCode.NONE, None)
    with serving(replace(options, processes=True)) as cluster:
        assert users(cluster, connect, BROKERS[0]) == ["erik"]


def test_a_port_in_use_is_named_and_no_process_stays() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(CannotServe, match=rf"broker 1: 127\.0\.0\.1:{port}: .* port 0 selects"),
            serving(ServeOptions(brokers=1, processes=True, port=port)),
        ):
            pass


def test_a_folder_in_use_is_named(tmp_path: Path) -> None:
    options = ServeOptions(brokers=1, processes=True, data_dir=tmp_path)
    folder = tmp_path / "broker-1"
    folder.mkdir()
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with (
            pytest.raises(CannotServe, match="broker-1 is used by another process; stop it"),
            serving(options),
        ):
            pass
    with serving(options) as cluster:
        assert cluster.pids.keys() == {BrokerId(1)}
