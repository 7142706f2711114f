"""Connections: the order of responses, long polls, acks=0, and invalid frames."""

from __future__ import annotations

import random
import socket
import struct
from typing import Any

import pytest

from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving
from tests.reference_impl.wire.one_topic import create, fetch, leader, produce, values

Connect = Any  # the fixture `connect` of conftest
GOOD = struct.pack(">hhih", Api.API_VERSIONS, 0, 1, -1)


def test_a_connection_gets_its_responses_in_order(connect: Connect) -> None:
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        connection.send(Api.FETCH, 12, **fetch("t", 0, max_wait=300))  # nothing there: it waits
        connection.send(Api.PRODUCE, 9, **produce("t", b"a"))
        connection.correlation -= 1
        assert values(connection.answer(Api.FETCH, 12)) == []
        connection.correlation += 1
        assert (
            connection.answer(Api.PRODUCE, 9).responses[0].partition_responses[0].base_offset == 0
        )


def test_acks_0_closes_the_connection_if_it_fails(connect: Connect) -> None:
    """If a produce request with acks=0 fails, the broker closes the connection.

    Kafka: KafkaApis.handleProduceRequest, "Closing connection due to error".
    """
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        connection.send(Api.PRODUCE, 9, **produce("t", b"a", acks=0))
        assert leader(connection, "t") == 1  # still open
        connection.send(Api.PRODUCE, 9, **produce("t", b"a", sequence=7, acks=0))
        assert connection.receive_frame() is None
        again = connect(cluster.bootstrap_servers)
        again.send(Api.PRODUCE, 9, **produce("missing", b"a", acks=0))
        assert again.receive_frame() is None


def test_acks_0_has_no_response_and_the_record_is_appended(connect: Connect) -> None:
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        connection.send(Api.PRODUCE, 9, **produce("t", b"a", acks=0))

        assert values(connection.call(Api.FETCH, 12, **fetch("t", 0, max_wait=5000))) == [b"a"]


def test_a_long_poll_ends_with_the_append(connect: Connect) -> None:
    with serving(ServeOptions(brokers=3)) as cluster:
        first = connect(cluster.bootstrap_servers)
        create(first, "t", replicas=3)
        place = leader(first, "t") - 1
        reader, writer = (connect(cluster.bootstrap_servers, place) for _ in range(2))
        reader.send(Api.FETCH, 12, **fetch("t", 0, max_wait=2_000_000))
        writer.call(Api.PRODUCE, 9, **produce("t", b"a"))

        assert values(reader.answer(Api.FETCH, 12)) == [b"a"]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (struct.pack(">i", 3) + b"abc", "a frame of 3 bytes is too short for a request header"),
        (struct.pack(">i", -1), "a frame of -1 bytes"),
        (struct.pack(">i", 2**31 - 1), "a frame of 2147483647 bytes"),
        (b"GET / HTTP/1.1\r\n\r\n", "a frame of 1195725856 bytes"),
        (struct.pack(">ihhi", 8, 999, 0, 1), "api key 999 is not supported"),
        (struct.pack(">ihhi", 8, 4, 0, 1), "api key 4 is not supported"),
        (struct.pack(">ihhi", 8, 3, 99, 1), "METADATA version 99 is not supported"),
        (struct.pack(">ihhi", 8, 0, 2, 1), "PRODUCE version 2 is not supported"),
        (struct.pack(">ihhih", 10, 3, 9, 1, -1), "METADATA version 9: "),
        (struct.pack(">ihhih", 30, 3, 1, 1, -1) + b"\x7f" * 20, "METADATA version 1: "),
        (struct.pack(">ih", 100, 3), "the stream ends inside a frame"),
    ],
)
def test_an_invalid_frame_closes_its_connection_with_one_log_line(
    sent: bytes, expected: str, cluster: Served, connect: Connect
) -> None:
    before = len(cluster.notes)
    connection = connect(cluster.bootstrap_servers)
    connection.stream.sendall(sent)
    connection.stream.shutdown(socket.SHUT_WR)

    assert connection.receive_frame() is None
    assert len(cluster.notes) == before + 1
    assert expected in cluster.notes[-1]
    assert "\n" not in cluster.notes[-1]
    alive = connect(cluster.bootstrap_servers)
    alive.send_frame(GOOD)
    assert alive.receive_frame() is not None


def test_random_bytes_never_stop_the_server(cluster: Served, connect: Connect) -> None:
    rng = random.Random(8)
    for _ in range(1000):
        api = rng.choice(list(VERSIONS))
        body = bytes(
            rng.choice((0, 1, 2, 255, rng.randrange(256))) for _ in range(rng.randrange(60))
        )
        connection = connect(cluster.bootstrap_servers)
        frame = struct.pack(">hhih", api, rng.randrange(0, 14), 1, -1) + body
        connection.stream.sendall(struct.pack(">i", len(frame)) + frame)
        connection.stream.shutdown(socket.SHUT_WR)
        while connection.receive_frame() is not None:
            pass

    assert not [note for note in cluster.notes if "bug" in note]


def test_an_unknown_version_of_api_versions_gets_a_version_0_response(
    cluster: Served, connect: Connect
) -> None:
    connection = connect(cluster.bootstrap_servers)
    connection.send_frame(struct.pack(">hhih", Api.API_VERSIONS, 99, 1, -1))
    connection.correlation = 1

    answer = connection.answer(Api.API_VERSIONS, 0)
    assert answer.error_code == 35
    assert [(one.api_key, one.max_version) for one in answer.api_keys] == [(18, 4)]
