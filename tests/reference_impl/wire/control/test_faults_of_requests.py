"""Faults of requests act on unmodified librdkafka clients.

Most tests run with and without the fault, such as a dropped request, and expect different results.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.reference_impl.wire.control.conftest import IN_ONE_AND_MANY_PROCESSES, Control

pytestmark = IN_ONE_AND_MANY_PROCESSES

QUIET = {"log_level": 0, "topic.metadata.refresh.interval.ms": 100, "retry.backoff.ms": 10}


def producer(control: Control, **settings: Any) -> Producer:
    names = {name.replace("_", "."): value for name, value in settings.items()}
    fixed = {"bootstrap.servers": control.bootstrap_servers, "linger.ms": 0, **QUIET}
    return Producer({"enable.idempotence": True, "acks": "all", **fixed, **names})


def sent(client: Producer, topic: str, *values: bytes) -> list[str]:
    """Sends the values one by one; returns the error of each, or an empty text if delivered."""
    errors: list[str] = []
    for value in values:
        client.produce(
            topic,
            value,
            partition=0,
            on_delivery=lambda error, _: errors.append(error.name() if error else ""),
        )
        assert client.flush(20) == 0
    return errors


def read(control: Control, topic: str, **settings: Any) -> list[bytes]:
    """Reads the topic's partition 0 from its beginning to its end."""
    names = {name.replace("_", "."): value for name, value in settings.items()}
    fixed = {"bootstrap.servers": control.bootstrap_servers, "group.id": "readers", **QUIET}
    consumer = Consumer({**fixed, "enable.partition.eof": True, **names})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes] = []
    while True:
        message = consumer.poll(10)
        assert message is not None, "nothing came in ten seconds"
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF
            consumer.close()
            return values
        values.append(message.value() or b"")


@pytest.mark.parametrize("idempotent", [True, False])
def test_a_produce_without_a_response_is_sent_again_and_appended_once(
    control: Control, idempotent: bool
) -> None:
    topic = control.topic(f"again-{idempotent}")
    when = {"api": "Produce", "topic": topic, "applied": True, "nth": 2}
    fault = control.fault(do="disconnect", when=when)
    client = producer(control, enable_idempotence=idempotent, client_id="again")
    assert sent(client, topic, b"a", b"b", b"c") == ["", "", ""]

    assert control.get(f"/faults/{fault['id']}")["acted"] == 1
    answered = [
        one["answered"] for one in control.requests(f"api=Produce&client_id=again&topic={topic}")
    ]
    assert answered == [True, False, True, True]
    twice = [b"a", b"b", b"b", b"c"]  # what the fault does where nothing protects from it
    assert read(control, topic) == ([b"a", b"b", b"c"] if idempotent else twice)


@pytest.mark.parametrize("faulty", [True, False])
def test_a_dropped_request_is_not_applied_and_times_out(control: Control, faulty: bool) -> None:
    topic = control.topic(f"dropped-{faulty}")
    if faulty:
        control.fault(do="drop", when={"api": "Produce", "topic": topic, "times": 1})
    client = producer(
        control,
        enable_idempotence=False,
        retries=0,
        message_timeout_ms=3_000,
        socket_timeout_ms=500,
    )
    errors = sent(client, topic, b"a")
    assert (errors != [""]) == faulty
    assert read(control, topic) == ([] if faulty else [b"a"])


@pytest.mark.parametrize("faulty", [True, False])
def test_a_delayed_fetch_arrives_late(control: Control, faulty: bool) -> None:
    topic = control.topic(f"late-{faulty}")
    assert sent(producer(control), topic, b"a") == [""]
    if faulty:
        control.fault(do="delay", ms=700, when={"api": "Fetch", "topic": topic, "times": 1})
    begun_s = time.monotonic()
    assert read(control, topic) == [b"a"]
    assert time.monotonic() - begun_s > 0.7 or not faulty
    (slow, *_) = control.requests(f"api=Fetch&topic={topic}")
    assert (slow["took_ms"] >= 700) == faulty


@pytest.mark.parametrize("faulty", [True, False])
def test_an_error_by_name_makes_the_client_refresh_and_retry(
    control: Control, faulty: bool
) -> None:
    topic = control.topic(f"moved-{faulty}")
    if faulty:
        when = {"api": "Produce", "topic": topic, "times": 2}
        control.fault(do="error", error="NOT_LEADER_OR_FOLLOWER", when=when)
    assert sent(producer(control, client_id="moved"), topic, b"a") == [""]
    errors = [one["errors"] for one in control.requests(f"api=Produce&topic={topic}")]
    assert errors == ([["NOT_LEADER_OR_FOLLOWER"]] * 2 if faulty else []) + [[]]
    assert read(control, topic) == [b"a"]


@pytest.mark.parametrize(("applied", "values"), [(False, []), (True, [b"a"])])
def test_an_error_that_no_client_retries_fails_the_delivery(
    control: Control, applied: bool, values: list[bytes]
) -> None:
    topic = control.topic(f"failed-{applied}")
    when = {"api": "Produce", "topic": topic, "applied": applied}
    rule = control.fault(do="error", error="TOPIC_AUTHORIZATION_FAILED", when=when)
    client = producer(control, enable_idempotence=False)
    assert sent(client, topic, b"a") == ["TOPIC_AUTHORIZATION_FAILED"]
    control.call("DELETE", f"/faults/{rule['id']}")
    assert read(control, topic) == values
    assert sent(client, topic, b"b") == [""]


def test_a_client_retries_at_a_coordinator_that_is_loading(control: Control) -> None:
    topic = control.topic("coordinated")
    for api in ("FindCoordinator", "OffsetCommit", "OffsetFetch"):
        control.fault(
            do="error", error="COORDINATOR_LOAD_IN_PROGRESS", when={"api": api, "times": 1}
        )
    consumer = Consumer({"bootstrap.servers": control.bootstrap_servers, "group.id": "g", **QUIET})
    for attempt in range(2):
        try:
            consumer.commit(offsets=[TopicPartition(topic, 0, 7)], asynchronous=False)
            break
        except KafkaException:
            assert attempt == 0  # librdkafka leaves this error to the application
    (committed,) = consumer.committed([TopicPartition(topic, 0)], timeout=10)
    consumer.close()
    assert committed.offset == 7
    assert [one["acted"] for one in control.get("/faults")["faults"]] == [1, 1, 1]


def test_a_topic_is_unknown_while_metadata_responses_have_this_error(control: Control) -> None:
    topic = control.topic("hidden")
    when = {"api": "Metadata", "client_id": "hidden"}
    rule = control.fault(do="error", error="UNKNOWN_TOPIC_OR_PARTITION", when=when)
    client = producer(control, client_id="hidden")
    metadata = client.list_topics(topic, timeout=10)
    assert metadata.topics[topic].error.name() == "UNKNOWN_TOPIC_OR_PART"
    assert len(metadata.brokers) == 3
    control.call("DELETE", f"/faults/{rule['id']}")
    assert client.list_topics(topic, timeout=10).topics[topic].error is None


def test_the_log_waits_for_requests_and_selects_them(control: Control) -> None:
    topic = control.topic("watched")
    before = control.get("/requests")["last"]
    client = producer(control, client_id="watched")
    client.produce(topic, b"a", partition=0)
    query = f"api=Produce&topic={topic}&client_id=watched&since={before}&count=1&wait_ms=9000"
    (logged,) = control.requests(query)
    assert logged["partitions"] == [[topic, 0]]
    assert logged["number"] > before
    assert (logged["api"], logged["errors"], logged["faults"]) == ("Produce", [], [])
    assert control.requests(f"topic={topic}&partition=1") == []
    assert control.requests("client_id=nobody") == []
    client.flush(10)
