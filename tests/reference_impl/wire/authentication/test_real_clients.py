"""The unmodified confluent-kafka client connects with each security protocol and mechanism."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from reference_impl.wire.security.settings import Mechanism
from reference_impl.wire.serving.serving import Served
from tests.reference_impl.wire.authentication.conftest import TLS, USERS, client_settings

Serve = Callable[..., Served]
SASL = [(protocol, m) for protocol in ("SASL_PLAINTEXT", "SASL_SSL") for m in Mechanism]
ALL = [("PLAINTEXT", ""), ("SSL", ""), *SASL]


# librdkafka reports the one or the other first.
DISCONNECTED = (KafkaError._TRANSPORT, KafkaError._SSL, KafkaError._ALL_BROKERS_DOWN)


def produced(cluster: Served, topic: str, settings: dict[str, Any]) -> bool:
    """Returns whether a record of an idempotent producer is delivered."""
    delivered: list[bool] = []
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "enable.idempotence": True,
            "message.timeout.ms": 5_000,
            **settings,
        }
    )
    producer.produce(topic, b"a", on_delivery=lambda error, _: delivered.append(error is None))
    producer.flush(10)
    return delivered == [True]


def read(cluster: Served, topic: str, settings: dict[str, Any]) -> list[bytes | None]:
    """Returns the first value that a consumer reads; empty if it reads none within 10 s."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": topic,
            "enable.auto.commit": False,
            **settings,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    values = [message.value() for message in consumer.consume(1, 10)]
    consumer.close()
    return values


@pytest.mark.parametrize(("protocol", "mechanism"), ALL)
def test_a_client_writes_and_reads(protocol: str, mechanism: str, served: Serve) -> None:
    cluster = served(protocol)
    settings = client_settings(protocol, mechanism)
    topic = f"of-{mechanism}"
    assert produced(cluster, topic, settings)
    assert read(cluster, topic, settings) == [b"a"]


def errors(cluster: Served, settings: dict[str, Any]) -> list[Any]:
    """Waits at most 5 s until a client reports an error; returns its errors."""
    found: list[Any] = []
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "error_cb": found.append,
            **settings,
        }
    )
    for _ in range(50):
        if producer.poll(0.1) or found:
            break
    return found


@pytest.mark.parametrize("mechanism", Mechanism)
@pytest.mark.parametrize("wrong", ["name", "password"])
def test_a_wrong_name_or_password_is_an_authentication_error(
    wrong: str, mechanism: Mechanism, served: Serve
) -> None:
    settings = client_settings("SASL_SSL", mechanism)
    settings[f"sasl.{'username' if wrong == 'name' else 'password'}"] = "wrong"
    first = errors(served("SASL_SSL"), settings)[0]
    assert first.code() == KafkaError._AUTHENTICATION
    assert "SASL authentication error" in first.str()


def test_a_mechanism_that_is_off_is_an_error_that_names_the_others(served: Serve) -> None:
    cluster = served("SASL_PLAINTEXT", mechanisms=(Mechanism.SCRAM_SHA_256,))
    first = errors(cluster, client_settings("SASL_PLAINTEXT", "PLAIN"))[0]
    assert "broker's supported mechanisms: SCRAM-SHA-256" in first.str()


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("PLAINTEXT", "SSL"), ("PLAINTEXT", "SASL_PLAINTEXT"), ("SSL", "PLAINTEXT")],
)
def test_a_client_of_another_protocol_is_disconnected(
    theirs: str, ours: str, served: Serve
) -> None:
    first = errors(served(ours), client_settings(theirs))[0]
    assert first.code() in DISCONNECTED


def test_a_client_has_a_certificate(served: Serve) -> None:
    cluster = served("SSL", client_ca=TLS / "client.pem")
    pair = {
        "ssl.certificate.location": str(TLS / "client.pem"),
        "ssl.key.location": str(TLS / "client.key"),
    }
    assert produced(cluster, "t", {**client_settings("SSL"), **pair})
    assert errors(cluster, client_settings("SSL"))


def test_librdkafka_authenticates_again_before_its_session_ends(served: Serve) -> None:
    """librdkafka authenticates again on the same connection, before its session ends (KIP-368).

    It does so after at most 90 % of the session's time.
    """
    cluster = served("SASL_PLAINTEXT", max_reauth_ms=600)
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "again",
            **client_settings("SASL_PLAINTEXT", "SCRAM-SHA-256", "a,b=c", USERS["a,b=c"]),
        }
    )
    for _ in range(3):
        consumer.poll(0.3)
        assert consumer.list_topics(timeout=5).brokers
    consumer.close()
    assert cluster.notes == []
