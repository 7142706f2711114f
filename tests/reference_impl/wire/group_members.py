"""Members of a group that are consumers of librdkafka, and how they share a topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from reference_impl.wire.serving.serving import Served

PARTITIONS = 4
RECORDS = 40


def member(cluster: Served, group: str, topic: str, **other: Any) -> Any:
    """Returns a consumer that reads the topic as a group member, and commits only on request."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "log_level": 0,
            **other,
        }
    )
    consumer.subscribe([topic])
    return consumer


def share(cluster: Served, topic: str, members: Sequence[Any]) -> None:
    """Asserts that two members own two partitions each, and together read each record once.

    Then they commit and leave.
    """
    while sorted(len(one.assignment()) for one in members) != [2, 2]:
        for one in members:
            assert one.poll(0.1) is None
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    for number in range(RECORDS):
        producer.produce(topic, str(number).encode(), partition=number % PARTITIONS)
    assert producer.flush(10) == 0
    seen: list[str] = []
    while len(seen) < RECORDS:
        for one in members:
            seen += [str(m.value()) for m in one.consume(20, 0.1) if m.error() is None]
    assert len(set(seen)) == len(seen)
    for one in members:
        one.commit(asynchronous=False)
        one.close()


def committed(consumer: Any, topic: str) -> list[int]:
    """Returns the offset that the consumer's group has committed in each of four partitions."""
    places = [TopicPartition(topic, index) for index in range(PARTITIONS)]
    return [place.offset for place in consumer.committed(places, timeout=10)]
