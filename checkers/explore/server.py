"""Serves the page and the JSON API over HTTP, on the loopback address only.

A web page of another site cannot use the server. The header `Host` of a request must name this
server, as a protection against DNS rebinding. If the request has the header `Origin`, this header
must name the server, too. The API accepts only POST requests with JSON, which an HTML form cannot
send.
"""

from __future__ import annotations

import json
import socket
import sys
import traceback
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from checkers.explore.formulas import FormulaFault
from checkers.explore.paths import PathFault
from checkers.explore.requests import Answer, Explorer
from model.faults import InputFault

ADDRESS: Final = "127.0.0.1"
LARGEST: Final = 1 << 20  # bytes of a request
KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
SCRIPTS: Final = ("page", "api", "picture", "motion", "parts", "lines")
PAGES: Final = ("index.html", "page.css", *(f"{name}.js" for name in SCRIPTS))
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self';"
    " img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Server(ThreadingHTTPServer):
    """Serves the page and the API of one `Explorer`.

    When the server closes, it closes every connection, because browsers hold idle connections open.
    """

    daemon_threads = False
    request_queue_size = 64

    def __init__(self, explorer: Explorer, port: int = 0) -> None:
        self.connections: set[Any] = set()
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as why:
            raise InputFault(f"--port {port}: {why.strerror}; use another port") from why
        self.explorer = explorer

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def link(self, opened: Answer) -> str:
        """Returns the URL of the page for an opened spec or trace. The URL contains its spec,
        variant, constants and path.
        """
        constants = opened.get("constants") or {}
        words = {
            "spec": opened["spec"],
            "variant": opened.get("variant") or "",
            "set": ",".join(f"{n}={str(v).lower()}" for n, v in constants.items()),
            "scope": opened.get("scope") or "",
            "path": opened.get("path") or "",
            "compare": opened.get("compare") or "",
            "line": opened.get("line") or "",
        }
        given = {name: word for name, word in words.items() if word}
        return f"{self.url}#{urlencode(given, quote_via=quote, safe='(),=')}"

    def page(self, name: str) -> bytes:
        return files("checkers.explore").joinpath("page", name).read_bytes()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self.connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Closes every connection, waits for the threads that still answer requests, and closes
        the server.
        """
        for connection in [*self.connections]:
            with suppress(OSError):  # the browser has closed it
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints the error of a request. Prints nothing if the connection broke or timed out."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def names(self) -> frozenset[str]:
        """The values of the HTTP header `Host` that this server accepts."""
        return frozenset(f"{name}:{self.server_port}" for name in (ADDRESS, "localhost"))


class _Handler(BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride] # only `Server` makes it
    protocol_version = "HTTP/1.1"
    timeout = 30.0

    def do_GET(self) -> None:
        if self._is_foreign():
            return
        name = urlsplit(self.path).path.lstrip("/") or "index.html"
        if name not in PAGES:
            self._json(HTTPStatus.NOT_FOUND, {"error": f"no page {name!r}; open {self.server.url}"})
            return
        body = self.server.page(name)
        self._send(HTTPStatus.OK, KINDS[name[name.rindex(".") :]], body)

    def do_POST(self) -> None:
        if self._is_foreign():
            return
        name = urlsplit(self.path).path.removeprefix("/api/")
        try:
            answer = self.server.explorer.answer(name, self._request())
        except InputFault as fault:
            self._json(HTTPStatus.BAD_REQUEST, _error(fault))
        except Exception:  # a bug of ours: the page shows it, and the server goes on
            text = f"{traceback.format_exc()}this is a bug of Urteil: please report it"
            self._json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": text})
        else:
            self._json(HTTPStatus.OK, answer)

    def _is_foreign(self) -> bool:
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if host in self.server.names and origin in (None, f"http://{host}"):
            return False
        self.close_connection = True
        text = f"this server answers only its own page: open {self.server.url}"
        self._json(HTTPStatus.FORBIDDEN, {"error": text})
        return True

    def _request(self) -> dict[str, Any]:
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip()
        if kind != "application/json":
            self.close_connection = True
            raise InputFault("the Content-Type of a request is application/json")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST:
            self.close_connection = True
            raise InputFault(f"a request has a Content-Length of at most {LARGEST:,} bytes")
        try:
            read = json.loads(self.rfile.read(int(length)) or b"{}")
        except (ValueError, RecursionError) as why:
            raise InputFault(f"the request is not JSON: {why}") from why
        if not isinstance(read, dict):
            raise InputFault("the request is not a JSON object")
        return read

    def _json(self, status: HTTPStatus, answer: Answer) -> None:
        self._send(status, "application/json", json.dumps(answer).encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as http.server has it
        ...


def _error(fault: InputFault) -> Answer:
    answer: Answer = {"error": str(fault)}
    if isinstance(fault, PathFault):
        answer["step"] = fault.step
    if isinstance(fault, FormulaFault):
        answer |= {"start": fault.start, "end": fault.end}
    return answer
