"""Single requests to one broker, for what the clients' libraries have no call.

    call(("127.0.0.1", 9092), Api.ELECT_LEADERS, 2, {"election_type": 0, ...})

The body and the answer are plain messages, see `reference_impl.wire.plain_messages`.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any, Final

from reference_impl.wire.apis import Api
from reference_impl.wire.plain_messages import decode, encode, receive

Address = tuple[str, int]
ANSWERS_WITHIN_S: Final = 10.0
CORRELATION_ID: Final = 1  # each connection has one request


def call(
    to: Address,
    api: Api,
    version: int,
    body: Mapping[str, Any],
    *,
    within_s: float = ANSWERS_WITHIN_S,
) -> dict[str, Any]:
    """Sends one request and returns its answer; raises OSError if the broker does not answer."""
    with socket.create_connection(to, within_s) as stream:
        stream.sendall(encode(api, version, CORRELATION_ID, body))
        return decode(api, version, receive(stream))
