"""Requests for one topic of one partition, over a connection of the test client."""

from __future__ import annotations

import time
from typing import Any

from model.vocabulary import ProducerEpoch, ProducerId, Sequence
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, encode
from reference_impl.wire.messages.apis import Api


def create(connection: Any, topic: str, *, replicas: int = 1) -> None:
    new = {"name": topic, "num_partitions": 1, "replication_factor": replicas}
    connection.call(Api.CREATE_TOPICS, 7, topics=[new], timeout=5000)
    while leader(connection, topic) < 1:
        time.sleep(0.01)


def leader(connection: Any, topic: str) -> int:
    (found,) = connection.call(Api.METADATA, 9, topics=[{"name": topic}]).topics
    return int(found.partitions[0].leader_id) if found.partitions else -1


def produce(topic: str, value: bytes, *, sequence: int = 0, acks: int = -1) -> dict[str, Any]:
    batch = encode(
        [Record(value=value)],
        producer_id=ProducerId(1), producer_epoch=ProducerEpoch(0),
        base_sequence=Sequence(sequence),
    )  # fmt: skip
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
    return {"acks": acks, "timeout": 5000, "topic_data": data}


def fetch(topic: str, offset: int, *, max_wait: int, max_bytes: int = 10_000) -> dict[str, Any]:
    wanted = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": max_bytes}
    topics = [{"topic": topic, "partitions": [wanted]}]
    return {"max_wait": max_wait, "min_bytes": 1, "topics": topics}


def values(fetched: Any) -> list[bytes | None]:
    (found,) = fetched.responses[0].partitions
    return [record.value for batch in batches(found.records) for _, record in decode(batch)]
