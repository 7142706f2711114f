"""If only the controller is killed, the brokers go on. A restarted controller has its metadata."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place

from checkers.testing.broker import Broker, Refused
from model.vocabulary import BrokerEpoch, BrokerId
from reference_impl.controller.controller import Controller
from reference_impl.node.settings import KAFKA_SETTINGS
from reference_impl.node.step import SetTimer
from reference_impl.protocol.controller import NO_METADATA, BrokerState
from reference_impl.wire.faults.reading import document_of, rule_of
from reference_impl.wire.faults.rule import CONTROLLER_NAME, BadFault
from reference_impl.wire.serving.options import CannotServe, ServeOptions
from reference_impl.wire.serving.serving import serving
from tests.reference_impl.wire.waiting import until


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker(brokers=3, topics={"t": 1}, processes=True) as broker:
        yield broker


@pytest.fixture
def broker(shared: Broker) -> Iterator[Broker]:
    yield shared
    shared.reset()


def send(broker: Broker, *numbers: int, topic: str = "t") -> None:
    """Sends the numbers with acks=all; fails unless each is acknowledged."""
    errors: list[Any] = []
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True, "log_level": 0}
    )
    for number in numbers:
        value = b"%d" % number
        producer.produce(topic, value, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0
    assert errors == [None] * len(numbers)


def read(broker: Broker, count: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"})
    consumer.assign([Place("t", 0, 0)])
    found = [int(one.value() or b"") for one in consumer.consume(count, 30)]
    consumer.close()
    return found


def test_brokers_serve_without_a_controller_and_it_elects_leaders_when_it_is_back(
    broker: Broker,
) -> None:
    first, pid = broker.leader("t"), broker.controller_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: broker.controller_pid is None)
    send(broker, *range(50))
    broker.happen("crash", broker=first)
    for fault, error in (
        ({"do": "elect", "topic": "t", "partition": 0}, "the controller is down; start it first"),
        ({"do": "start", "broker": first}, "the controller is down; start it first"),
        ({"do": "pause", "broker": "controller"}, "controller is down; start it first"),
    ):
        with pytest.raises(Refused, match=error):
            broker.call("POST", "/faults", fault)
    broker.happen("start", broker="controller")
    assert broker.controller_pid not in {None, pid}
    until(lambda: broker.leader("t") not in {first, -1})
    send(broker, *range(50, 100))
    broker.create_topic("new", replicas=2)
    broker.happen("start", broker=first)
    until(lambda: len(broker.partitions("t")[0]["isr"]) == 3)
    assert read(broker, 100) == [*range(100)]


def test_a_request_kills_the_controller_and_the_next_one_starts_it(broker: Broker) -> None:
    broker.create_topic("u")
    before, pid = broker.partitions("u"), broker.controller_pid
    produce: dict[str, Any] = {"api": "Produce", "topic": "u"}
    broker.fault(
        "crash",
        broker="controller",
        when={**produce, "applied": True, "nth": 1},
        then={"do": "start", "broker": "controller", "when": {**produce, "nth": 1}},
    )
    send(broker, 1, topic="u")
    until(lambda: broker.controller_pid is None)
    assert broker.call("GET", "/")["controller"] == {"state": "down"}
    send(broker, 2, topic="u")
    until(lambda: broker.controller_pid not in {None, pid})
    assert broker.call("GET", "/")["controller"]["state"] == "running"
    assert until(lambda: broker.partitions("u")) == before, "no broker was fenced"


def test_a_controller_in_the_process_of_all_brokers_cannot_be_killed() -> None:
    rule = rule_of({"do": "crash", "broker": CONTROLLER_NAME, "when": {"nth": 1}})
    assert document_of(rule)["broker"] == CONTROLLER_NAME
    with pytest.raises(BadFault, match="only with --processes; name a broker"):
        ServeOptions(faults=(rule,))
    with serving(ServeOptions(brokers=1)) as served:
        assert served.controller_pid is None
        with pytest.raises(CannotServe, match="only with `processes`"):
            served.kill(CONTROLLER_NAME)


def test_stored_brokers_have_the_time_of_a_session_for_a_heartbeat() -> None:
    known = BrokerState(broker_id=BrokerId(1), broker_epoch=BrokerEpoch(1), fenced=False)
    image = replace(NO_METADATA, version=1, brokers=(known,))
    (_, (timer,)) = Controller.start(1_000, broker_settings=KAFKA_SETTINGS, image=image)
    assert isinstance(timer, SetTimer)
    assert timer.at_ms == 1_000 + KAFKA_SETTINGS.session_timeout_ms
