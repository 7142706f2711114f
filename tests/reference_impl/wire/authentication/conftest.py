"""Fixtures: clusters with each security protocol, and the settings of a client that may connect."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from reference_impl.wire.messages.apis import Api
from reference_impl.wire.security.settings import Mechanism, Security, SecurityProtocol
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving

TLS = Path(__file__).parents[3] / "data" / "tls"
USERS = {"alice": "secret", "a,b=c": "comma, equals = and é"}


def security(protocol: str, **settings: Any) -> Security:
    """Returns settings with the broker's certificate and the users, as the protocol needs them."""
    of = SecurityProtocol(protocol)
    if of.encrypts:
        settings = {"certificate": TLS / "broker.pem", "key": TLS / "broker.key", **settings}
    if of.authenticates:
        settings = {"users": USERS, **settings}
    return Security(protocol=of, **settings)


def client_settings(
    protocol: str, mechanism: str = "PLAIN", name: str = "alice", password: str | None = None
) -> dict[str, Any]:
    """Returns what librdkafka needs to connect, by default as the user `alice`."""
    settings: dict[str, Any] = {"security.protocol": protocol, "log_level": 0}
    if SecurityProtocol(protocol).encrypts:
        settings["ssl.ca.location"] = str(TLS / "broker.pem")
    if SecurityProtocol(protocol).authenticates:
        settings["sasl.mechanism"] = mechanism
        settings["sasl.username"] = name
        settings["sasl.password"] = USERS[name] if password is None else password
    return settings


@pytest.fixture(scope="module")
def served() -> Iterator[Callable[..., Served]]:
    """Yields a function that serves one broker with these settings, once in the module."""
    with ExitStack() as stack:

        @cache
        def with_settings(protocol: str, **settings: Any) -> Served:
            options = ServeOptions(
                brokers=1, auto_creates_topics=True, security=security(protocol, **settings)
            )
            return stack.enter_context(serving(options))

        yield with_settings


def plain(name: str, password: str, authorization_id: str = "") -> bytes:
    return b"\0".join(text.encode() for text in (authorization_id, name, password))


def handshake(connection: Any, mechanism: str = Mechanism.PLAIN, version: int = 1) -> Any:
    return connection.call(Api.SASL_HANDSHAKE, version, mechanism=mechanism)


def authenticate(connection: Any, token: bytes, version: int = 2) -> Any:
    return connection.call(Api.SASL_AUTHENTICATE, version, auth_bytes=token)


def is_admitted(connection: Any) -> bool:
    """Returns True if the broker answers a request, False if it closes the connection."""
    connection.send(Api.METADATA, 9, topics=[])
    return connection.receive_frame() is not None


def address(cluster: Served) -> tuple[str, int]:
    host, port = cluster.bootstrap_servers.split(",")[0].split(":")
    return host, int(port)


def noted(cluster: Served, text: str) -> bool:
    """Waits until the last line of the cluster's log contains the text, at most 5 s."""
    until_s = time.monotonic() + 5
    while time.monotonic() < until_s:
        if cluster.notes and text in cluster.notes[-1]:
            return True
        time.sleep(0.001)
    return False


def is_closed(stream: socket.socket) -> bool:
    """Waits until the broker closes the connection, and reads all that it sends before."""
    try:
        while stream.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True
