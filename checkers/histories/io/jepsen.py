"""Jepsen's histories: events in EDN, paired by process into operations.

A file holds one event map per line, or one vector of them all. An operation is an `:invoke` and
the next `:ok`, `:fail` or `:info` of its process; a completion without a `:value` has that of the
invocation. A send that is told as it was invoked says no offset, so a value may be a vector. Events
of processes with a name (`:nemesis`) are no operations of clients. `:index` may have gaps and is
not read. Without any `:time` the place in the file is the time.

The keys of an `:assign` or `:subscribe` are what it left its consumer with; those of a
`:rebalance-log` were given or taken while the operation ran.

Keys and values become their text in EDN, so `:a`, `"a"` and `1` stay different.

Source: jepsen.history; jepsen.tests.kafka, "micro-ops".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from checkers.histories.io.edn import Elements, NotEdn, Tagged, text
from checkers.histories.io.edn_lines import entries
from checkers.histories.io.recorded import UnreadableHistory
from model.histories import (
    Assigned,
    MicroOperation,
    Operation,
    Outcome,
    Poll,
    Rebalanced,
    Send,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from checkers.histories.io.edn import Form

_OUTCOMES: Final[dict[str, Outcome]] = {":ok": "ok", ":fail": "fail", ":info": "info"}
_ASSIGNING: Final = frozenset({"assign", "subscribe"})
_DOING: Final = _ASSIGNING | {"send", "poll", "txn"}
LARGEST: Final = 2**63 - 2  # the next is when what never completes does, or the end of a full log
NEXT: Final = "mend that line, or leave it out"


class _Odd(ValueError):
    """An event that is none; the message says why."""


@dataclass(frozen=True, slots=True)
class _Invoked:
    """An operation that is open."""

    process: int
    event: dict[Any, Form]
    at_ns: int
    did: tuple[MicroOperation, ...]

    def ended(self, event: dict[Any, Form], outcome: Outcome, at_ns: int | None) -> Operation:
        """The operation that ends with this event: what it leaves unsaid the invocation says."""
        value, error = event.get(":value"), event.get(":error")
        asked, f = self.event.get(":value"), _name(event)
        return Operation(
            process=self.process,
            f=f,
            outcome=outcome,
            invoked_ns=self.at_ns,
            completed_ns=at_ns,
            did=(
                *(self.did if value is None else _did(f, value, asked)),
                *_rebalanced(event.get(":rebalance-log")),
            ),
            error=None if error is None else text(error),
        )

    def never_ended(self) -> Operation:
        return self.ended(self.event, "info", None)


@dataclass(slots=True)
class _Pairing:
    """The operations that are open, by process, and those that never completed."""

    opened: dict[int, _Invoked] = field(default_factory=dict)
    never: list[Operation] = field(default_factory=list)
    timed: bool | None = None  # whether events have a `:time`; the first one tells
    place: int = 0

    def follow(self, event: Form) -> Operation | None:
        """The operation that the event completes, if it is one."""
        if isinstance(event, Tagged):
            event = event.form
        if not isinstance(event, dict):
            raise _Odd(f"{_shown(event)} is no map")
        self.place += 1
        named = event.get(":process")
        if isinstance(named, str) and named[0] == ":":
            return None
        kind = event.get(":type")
        if kind != ":invoke" and kind not in _OUTCOMES:
            raise _Odd(f":type {_shown(kind)}: :invoke, :ok, :fail and :info exist")
        process = _integer(named, ":process")
        if event.get(":f") is None:
            raise _Odd(f"an operation of process {process} without an :f")
        at_ns = self._time(event)
        if kind == ":invoke":
            if process in self.opened:
                self.never.append(self.opened[process].never_ended())
            asked = event.get(":value")
            did = () if asked is None else _did(_name(event), asked, asked)
            self.opened[process] = _Invoked(process, event, at_ns, did)
            return None
        if process not in self.opened:
            raise _Odd(f"process {process} completes what it never invoked")
        return self.opened.pop(process).ended(event, _OUTCOMES[kind], at_ns)

    def _time(self, event: dict[Any, Form]) -> int:
        time = event.get(":time")
        if self.timed is None:
            self.timed = time is not None
        if not self.timed:
            return self.place
        return _integer(time, ":time")


def operations(path: Path) -> Iterator[Operation]:
    """The operations in the order of their completions, then those that never completed.

    UnreadableHistory names the line.
    """
    pairing = _Pairing()
    line = 0
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for line, event in _events(lines):  # noqa: B007  # the error below names the line
                completed = pairing.follow(event)
                if completed is not None:
                    yield completed
    except NotEdn as fault:
        raise UnreadableHistory(f"{path}, {fault}; copy it again, or cut it there") from fault
    except UnicodeDecodeError as fault:
        line = _first_without_text(path)
        raise UnreadableHistory(
            f"{path}, line {line}: {fault.reason}; EDN is UTF-8 text, convert it"
        ) from fault
    except ValueError as fault:
        raise UnreadableHistory(f"{path}, line {line}: {fault}; {NEXT}") from fault
    yield from pairing.never
    for invoked in pairing.opened.values():
        yield invoked.never_ended()


def _first_without_text(path: Path) -> int:
    """The first line that is not UTF-8; 0 if all are."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 0


def _events(lines: Iterable[str]) -> Iterator[tuple[int, Form]]:
    for line, form in entries(lines):
        plain = form.form if isinstance(form, Tagged) else form
        if isinstance(plain, list):
            yield from ((line, event) for event in plain)
        else:
            yield line, plain


def _name(event: dict[Any, Form]) -> str:
    return text(event[":f"]).removeprefix(":")


def _did(f: str, value: Form, asked: Form) -> tuple[MicroOperation, ...]:
    """What the value shows; a micro-operation that is told as it was invoked shows no more."""
    if f not in _DOING:
        return ()
    if not isinstance(value, list):
        raise _Odd(f":value {_shown(value)} of {f} is no vector")
    if f in _ASSIGNING:
        return tuple(Assigned(text(key)) for key in value)
    did: list[MicroOperation] = []
    invocations = asked[: len(value)] if isinstance(asked, list) else ()
    for form, invoked in zip_longest(value, invocations):
        did += _invoked(form) if form == invoked else _told(form)
    return tuple(did)


def _rebalanced(log: Form) -> Iterator[Rebalanced]:
    """The keys of all rebalances, each once."""
    keys: dict[str, None] = {}
    for rebalance in log if isinstance(log, list) else ():
        match rebalance:
            case {":keys": list(some) | Elements(some)}:
                keys.update(dict.fromkeys(map(text, some)))
            case {":keys": told} if told is not None:
                raise _Odd(f":keys {_shown(told)} of a rebalance is no vector")
            case _:
                pass
    yield from map(Rebalanced, keys)


def _invoked(micro: Form) -> Iterable[MicroOperation]:
    """What a `[:send key value]` or `[:poll]` is about to do; the value may be a vector."""
    match micro:
        case [":send", key, value]:
            return (Send(text(key), text(value)),)
        case _:
            return _told(micro)


def _told(micro: Form) -> Iterable[MicroOperation]:
    """What one `[:send ..]` or `[:poll ..]` shows."""
    match micro:
        case [":poll", dict(keys)]:
            return (poll for key, records in keys.items() for poll in _polled(text(key), records))
        case [":poll"] | [":poll", None]:
            return ()
        case [":send", key, [offset, value]]:
            return (Send(text(key), text(value), _offset(offset)),)
        case [":send", key, value] if not isinstance(value, list):
            return (Send(text(key), text(value)),)
        case _:
            raise _Odd(f"{_shown(micro)} is neither [:send key ..] nor [:poll {{key ..}}]")


def _polled(key: str, records: Form) -> Iterator[Poll]:
    if records is not None and not isinstance(records, list):
        raise _Odd(f"{_shown(records)} is no vector of [offset value]")
    for record in records or ():
        if not isinstance(record, list) or len(record) != 2:
            raise _Odd(f"{_shown(record)} is no [offset value]")
        yield Poll(key, _offset(record[0]), text(record[1]))


def _offset(form: Form) -> int | None:
    return None if form is None else _integer(form, "an offset")


def _integer(form: Form, what: str) -> int:
    if not isinstance(form, int) or abs(form) > LARGEST:
        raise _Odd(f"{what} is {_shown(form)}, not an integer of 64 bits")
    return form


def _shown(form: Form) -> str:
    """How the form begins, fit for one line of a terminal."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text(form)[:60])
