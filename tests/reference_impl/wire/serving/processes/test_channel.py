"""A channel calls functions of the other process. When the channel closes, the calls that wait
fail.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest

from reference_impl.wire.serving.processes.channel import Calls, Channel, ChannelClosed


@dataclass
class End:
    """One end of a channel, its notices and its failures."""

    heard: list[Any] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    channel: Channel = field(init=False)
    serving: asyncio.Task[None] = field(init=False)

    def __post_init__(self) -> None:
        calls: Calls = {"double": self.double, "wait": self.release.wait, "divide": self.divide}
        self.channel = Channel(calls, {"hear": self.heard.append}, self.failures.append)

    async def double(self, number: int) -> int:
        return 2 * number

    async def divide(self, number: int) -> float:
        return 1 / number

    async def open(self, end: socket.socket) -> None:
        await self.channel.open(end)
        self.serving = asyncio.create_task(self.channel.serve())


def run(transcript: Callable[[End, End], Coroutine[Any, Any, None]]) -> None:
    async def both() -> None:
        one, two = End(), End()
        for end, its in zip((one, two), socket.socketpair(), strict=True):
            await end.open(its)
        async with asyncio.timeout(20):
            await transcript(one, two)
            for end in (one, two):
                await end.channel.close()
            await asyncio.gather(one.serving, two.serving)

    asyncio.run(both())


def test_both_ends_call_and_a_long_call_delays_no_other() -> None:
    async def transcript(one: End, two: End) -> None:
        long = asyncio.create_task(one.channel.call("wait"))
        assert [await one.channel.call("double", number) for number in (1, 2)] == [2, 4]
        assert await two.channel.call("double", "b") == "bb"
        assert not long.done()
        two.release.set()
        assert await long is True

    run(transcript)


def test_notices_arrive_in_order_and_before_a_later_call() -> None:
    async def transcript(one: End, two: End) -> None:
        for number in range(100):
            one.channel.notify("hear", number)
        await one.channel.call("double", 1)
        assert two.heard == [*range(100)]

    run(transcript)


@pytest.mark.parametrize("by_closing", [True, False])
def test_the_end_of_the_other_process_fails_calls(by_closing: bool) -> None:
    async def transcript(one: End, two: End) -> None:
        waiting = asyncio.create_task(one.channel.call("wait"))
        await one.channel.call("double", 1)
        if by_closing:
            await two.channel.close()
        else:
            two.channel.finish()
            two.channel.notify("hear", "lost")
        with pytest.raises(ChannelClosed):
            await waiting
        with pytest.raises(ChannelClosed):
            await two.channel.call("double", 1)
        assert one.heard == []

    run(transcript)


def test_an_end_that_has_finished_still_hears_notices() -> None:
    async def transcript(one: End, two: End) -> None:
        one.channel.finish()
        await two.serving
        two.channel.notify("hear", "a last note")
        await two.channel.close()
        await one.serving
        assert one.heard == ["a last note"]

    run(transcript)


@pytest.mark.parametrize("name", ["divide", "unknown"])
def test_a_function_that_fails_is_a_failure_where_it_was_called(name: str) -> None:
    async def transcript(one: End, two: End) -> None:
        call = asyncio.create_task(one.channel.call(name, 0))
        while not two.failures:
            await asyncio.sleep(0.01)
        assert isinstance(two.failures[0], ZeroDivisionError | KeyError)
        call.cancel()

    run(transcript)
