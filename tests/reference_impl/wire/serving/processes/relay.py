"""A TCP proxy for one link between two nodes. The proxy can cut the link."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass
class Relay:
    """Listens on a free port, and forwards each connection to the target. While the relay is cut,
    it forwards nothing.
    """

    target: tuple[str, int]
    address: tuple[str, int] = ("", 0)
    forwarded: int = 0  # bytes, in both directions
    is_cut: bool = False
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay")
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.address = self._server.sockets[0].getsockname()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        self._run(self._set_cut(True))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @contextmanager
    def cut(self) -> Generator[None]:
        """Closes all connections; until the block ends, new connections are closed at once."""
        self._run(self._set_cut(True))
        try:
            yield
        finally:
            self._run(self._set_cut(False))

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _set_cut(self, is_cut: bool) -> None:
        self.is_cut = is_cut
        while is_cut and self._open:
            for writer in [*self._open]:
                writer.transport.abort()
            await asyncio.sleep(0.01)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            writer.transport.abort()
            return
        from_target, to_target = await asyncio.open_connection(*self.target)
        await asyncio.gather(self._forward(reader, to_target), self._forward(from_target, writer))

    async def _forward(self, source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        self._open.add(to)
        with suppress(ConnectionError):
            while data := await source.read(65_536):
                to.write(data)
                await to.drain()
                self.forwarded += len(data)
        to.transport.abort()
        self._open.discard(to)
