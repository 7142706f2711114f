"""A healthy client, which produces one record after another with acks=all, and measures the time of
each request.
"""

from __future__ import annotations

import io
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import timedelta
from multiprocessing.synchronize import Event
from typing import Any, Final

from kio.serial import entity_reader, entity_writer

from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.wire.messages.adapter import parts, payload
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.kio_schemas import EntityType
from reference_impl.wire.messages.plain_messages import receive

TOPIC: Final = "healthy"
PAUSE_S: Final = 0.005
NOT_LEADER: Final = 6
VERSIONS: Final = {Api.CREATE_TOPICS: 7, Api.METADATA: 9, Api.PRODUCE: 9}


def latencies_ms(servers: str, begun: Event, stop: Event) -> list[float]:
    """Sends produce requests until `stop` is set, and returns the time of each request in ms.

    A time includes the wait for a new leader. `begun` is set after the first request. Raises
    AssertionError for an error other than NOT_LEADER.
    """
    found: list[float] = []
    places = servers.split(",")
    with connected(places[0]) as first:
        create(first)
        stream = socket.create_connection(_address(places[leader(first) - 1]), timeout=60)
        while not stop.is_set():
            began_s = time.perf_counter()
            while (error := produce(stream)) == NOT_LEADER:
                stream.close()
                stream = socket.create_connection(_address(places[leader(first) - 1]), timeout=60)
            if error:
                raise AssertionError(f"a healthy client got the error {error}")
            found.append((time.perf_counter() - began_s) * 1000)
            begun.set()
            time.sleep(PAUSE_S)
        stream.close()
    return found


def _address(server: str) -> tuple[str, int]:
    host, port = server.split(":")
    return host, int(port)


@contextmanager
def connected(server: str) -> Iterator[socket.socket]:
    with socket.create_connection(_address(server), timeout=60) as stream:
        yield stream


def create(stream: socket.socket) -> None:
    new = make(
        Api.CREATE_TOPICS,
        "CreatableTopic",
        name=TOPIC,
        num_partitions=1,
        replication_factor=3,
        assignments=(),
        configs=(),
    )
    call(
        stream,
        Api.CREATE_TOPICS,
        topics=(new,),
        timeout=timedelta(seconds=10),
        validate_only=False,
    )


def leader(stream: socket.socket) -> int:
    wanted = make(Api.METADATA, "MetadataRequestTopic", name=TOPIC)
    while True:
        (topic,) = call(
            stream,
            Api.METADATA,
            topics=(wanted,),
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        ).topics
        if topic.partitions and topic.partitions[0].leader_id > 0:
            return int(topic.partitions[0].leader_id)
        time.sleep(0.05)


def produce(stream: socket.socket) -> int:
    """Produces one record, and returns the error code of the response."""
    data = make(
        Api.PRODUCE, "PartitionProduceData", index=0, records=encode([Record(value=b"v" * 100)])
    )
    topic = make(Api.PRODUCE, "TopicProduceData", name=TOPIC, partition_data=(data,))
    (answer,) = call(
        stream,
        Api.PRODUCE,
        transactional_id=None,
        acks=-1,
        timeout=timedelta(seconds=30),
        topic_data=(topic,),
    ).responses
    return int(answer.partition_responses[0].error_code)


def make(api: Api, part: str, **values: Any) -> Any:
    kind, _ = parts(api, VERSIONS[api], EntityType.request)[part]
    return kind(**values)


def call(stream: socket.socket, api: Api, **values: Any) -> Any:
    """Sends a request, and returns the body of the response."""
    version = VERSIONS[api]
    _, kind = payload(api, version, EntityType.request)
    header = kind.__header_schema__
    known = {
        "request_api_key": api,
        "request_api_version": version,
        "correlation_id": 1,
        "client_id": TOPIC,
    }
    names = {field.name for field in fields(header)}
    out = io.BytesIO()
    entity_writer(header)(out, header(**{name: known[name] for name in names & known.keys()}))
    entity_writer(kind)(out, kind(**values))
    stream.sendall(struct.pack(">i", len(out.getvalue())) + out.getvalue())
    frame = receive(stream)
    _, answer = payload(api, version, EntityType.response)
    _, at = entity_reader(answer.__header_schema__)(frame, 0)
    body, _ = entity_reader(answer)(frame, at)
    return body
