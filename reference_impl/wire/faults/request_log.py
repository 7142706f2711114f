"""The log of requests: the requests that clients sent, and the errors with which brokers responded.

An entry of the log looks like this:

    {"number": 12, "broker": 2, "api": "Produce", "version": 10, "client_id": "billing",
     "partitions": [["orders", 0]], "at_ms": 1790000000000, "took_ms": 1.9,
     "errors": ["NOT_LEADER_OR_FOLLOWER"], "answered": true, "faults": [3]}

A request is logged when the broker answers it, or when a fault prevents the answer. A request with
acks=0 counts as answered. `took_ms` includes the wait of a long poll. `faults` contains the numbers
of the fault rules that acted. The log retains the newest 10,000 requests, and never reuses a
number.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, Final

from reference_impl.wire.faults.error_answers import ERROR, response_in
from reference_impl.wire.faults.reading import API_NAMES
from reference_impl.wire.faults.rule import Request, When
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.handled import Handled

KEPT: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """An entry of the log for one request. The entries have the numbers 1, 2, 3 and so on.
    `number` is 0 until the entry is added to the log.
    """

    number: int = 0
    request: Request
    version: int
    at_ms: int
    took_ms: float = 0.0
    errors: tuple[str, ...] = ()
    answered: bool = True
    faults: tuple[int, ...] = ()

    def document(self) -> dict[str, Any]:
        values: dict[str, Any] = asdict(self)
        request: dict[str, Any] = values.pop("request")
        return values | request | {"api": API_NAMES[self.request.api]}


@dataclass(slots=True)
class RequestLog:
    """The log of the newest requests of a cluster. The oldest entry comes first."""

    last: int = 0
    _entries: deque[Logged] = field(default_factory=lambda: deque[Logged](maxlen=KEPT))
    _added: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, entry: Logged) -> None:
        """Adds an entry, and gives it the next number."""
        self.last += 1
        self._entries.append(replace(entry, number=self.last))
        self._added.set()  # wakes every waiter; each looks at the log again
        self._added = asyncio.Event()

    def clear(self) -> None:
        self._entries.clear()

    def matching(self, when: When, since: int = 0) -> list[Logged]:
        """Returns the entries whose requests match `when` and whose number is above `since`, oldest
        first.

        Fields of `when` that count requests, such as `nth=3`, are ignored.
        """
        return [one for one in self._entries if one.number > since and when.selects(one.request)]

    async def await_matching(self, when: When, since: int, count: int, wait_ms: int) -> None:
        """Waits until at least `count` logged requests match `when` and have a number above
        `since`, or until `wait_ms` milliseconds have passed.
        """
        try:
            async with asyncio.timeout(wait_ms / 1000):
                while len(self.matching(when, since)) < count:
                    await self._added.wait()
        except TimeoutError:
            pass  # the caller sees how many there are


def logged(
    request: Request, call: Call, handled: Handled, at_ms: int, took_ms: float, acted: Sequence[int]
) -> Logged:
    """Returns the entry of a handled request. `acted` contains the numbers of the fault rules
    that acted.
    """
    return Logged(
        request=request,
        version=call.version,
        at_ms=at_ms,
        took_ms=round(took_ms, 3),
        errors=() if handled.frame is None else errors_in(response_in(call, handled.frame)),
        answered=handled.frame is not None or not handled.closes,
        faults=tuple(acted),
    )


def errors_in(entity: Any) -> tuple[str, ...]:
    """Returns the sorted names of the errors in a response, without duplicates."""
    return tuple(sorted(set(_errors(entity))))


def _errors(entity: Any) -> list[str]:
    found: list[str] = []
    for each in fields(entity):
        value = getattr(entity, each.name)
        if each.name in ERROR and value:
            found.append(value.name.upper())
        elif isinstance(value, tuple) and value and is_dataclass(value[0]):
            found.extend(error for one in value for error in _errors(one))
    return found
