"""Sends single requests to one broker, for requests that no client library can send.

    call(("127.0.0.1", 9092), Api.ELECT_LEADERS, 2, {"election_type": 0, ...})

The body and the answer are mappings of field names to values; see
`reference_impl.wire.messages.plain_messages`.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from reference_impl.wire.connections.listening import Address
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.plain_messages import decode, encode, receive

ANSWERS_WITHIN_S: Final = 10.0
CORRELATION_ID: Final = 1  # each request is sent after the answer to the one before


def call(
    to: Address,
    api: Api,
    version: int,
    body: Mapping[str, Any],
    *,
    within_s: float = ANSWERS_WITHIN_S,
) -> dict[str, Any]:
    """Sends one request and returns the fields of its answer. Raises OSError if the broker does not
    answer.
    """
    with socket.create_connection(to, within_s) as stream:
        return _exchange(stream, api, version, body)


@contextmanager
def connected(
    to: Address, *, within_s: float = ANSWERS_WITHIN_S
) -> Generator[Callable[[Api, int, Mapping[str, Any]], dict[str, Any]]]:
    """Yields a function that sends a request and returns the fields of its answer. All requests use
    the same connection.
    """
    with socket.create_connection(to, within_s) as stream:

        def send(api: Api, version: int, body: Mapping[str, Any]) -> dict[str, Any]:
            return _exchange(stream, api, version, body)

        yield send


def _exchange(
    stream: socket.socket, api: Api, version: int, body: Mapping[str, Any]
) -> dict[str, Any]:
    stream.sendall(encode(api, version, CORRELATION_ID, body))
    return decode(api, version, receive(stream))
