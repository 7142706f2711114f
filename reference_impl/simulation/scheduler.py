"""The scheduler of simulated events. The earliest event is next, and a seeded random number breaks
ties.

Equal seeds produce equal orders, because the heap never compares the contents of two events, and no
code of this module iterates over a set.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from random import Random
from typing import Generic, NamedTuple, TypeVar

Event = TypeVar("Event")


class Due(NamedTuple):
    """The position of an event in the order of all events.

    Positions are compared by time, then by a random number, and finally by a sequence number.
    """

    at_ms: int
    coin: int
    sequence: int


@dataclass(slots=True)
class Scheduler(Generic[Event]):
    """The virtual clock, and the events that have not happened yet."""

    coins: Random
    now_ms: int = 0
    _heap: list[tuple[Due, Event]] = field(default_factory=list[tuple[Due, Event]])
    _scheduled: int = 0

    def schedule(self, at_ms: int, event: Event, *, after: Due | None = None) -> Due:
        """Schedules the event, and returns its position in the order of all events.

        The event happens at `at_ms`, or now if `at_ms` is in the past. If `after` is not None, the
        event does not happen before the position `after`.
        """
        due = Due(max(at_ms, self.now_ms), self.coins.getrandbits(16), self._scheduled)
        if after is not None and due < after:
            due = Due(after.at_ms, after.coin, self._scheduled)
        self._scheduled += 1
        heapq.heappush(self._heap, (due, event))
        return due

    def next_before(self, end_ms: int) -> Event | None:
        """Removes and returns the next event if its time is at most `end_ms`. Advances the clock to
        this time.

        If there is no such event, the method advances the clock to `end_ms` and returns None.
        """
        if not self._heap or self._heap[0][0].at_ms > end_ms:
            self.now_ms = max(self.now_ms, end_ms)
            return None
        due, event = heapq.heappop(self._heap)
        self.now_ms = due.at_ms
        return event
