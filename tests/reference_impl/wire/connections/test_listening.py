"""A client that connects while a listener closes does not wait forever.

The client connects shortly before the close: 0 to 5 turns of the event loop earlier.
"""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Awaitable, Callable

import pytest

from reference_impl.wire.connections.listening import close_listener

Close = Callable[[asyncio.Server], Awaitable[None]]


class Lost(asyncio.Protocol):
    """A server protocol that closes each new connection at once, like a broker that goes down."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()


async def close_at_once(server: asyncio.Server) -> None:
    server.close()


def leaves_open(close: Close, *, turns: int) -> bool:
    """Returns True if the close of a listener leaves the connection of a client open.

    The client connects a few turns of the event loop before the close. Such a client would wait
    forever for a response.
    """

    async def accept_and_close(client: socket.socket) -> None:
        server = await asyncio.get_running_loop().create_server(Lost, "127.0.0.1", 0)
        client.connect(server.sockets[0].getsockname())
        for _ in range(turns):
            await asyncio.sleep(0)
        await close(server)
        await asyncio.sleep(0.01)
        client.setblocking(False)

    with socket.socket() as client:
        asyncio.run(accept_and_close(client))
        try:
            client.recv(1)
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        return False


@pytest.mark.parametrize("turns", range(6))
def test_a_client_never_waits_for_a_listener_that_has_closed(turns: int) -> None:
    assert not leaves_open(close_listener, turns=turns)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_listener_that_closes_at_once_can_leave_a_client_waiting() -> None:
    left = [turns for turns in range(6) if leaves_open(close_at_once, turns=turns)]
    gc.collect()  # the sockets that are left warn here
    assert left
