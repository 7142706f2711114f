"""Whatever arrives on a socket, other connections still get their responses."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.hostile_frames.requests import damaged, noise, request, versions
from reference_impl.log.compression import DECOMPRESSED_BYTES
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.connections.in_flight import InFlight, InFlightLimits
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.frame_limits import INLINE, LIMITS
from reference_impl.wire.messages.versions import VERSIONS
from reference_impl.wire.requests.answers import ANSWERS
from reference_impl.wire.requests.broker.served_broker import ServedBroker
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving
from tests.reference_impl.wire.one_topic import create, fetch, produce, values

Connect = Callable[..., Any]  # the fixture `connect` of conftest


def empty_names(count: int) -> bytes:
    """Returns a Metadata request of version 1 for `count` topics with empty names."""
    return struct.pack(">hhihi", Api.METADATA, 1, 1, -1, count) + b"\0\0" * count


def is_answered(connection: Any) -> bool:
    return bool(connection.call(Api.API_VERSIONS, 0).api_keys)


def bugs(cluster: Served) -> list[str]:
    return [note for note in cluster.notes if "bug" in note]


def send(cluster: Served, frame: bytes) -> None:
    """Sends a frame on a connection of its own and does not wait for a response."""
    host, port = cluster.bootstrap_servers.split(",")[0].split(":")
    with socket.create_connection((host, int(port)), timeout=20) as stream:
        stream.sendall(struct.pack(">i", len(frame)) + frame)
        stream.shutdown(socket.SHUT_WR)


# ---------------------------------------------------------------- damaged requests


@pytest.mark.parametrize("api", VERSIONS, ids=lambda api: api.name)
def test_damaged_requests_of_each_api_harm_nobody(
    api: Api, cluster: Served, connect: Connect
) -> None:
    healthy = connect(cluster.bootstrap_servers)
    rng = random.Random(f"damaged {api}")
    for _ in range(6):
        valid = request(api, rng.choice(versions(api)), rng).data
        for frame in (valid, *(damaged(valid, rng) for _ in range(4))):
            send(cluster, frame)
        assert is_answered(healthy)
    assert not bugs(cluster)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(max_size=40) | st.randoms(use_true_random=False).map(noise))
def test_random_bytes_harm_nobody(cluster: Served, connect: Connect, frame: bytes) -> None:
    send(cluster, frame)
    assert is_answered(connect(cluster.bootstrap_servers))
    assert not bugs(cluster)


def test_a_bug_in_a_handler_is_found(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests with damaged requests fail if a handler raises an exception.

    A handler is the function that answers the requests of one API. The test replaces the handler of
    ListOffsets by one that always raises an exception.
    """

    async def raises(broker: ServedBroker, call: Call) -> bytes:
        raise OverflowError(call.api.name)

    monkeypatch.setitem(ANSWERS, Api.LIST_OFFSETS, raises)
    with pytest.raises(OverflowError):
        with_damaged_requests(Api.LIST_OFFSETS, connect)


def with_damaged_requests(api: Api, connect: Connect) -> None:
    """Serves a broker and sends damaged requests; raises the exception of a handler, if any."""
    with serving(ServeOptions(brokers=1)) as cluster, contextlib.suppress(AssertionError):
        while not bugs(cluster):
            test_damaged_requests_of_each_api_harm_nobody(api, cluster, connect)


# ---------------------------------------------------------------- large requests


def test_a_large_request_is_handled_in_a_thread_of_its_own(
    cluster: Served, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request with more elements than `INLINE` permits leaves the brokers' event loop free."""
    names: list[str] = []
    original = ANSWERS[Api.METADATA]

    async def noted(broker: ServedBroker, call: Call) -> bytes:
        names.append(threading.current_thread().name)
        return await original(broker, call)

    monkeypatch.setitem(ANSWERS, Api.METADATA, noted)
    connection = connect(cluster.bootstrap_servers)
    for count in (INLINE.elements, INLINE.elements + 1):
        connection.send_frame(empty_names(count))
        assert connection.receive_frame() is not None
    assert names == ["reference broker", "large requests"]


def test_the_largest_requests_do_not_stop_a_healthy_client(
    cluster: Served, connect: Connect
) -> None:
    """While four connections send the largest requests, other requests take less than a second.

    If the largest requests ran in the event loop of the brokers, the others would take several
    seconds on a busy machine.
    """
    hostile = [connect(cluster.bootstrap_servers) for _ in range(4)]
    for connection in hostile:
        connection.send_frame(empty_names(LIMITS.elements))
    healthy = connect(cluster.bootstrap_servers)
    slowest_s = 0.0
    for _ in range(20):
        began_s = time.monotonic()
        assert is_answered(healthy)
        slowest_s = max(slowest_s, time.monotonic() - began_s)
    assert slowest_s < 1
    assert all(connection.receive_frame() is not None for connection in hostile)


def test_a_large_batch_is_appended_and_a_bomb_rejected(cluster: Served, connect: Connect) -> None:
    """A batch of 6,000 records is read in the thread for large requests.

    A zstd batch that becomes 100 MiB gets an error.
    """
    connection = connect(cluster.bootstrap_servers)
    create(connection, "large")
    many = encode([Record(value=b"v")] * 6_000, compression="lz4")
    bomb = encode([Record(value=bytes(DECOMPRESSED_BYTES))], compression="zstd")
    body = produce("large", b"")
    for batch, error in ((many, ErrorCode.NONE), (bomb, ErrorCode.MESSAGE_TOO_LARGE)):
        body["topic_data"][0]["partition_data"][0]["records"] = batch
        (found,) = connection.call(Api.PRODUCE, 9, **body).responses[0].partition_responses
        assert found.error_code == error
    answer = connection.call(Api.FETCH, 12, **fetch("large", 0, max_wait=100, max_bytes=1_000_000))
    assert len(values(answer)) == 6_000


# ---------------------------------------------------------------- in flight


def test_the_oldest_large_request_and_the_least_recently_used_connection_are_closed() -> None:
    found = InFlight[str](InFlightLimits(connections=2, large_bytes=100))
    assert [found.open(one) for one in "ab"] == [None, None]
    found.use("a")
    assert found.open("c") == "b"
    found.close("b")
    assert found.hold("a", 60) is None
    assert found.hold("c", 40) is None
    assert found.hold("c", 41) == "a"
    found.close("a")
    assert found.hold("c", 100) is None
    assert found.hold("c", 0) is None
    assert found.hold("d", 101) == "d"


def test_a_client_that_sends_slowly_keeps_nobody_waiting(connect: Connect) -> None:
    """Large frames share a limit of memory. A client that sends a large frame slowly is
    disconnected if another client's frame needs this memory.
    """
    limits = InFlightLimits(large_bytes=1_500_000)
    with serving(ServeOptions(brokers=1, in_flight=limits)) as cluster:
        slow, healthy = (connect(cluster.bootstrap_servers) for _ in range(2))
        create(healthy, "t")
        slow.stream.sendall(struct.pack(">i", LIMITS.frame_bytes) + bytes(1_100_000))
        time.sleep(0.2)
        answer = healthy.call(Api.PRODUCE, 9, **produce("t", bytes(900_000)))
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert slow.receive_frame() is None
        assert cluster.notes[-1].endswith(
            "all requests and responses in flight have too many bytes"
        )


def test_the_least_recently_used_of_too_many_connections_is_closed(connect: Connect) -> None:
    """If too many connections are open, the least recently used connection is closed.

    Kafka: Processor.closeExcessConnections.
    """
    with serving(ServeOptions(brokers=1, in_flight=InFlightLimits(connections=2))) as cluster:
        first, second = (connect(cluster.bootstrap_servers) for _ in range(2))
        assert is_answered(second)
        assert is_answered(first)
        third = connect(cluster.bootstrap_servers)
        assert is_answered(third)
        assert second.receive_frame() is None
        assert is_answered(first)


def test_idle_connections_harm_nobody() -> None:
    """A request gets its response while 199 other connections are idle.

    The benchmark `hostile_frames` has 2,000 idle connections.
    """
    with serving(ServeOptions(brokers=1)) as cluster:
        host, port = cluster.bootstrap_servers.split(":")
        idle = [socket.create_connection((host, int(port))) for _ in range(200)]
        try:
            idle[-1].sendall(struct.pack(">ihhih", 10, Api.API_VERSIONS, 0, 1, -1))
            assert len(idle[-1].recv(4)) == 4
        finally:
            for stream in idle:
                stream.close()


# ---------------------------------------------------------------- what a campaign found


@pytest.mark.parametrize("version", [10, 11])
def test_metadata_names_no_topic_by_its_id_before_version_12(
    version: int, cluster: Served, connect: Connect
) -> None:
    """Before Metadata version 12, a topic with a null name or a topic id gets INVALID_REQUEST.

    The response has an empty name in place of the null name. Kafka:
    KafkaApis.handleTopicMetadataRequest, MetadataRequest.getErrorResponse.
    """
    topics = [{"name": None, "topic_id": None}, {"name": "t", "topic_id": UUID(int=1)}]
    answer = connect(cluster.bootstrap_servers).call(Api.METADATA, version, topics=topics)
    assert [one.error_code for one in answer.topics] == [ErrorCode.INVALID_REQUEST] * 2
    assert [one.name for one in answer.topics] == ["", "t"]
    assert answer.brokers == ()
