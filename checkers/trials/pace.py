"""The pace of a trial (a test run): how many real milliseconds pass in one virtual millisecond.

The durations in the property suites are in virtual time, the time of the simulation. They are too
short for a real cluster, so the pace multiplies all durations: the pauses, the timeouts of calls,
and the timeouts in requests.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, Final

from model.histories import History, Operation
from reference_impl.protocol.consumer_groups import ConsumerGroupHeartbeat
from reference_impl.protocol.deletion import DeleteRecords
from reference_impl.protocol.groups import JoinGroup
from reference_impl.protocol.messages import Fetch, InitProducerId, Produce
from reference_impl.protocol.requests import Request

NS_PER_MS: Final = 1_000_000
NS_PER_EVENT: Final = 100  # of virtual time: room for what one client does at once

DURATIONS: Final[dict[type[Any], tuple[str, ...]]] = {  # the fields that are durations in ms
    Produce: ("timeout_ms",),
    Fetch: ("max_wait_ms",),
    DeleteRecords: ("timeout_ms",),
    InitProducerId: ("timeout_ms",),
    JoinGroup: ("session_timeout_ms", "rebalance_timeout_ms"),
    ConsumerGroupHeartbeat: ("rebalance_timeout_ms",),
}
LONGEST_MS: Final = 60_000  # a longer timeout says only that no timeout is meant


@dataclass(slots=True)
class Pace:
    real_per_virtual: int
    began_ns: int = field(default_factory=time.monotonic_ns)
    _last_ns: int = 0

    def tick_ns(self) -> int:
        """Returns the virtual time in nanoseconds. Each call returns a later time than the call
        before.
        """
        now_ns = (time.monotonic_ns() - self.began_ns) // self.real_per_virtual
        self._last_ns = max(self._last_ns + NS_PER_EVENT, now_ns)
        return self._last_ns

    @property
    def now_ms(self) -> int:
        return (time.monotonic_ns() - self.began_ns) // self.real_per_virtual // NS_PER_MS

    def real_s(self, virtual_ms: float) -> float:
        return virtual_ms * self.real_per_virtual / 1_000

    def real_ns(self, virtual_ns: int) -> int:
        """Converts a virtual time in nanoseconds to a time of the monotonic clock in
        nanoseconds.
        """
        return self.began_ns + virtual_ns * self.real_per_virtual

    def virtual_ms(self, real_ns: int) -> int:
        """Converts a time of the monotonic clock in nanoseconds to a virtual time in
        milliseconds.
        """
        return (real_ns - self.began_ns) // self.real_per_virtual // NS_PER_MS

    def paced(self, request: Request) -> Request:
        """Returns the request with its durations converted from virtual to real milliseconds.
        Durations of 30 seconds or longer are not converted, and no converted duration is longer
        than 60 seconds.
        """
        slower: dict[str, Any] = {}
        for name in DURATIONS.get(type(request), ()):
            virtual_ms: int | None = getattr(request, name)
            if virtual_ms is not None and virtual_ms < LONGEST_MS // 2:
                slower[name] = min(virtual_ms * self.real_per_virtual, LONGEST_MS)
        return replace(request, **slower) if slower else request

    def in_real_time(self, history: History) -> History:
        return tuple(map(self._operation, history))

    def _operation(self, one: Operation) -> Operation:
        def real(virtual_ns: int | None) -> int | None:
            return None if virtual_ns is None else self.real_ns(virtual_ns)

        return replace(
            one,
            invoked_ns=self.real_ns(one.invoked_ns),
            completed_ns=real(one.completed_ns),
            end_asked_ns=real(one.end_asked_ns),
        )
