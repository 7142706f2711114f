"""The scheduler of simulated events: the earliest comes next; a seeded random number breaks ties.

Equal seeds give equal orders. The heap never compares the content of an event, and no code here
iterates over a set.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from random import Random
from typing import Generic, NamedTuple, TypeVar

Event = TypeVar("Event")


class Due(NamedTuple):
    """The order of events: by time, then by a random number, then by a sequence number."""

    at_ms: int
    coin: int
    sequence: int


@dataclass(slots=True)
class Scheduler(Generic[Event]):
    """The events that are still to come, and the virtual clock."""

    coins: Random
    now_ms: int = 0
    _heap: list[tuple[Due, Event]] = field(default_factory=list[tuple[Due, Event]])
    _scheduled: int = 0

    def schedule(self, at_ms: int, event: Event, *, after: Due | None = None) -> Due:
        """Schedules the event at `at_ms`, or now if that is past, and after the event `after`.

        Returns its position in the order of all events.
        """
        due = Due(max(at_ms, self.now_ms), self.coins.getrandbits(16), self._scheduled)
        if after is not None and due < after:
            due = Due(after.at_ms, after.coin, self._scheduled)
        self._scheduled += 1
        heapq.heappush(self._heap, (due, event))
        return due

    def next_before(self, end_ms: int) -> Event | None:
        """The next event by `end_ms`, or None; advances the clock to it, or to `end_ms`."""
        if not self._heap or self._heap[0][0].at_ms > end_ms:
            self.now_ms = max(self.now_ms, end_ms)
            return None
        due, event = heapq.heappop(self._heap)
        self.now_ms = due.at_ms
        return event
