"""Opens and closes a listener of asyncio.

A listener binds its port at once, but refuses connections until its broker can answer them.

asyncio sets up a connection in three turns of the event loop:

    turn 1   the listening socket is readable: the loop accepts, and starts a task
    turn 2   the task makes the transport; in Python 3.11 this fails if the server is closed
    turn 3   the transport calls `connection_made`

If turn 2 fails, nothing closes the accepted socket, and the client waits forever. So before a
listener closes, it stops accepting connections, and then waits for turn 2.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TypeAlias

Address: TypeAlias = tuple[str, int]  # host and port


def accept(server: asyncio.Server) -> None:
    """Lets the listener accept connections from now on. Raises OSError if another process
    listens on the port.
    """
    starting = server.start_serving()
    with contextlib.suppress(StopIteration):
        starting.send(None)  # does all the work; the rest only waits for a turn of the loop
    starting.close()


def address_of(server: asyncio.Server) -> Address:
    """Returns the host and the port of a listener. If the listener was opened with port 0, this
    is the port that the system selected.
    """
    host, port = server.sockets[0].getsockname()[:2]
    return str(host), int(port)


async def close_listener(server: asyncio.Server) -> None:
    """Closes a listener, and returns after `connection_made` was called for each accepted
    connection.
    """
    loop = server.get_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())  # nothing is accepted from now on
    await asyncio.sleep(0)
    server.close()
    await asyncio.sleep(0)
