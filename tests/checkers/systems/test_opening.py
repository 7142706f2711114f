"""The text of the option `--on` names a system; the error for a wrong text says what to write."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from checkers.systems.opening import PEERS, KafkaSystem, PeerSystem, ServedSystem, named, opened
from checkers.systems.proxies.rules import DropResponse, Match
from checkers.systems.remote import Remote
from checkers.systems.system import Ability, Layout, Unable
from model.faults import InputFault
from reference_impl.wire.messages.apis import Api


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("served", ServedSystem()),
        ("apache-kafka", KafkaSystem(version="4.3.0")),
        ("apache-kafka:3.5.2", KafkaSystem(version="3.5.2")),
        ("kfake", PeerSystem(name="kfake")),
        ("kafka:9092", Remote("kafka:9092")),
        ("10.0.0.1:9092,[::1]:9093", Remote("10.0.0.1:9092,[::1]:9093")),
    ],
)
def test_a_text_names_a_system(text: str, system: object) -> None:
    assert named(text) == system


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("serve", "a system is served, apache-kafka:VERSION, kfake, librdkafka-mock or HOST:PORT"),
        ("apache-kafka:4", "a version has three numbers, such as 4.3.0"),
        ("apache-kafka:2.8.1", "the oldest version that Urteil starts is 3.5.0"),
        ("kafka:port", "'kafka:port' is not an address"),
        ("kafka:9092,", "'' is not an address"),
    ],
)
def test_a_wrong_text_is_an_error_with_the_next_move(text: str, complaint: str) -> None:
    with pytest.raises(InputFault, match=complaint):
        named(text)


def test_an_unpacked_release_needs_no_version_and_has_jars(tmp_path: Path) -> None:
    with pytest.raises(InputFault, match="use it with --on apache-kafka, without a version"):
        named("apache-kafka:4.3.0", tmp_path)
    with (
        pytest.raises(InputFault, match="there is no libs/kafka_2"),
        opened(named("apache-kafka", tmp_path), tmp_path / "run"),
    ):
        pass
    assert not (tmp_path / "run").exists()


def test_a_remote_cluster_suffers_no_fault(tmp_path: Path) -> None:
    with opened(named("kafka:9092"), tmp_path / "run") as system:
        assert (system.bootstrap_servers, system.brokers) == ("kafka:9092", ())
        assert not system.abilities
        with pytest.raises(Unable, match="kafka:9092 lacks the ability kill"):
            system.do(Ability.KILL, 1)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"log.dirs": "/x"}, "--broker-config log.dirs=/x: a broker cannot start with 'log.dirs'"),
        ({"group.min.session.timeout.ms": "1s"}, "=1s: the value must be a number of milliseconds"),
    ],
)
def test_the_reference_broker_refuses_other_settings(
    tmp_path: Path, settings: dict[str, str], says: str
) -> None:
    layout = Layout(settings=settings)
    with pytest.raises(InputFault, match=says), opened(named("served"), tmp_path, layout):
        pass


def test_the_reference_broker_has_the_settings_of_its_layout(tmp_path: Path) -> None:
    for settings, code in (
        ({}, KafkaError.INVALID_SESSION_TIMEOUT),
        ({"group.min.session.timeout.ms": "500"}, None),
    ):
        layout = Layout(brokers=1, settings=settings)
        with opened(named("served"), tmp_path, layout) as system:
            assert outcome_of_joining(system.bootstrap_servers) == code


def outcome_of_joining(bootstrap_servers: str) -> int | None:
    """Joins a group with a session timeout of one second.

    Returns the error code, or None without an error.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result()
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "g",
            "session.timeout.ms": 1_000,
            "heartbeat.interval.ms": 200,
            "log_level": 0,
        }
    )
    consumer.subscribe(["t"])
    try:
        while not consumer.assignment():
            message = consumer.poll(0.1)
            error = None if message is None else message.error()
            if error is not None and error.code() == KafkaError.INVALID_SESSION_TIMEOUT:
                return int(error.code())
        return None
    finally:
        consumer.close()


def test_a_proxied_reference_broker_loses_a_response(tmp_path: Path) -> None:
    with opened(named("served"), tmp_path, Layout(brokers=2, proxied=True)) as system:
        assert system.proxies is not None
        lost = system.proxies.add(DropResponse(of=Match(api=Api.METADATA, count=1)))
        admin = AdminClient({"bootstrap.servers": system.bootstrap_servers, "log_level": 0})
        assert set(admin.list_topics(timeout=10).brokers) == {1, 2}
        assert system.proxies.await_acted(lost)


def test_a_served_broker_is_killed_and_starts_again(tmp_path: Path) -> None:
    with opened(named("served"), tmp_path, Layout(brokers=2)) as system:
        assert system.abilities == {
            Ability.KILL,
            Ability.START,
            Ability.LOSE_POWER,
            Ability.CONFIGURE,
            Ability.DELETE_RECORDS,
        }
        address = system.bootstrap_servers
        system.do(Ability.KILL, 2)
        system.do(Ability.START, 2)
        system.await_brokers(1, 2)
        assert system.bootstrap_servers == address
        with pytest.raises(Unable, match="served lacks the ability pause"):
            system.do(Ability.PAUSE, 1)


@pytest.mark.parametrize(("fault", "end"), [(Ability.KILL, 1), (Ability.LOSE_POWER, 0)])
def test_a_power_loss_loses_acknowledged_records_that_were_not_flushed(
    tmp_path: Path, fault: Ability, end: int
) -> None:
    with opened(named("served"), tmp_path, Layout(brokers=1)) as system:
        clients: dict[str, str | int | float | bool] = {
            "bootstrap.servers": system.bootstrap_servers,
            "log_level": 0,
        }
        admin = AdminClient(clients)
        admin.create_topics([NewTopic("t", 1, 1)])["t"].result()
        producer = Producer(clients)
        producer.produce("t", "a")
        assert producer.flush(20) == 0
        system.do(fault, 1)
        system.do(Ability.START, 1)
        system.await_brokers(1)
        consumer = Consumer({**clients, "group.id": "g"})
        assert consumer.get_watermark_offsets(TopicPartition("t", 0), 20) == (0, end)
        consumer.close()


@pytest.mark.parametrize("peer", PEERS)
def test_another_implementation_is_started_and_has_no_abilities(peer: str, tmp_path: Path) -> None:
    if peer == "kfake" and shutil.which("go") is None:
        pytest.skip("kfake is built with Go, and there is no `go`")
    with opened(named(peer), tmp_path / "run", Layout(brokers=2)) as system:
        assert (system.name, system.abilities) == (peer, frozenset())
        admin = AdminClient({"bootstrap.servers": system.bootstrap_servers, "log_level": 0})
        assert len(admin.list_topics(timeout=20).brokers) == 2
