"""Fixtures: a cluster that serves TCP, and a client that sends single frames, encoded with kio.

Other fixtures connect the client to the leader of a topic, or to a coordinator.
"""

from __future__ import annotations

import io
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields
from datetime import timedelta
from typing import Any

import pytest
from kio.index import load_payload_module
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.plain_messages import receive
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving


@pytest.fixture(scope="module")
def cluster() -> Iterator[Served]:
    """Serves three brokers without faults; an exception in a broker fails the module."""
    with serving(ServeOptions()) as served:
        yield served


@dataclass
class Connection:
    """One TCP connection from the test client to one broker."""

    stream: socket.socket
    correlation: int = 0

    def call(self, api: Api, version: int, **values: Any) -> Any:
        self.send(api, version, **values)
        return self.answer(api, version)

    def send(self, api: Api, version: int, **values: Any) -> None:
        module = load_payload_module(api, version, EntityType.request)
        request = build(module, payload(module, EntityType.request), values)
        self.correlation += 1
        header_type = type(request).__header_schema__
        header = {
            "request_api_key": api,
            "request_api_version": version,
            "correlation_id": self.correlation,
            "client_id": "transcript",
        }
        known = {field.name for field in fields(header_type)}
        out = io.BytesIO()
        entity_writer(header_type)(out, header_type(**{k: header[k] for k in header if k in known}))
        entity_writer(type(request))(out, request)
        self.send_frame(out.getvalue())

    def send_frame(self, frame: bytes) -> None:
        self.stream.sendall(struct.pack(">i", len(frame)) + frame)

    def answer(self, api: Api, version: int) -> Any:
        frame = self.receive_frame()
        assert frame is not None, "the connection was closed without an answer"
        kind = payload(load_payload_module(api, version, EntityType.response), EntityType.response)
        header, at = entity_reader(kind.__header_schema__)(frame, 0)
        assert header.correlation_id == self.correlation
        body, size = entity_reader(kind)(frame, at)
        assert at + size == len(frame)
        return body

    def receive_frame(self) -> bytes | None:
        """Returns the next frame, or None if the broker has closed the connection."""
        try:
            return receive(self.stream)
        except ConnectionError:
            return None


def payload(module: Any, kind: EntityType) -> Any:
    """Returns kio's class for a request or a response, from one of its schema modules."""
    found = [value for value in vars(module).values() if getattr(value, "__type__", None) is kind]
    (one,) = [value for value in found if value.__module__ == module.__name__]
    return one


def build(module: Any, kind: Any, values: dict[str, Any]) -> Any:
    """Builds a kio entity from plain values: a dict becomes an entity, a list becomes an array."""
    made: dict[str, Any] = {}
    for field in fields(kind):
        if field.name in values:
            made[field.name] = _value(module, field, values[field.name])
        elif field.default is MISSING:
            made[field.name] = _absent(str(field.type))
    return kind(**made)


def _value(module: Any, field: Any, value: Any) -> Any:
    if "Timedelta" in str(field.type):
        return timedelta(milliseconds=value)
    if isinstance(value, list):
        name = str(field.type).removeprefix("tuple[").split(",")[0].split(".")[-1]
        entity = getattr(module, name, None)
        if entity is None or not value or not isinstance(value[0], dict):
            return tuple(value)
        return tuple(build(module, entity, one) for one in value)
    return value


def _absent(kind: str) -> Any:
    """Returns a value for a kio field that has neither a value from the test nor a default."""
    if "None" in kind:
        return None
    if kind.startswith("tuple"):
        return ()
    if "Timedelta" in kind:
        return timedelta(0)
    return False if "bool" in kind else "" if "str" in kind or "Name" in kind else 0


@pytest.fixture
def connect() -> Iterator[Callable[[str], Connection]]:
    """Yields a function that connects to one of the bootstrap servers, by default the first."""
    opened: list[socket.socket] = []

    def connected(servers: str, place: int = 0) -> Connection:
        host, port = servers.split(",")[place].split(":")
        stream = socket.create_connection((host, int(port)), timeout=20)
        opened.append(stream)
        return Connection(stream)

    yield connected
    for stream in opened:
        stream.close()


@pytest.fixture
def coordinator(
    cluster: Served, connect: Callable[..., Connection]
) -> Callable[[str, int], Connection]:
    """Returns a function that connects to the coordinator of a group or of a transactional id.

    The second argument of this function is 0 for a group and 1 for a transactional id.
    """

    def connected(key: str, kind: int) -> Connection:
        connection = connect(cluster.bootstrap_servers)
        while True:
            found = connection.call(Api.FIND_COORDINATOR, 3, key=key, key_type=kind)
            if found.error_code == 0:
                return connect(cluster.bootstrap_servers, found.node_id - 1)
            time.sleep(0.02)

    return connected


@pytest.fixture(scope="module")
def topics() -> set[str]:
    return set()


@pytest.fixture
def broker(
    cluster: Served, connect: Callable[..., Connection], topics: set[str]
) -> Callable[[str], Connection]:
    """Returns a function that creates a topic of one partition and connects to its leader."""

    def leading(topic: str) -> Connection:
        asked = connect(cluster.bootstrap_servers)
        if topic not in topics:
            new = {"name": topic, "num_partitions": 1, "replication_factor": 3}
            created = asked.call(Api.CREATE_TOPICS, 7, topics=[new], timeout=5000)
            assert created.topics[0].error_code == 0
            topics.add(topic)
        while True:
            (found,) = asked.call(Api.METADATA, 12, topics=[{"name": topic}]).topics
            if found.error_code == 0 and found.partitions[0].leader_id > 0:
                return connect(cluster.bootstrap_servers, found.partitions[0].leader_id - 1)

    return leading
