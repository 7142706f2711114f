"""Calls between the process of the command (the parent) and the process of one node.

Each line shows a kind of message, its content, and its answer:

    call      a number, the name of a function, its arguments    answered by the number and a result
    notice    the name of a function, its arguments              not answered

A call runs as a task, so a long call delays no other call. A notice runs as soon as it arrives, so
notices run in the order in which they were sent.

Messages are pickles that are sent over a socket pair. No third process has access to this socket
pair. Bytes from clients or from other nodes are never sent over it.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import struct
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

SIZE: Final = struct.Struct(">I")
Calls = Mapping[str, Callable[..., Coroutine[Any, Any, Any]]]
Notices = Mapping[str, Callable[..., object]]
CALL: Final = 0
NOTICE: Final = 1
ANSWER: Final = 2


class ChannelClosed(ConnectionError):
    """Raised if the other process ends before it answers a call."""


@dataclass(slots=True)
class Channel:
    """Runs the functions that the other process calls. `failed` is called with each exception of
    these functions.
    """

    calls: Calls
    notices: Notices
    failed: Callable[[Exception], object]
    _reader: asyncio.StreamReader | None = None
    _writer: asyncio.StreamWriter | None = None
    _is_finished: bool = False
    _sent: int = 0
    _owed: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    _running: set[asyncio.Task[None]] = field(default_factory=set)

    async def open(self, end: socket.socket) -> None:
        """Opens the channel: `serve` will read from the socket `end`, which is one end of a socket
        pair.
        """
        self._reader, self._writer = await asyncio.open_connection(sock=end)

    async def call(self, name: str, *args: Any) -> Any:
        """Calls the function `name` of the other process, and returns its result. Raises
        ChannelClosed if the other process ends first.
        """
        if self._writer is None or self._is_finished:
            raise ChannelClosed(name)
        self._sent += 1
        number = self._sent
        future = self._owed[number] = asyncio.get_running_loop().create_future()
        self._write(CALL, number, name, args)
        try:
            return await future
        finally:
            self._owed.pop(number, None)

    def notify(self, name: str, *args: Any) -> None:
        """Runs the function `name` of the other process. Does nothing if the other process has
        ended.
        """
        self._write(NOTICE, 0, name, args)

    async def serve(self) -> None:
        """Runs the functions that the other process calls, until the other end of the channel is
        closed.
        """
        assert self._reader is not None, "the channel is open"
        try:
            while True:
                (size,) = SIZE.unpack(await self._reader.readexactly(SIZE.size))
                self._handle(*pickle.loads(await self._reader.readexactly(size)))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the other process has ended
        except Exception as error:
            self.failed(error)
        finally:
            self._lose_calls()

    def finish(self) -> None:
        """Closes this end for sending. The other process may still send notices."""
        if self._writer is not None and not self._is_finished:
            self._is_finished = True
            self._writer.write_eof()

    async def close(self) -> None:
        """Closes this end after the messages that are already written have been sent."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
            with suppress(ConnectionError):  # the other process has ended
                await writer.wait_closed()

    def _handle(self, kind: int, number: int, name: str, content: Any) -> None:
        if kind == ANSWER:
            future = self._owed.get(number)
            if future is not None and not future.done():
                future.set_result(content)
        elif kind == NOTICE:
            self.notices[name](*content)
        else:
            task = asyncio.create_task(self._run(number, name, self.calls[name](*content)))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _run(self, number: int, name: str, work: Coroutine[Any, Any, Any]) -> None:
        try:
            result = await work
        except Exception as error:
            self.failed(error)
        else:
            self._write(ANSWER, number, name, result)

    def _write(self, kind: int, number: int, name: str, content: Any) -> None:
        if self._writer is not None and not self._is_finished:
            data = pickle.dumps((kind, number, name, content))
            self._writer.write(SIZE.pack(len(data)) + data)

    def _lose_calls(self) -> None:
        for task in self._running:
            task.cancel()
        for future in self._owed.values():
            if not future.done():
                future.set_exception(ChannelClosed("the other process has ended"))
