"""Fixtures: a server that sends each request body back, and proxies in front of the server."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from checkers.systems.proxies.proxies import Proxies
from reference_impl.wire.messages.plain_messages import receive

HEADER = struct.Struct(">hhih")
SILENT = b"no answer"  # a body that the server applies without an answer, as a produce with acks=0


@dataclass
class Peer:
    """One end of a connection that sends and receives frames."""

    stream: socket.socket

    def request(self, correlation_id: int, body: bytes, api: int = 0, client: str = "me") -> None:
        header = HEADER.pack(api, 9, correlation_id, len(client)) + client.encode()
        self.send(header + body)

    def send(self, frame: bytes) -> None:
        self.stream.sendall(struct.pack(">i", len(frame)) + frame)

    def answer(self, within_s: float = 5) -> tuple[int, bytes] | None:
        self.stream.settimeout(within_s)
        frame = self.frame()
        return None if frame is None else (struct.unpack(">i", frame[:4])[0], frame[4:])

    def is_silent(self, for_s: float = 0.2) -> bool:
        try:
            self.answer(for_s)
        except TimeoutError:
            return True
        return False

    def frame(self) -> bytes | None:
        try:
            return receive(self.stream)
        except ConnectionError:
            return None


@dataclass
class Echo:
    """A server that answers each request with the request's own body.

    `applied` has the bodies in order of arrival.
    """

    listener: socket.socket
    applied: list[bytes] = field(default_factory=list)
    arrived: threading.Condition = field(default_factory=threading.Condition)
    open: list[socket.socket] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def serve(self) -> None:
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return  # closed
            self.open.append(stream)
            threading.Thread(target=self.converse, args=(Peer(stream),), daemon=True).start()

    def converse(self, peer: Peer) -> None:
        try:
            while (frame := peer.frame()) is not None:
                *_, correlation_id, length = HEADER.unpack_from(frame)
                body = frame[HEADER.size + length :]
                with self.arrived:
                    self.applied.append(body)
                    self.arrived.notify_all()
                if body != SILENT:
                    peer.send(struct.pack(">i", correlation_id) + body)
        except OSError:
            pass  # the client has gone, or the test is over

    def awaits(self, *bodies: bytes, within_s: float = 5) -> bool:
        with self.arrived:
            return self.arrived.wait_for(lambda: self.applied == [*bodies], within_s)


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo(socket.create_server(("127.0.0.1", 0)))
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield server
    server.listener.shutdown(socket.SHUT_RDWR)
    server.listener.close()
    thread.join()
    for stream in server.open:
        stream.close()


@pytest.fixture
def proxies() -> Iterator[Proxies]:
    """Yields proxies; an error in a connection fails the test."""
    with Proxies() as opened:
        yield opened


@pytest.fixture
def connect(proxies: Proxies, echo: Echo) -> Iterator[Callable[..., Peer]]:
    """Returns a function that connects two nodes, by default node 1 to node 2, through a proxy."""
    streams: list[socket.socket] = []
    ports: dict[tuple[int, int], int] = {}

    def connected(sender: int = 1, receiver: int = 2) -> Peer:
        pair = (sender, receiver)
        if pair not in ports:
            ports[pair] = proxies.open(*pair, "127.0.0.1", 0, "127.0.0.1", echo.port)
        streams.append(socket.create_connection(("127.0.0.1", ports[pair]), 5))
        return Peer(streams[-1])

    yield connected
    for stream in streams:
        stream.close()
