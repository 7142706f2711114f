"""Linearizability by search: is there a legal order of all calls that agrees with real time?

A call takes effect at one instant between its invocation and its completion. A call that never
completed may take effect at any time after its invocation, or never. The search visits all
invocations and completions in the order of time. At each of them, it computes every possible
configuration: a state of the object, and the open calls that have already taken effect. If no
configuration is possible at a completion, no legal order exists.

For a log, the search is not necessary, because the end of a log never moves back. So if a log has
no legal order, two of its calls contradict each other, and `anomalies.real_time` finds such pairs.
The tests compare the two methods.

Source: Wing and Gong, "Testing and verifying concurrent objects", 1993; Lowe, "Testing for
linearizability", 2017 (the memory of configurations, just-in-time linearization).
"""

# Why pairs suffice for a log: a response demands only that one call precedes another, and
# precedence in real time is an interval order.

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

StateT = TypeVar("StateT", bound=Hashable)
ActionT = TypeVar("ActionT", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class Call(Generic[ActionT]):
    """One call of an operation of the object, such as a read of a register.

    A call without a completion time may take effect at any time after its invocation, or never. Two
    `Call` objects are never equal, even if all their fields are equal.
    """

    op: int
    action: ActionT
    invoked_ns: int
    completed_ns: int | None


@dataclass(frozen=True, slots=True)
class Stuck(Generic[StateT, ActionT]):
    """A call that no legal order can contain, and the states that the object could have when the
    call completed.
    """

    call: Call[ActionT]
    states: frozenset[StateT]


Step = Callable[[StateT, ActionT], StateT | None]  # the next state; None: it is not allowed now
_Configuration = tuple[StateT, frozenset[Call[ActionT]]]


def stuck(
    calls: Collection[Call[ActionT]], initial: StateT, step: Step[StateT, ActionT]
) -> Iterator[Stuck[StateT, ActionT]]:
    """Yields each call that no legal order can contain, in the order of completion.

    After such a call, the search continues with the remaining calls. `step(state, action)` returns
    the state after the action, or None if the action is illegal in `state`. The calls are
    linearizable if and only if the iterator is empty.
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
    # A configuration is a state of the object and the open calls that have taken effect.
    seen = set(configurations)
    rest = list(seen)
    while rest:
        state, taken = rest.pop()
        # no call takes effect after this one, which completes now
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
    value: int


@dataclass(frozen=True, slots=True)
class Read:
    value: int


RegisterAction = Write | Read
UNKNOWN: Final = -(2**63)  # the initial value of a register


def register(value: int, action: RegisterAction) -> int | None:
    """Returns the value of a register after a write or a read, or None if the read is illegal.

    A read is legal if it returns the register's value. If the register's value is `UNKNOWN`, every
    read is legal, and the register then has the value of the read.
    """
    if isinstance(action, Write) or value == UNKNOWN or value == action.value:
        return action.value
    return None


# ---------------------------------------------------------------- a log with gaps


@dataclass(frozen=True, slots=True)
class Append:
    """An append of the record `value` at `offset`. The record becomes the last record of the
    log.
    """

    offset: int
    value: str


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """A read of the record `value` at `offset`. `sent` is True if the history has a send of the
    record.
    """

    offset: int
    value: str
    sent: bool
    stable: bool  # at read_committed


@dataclass(frozen=True, slots=True)
class ReadEnd:
    """A read of the end offset of a log. If `stable` is True, the read returned the last stable
    offset instead.
    """

    offset: int
    stable: bool


LogAction = Append | ReadRecord | ReadEnd


@dataclass(frozen=True, slots=True)
class Log:
    """The state of a log: the records that calls have appended or read, its end offset, and its
    last stable offset.
    """

    records: frozenset[tuple[int, str]] = frozenset()
    end: int = 0
    stable_end: int = 0
    transactional: bool = False  # otherwise both end offsets are equal

    def reaching(self, end: int, *, stable: bool) -> Log:
        """Returns the log with its end offset raised to at least `end`. If `stable` is True, the
        last stable offset is raised to at least `end`, too.
        """
        stable_end = max(self.stable_end, end if stable else 0)
        return replace(self, end=max(self.end, end), stable_end=stable_end)


def log(held: Log, action: LogAction) -> Log | None:
    """Returns the state of the log after an append or a read, or None if the action is illegal in
    the state `held`.

    The offsets of the records may have gaps. A transaction marker takes an offset, and so does a
    record of a client outside the history.
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
