"""Sends requests of any type and version to a broker. A connection sends one request at a time, and
waits for its answer.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from reference_impl.wire.messages import plain_messages
from reference_impl.wire.messages.apis import Api

CLOSED: Final = "the connection is closed"
SILENT: Final = "no answer"
SENT: Final = "sent, no answer expected"
CONNECTS_WITHIN_S: Final = 10.0
ANSWERS_WITHIN_S: Final = 15.0

Answer = dict[str, Any] | str  # the fields of the response, or why there is none


@dataclass(slots=True)
class Connection:
    """A TCP connection to a broker. It opens when the first request is sent. If it was closed, it
    opens again when the next request is sent.
    """

    host: str
    port: int
    _socket: socket.socket | None = None
    _correlation_id: int = 0

    def send(
        self,
        api: Api,
        version: int,
        body: Mapping[str, Any],
        *,
        answered: bool = True,
        within_s: float = ANSWERS_WITHIN_S,
    ) -> Answer:
        """Sends a request and returns the fields of its response. Returns a text instead if there
        is no readable response.

        The text is `CLOSED` (the connection is closed), `SILENT` (no response came in time), `SENT`
        (the request expects no response, because `answered` is False), or a description of why the
        response cannot be decoded.
        """
        is_sent = self.write(api, version, body)
        if not is_sent:
            return CLOSED
        return self.read(api, version, within_s) if answered else SENT

    def write(self, api: Api, version: int, body: Mapping[str, Any]) -> bool:
        self._correlation_id += 1
        frame = plain_messages.encode(api, version, self._correlation_id, body)
        try:
            self._opened().sendall(frame)
        except OSError:
            self.close()
            return False
        return True

    def read(self, api: Api, version: int, within_s: float = ANSWERS_WITHIN_S) -> Answer:
        """Returns the fields of the next response. Returns `CLOSED` if the connection is closed,
        `SILENT` after a timeout, or a description of why the response cannot be decoded.
        """
        try:
            stream = self._opened()
            stream.settimeout(within_s)
            response = plain_messages.receive(stream)
        except TimeoutError:
            self.close()
            return SILENT
        except OSError:
            self.close()
            return CLOSED
        try:
            return plain_messages.decode(api, version, response)
        except plain_messages.UnreadableResponse as fault:
            return f"unreadable: {fault}"

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _opened(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection((self.host, self.port), CONNECTS_WITHIN_S)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket
