"""An event loop whose clock jumps to the next timer, so that a test waits for nothing.

    loop.run_until_complete(asyncio.sleep(60))     returns at once; the clock is 60 s ahead
    loop.stall(2.5)                                one turn of the loop takes 2.5 s

A test with this loop uses no sockets and no threads, so each run is the same.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

R = TypeVar("R")


class VirtualTime(asyncio.SelectorEventLoop):
    """An event loop that never waits: where another loop would sleep, its clock goes ahead."""

    def __init__(self) -> None:
        self.now_s = 0.0
        super().__init__(_NeverWaits(self))

    def time(self) -> float:
        return self.now_s

    def stall(self, seconds: float) -> None:
        """Moves the clock forward by `seconds`, as if the process had not run during this time."""
        self.now_s += seconds


class _NeverWaits(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTime) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "no timer is set, so the loop would wait forever"
        self._loop.now_s += max(0.0, timeout)
        return super().select(0)


def run(scenario: Coroutine[Any, Any, R], loop: VirtualTime) -> R:
    """Runs the coroutine on the loop, closes the loop, and returns the result."""
    try:
        return loop.run_until_complete(scenario)
    finally:
        loop.close()
