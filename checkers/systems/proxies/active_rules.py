"""Stores the fault rules that are in force, how many requests each rule has matched, and a log of
the effects of the rules.

A fault rule describes how a proxy delays, drops or reorders messages. A test adds and ends rules in
its own thread, while the event loop of the connections reads them. A lock protects the rules.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from checkers.systems.proxies.contents import Contents
from checkers.systems.proxies.frames import Header
from checkers.systems.proxies.rules import Cut, Rule
from reference_impl.wire.messages.apis import Api

ReadContents = Callable[[], Contents | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """An effect of a fault rule on one request or response, with its time on the
    monotonic clock.
    """

    at_ns: int
    do: str  # the name of the rule's class; "Lift" when a rule ends
    sender: int
    receiver: int
    header: Header | None = None  # None: a cut begins or ends

    def __str__(self) -> str:
        pair = f"{self.sender} to {self.receiver}"
        return f"{self.do} {pair}" + (f": {described(self.header)}" if self.header else "")


def described(header: Header) -> str:
    """Returns the header of a request as text, such as
    `PRODUCE v9, correlation 4, client 'rdkafka'`.
    """
    known = {api.value: api.name for api in Api}
    name = known.get(header.api_key, f"API {header.api_key}")
    return (
        f"{name} v{header.api_version}, correlation {header.correlation_id}, "
        f"client {header.client_id!r}"
    )


@dataclass(slots=True, eq=False)
class ActiveRule:
    """A fault rule, with the number of requests that it matched and the number of requests that it
    affected.
    """

    rule: Rule
    seen: int = 0  # requests that matched the rule
    acted: int = 0  # those of them that the rule affected
    undecided: int = 0  # requests whose partitions or producers cannot be known; not in `seen`
    lifted: bool = False


@dataclass(slots=True)
class ActiveRules:
    """All fault rules in force, in the order in which they were added."""

    loop: asyncio.AbstractEventLoop
    log: list[Happened] = field(default_factory=list[Happened])
    requests: Counter[tuple[int, int, int]] = field(default_factory=Counter[tuple[int, int, int]])
    _rules: list[ActiveRule] = field(default_factory=list[ActiveRule])
    _lock: threading.Condition = field(default_factory=threading.Condition)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    # ------------------------------------------------------------ from any thread

    def add(self, rule: Rule) -> ActiveRule:
        active = ActiveRule(rule)
        with self._lock:
            self._rules.append(active)
            if isinstance(rule, Cut):
                self._note("Cut", rule.sender, rule.receiver)
        self._wake()
        return active

    def lift(self, active: ActiveRule) -> None:
        """Ends the fault rule if it is in force. The proxies then deliver the bytes that the rule
        has held back.
        """
        with self._lock:
            if active.lifted:
                return
            active.lifted = True
            self._rules.remove(active)
            if isinstance(active.rule, Cut):
                self._note("Lift", active.rule.sender, active.rule.receiver)
        self._wake()

    def await_acted(self, active: ActiveRule, count: int, within_s: float) -> bool:
        """Waits until the fault rule has acted `count` times, and returns True. Returns False if
        this takes longer than `within_s` seconds.
        """
        with self._lock:
            return self._lock.wait_for(lambda: active.acted >= count, within_s)

    # ------------------------------------------------------------ in the event loop

    def of_request(
        self, sender: int, receiver: int, header: Header, contents: ReadContents
    ) -> tuple[ActiveRule, ...]:
        """Returns the fault rules that will act on the request or on its response. Also counts the
        request, in `requests` and in each rule that it matches.
        """
        selected: list[ActiveRule] = []
        with self._lock:
            self.requests[sender, receiver, header.api_key] += 1
            for active in self._rules:
                rule = active.rule
                if isinstance(rule, Cut) or not rule.of.selects(sender, receiver, header):
                    continue
                # The contents are read only if a rule selects by partitions or producers.
                if rule.of.reads_bodies:
                    matches = rule.of.selects_contents(contents())
                    active.undecided += matches is None
                    if not matches:
                        continue
                active.seen += 1
                if rule.of.selects_occurrence(active.seen):
                    selected.append(active)
            self._lock.notify_all()
        return tuple(selected)

    def acts(self, active: ActiveRule, sender: int, receiver: int, header: Header) -> None:
        with self._lock:
            active.acted += 1
            self._note(type(active.rule).__name__, sender, receiver, header)
            self._lock.notify_all()

    def is_cut(self, sender: int, receiver: int) -> bool:
        with self._lock:
            return any(
                isinstance(active.rule, Cut)
                and (active.rule.sender, active.rule.receiver) == (sender, receiver)
                for active in self._rules
            )

    async def passable(self, *pairs: tuple[int, int]) -> None:
        """Waits until no fault rule cuts any of the links in `pairs`. A link is a pair of a sender
        and a receiver.
        """
        while any(self.is_cut(*pair) for pair in pairs):
            await self._changed.wait()

    async def ends(self, active: ActiveRule) -> None:
        while not active.lifted:
            await self._changed.wait()

    def _wake(self) -> None:
        self.loop.call_soon_threadsafe(self._pulse)

    def _pulse(self) -> None:
        self._changed.set()  # wakes every waiter; each looks at the rules again
        self._changed = asyncio.Event()

    def _note(self, do: str, sender: int, receiver: int, header: Header | None = None) -> None:
        self.log.append(
            Happened(
                at_ns=time.monotonic_ns(), do=do, sender=sender, receiver=receiver, header=header
            )
        )
