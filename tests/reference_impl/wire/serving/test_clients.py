"""The unmodified confluent-kafka client writes to and reads from the reference broker."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from reference_impl.log.consecutive_batches import batches
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, encode, header
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.serving import Served
from tests.reference_impl.wire.group_members import committed, member, share

COMPRESSIONS = ["none", "gzip", "snappy", "lz4", "zstd"]


def create(cluster: Served, topic: str, partitions: int = 1) -> int:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(topic, partitions, 3)])[topic].result()
    while True:
        found = admin.list_topics(topic, timeout=10).topics[topic].partitions
        if found and all(partition.leader > 0 for partition in found.values()):
            return int(found[0].leader)
        time.sleep(0.01)


def reader(cluster: Served) -> Any:
    """Returns a consumer that never commits, so closing the consumer needs no coordinator."""
    return Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )


def consume(cluster: Served, topic: str, count: int, offset: int = 0) -> list[Any]:
    consumer = reader(cluster)
    consumer.assign([TopicPartition(topic, 0, offset)])
    seen: list[Any] = []
    while len(seen) < count:
        seen += [message for message in consumer.consume(count, 0.1) if message.error() is None]
    consumer.close()
    return seen


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_batches_of_librdkafka_are_read_by_our_codec(
    compression: str, cluster: Served, connect: Callable[..., Any]
) -> None:
    topic = f"theirs-{compression}"
    leader = create(cluster, topic)
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "enable.idempotence": True,
            "compression.type": compression,
            "linger.ms": 50,
            "log_level": 0,
        }
    )
    sent = [
        Record(value=b"v" * n, key=b"k" * (n % 3), timestamp_ms=1000 + n, headers=(("h", b"x"),))
        for n in range(50)
    ]
    offsets: list[int | None] = []
    for record in sent:
        producer.produce(
            topic,
            value=record.value,
            key=record.key,
            timestamp=record.timestamp_ms,
            headers=list(record.headers),
            on_delivery=lambda _error, message: offsets.append(message.offset()),
        )
    assert producer.flush(10) == 0

    wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 100_000}
    connection = connect(cluster.bootstrap_servers, leader - 1)
    topics = [{"topic": topic, "partitions": [wanted]}]
    answer = connection.call(Api.FETCH, 12, max_wait=0, min_bytes=1, topics=topics)
    kept = list(batches(answer.responses[0].partitions[0].records))
    found = [pair for batch in kept for pair in decode(batch)]
    assert offsets == list(range(50))
    assert found == list(enumerate(sent))
    assert {header(batch).compression for batch in kept} == {compression}


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_batches_of_our_codec_are_read_by_librdkafka(
    compression: Any, cluster: Served, connect: Callable[..., Any]
) -> None:
    topic = f"ours-{compression}"
    leader = create(cluster, topic)
    sent = [
        Record(value=b"v" * n, key=None, timestamp_ms=n, headers=(("h", None),))
        for n in range(1, 9)
    ]
    data = {"index": 0, "records": encode(sent, compression=compression)}
    topics = [{"name": topic, "partition_data": [data]}]
    connection = connect(cluster.bootstrap_servers, leader - 1)
    connection.call(Api.PRODUCE, 9, acks=-1, timeout=5000, topic_data=topics)

    seen = consume(cluster, topic, len(sent) - 2, offset=2)

    assert [(m.offset(), m.value(), m.key(), m.timestamp()[1], m.headers()) for m in seen] == [
        (n, record.value, None, record.timestamp_ms, [("h", None)])
        for n, record in enumerate(sent)
        if n >= 2
    ]


def test_a_corrupt_batch_is_rejected_and_not_appended(
    cluster: Served, connect: Callable[..., Any]
) -> None:
    leader = create(cluster, "corrupt")
    batch = bytearray(encode([Record(value=b"abc")]))
    batch[-2] ^= 1
    connection = connect(cluster.bootstrap_servers, leader - 1)
    for records in (bytes(batch), bytes(batch[:-3]), b"", b"noise"):
        data = {"name": "corrupt", "partition_data": [{"index": 0, "records": records}]}
        said = connection.call(Api.PRODUCE, 9, acks=-1, timeout=5000, topic_data=[data])
        assert said.responses[0].partition_responses[0].error_code in (2, 87)

    consumer = reader(cluster)
    place = TopicPartition("corrupt", 0)
    assert consumer.get_watermark_offsets(place, timeout=10, cached=False) == (0, 0)
    consumer.close()


def test_an_existing_topic_and_too_many_replicas_are_rejected(cluster: Served) -> None:
    create(cluster, "once")
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for new, code in (
        (NewTopic("once", 1, 3), KafkaError.TOPIC_ALREADY_EXISTS),
        (NewTopic("many", 1, 4), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic("none", 0, 1), KafkaError.INVALID_PARTITIONS),
        (NewTopic("a/b", 1, 1), KafkaError.TOPIC_EXCEPTION),
    ):
        with pytest.raises(KafkaException) as refused:
            admin.create_topics([new])[new.topic].result()
        assert refused.value.args[0].code() == code


def test_librdkafka_deletes_records_and_a_consumer_restarts_at_the_log_start(
    cluster: Served,
) -> None:
    create(cluster, "shorter")
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for value in ("0", "1", "2"):
        producer.produce("shorter", value.encode())
    assert producer.flush(10) == 0
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    place = TopicPartition("shorter", 0, 2)
    assert admin.delete_records([place])[place].result().low_watermark == 2
    consumer = reader(cluster)
    assert consumer.get_watermark_offsets(place, timeout=10, cached=False) == (2, 3)
    consumer.close()
    assert [message.value() for message in consume(cluster, "shorter", 1, 2)] == [b"2"]
    beyond = TopicPartition("shorter", 0, 9)
    with pytest.raises(KafkaException) as refused:
        admin.delete_records([beyond])[beyond].result()
    assert refused.value.args[0].code() == KafkaError.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("retention.ms", "soon", "retention.ms=soon: must be a number of at least -1"),
        ("min.insync.replicas", "0", "must be a number of at least 1"),
        ("cleanup.policy", "compact,both", "must be delete or compact"),
        ("compression.type", "lzma", "compression.type=lzma: must be"),
        ("preallocate", "true", "preallocate is not supported"),
    ],
)
def test_an_unsupported_setting_is_rejected_by_name(
    cluster: Served, name: str, value: str, why: str
) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    new = NewTopic("set", 1, 1, config={name: value})
    with pytest.raises(KafkaException) as refused:
        admin.create_topics([new])["set"].result()
    assert why in refused.value.args[0].str()


# ---------------------------------------------------------------- transactions and groups


def test_a_transaction_of_librdkafka_is_atomic(cluster: Served) -> None:
    create(cluster, "whole")
    producer = transactional(cluster, "whole")
    for value, ends in (("one", True), ("two", False), ("three", True)):
        producer.begin_transaction()
        producer.produce("whole", value.encode())
        assert producer.flush(10) == 0
        if ends:
            producer.commit_transaction(10)
        else:
            producer.abort_transaction(10)
    assert values(cluster, "whole", "read_committed", 2) == ["one", "three"]
    assert values(cluster, "whole", "read_uncommitted", 3) == ["one", "two", "three"]


def test_a_new_instance_of_a_transactional_id_fences_the_old_one(cluster: Served) -> None:
    create(cluster, "fenced")
    zombie = transactional(cluster, "fenced")
    zombie.begin_transaction()
    zombie.produce("fenced", b"of the zombie")
    heir = transactional(cluster, "fenced")
    with pytest.raises(KafkaException) as refused:
        zombie.commit_transaction(10)
    assert refused.value.args[0].fatal()
    heir.begin_transaction()
    heir.produce("fenced", b"of the heir")
    heir.commit_transaction(10)
    assert values(cluster, "fenced", "read_committed", 1) == ["of the heir"]


def test_a_group_shares_a_topic_and_resumes_at_its_offsets(cluster: Served) -> None:
    create(cluster, "shared", 4)
    members = [member(cluster, "dividing", "shared") for _ in range(2)]
    share(cluster, "shared", members)
    again = member(cluster, "dividing", "shared")
    assert committed(again, "shared") == [10] * 4
    again.close()


def test_consume_transform_produce_is_exactly_once(cluster: Served) -> None:
    for topic in ("raw", "cooked"):
        create(cluster, topic)
    source = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    for number in range(12):
        source.produce("raw", str(number).encode())
    assert source.flush(10) == 0
    pipeline = transactional(cluster, "cook")
    done, steps = 0, 0
    while done < 12:
        consumer = member(cluster, "cooks", "raw")
        polled: list[Any] = []
        while not polled:
            polled = [m for m in consumer.consume(4, 0.5) if m.error() is None]
        pipeline.begin_transaction()
        for message in polled:
            pipeline.produce("cooked", message.value())
        pipeline.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 10
        )
        steps += 1
        if steps == 2:  # its outputs and its offsets are gone together
            pipeline.abort_transaction(10)
        else:
            pipeline.commit_transaction(10)
            done += len(polled)
        consumer.close()
    assert values(cluster, "cooked", "read_committed", 12) == [str(number) for number in range(12)]


def transactional(cluster: Served, transactional_id: str) -> Any:
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "transactional.id": transactional_id,
            "log_level": 0,
        }
    )
    producer.init_transactions(20)
    return producer


def values(cluster: Served, topic: str, isolation: str, count: int) -> list[str]:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    seen: list[str] = []
    while True:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error() is None:
            seen.append((message.value() or b"").decode())
        elif len(seen) >= count:  # the end: markers follow a commit a little later
            consumer.close()
            return seen
