"""Sends requests of any type and version to a broker, one at a time, and waits for each answer."""

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
    """A TCP connection that opens at the first request, and at the next request after a close."""

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
        """Sends a request and returns the fields of its response, or a text if there is none.

        The text is `CLOSED`, `SILENT` (a timeout), `SENT` (no response is expected: acks=0), or an
        error.
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
        """Returns the fields of the next response, `CLOSED`, or `SILENT` after a timeout."""
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
