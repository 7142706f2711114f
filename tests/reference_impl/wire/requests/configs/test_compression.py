"""compression.type of a topic: the served broker stores batches in this codec (KIP-390)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, encode, header
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving

Connect = Callable[..., Any]
NOW_MS = round(time.time() * 1000)
RECORDS = [Record(value=b"v" * 300, timestamp_ms=NOW_MS) for _ in range(10)]


@pytest.fixture(scope="module")
def one_broker() -> Any:
    with serving(ServeOptions(brokers=1)) as served:
        yield served


def created(served: Served, topic: str, **configs: str) -> None:
    admin = AdminClient({"bootstrap.servers": served.bootstrap_servers})
    config = {name.replace("_", "."): value for name, value in configs.items()}
    admin.create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(10)


def produced(connection: Any, topic: str, batch: bytes) -> ErrorCode:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
    body: dict[str, Any] = {"acks": -1, "timeout": 5_000, "topic_data": data}
    answer = connection.call(Api.PRODUCE, 9, **body)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def fetched(connection: Any, topic: str) -> bytes:
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 10_000}
    body: dict[str, Any] = {"max_wait": 0, "min_bytes": 1, "max_bytes": 10_000}
    body["topics"] = [{"topic": topic, "partitions": [part]}]
    answer = connection.call(Api.FETCH, 11, **body)
    return bytes(answer.responses[0].partitions[0].records)


@pytest.mark.parametrize("kind", ["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_reader_gets_the_codec_of_the_topic(
    one_broker: Served, connect: Connect, kind: str
) -> None:
    created(one_broker, kind, compression_type=kind)
    connection = connect(one_broker.bootstrap_servers)
    sent = encode(RECORDS, compression="gzip")
    assert produced(connection, kind, sent) is ErrorCode.NONE
    batch = fetched(connection, kind)
    expected = {"producer": "gzip", "uncompressed": "none"}.get(kind, kind)
    assert header(batch).compression == expected
    assert decode(batch) == decode(sent)


def test_a_batch_that_grows_beyond_the_largest_size_is_refused(
    one_broker: Served, connect: Connect
) -> None:
    """The size is checked again after the broker has decompressed a batch.

    Kafka: UnifiedLog.append, messageSizeMaybeChanged.
    """
    created(one_broker, "small", compression_type="uncompressed", max_message_bytes="2000")
    connection = connect(one_broker.bootstrap_servers)
    whole = encode(RECORDS, compression="gzip")
    assert len(whole) < 2_000 < len(encode(RECORDS))
    assert produced(connection, "small", whole) is ErrorCode.MESSAGE_TOO_LARGE
    assert produced(connection, "small", encode(RECORDS[:3])) is ErrorCode.NONE
