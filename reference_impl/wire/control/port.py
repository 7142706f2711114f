"""The HTTP server of the control port, which listens only on the loopback address.

One thread for each connection reads the requests and writes the answers. The answers are computed
in the cluster's event loop (`routes`). So a request sees the cluster between two steps, and no lock
is needed.
"""

from __future__ import annotations

import asyncio
import json
import socketserver
from concurrent.futures import CancelledError
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from model.faults import InputFault
from reference_impl.wire.control.routes import Controlled, answer

LOOPBACK: Final = "127.0.0.1"
MOST_BYTES: Final = 1 << 20  # of a body
WAITS_S: Final = 120.0  # for the rest of a request


class CannotControl(InputFault):
    """Raised if the control port cannot listen."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    cluster: Controlled
    loop: asyncio.AbstractEventLoop

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # without a look-up of the host's name
        self.server_name = LOOPBACK
        self.server_port = int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        del request, client_address  # the client went away, or the cluster stops


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = WAITS_S

    def answer(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            self.close_connection = True
            message = f"{length} bytes: write a number up to {MOST_BYTES}"
            self._send(413, {"at": "Content-Length", "error": message})
            return
        body = self.rfile.read(int(length))
        work = answer(server.cluster, self.command, self.path, body)
        try:
            status, document = asyncio.run_coroutine_threadsafe(work, server.loop).result()
        except (CancelledError, RuntimeError):
            work.close()
            status, document = 503, {"at": "", "error": "the cluster stops"}
        self._send(status, document)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = answer  # noqa: N815 - names of the base class

    def _send(self, status: int, document: dict[str, Any]) -> None:
        data = json.dumps(document).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        del format, args  # the log of requests has what tests need


@dataclass(slots=True)
class ControlPort:
    port: int
    _server: _Server

    @classmethod
    def open(cls, cluster: Controlled, port: int) -> ControlPort:
        """Opens a control port on the loopback address. If `port` is 0, the system chooses a free
        port.

        The requests are answered in the event loop that runs now. Raises CannotControl if the
        control port cannot be opened.
        """
        try:
            server = _Server((LOOPBACK, port), _Handler)
        except OSError as error:
            raise CannotControl(
                f"control port {LOOPBACK}:{port}: {error.strerror}; port 0 selects a free port"
            ) from error
        server.cluster, server.loop = cluster, asyncio.get_running_loop()
        server.loop.add_reader(server.fileno(), server.handle_request)
        return cls(int(server.server_address[1]), server)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def close(self) -> None:
        self._server.loop.remove_reader(self._server.fileno())
        self._server.server_close()
