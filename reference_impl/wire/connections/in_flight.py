"""Limits the number of client connections to a cluster, and the bytes in flight on all of them.

Each connection has one request in flight, because the next frame is read after the response. The
bytes in flight are those of large requests and responses. The bytes of a request frame count as
they arrive. The bytes of a response count until the client has read them. If all connections
together hold too many bytes, the connection with the oldest large request or response is closed. So
a client that announces 100 MiB and sends them slowly does not keep others waiting. If there are too
many connections, the least recently used one is closed.

Source: Processor.closeExcessConnections, Selector.lowestPriorityChannel (max.connections);
queued.max.request.bytes, the limit above which Kafka stops reading (NetworkReceive.readFrom).
"""

from __future__ import annotations

import resource
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

C = TypeVar("C", bound=Hashable)  # a connection
COUNTED_BYTES: Final = 64 * 1024  # smaller frames and responses do not count


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlightLimits:
    """How many connections a cluster's clients may open, and how many bytes large frames may
    take.
    """

    connections: int = 10_000  # max.connections
    large_bytes: int = 512 * 1024 * 1024  # of frames and responses above 64 KiB


IN_FLIGHT: Final = InFlightLimits()
SPARE_FILES: Final = 200  # for logs, and for other work of this process


def allow_open_files(count: int) -> None:
    """Raises the process's soft limit of open files, so that `count` connections can be open.

    If the hard limit is too low for so many connections, the soft limit becomes the hard limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = (
        count + SPARE_FILES if hard == resource.RLIM_INFINITY else min(count + SPARE_FILES, hard)
    )
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@dataclass(slots=True)
class InFlight(Generic[C]):
    """The open connections, and how many bytes of large requests and responses they hold.

    Large means more than 64 KiB. A connection holds the received bytes of a request, and the unread
    bytes of a response.
    """

    limits: InFlightLimits = IN_FLIGHT
    # The least recently used connection first.
    _connections: dict[C, None] = field(default_factory=dict)
    # The connection with the oldest large request or response first.
    _bytes: dict[C, int] = field(default_factory=dict)
    _held: int = 0

    def open(self, connection: C) -> C | None:
        """Adds a connection; returns the least recently used one if there are too many, else None.

        The caller must close the returned connection.
        """
        self._connections[connection] = None
        if len(self._connections) <= self.limits.connections:
            return None
        return next(iter(self._connections))

    def close(self, connection: C) -> None:
        self._connections.pop(connection, None)
        self._held -= self._bytes.pop(connection, 0)

    def use(self, connection: C) -> None:
        """Makes the connection the most recently used one."""
        if connection in self._connections:
            del self._connections[connection]
            self._connections[connection] = None

    def hold(self, connection: C, count: int) -> C | None:
        """Sets how many bytes a connection holds; the caller reports 64 KiB or less as 0.

        If all connections together hold too many bytes, returns the connection with the oldest
        large request or response. The caller must close this connection. Otherwise returns None.
        """
        self._held += count - self._bytes.get(connection, 0)
        if count:
            self._bytes[connection] = count
        else:
            self._bytes.pop(connection, None)
        if self._held <= self.limits.large_bytes:
            return None
        return next(iter(self._bytes))
