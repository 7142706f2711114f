"""Guards the connections of a cluster until their clients may send requests.

A connection passes these steps from left to right:

    accepted -> TLS handshake -> SASL exchange -> requests

A step that is not configured is skipped. One time limit covers all steps before the requests.

A frame has at most 512 KiB until the client is authenticated. Later frames bypass this module,
unless sessions have a limited lifetime (connections.max.reauth.ms).

Source: SaslServerAuthenticator.authenticate (sasl.server.max.receive.size).
Simplified: if a client does not authenticate, Kafka closes the connection after ten minutes
(connections.max.idle.ms). The limit of this broker is shorter.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Protocol

from reference_impl.wire.authentication.authentication import Authentication, Refused, Stage
from reference_impl.wire.authentication.tls import TlsHandshake, server_context
from reference_impl.wire.connections.connection import Connection, LastResponse
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.broker.served_broker import ServedBroker
from reference_impl.wire.requests.handled import Handled
from reference_impl.wire.security.credentials import Credentials
from reference_impl.wire.security.settings import NO_SECURITY, Security

FRAME_BYTES: Final = 524_288  # sasl.server.max.receive.size
_LENGTH: Final = struct.Struct(">i")

Handler = Callable[[ServedBroker, Call], Coroutine[Any, Any, bytes | Handled]]


class Proceed(Protocol):
    async def __call__(self, frame: bytes, handler: Handler = ...) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Gate:
    """The settings, credentials and TLS context of a cluster's listeners."""

    security: Security
    credentials: Credentials
    tls: ssl.SSLContext | None

    @classmethod
    def of(cls, security: Security) -> Gate:
        """Returns a `Gate` for the security settings `security`. It has the certificates that the
        settings name, and the users' credentials. Raises BadSecurity if a file is unusable.
        """
        return cls(security, Credentials.of(security), server_context(security))

    def guard(
        self,
        connection: Connection,
        proceed: Proceed,
        *,
        now_ms: Callable[[], int],
        note: Callable[[Connection, str], None],
    ) -> asyncio.Protocol:
        """Returns the asyncio.Protocol that reads an accepted connection: a `TlsHandshake` if the
        listener uses TLS, otherwise `connection`. If clients must authenticate, a `_Guard` answers
        the first frames of the connection.
        """
        if self.security.protocol is NO_SECURITY.protocol:
            return connection
        authentication = None
        if self.security.protocol.authenticates:
            authentication = Authentication(
                credentials=self.credentials,
                mechanisms=self.security.mechanisms,
                max_reauth_ms=self.security.max_reauth_ms,
                now_ms=now_ms,
            )
        guard = _Guard(connection, proceed, authentication, self.security, note)
        if self.tls is None:
            return connection
        return TlsHandshake(connection, self.tls, guard.encrypted)


def open_gate() -> Gate:
    """Returns the gate of a PLAINTEXT listener, which admits each connection at once."""
    return Gate.of(NO_SECURITY)


class _Guard:
    """Answers a connection's frames until its client is authenticated."""

    def __init__(
        self,
        connection: Connection,
        proceed: Proceed,
        authentication: Authentication | None,
        security: Security,
        note: Callable[[Connection, str], None],
    ) -> None:
        self._connection = connection
        self._proceed = proceed
        self._authentication = authentication
        self._security = security
        self._note = note
        self._frame_bytes = connection.max_frame_bytes
        loop = asyncio.get_running_loop()
        self._limit = loop.call_later(security.admitted_within_s, self._take_too_long)
        if authentication is not None:
            connection.answer = self._answer
            connection.max_frame_bytes = min(FRAME_BYTES, self._frame_bytes)

    def encrypted(self) -> None:
        if self._authentication is None:
            self._limit.cancel()

    def _take_too_long(self) -> None:
        if not self._connection.has_ended:
            limit_s = self._security.admitted_within_s
            self._note(self._connection, f"its client was not admitted within {limit_s:g} s")
            self._connection.abort()

    async def _answer(self, frame: bytes) -> bytes | None:
        authentication = self._authentication
        assert authentication is not None, "else the connection answers by itself"
        if authentication.admits(frame):
            return await self._proceed(frame)
        try:
            if authentication.takes_bare_tokens:
                challenge = await authentication.take_bare_token(frame)
                answer: bytes | None = _LENGTH.pack(len(challenge)) + challenge
            else:
                answer = await self._proceed(frame, authentication.handle)
        except (LastResponse, Refused):
            self._note(self._connection, authentication.failure)
            raise
        if authentication.stage is Stage.AUTHENTICATED:
            self._admit()
        return answer

    def _admit(self) -> None:
        self._limit.cancel()
        self._connection.max_frame_bytes = self._frame_bytes
        if not self._security.max_reauth_ms:
            self._connection.answer = self._proceed
