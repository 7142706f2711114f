"""Limits the number of client connections to one process, and the bytes in flight on all of them.

The process runs a whole cluster or one of its brokers.

Bytes in flight are the bytes of large requests while they arrive, and of large responses until the
client has read them. Above the limit, the connection with the oldest large request or response is
closed. So a client that sends 100 MiB slowly does not keep other clients waiting. If there are too
many connections, the least recently used connection is closed.

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
    """The highest number of client connections of a process, and the highest number of bytes in
    all requests and responses above 64 KiB.
    """

    connections: int = 10_000  # max.connections
    large_bytes: int = 512 * 1024 * 1024  # of frames and responses above 64 KiB


IN_FLIGHT: Final = InFlightLimits()
SPARE_FILES: Final = 200  # for logs, and for other work of this process


def allow_open_files(count: int) -> None:
    """Raises the soft limit of open files for `count` connections, at most to the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = (
        count + SPARE_FILES if hard == resource.RLIM_INFINITY else min(count + SPARE_FILES, hard)
    )
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@dataclass(slots=True)
class InFlight(Generic[C]):
    """The open connections of a process, and the number of bytes that each connection holds in
    flight. Requests and responses of 64 KiB or less are not counted.
    """

    limits: InFlightLimits = IN_FLIGHT
    # The least recently used connection first.
    _connections: dict[C, None] = field(default_factory=dict)
    # The connection with the oldest large request or response first.
    _bytes: dict[C, int] = field(default_factory=dict)
    _held: int = 0

    def open(self, connection: C) -> C | None:
        """Adds a connection. If there are now too many connections, returns the least recently
        used one, which the caller must close. Otherwise returns None.
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
        """Sets the number of bytes that a connection holds. The caller passes 0 for 64 KiB or less.

        If all connections together hold too many bytes, returns the connection with the oldest
        large request or response, which the caller must close. Otherwise returns None.
        """
        self._held += count - self._bytes.get(connection, 0)
        if count:
            self._bytes[connection] = count
        else:
            self._bytes.pop(connection, None)
        if self._held <= self.limits.large_bytes:
            return None
        return next(iter(self._bytes))
