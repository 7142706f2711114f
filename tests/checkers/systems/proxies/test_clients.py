"""A real producer sends through proxies, which apply faults, to the served reference broker."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from checkers.systems.proxies.proxies import Proxies
from checkers.systems.proxies.rules import CLIENT, DropRequest, DropResponse, Hold, Match, Rule
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving


@pytest.fixture(scope="module")
def proxied() -> Iterator[tuple[Proxies, str]]:
    """Serves one broker that clients can reach only through a proxy."""
    with socket.create_server(("127.0.0.1", 0)) as once:
        port = once.getsockname()[1]
    with Proxies() as proxies:
        front = proxies.open(CLIENT, 1, "127.0.0.1", 0, "127.0.0.1", port)
        options = ServeOptions(brokers=1, port=port, advertised=(("127.0.0.1", front),))
        with serving(options) as served:
            yield proxies, served.bootstrap_servers


def sent(servers: str, topic: str, *, idempotent: bool) -> list[str]:
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_topics([NewTopic(topic, 1, 1)]).values():
        future.result(20)
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": idempotent,
            "retry.backoff.ms": 20,
            "log_level": 0,
        }
    )
    for value in "abc":
        producer.produce(topic, value)
        assert producer.flush(20) == 0
    consumer = Consumer({"bootstrap.servers": servers, "group.id": topic, "log_level": 0})
    at = TopicPartition(topic, 0, 0)
    consumer.assign([at])
    _, end = consumer.get_watermark_offsets(at, 20)
    messages = [consumer.poll(20) for _ in range(end)]
    consumer.close()
    values = [message.value() for message in messages if message is not None]
    return [value.decode() for value in values if value is not None]


@pytest.mark.parametrize(
    ("topic", "rule", "idempotent", "values"),
    [
        ("calm", None, True, ["a", "b", "c"]),
        ("answer", DropResponse, False, ["a", "b", "b", "c"]),  # applied, then sent again
        ("deduplicated", DropResponse, True, ["a", "b", "c"]),
        ("request", DropRequest, False, ["a", "b", "c"]),  # never applied
    ],
)
def test_a_lost_answer_makes_the_client_send_again(
    proxied: tuple[Proxies, str],
    topic: str,
    rule: type[DropResponse | DropRequest] | None,
    idempotent: bool,
    values: list[str],
) -> None:
    proxies, servers = proxied
    of = Match(sender=CLIENT, receiver=1, api=Api.PRODUCE, first=2, count=1)
    rules: list[Rule] = [rule(of=of)] if rule else []
    before = proxies.requests(CLIENT, 1, Api.PRODUCE)
    with proxies.during(*rules) as active:
        assert sent(servers, topic, idempotent=idempotent) == values
        assert [one.acted for one in active] == [1 for _ in rules]
    requests = proxies.requests(CLIENT, 1, Api.PRODUCE) - before
    assert requests == 3 + len(rules)


def test_a_rule_affects_the_requests_of_one_partition_or_one_producer(
    proxied: tuple[Proxies, str],
) -> None:
    proxies, servers = proxied
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("two", 2, 1)])["two"].result(20)
    producer = Producer(
        {"bootstrap.servers": servers, "transactional.id": "payments", "log_level": 0}
    )
    producer.init_transactions(20)
    lost = DropResponse(of=Match(api=Api.PRODUCE, topic="two", partition=1, count=1))
    other = DropResponse(of=Match(api=Api.PRODUCE, topic="two", partition=7))
    nobody = DropResponse(of=Match(transactional_id="invoices"))
    ends = Match(api=Api.END_TXN, transactional_id="payments", count=1)
    held = Hold(of=ends, part="response", for_ms=50)
    with proxies.during(lost, other, nobody, held) as active:
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce("two", f"value {partition}", partition=partition)
        assert producer.flush(20) == 0
        producer.commit_transaction(20)
    assert [one.acted for one in active] == [1, 0, 0, 1]
    assert [one.undecided for one in active] == [0, 0, 0, 0]
