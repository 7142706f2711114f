"""Linearizability by search: is there an order of the calls, true to time, that an object allows?

A call takes effect at one instant between its invocation and its completion; one that never
completed takes effect at some instant behind its invocation, or never. The search goes through the
events in time and keeps every configuration that is left: what the object holds, and which of the
open calls have taken effect. A call is made to take effect no earlier than some completion needs
it. Where a completion leaves no configuration, no order exists.

Two objects are here: a register, and a log with gaps, whose end only moves on. The log needs no
search, only pairs (`anomalies.real_time`): all that its answers demand is that one call precede
another, and precedence in time is an interval order: if a ends before b begins and c before d, then
a before d or c before b. So a circle of demands and times, which is what forbids every order,
shrinks to one fact that ended before the question began that it breaks. Tests hold both against
each other. Of a register, where one value may be written twice, pairs are not enough.

Source: Wing and Gong, "Testing and verifying concurrent objects", 1993; Lowe, "Testing for
linearizability", 2017 (the memory of configurations, just-in-time linearization).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

StateT = TypeVar("StateT", bound=Hashable)
ActionT = TypeVar("ActionT", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class Call(Generic[ActionT]):
    """What somebody did; without a completion it may have taken effect at any time, or never.

    Two calls are two, however alike.
    """

    op: int
    action: ActionT
    invoked_ns: int
    completed_ns: int | None


@dataclass(frozen=True, slots=True)
class Stuck(Generic[StateT, ActionT]):
    """A call that fits no order of those that completed before it, and what the object may hold."""

    call: Call[ActionT]
    states: frozenset[StateT]


Step = Callable[[StateT, ActionT], StateT | None]  # the next state; None: it is not allowed now
_Configuration = tuple[StateT, frozenset[Call[ActionT]]]


def stuck(
    calls: Collection[Call[ActionT]], initial: StateT, step: Step[StateT, ActionT]
) -> Iterator[Stuck[StateT, ActionT]]:
    """The calls that cannot be placed, in the order of their completions, each then left out.

    There is none if the calls are linearizable, and one at least if they are not.
    """
    configurations: set[_Configuration[StateT, ActionT]] = {(initial, frozenset())}
    opened: set[Call[ActionT]] = set()
    for call, completes in _events(calls):
        if not completes:
            opened.add(call)
            continue
        reachable = _reachable(configurations, opened, step, until=call)
        left = {(state, taken - {call}) for state, taken in reachable if call in taken}
        opened.remove(call)
        if not left:
            yield Stuck(call, frozenset(state for state, _ in reachable))
        configurations = left or configurations


def _events(calls: Iterable[Call[ActionT]]) -> Iterator[tuple[Call[ActionT], bool]]:
    """Each call at its invocation and at its completion; at one instant invocations come first."""
    events = [(call.invoked_ns, False, number, call) for number, call in enumerate(calls)]
    events += [
        (call.completed_ns, True, number, call)
        for number, call in enumerate(calls)
        if call.completed_ns is not None
    ]
    for _, completes, _, call in sorted(events, key=lambda event: event[:3]):
        yield call, completes


def _reachable(
    configurations: Iterable[_Configuration[StateT, ActionT]],
    opened: Iterable[Call[ActionT]],
    step: Step[StateT, ActionT],
    until: Call[ActionT],
) -> set[_Configuration[StateT, ActionT]]:
    """What open calls may lead to, none of them behind the one that completes now."""
    seen = set(configurations)
    rest = list(seen)
    while rest:
        state, taken = rest.pop()
        if until in taken:
            continue
        for call in opened:
            after = None if call in taken else step(state, call.action)
            if after is not None and (further := (after, taken | {call})) not in seen:
                seen.add(further)
                rest.append(further)
    return seen


# ---------------------------------------------------------------- a register


@dataclass(frozen=True, slots=True)
class Write:
    """The register holds the value from now on."""

    value: int


@dataclass(frozen=True, slots=True)
class Read:
    """The register was told to hold the value."""

    value: int


RegisterAction = Write | Read
UNTOLD: Final = -(2**63)  # what a register holds at first


def register(held: int, action: RegisterAction) -> int | None:
    """A register that begins with any one value: `UNTOLD` until it is read or written."""
    if isinstance(action, Write) or held == UNTOLD or held == action.value:
        return action.value
    return None


# ---------------------------------------------------------------- a log with gaps


@dataclass(frozen=True, slots=True)
class Append:
    """The record gets the offset, and the log ends behind it."""

    offset: int
    value: str


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """The record lies at the offset; `sent`: by a call that is known."""

    offset: int
    value: str
    sent: bool
    stable: bool  # at read_committed


@dataclass(frozen=True, slots=True)
class ReadEnd:
    """The next record gets this offset or a higher one; of the stable end: is read up to it."""

    offset: int
    stable: bool


LogAction = Append | ReadRecord | ReadEnd


@dataclass(frozen=True, slots=True)
class Log:
    """The records that calls told of, the end, and how far readers at read_committed may go."""

    records: frozenset[tuple[int, str]] = frozenset()
    end: int = 0
    stable_end: int = 0
    transactional: bool = False  # else both ends are one

    def reaching(self, end: int, *, stable: bool) -> Log:
        """The log with its ends moved on to where they must be: gaps may lie before them."""
        stable_end = max(self.stable_end, end if stable else 0)
        return replace(self, end=max(self.end, end), stable_end=stable_end)


def log(held: Log, action: LogAction) -> Log | None:
    """A log with gaps: markers and other people's records lie where nothing is told of.

    An offset has one record, and a record lies at one offset.
    """
    match action:
        case Append(offset, value):
            if offset < held.end:
                return None
            records = held.records | {(offset, value)}
            return replace(held, records=records).reaching(offset + 1, stable=False)
        case ReadRecord(offset, value, sent, stable):
            there = {one for one in held.records if one[0] == offset or one[1] == value}
            if there - {(offset, value)} or (sent and not there):
                return None
            records = held.records | {(offset, value)}
            return replace(held, records=records).reaching(offset + 1, stable=stable)
        case ReadEnd(offset, stable):
            apart = stable and held.transactional
            if offset < (held.stable_end if apart else held.end):
                return None
            return held.reaching(offset, stable=stable)
