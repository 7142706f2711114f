"""A client's connection to a broker. It splits its bytes into frames, and answers one frame after
the other.

The lines show the two ways in which a frame is answered:

    bytes -> a whole frame -> answered at once              -> the next frame
                           -> waits (a long poll, acks=all) -> the next frame when it is answered

Most requests never wait. So a handler runs at once, and an asyncio task is created only when the
handler waits for the first time.

As in Kafka, a connection handles no further frame in two cases: a request waits for its response,
or the client does not read its responses. Meanwhile the connection reads up to 128 KiB of the next
frames into its buffer.

If a connection holds many bytes in memory, it reports their number to its owner.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, Final, TypeVar

from reference_impl.wire.connections.in_flight import COUNTED_BYTES
from reference_impl.wire.messages.adapter import MalformedFrame

R = TypeVar("R")


class LastResponse(Exception):
    """Raised by a handler to end the connection. The connection sends the response `frame`, and
    then closes.
    """

    def __init__(self, frame: bytes) -> None:
        super().__init__("the connection is closed after its last response")
        self.frame = frame


Answer = Callable[[bytes], Coroutine[Any, Any, bytes | None]]
_LENGTH: Final = struct.Struct(">i")
_READ_AHEAD: Final = 1 << 17  # bytes that are read while a request waits
_TLS: Final = b"\x16\x03"  # a record of type handshake


class Connection(asyncio.Protocol):
    """A client's connection to a broker. The owner of the connection passes it some functions to
    call.

    Each line names a function, its argument and the time of the call:

        answer    with a request frame; returns the response frame, or None if there is no response
        begin     one time, when the connection is open
        use       before each request, so that the owner knows the least recently used connection
        hold      with the number of the connection's bytes in memory, each time that they are
                  counted and are more than 64 KiB; one time with 0, when they are 64 KiB or less
                  again
        end       one time, with the exception that ended the connection, or None

    The owner may replace `answer` and `max_frame_bytes` between two frames.
    """

    def __init__(
        self,
        answer: Answer,
        *,
        begin: Callable[[Connection], None],
        end: Callable[[Connection, BaseException | None], None],
        max_frame_bytes: int,
        use: Callable[[Connection], None] = lambda _connection: None,
        hold: Callable[[Connection, int], None] = lambda _connection, _count: None,
    ) -> None:
        self.answer = answer
        self._begin = begin
        self._end = end
        self._use = use
        self._hold = hold
        self.max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._task: asyncio.Task[None] | None = None  # of the request that waits
        self._answering: Coroutine[Any, Any, bytes | None] | None = None
        self._frame_bytes = 0  # of the request that is being answered
        self._holds_many = False
        self._writes_paused = False
        self._reads_paused = False
        self._is_again = False  # the next frame comes in the next turn of the loop
        self._is_eof = False
        self.has_ended = False
        self.transport: asyncio.Transport | None = None

    @property
    def peer(self) -> str:
        address = self.transport and self.transport.get_extra_info("peername")
        return f"{address[0]}:{address[1]}" if address else "a disconnected client"

    async def close(self) -> None:
        """Cancels the request that waits, if any, and aborts the connection."""
        if self._task is not None and self._answering is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._answering.close()  # a task that is cancelled before its first step never runs
        self.finish(None)

    def abort(self) -> None:
        """Ends the connection at once, and cancels a request that waits."""
        if self._task is not None:
            self._task.cancel()
        self.finish(asyncio.CancelledError())

    def continue_over(self, transport: asyncio.Transport, early: bytes, *, is_eof: bool) -> None:
        """Moves the connection to another transport, for example after a TLS handshake.

        `early` contains the bytes that the new transport has already received. `is_eof` is True if
        no further bytes will arrive.
        """
        self.transport = transport
        self._is_eof = is_eof
        if early or is_eof:
            self.data_received(early)

    # ------------------------------------------------------------ asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._begin(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._count()
        if not self._is_again and self._task is None and not self._writes_paused:
            self._next()
        elif len(self._buffer) > _READ_AHEAD and self.transport and not self._reads_paused:
            self._reads_paused = True
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        self._is_eof = True
        if not self._is_again and self._task is None:
            self._next()
        # A request may still wait for its response. Under TLS nothing more can be sent.
        return self.transport is None or self.transport.get_extra_info("sslcontext") is None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._task is None and not (exc is None and self._is_again):
            self.finish(None)  # the client has disconnected, and no whole frame is left

    def pause_writing(self) -> None:
        self._writes_paused = True

    def resume_writing(self) -> None:
        self._writes_paused = False
        self._count()
        if not self._is_again and self._task is None:
            self._next()

    # ------------------------------------------------------------ frames

    def _next(self) -> None:
        self._is_again = False
        if self._writes_paused or self.has_ended:
            return
        try:
            frame = self._frame()
        except MalformedFrame as error:
            self.finish(error)
            return
        if frame is None:
            self._resume_reading()
            return
        self._use(self)
        self._frame_bytes = len(frame)
        answering = self.answer(frame)
        try:
            waits_for = answering.send(None)
        except StopIteration as done:
            self._answered(done.value)
        except (Exception, asyncio.CancelledError) as error:
            self.finish(error)
        else:
            self._answering = answering
            self._task = asyncio.create_task(self._wait(answering, waits_for))

    def _frame(self) -> bytes | None:
        buffer = self._buffer
        if len(buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(buffer)
            if not 0 <= length <= self.max_frame_bytes:
                raise MalformedFrame(self._wrong_length(length))
            end = _LENGTH.size + length
            if len(buffer) >= end:
                frame = bytes(memoryview(buffer)[_LENGTH.size : end])
                del buffer[:end]
                return frame
        if self._is_eof and buffer:
            has = len(buffer) - _LENGTH.size if len(buffer) >= _LENGTH.size else len(buffer)
            raise MalformedFrame(f"the stream ends inside a frame, after {has} bytes")
        if self._is_eof:
            self.finish(None)  # the client has all its responses
        return None

    def _wrong_length(self, length: int) -> str:
        text = f"a frame of {length} bytes; the limit is {self.max_frame_bytes}"
        is_tls = bytes(memoryview(self._buffer)[: len(_TLS)]) == _TLS
        return f"{text}. It is the start of a TLS handshake" if is_tls else text

    async def _wait(self, answering: Coroutine[Any, Any, bytes | None], waits_for: Any) -> None:
        try:
            answer = await _continued(answering, waits_for)
        except (Exception, asyncio.CancelledError) as error:
            self._task = None
            self.finish(error)
        else:
            self._task = None
            self._answered(answer)

    def _answered(self, answer: bytes | None) -> None:
        is_closing = self.transport is None or self.transport.is_closing()
        if is_closing and not (self._is_eof and self._buffer):
            self.finish(None)
            return
        self._frame_bytes = 0
        if answer is not None and self.transport is not None and not is_closing:
            self.transport.write(answer)
        self._count()
        if self._buffer or self._is_eof:
            self._is_again = True
            asyncio.get_running_loop().call_soon(self._next)
        self._resume_reading()

    def _resume_reading(self) -> None:
        if self._reads_paused and self.transport and not self.transport.is_closing():
            self._reads_paused = False
            self.transport.resume_reading()

    def _count(self) -> None:
        held = len(self._buffer) + self._frame_bytes
        if self._writes_paused and self.transport is not None:
            held += self.transport.get_write_buffer_size()
        if held > COUNTED_BYTES:
            self._holds_many = True
            self._hold(self, held)
        elif self._holds_many:
            self._holds_many = False
            self._hold(self, 0)

    def finish(self, error: BaseException | None) -> None:
        """Ends the connection because of `error`, or without an error if `error` is None. A
        second call does nothing.
        """
        if self.has_ended:
            return
        self.has_ended = True
        self._end(self, error)
        if self.transport is None:
            return
        if isinstance(error, LastResponse):
            self.transport.write(error.frame)
            self.transport.close()
        elif error is None and self._is_eof:
            self.transport.close()  # what is written is still sent
        else:
            self.transport.abort()


@coroutine
def _continued(running: Coroutine[Any, Any, R], waits_for: Any) -> Generator[Any, Any, R]:
    """Runs a coroutine to its end, and returns its result. The coroutine is already running, and
    waits for the future `waits_for`.
    """
    while True:
        error: BaseException | None = None
        sent: Any = None
        try:
            sent = yield waits_for
        except BaseException as thrown:  # a cancellation, which the coroutine must see
            error = thrown
        try:
            waits_for = running.send(sent) if error is None else running.throw(error)
        except StopIteration as done:
            result: R = done.value
            return result
