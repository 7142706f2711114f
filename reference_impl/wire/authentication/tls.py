"""Encrypts connections: creates the TLS context with the brokers' certificate, and makes the TLS
handshake.

A connection passes these steps from left to right:

    accepted -> counted and closable -> TLS handshake -> the connection's frames

The function `create_server(ssl=...)` of asyncio announces a connection only after the handshake. A
broker could neither count nor close a connection that never completes the handshake. So the broker
accepts the connection first, and then begins the handshake with `start_tls`.

Source: SslTransportLayer; Python documentation, "ssl".
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final

from reference_impl.wire.connections.connection import Connection
from reference_impl.wire.security.settings import MAKE_CERTIFICATE, BadSecurity, Security

_SHUTDOWN_S: Final = 1.0  # for the client's part of the end of an encrypted connection
_NOT_TLS: Final = ("HTTP_REQUEST", "WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL")


class NotEncrypted(Exception):
    """The error of a connection whose TLS handshake failed. The text is the reason."""


def server_context(security: Security) -> ssl.SSLContext | None:
    """Returns the TLS context of the listeners, or None if the listeners are not encrypted.

    Raises BadSecurity if a file is unusable. The message names the option of the file.
    """
    if not security.protocol.encrypts:
        return None
    assert security.certificate is not None, "settings are checked"
    assert security.key is not None, "settings are checked"
    _check_readable(security.certificate, "--tls-cert")
    _check_readable(security.key, "--tls-key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(security.certificate, security.key, password=_no_password)
    except ssl.SSLError as error:
        mismatch = error.reason == "KEY_VALUES_MISMATCH"
        why = "the key does not belong to the certificate" if mismatch else _PEM
        raise BadSecurity(
            f"--tls-cert {security.certificate}, --tls-key {security.key}: {why}; "
            f"this makes a pair that fits: {MAKE_CERTIFICATE}"
        ) from error
    if security.client_ca is not None:
        _check_readable(security.client_ca, "--tls-client-ca")
        try:
            context.load_verify_locations(security.client_ca)
        except ssl.SSLError as error:
            raise BadSecurity(
                f"--tls-client-ca {security.client_ca}: there is no certificate in it; "
                "name a PEM file with the certificate of the CA"
            ) from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context


_PEM: Final = "one of them is not PEM, or the key has a passphrase"


def _no_password() -> str:
    # Without a passphrase, OpenSSL would ask for one on the terminal.
    return ""


def _check_readable(path: Path, option: str) -> None:
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise BadSecurity(f"{option} {path}: {error.strerror}; name a PEM file") from error


class TlsHandshake(asyncio.Protocol):
    """Makes the TLS handshake of an accepted connection. After the handshake, `connection`
    receives all further bytes. If the handshake fails, the connection ends.
    """

    def __init__(
        self, connection: Connection, context: ssl.SSLContext, encrypted: Callable[[], None]
    ) -> None:
        self._connection = connection
        self._context = context
        self._encrypted = encrypted
        self._early = bytearray()  # asyncio may deliver it before `start_tls` returns
        self._is_eof = False
        self._is_lost = False
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        self._connection.connection_made(transport)
        self._task = asyncio.create_task(self._encrypt(transport))

    def data_received(self, data: bytes) -> None:
        self._early += data

    def eof_received(self) -> None:
        self._is_eof = True

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # the client has disconnected
        self._is_lost = True

    async def _encrypt(self, transport: asyncio.Transport) -> None:
        if transport.is_closing():
            return
        loop = asyncio.get_running_loop()
        try:
            encrypted = await loop.start_tls(
                transport,
                self,
                self._context,
                server_side=True,
                ssl_shutdown_timeout=_SHUTDOWN_S,
            )
        except ssl.SSLError as error:
            self._connection.finish(NotEncrypted(_reason(error)))
            return
        except ConnectionError:
            self._connection.finish(None)  # the client has disconnected
            return
        if encrypted is None or self._connection.has_ended:
            transport.abort()
            return
        encrypted.set_protocol(self._connection)
        self._encrypted()
        self._connection.continue_over(encrypted, bytes(self._early), is_eof=self._is_eof)
        if self._is_lost:
            self._connection.connection_lost(None)


def _reason(error: ssl.SSLError) -> str:
    if error.reason in _NOT_TLS:
        return "the client does not speak TLS; set its security protocol"
    name = (error.reason or str(error)).replace("_", " ").lower()
    return f"the TLS handshake failed: {name}"
