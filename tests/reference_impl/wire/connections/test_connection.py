"""A connection answers its frames in order, even if they arrive in parts or a side is slow."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Coroutine
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.wire.connections.connection import Connection, LastResponse
from reference_impl.wire.messages.adapter import MalformedFrame


class Wire(asyncio.Transport):
    """A fake transport that remembers the written bytes and how it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.reads = True
        self.closed = ""

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return bool(self.closed)

    def close(self) -> None:
        self.closed = self.closed or "flushed"

    def abort(self) -> None:
        self.closed = self.closed or "aborted"

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def get_write_buffer_size(self) -> int:
        return sum(len(one) for one in self.written)


class Ends:
    """Counts the ends of connections, with the exceptions that caused them."""

    def __init__(self) -> None:
        self.errors: list[BaseException | None] = []

    def __call__(self, connection: Connection, error: BaseException | None) -> None:
        self.errors.append(error)


Answer = Callable[[bytes], Coroutine[Any, Any, bytes | None]]


def converse(
    answer: Answer, scenario: Callable[[Connection, Wire], Awaitable[None]]
) -> tuple[list[bytes], Ends]:
    """Calls `scenario` with a new connection.

    Returns the bytes that the connection wrote, and the exceptions with which it ended.
    """
    ends, wire = Ends(), Wire()

    async def run() -> None:
        connection = Connection(answer, begin=lambda _: None, end=ends, max_frame_bytes=1_000_000)
        connection.connection_made(wire)
        await scenario(connection, wire)
        await asyncio.sleep(0.01)

    asyncio.run(run())
    return wire.written, ends


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


async def echo(frame: bytes) -> bytes:
    return frame


async def late_echo(frame: bytes) -> bytes:
    await asyncio.sleep(0.001)
    await asyncio.sleep(0)
    return frame


@given(
    bodies=st.lists(st.binary(max_size=9), max_size=6),
    cuts=st.lists(st.integers(0, 99), max_size=8),
    late=st.booleans(),
)
def test_frames_in_any_pieces_are_answered_in_order(
    bodies: list[bytes], cuts: list[int], late: bool
) -> None:
    data = framed(*bodies)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})

    async def scenario(connection: Connection, _: Wire) -> None:
        for start, end in pairwise(places):
            connection.data_received(data[start:end])
            await asyncio.sleep(0)
        connection.eof_received()
        await asyncio.sleep(0.05 if late else 0)

    written, ends = converse(late_echo if late else echo, scenario)
    assert written == bodies
    assert ends.errors == [None]


def test_a_handler_that_does_not_wait_needs_no_turn_of_the_loop() -> None:
    async def scenario(connection: Connection, wire: Wire) -> None:
        connection.data_received(framed(b"a", b"b"))
        assert wire.written == [b"a"], "the second frame comes in the next turn"
        await asyncio.sleep(0)
        assert wire.written == [b"a", b"b"]

    converse(echo, scenario)


def test_a_request_that_waits_holds_back_the_next_one() -> None:
    gate = asyncio.Event()

    async def gated(frame: bytes) -> bytes:
        if frame == b"a":
            await gate.wait()
        return frame

    async def scenario(connection: Connection, wire: Wire) -> None:
        connection.data_received(framed(b"a", b"b"))
        await asyncio.sleep(0.005)
        assert wire.written == []
        connection.data_received(bytes(1 << 18))
        assert not wire.reads
        gate.set()
        await asyncio.sleep(0.005)
        assert wire.written[:2] == [b"a", b"b"]
        assert wire.reads

    converse(gated, scenario)


def test_nothing_is_answered_while_the_client_reads_no_response() -> None:
    async def scenario(connection: Connection, wire: Wire) -> None:
        connection.pause_writing()
        connection.data_received(framed(b"a"))
        assert wire.written == []
        connection.resume_writing()
        assert wire.written == [b"a"]

    converse(echo, scenario)


def test_nothing_is_read_while_the_client_reads_no_response() -> None:
    """The server reads no requests of a client that reads no responses.

    Otherwise the requests could fill the memory.
    """

    async def scenario(connection: Connection, wire: Wire) -> None:
        connection.pause_writing()
        connection.data_received(framed(*[bytes(1000)] * 200))
        assert not wire.reads
        connection.resume_writing()
        for _ in range(200):
            await asyncio.sleep(0)
        assert len(wire.written) == 200
        assert wire.reads

    converse(echo, scenario)


def test_the_bytes_of_a_large_request_are_held_until_it_is_answered() -> None:
    """The bytes of a large request count as held from their arrival until the response.

    A frame whose bytes have not arrived does not count.
    """
    held: list[int] = []
    large = framed(bytes(200_000))

    async def run() -> None:
        connection = Connection(
            late_echo,
            begin=lambda _: None,
            end=Ends(),
            hold=lambda _, count: held.append(count),
            max_frame_bytes=1_000_000,
        )
        connection.connection_made(Wire())
        for part in (large[:4], large[4:100_004], large[100_004:], framed(b"small")):
            connection.data_received(part)
        await asyncio.sleep(0.02)

    asyncio.run(run())
    assert held == [100_004, 200_004, 200_009, 0]


def test_an_aborted_connection_answers_nothing_more() -> None:
    async def scenario(connection: Connection, wire: Wire) -> None:
        connection.data_received(framed(b"a", b"b"))
        connection.abort()
        await asyncio.sleep(0.01)
        assert wire.closed == "aborted"

    written, ends = converse(late_echo, scenario)
    assert written == []
    assert len(ends.errors) == 1


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (struct.pack(">i", -1), "a frame of -1 bytes"),
        (struct.pack(">i", 1_000_001), "a frame of 1000001 bytes; the limit is 1000000"),
        (struct.pack(">ih", 100, 3), "the stream ends inside a frame, after 2 bytes"),
        (b"\0\0", "the stream ends inside a frame, after 2 bytes"),
    ],
)
def test_an_invalid_frame_ends_the_connection(data: bytes, complaint: str) -> None:
    async def scenario(connection: Connection, wire: Wire) -> None:
        connection.data_received(data)
        connection.eof_received()
        assert wire.closed == "aborted"

    _, ends = converse(echo, scenario)
    (error,) = ends.errors
    assert isinstance(error, MalformedFrame)
    assert complaint in str(error)


@pytest.mark.parametrize("waits", [False, True])
def test_an_exception_of_a_handler_ends_the_connection_once(waits: bool) -> None:
    async def failing(_: bytes) -> bytes:
        if waits:
            await asyncio.sleep(0)
        raise ZeroDivisionError

    async def scenario(connection: Connection, wire: Wire) -> None:
        connection.data_received(framed(b"a", b"b"))
        await asyncio.sleep(0.005)
        connection.connection_lost(None)
        assert wire.closed == "aborted"

    written, ends = converse(failing, scenario)
    assert written == []
    assert [type(error) for error in ends.errors] == [ZeroDivisionError]


@pytest.mark.parametrize("has_begun", [False, True])
def test_close_cancels_the_request_that_waits(has_begun: bool) -> None:
    cancelled: list[bytes] = []

    async def endless(frame: bytes) -> bytes:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            cancelled.append(frame)
        return frame

    async def scenario(connection: Connection, wire: Wire) -> None:
        connection.data_received(framed(b"a"))
        if has_begun:
            await asyncio.sleep(0.001)
        await connection.close()
        assert wire.closed == "aborted"

    written, _ = converse(endless, scenario)
    assert (written, cancelled) == ([], [b"a"])


def test_a_client_that_leaves_does_not_cancel_its_request() -> None:
    done: list[bytes] = []

    async def late(frame: bytes) -> bytes:
        await asyncio.sleep(0.002)
        done.append(frame)
        return frame

    async def scenario(connection: Connection, wire: Wire) -> None:
        connection.data_received(framed(b"a"))
        wire.close()
        connection.connection_lost(None)
        await asyncio.sleep(0.02)

    written, ends = converse(late, scenario)
    assert (written, done, ends.errors) == ([], [b"a"], [None])


@pytest.mark.parametrize("waits", [False, True])
def test_a_last_response_is_sent_and_then_the_connection_is_closed(waits: bool) -> None:
    async def refusing(frame: bytes) -> bytes:
        if waits:
            await asyncio.sleep(0)
        raise LastResponse(frame)

    async def scenario(connection: Connection, wire: Wire) -> None:
        connection.data_received(framed(b"a", b"b"))
        await asyncio.sleep(0.005)
        assert wire.closed == "flushed", "what is written is still sent"

    written, ends = converse(refusing, scenario)
    assert written == [b"a"]
    assert [type(error) for error in ends.errors] == [LastResponse]


class Encrypted(Wire):
    """A fake TLS transport. It is closing as soon as the client has ended its side."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return "a context" if name == "sslcontext" else default


@pytest.mark.parametrize("answer", [echo, late_echo])
def test_frames_before_the_end_of_a_tls_stream_are_handled_without_responses(
    answer: Answer,
) -> None:
    """Frames before the end of a client's TLS stream are handled, but get no response.

    For example, a producer with acks=0 sends its last batches and disconnects.
    """
    handled: list[bytes] = []

    async def noted(frame: bytes) -> bytes | None:
        handled.append(frame)
        return await answer(frame)

    async def scenario(connection: Connection, _: Wire) -> None:
        wire = Encrypted()
        connection.continue_over(wire, framed(b"a", b"b", b"c"), is_eof=False)
        wire.close()
        assert not connection.eof_received(), "asyncio warns if a TLS stream is kept open"
        connection.connection_lost(None)
        await asyncio.sleep(0.02)
        assert wire.written == ([b"a"] if answer is echo else [])

    _, ends = converse(noted, scenario)
    assert handled == [b"a", b"b", b"c"]
    assert ends.errors == [None]
