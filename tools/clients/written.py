"""Reads a topic's batches from the brokers, to check their compression codecs and producer ids."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any, Final

from checkers.testing.broker import Broker
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.record_batch import Header, header
from reference_impl.wire.messages import plain_messages
from reference_impl.wire.messages.apis import Api

VERSION: Final = 11  # the newest version of Fetch that names topics
FEW_BYTES: Final = 4_000_000


def codecs(broker: Broker, topic: str) -> set[str]:
    """Returns the compression codecs of the topic's batches.

    Raises ValueError if a batch has no producer id.
    """
    found: set[str] = set()
    for batch in _headers(broker, topic):
        if batch.producer_id < 0:
            raise ValueError(f"the batch at offset {batch.base_offset} is not idempotent")
        found.add(batch.compression)
    return found


def _headers(broker: Broker, topic: str) -> Iterator[Header]:
    addresses = {one["id"]: one["address"] for one in broker.call("GET", "/")["brokers"]}
    for index, partition in enumerate(broker.partitions(topic)):
        host, _, port = addresses[partition["leader"]].rpartition(":")
        with socket.create_connection((host, int(port)), timeout=20) as stream:
            at, end = 0, 1
            while at < end:
                answer = _fetch(stream, topic, index, at)
                end = answer["high_watermark"]
                for batch in batches(answer["records"] or b""):
                    yield header(batch)
                    at = header(batch).last_offset + 1


def _fetch(stream: socket.socket, topic: str, index: int, offset: int) -> dict[str, Any]:
    wanted = {
        "partition": index,
        "fetch_offset": offset,
        "partition_max_bytes": FEW_BYTES,
        "current_leader_epoch": -1,
        "log_start_offset": -1,
    }
    body = {
        "replica_id": -1,
        "max_wait": 100,
        "min_bytes": 1,
        "max_bytes": FEW_BYTES,
        "session_epoch": -1,
        "topics": [{"topic": topic, "partitions": [wanted]}],
    }
    stream.sendall(plain_messages.encode(Api.FETCH, VERSION, 1, body))
    answer = plain_messages.decode(Api.FETCH, VERSION, plain_messages.receive(stream))
    found: dict[str, Any] = answer["responses"][0]["partitions"][0]
    return found
