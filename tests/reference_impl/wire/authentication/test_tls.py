"""Connections over TLS: the handshake, its time limit, and clients that do not speak TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any, Final

import pytest

from model.vocabulary import BrokerId
from reference_impl.wire.authentication.tls import TlsHandshake, server_context
from reference_impl.wire.connections.connection import Connection as ServedConnection
from reference_impl.wire.connections.in_flight import InFlightLimits
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving
from tests.reference_impl.wire.authentication.conftest import (
    TLS,
    address,
    authenticate,
    handshake,
    is_admitted,
    is_closed,
    noted,
    plain,
    security,
)
from tests.reference_impl.wire.conftest import Connection

Serve = Callable[..., Served]
Connect = Callable[..., Any]  # the fixtures `tcp` and `encrypted`
LIMIT_S: Final = 1  # a busy machine may need more than 0.1 s for a handshake


def client_context(**files: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(TLS / "broker.pem"))
    if files:
        context.load_cert_chain(files["certificate"], files["key"])
    return context


@pytest.fixture
def tcp() -> Iterator[Connect]:
    """Yields a function that opens a TCP connection to the first broker."""
    with ExitStack() as opened:
        yield lambda cluster: opened.enter_context(
            socket.create_connection(address(cluster), timeout=20)
        )


@pytest.fixture
def encrypted(tcp: Connect) -> Iterator[Connect]:
    """Yields a function that connects to the first broker and completes the TLS handshake."""
    with ExitStack() as opened:

        def connected(
            cluster: Served, context: ssl.SSLContext | None = None, host: str = "localhost"
        ) -> Connection:
            stream = (context or client_context()).wrap_socket(
                tcp(cluster), server_hostname=host, do_handshake_on_connect=False
            )
            opened.enter_context(stream)
            stream.do_handshake()
            return Connection(stream)

        yield connected


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_requests_are_encrypted(host: str, served: Serve, encrypted: Connect) -> None:
    connection = encrypted(served("SSL"), host=host)
    assert is_admitted(connection)
    stream = connection.stream
    assert isinstance(stream, ssl.SSLSocket)
    assert stream.version() == "TLSv1.3"


def test_a_client_may_speak_tls_1_2(served: Serve, encrypted: Connect) -> None:
    context = client_context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    connection = encrypted(served("SSL"), context)
    assert is_admitted(connection)


def test_a_client_authenticates_over_tls(served: Serve, encrypted: Connect) -> None:
    with_sasl, without = (encrypted(served("SASL_SSL")) for _ in range(2))
    handshake(with_sasl)
    assert authenticate(with_sasl, plain("alice", "secret")).error_code == 0
    assert is_admitted(with_sasl)
    assert not is_admitted(without)


def test_a_refused_client_gets_a_last_response_over_tls(served: Serve, encrypted: Connect) -> None:
    connection = encrypted(served("SASL_SSL"))
    handshake(connection)
    assert authenticate(connection, plain("alice", "wrong")).error_code == 58
    assert connection.receive_frame() is None


def test_responses_of_a_megabyte_arrive_whole(served: Serve, encrypted: Connect) -> None:
    """A large response is written in many TLS records, with pauses for a slow reader."""
    connection = encrypted(served("SSL"))
    names = [{"name": "x" * 240 + str(number)} for number in range(4000)]
    connection.send(Api.METADATA, 8, topics=names, allow_auto_topic_creation=False)
    time.sleep(0.1)
    frame = connection.receive_frame()
    assert frame is not None
    assert len(frame) > 1_000_000


# ---------------------------------------------------------------- certificates


def test_a_client_that_does_not_trust_the_certificate_leaves(
    served: Serve, encrypted: Connect
) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        encrypted(served("SSL"), ssl.create_default_context())
    assert is_admitted(encrypted(served("SSL")))


def test_a_client_needs_a_certificate_of_the_client_ca(served: Serve, encrypted: Connect) -> None:
    cluster = served("SSL", client_ca=TLS / "client.pem")
    pair = {"certificate": TLS / "client.pem", "key": TLS / "client.key"}
    connection = encrypted(cluster, client_context(**pair))
    assert is_admitted(connection)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "peer did not return a certificate"),
        ({"certificate": TLS / "broker.pem", "key": TLS / "broker.key"}, "certificate verify"),
    ],
    ids=["none", "another"],
)
def test_a_client_without_such_a_certificate_is_refused(
    files: dict[str, Any], why: str, served: Serve, encrypted: Connect
) -> None:
    """The broker refuses a client without a certificate that it trusts. In TLS 1.3, the client
    learns of the refusal only at its first read.
    """
    cluster = served("SSL", client_ca=TLS / "client.pem")
    connection = encrypted(cluster, client_context(**files))
    with suppress(ssl.SSLError, ConnectionError):
        assert not is_admitted(connection)
    assert noted(cluster, f"the TLS handshake failed: {why}")


# ---------------------------------------------------------------- other clients


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">ihhih", 10, Api.API_VERSIONS, 0, 1, -1),
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x00\x05garbage",
        b"\0" * 100,
    ],
    ids=["plaintext", "http", "damaged", "zeros"],
)
def test_a_client_that_does_not_speak_tls_is_closed(
    data: bytes, served: Serve, tcp: Connect, encrypted: Connect
) -> None:
    cluster = served("SSL")
    client = tcp(cluster)
    client.sendall(data)
    assert is_closed(client)
    assert noted(cluster, "closes the connection")
    assert is_admitted(encrypted(cluster))
    assert not any("bug" in note for note in cluster.notes)


def test_the_log_names_a_client_of_another_protocol(served: Serve, tcp: Connect) -> None:
    cluster = served("SSL")
    client = tcp(cluster)
    client.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert is_closed(client)
    assert noted(cluster, "does not speak TLS; set its security protocol")


def test_a_client_that_only_connects_is_no_failure(
    served: Serve, tcp: Connect, encrypted: Connect
) -> None:
    cluster = served("SSL")
    client = tcp(cluster)
    port = client.getsockname()[1]
    client.close()
    assert is_admitted(encrypted(cluster))
    assert not any(f":{port}:" in note for note in cluster.notes)


def test_a_handshake_that_stops_half_way_is_closed_in_time(
    tcp: Connect, encrypted: Connect
) -> None:
    slow = security("SSL", admitted_within_s=LIMIT_S)
    with serving(ServeOptions(brokers=1, security=slow)) as cluster:
        silent, half = tcp(cluster), tcp(cluster)
        half.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        assert is_closed(silent)
        assert is_closed(half)
        connection = encrypted(cluster)
        time.sleep(LIMIT_S)
        assert is_admitted(connection), "the limit ends with the handshake"
    assert [note.split(": ")[1] for note in cluster.notes] == [
        f"its client was not admitted within {LIMIT_S} s"
    ] * 2


def test_connections_in_a_handshake_count(served: Serve, tcp: Connect, encrypted: Connect) -> None:
    few = InFlightLimits(connections=2)
    options = ServeOptions(brokers=1, security=security("SSL"), in_flight=few)
    with serving(options) as cluster:
        first, _second = tcp(cluster), tcp(cluster)
        third = encrypted(cluster)
        assert is_closed(first)
        assert is_admitted(third)


def test_a_broker_that_dies_closes_connections_in_every_state(
    tcp: Connect, encrypted: Connect
) -> None:
    with serving(ServeOptions(brokers=1, security=security("SASL_SSL"))) as cluster:
        silent, begun = tcp(cluster), encrypted(cluster)
        handshake(begun)
        cluster.kill(BrokerId(1))
        assert is_closed(silent)
        assert begun.receive_frame() is None


# ---------------------------------------------------------------- the protocol of the handshake


def test_bytes_that_arrive_with_the_end_of_the_handshake_are_not_lost() -> None:
    """asyncio may deliver data to the old protocol before `start_tls` has returned."""
    frames: list[bytes] = []

    async def answer(frame: bytes) -> None:
        frames.append(frame)

    async def run() -> None:
        ended = asyncio.Event()
        connection = ServedConnection(
            answer,
            begin=lambda _: None,
            end=lambda _, error: ended.set(),
            max_frame_bytes=100,
        )
        context = server_context(security("SSL"))
        assert context is not None
        shaking = TlsHandshake(connection, context, lambda: None)
        shaking.data_received(struct.pack(">i", 1) + b"a")
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: shaking, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=client_context(), server_hostname="localhost"
        )
        writer.write(struct.pack(">i", 1) + b"b")
        writer.close()
        await ended.wait()
        server.close()
        await writer.wait_closed()

    asyncio.run(run())
    assert frames == [b"a", b"b"]
