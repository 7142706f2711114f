"""If message.timestamp.type of a topic is LogAppendTime, the broker sets the timestamps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from model.vocabulary import ProducerEpoch, ProducerId, Sequence
from reference_impl.log.compression import Compression
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, encode, header
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving

Connect = Callable[..., Any]
LONG_AGO_MS = 1_000
APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}


@pytest.fixture(scope="module")
def one_broker() -> Iterator[Served]:
    with serving(ServeOptions(brokers=1)) as served:
        yield served


def created(served: Served, topic: str, config: dict[str, str]) -> None:
    admin = AdminClient({"bootstrap.servers": served.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(10)


def produced(connection: Any, topic: str, batch: bytes) -> Any:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
    body: dict[str, Any] = {"acks": -1, "timeout": 5_000, "topic_data": data}
    return connection.call(Api.PRODUCE, 9, **body).responses[0].partition_responses[0]


def fetched(connection: Any, topic: str) -> bytes:
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 10_000}
    body: dict[str, Any] = {"max_wait": 0, "min_bytes": 1, "max_bytes": 10_000}
    body["topics"] = [{"topic": topic, "partitions": [part]}]
    return bytes(connection.call(Api.FETCH, 11, **body).responses[0].partitions[0].records)


@pytest.mark.parametrize("target", ["producer", "zstd"])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_with_log_append_time_records_have_the_time_of_the_broker(
    one_broker: Served, connect: Connect, codec: Compression, target: str
) -> None:
    """The response has the time, and a retry of the batch gets the same time.

    Kafka: LogValidator.validateMessagesAndAssignOffsets, DefaultRecordBatch.setMaxTimestamp.
    """
    topic = f"{codec}-{target}"
    created(one_broker, topic, {**APPEND_TIME, "compression.type": target})
    connection = connect(one_broker.bootstrap_servers)
    batch = encode(
        [Record(value=b"v", timestamp_ms=LONG_AGO_MS + at) for at in range(3)],
        producer_id=ProducerId(7),
        producer_epoch=ProducerEpoch(0),
        base_sequence=Sequence(0),
        compression=codec,
    )
    before_ms = round(time.time() * 1000) - 1
    answer = produced(connection, topic, batch)
    assert ErrorCode(answer.error_code) is ErrorCode.NONE
    at_ms = round(answer.log_append_time.timestamp() * 1000)
    assert before_ms <= at_ms <= before_ms + 10_000
    assert produced(connection, topic, batch).log_append_time == answer.log_append_time
    found = fetched(connection, topic)
    assert header(found).is_log_append_time
    assert [record.timestamp_ms for _, record in decode(found)] == [at_ms] * 3


def test_a_client_reads_the_time_of_the_append_and_finds_records_by_it(one_broker: Served) -> None:
    created(one_broker, "appended", APPEND_TIME)
    created(one_broker, "sent", {"message.timestamp.type": "CreateTime"})
    address = {"bootstrap.servers": one_broker.bootstrap_servers}
    producer = Producer(address)
    for topic in ("appended", "sent"):
        producer.produce(topic, b"v", timestamp=LONG_AGO_MS)
    assert producer.flush(10) == 0
    times: dict[str | None, tuple[int, int]] = {}
    consumer = Consumer({**address, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["appended", "sent"])
    try:
        while len(times) < 2:
            message = consumer.poll(10)
            assert message is not None
            assert not message.error()
            times[message.topic()] = message.timestamp()
    finally:
        consumer.close()
    assert times["sent"] == (TIMESTAMP_CREATE_TIME, LONG_AGO_MS)
    kind, at_ms = times["appended"]
    assert kind == TIMESTAMP_LOG_APPEND_TIME
    assert abs(at_ms - time.time() * 1000) < 60_000


def test_a_record_older_than_the_topic_permits_is_refused(
    one_broker: Served, connect: Connect
) -> None:
    """KIP-937: message.timestamp.before.max.ms."""
    created(one_broker, "recent", {"message.timestamp.before.max.ms": "60000"})
    connection = connect(one_broker.bootstrap_servers)
    old = Record(value=b"v", timestamp_ms=LONG_AGO_MS)
    new = Record(value=b"v", timestamp_ms=round(time.time() * 1000))
    answer = produced(connection, "recent", encode([new, old]))
    assert ErrorCode(answer.error_code) is ErrorCode.INVALID_TIMESTAMP
    assert [one.batch_index for one in answer.record_errors] == [1]
    assert ErrorCode(produced(connection, "recent", encode([new])).error_code) is ErrorCode.NONE
