"""Jepsen's histories: events in EDN, paired by process into operations.

A file holds one event map per line, or one vector of them all. An operation is an `:invoke` and
the next `:ok`, `:fail` or `:info` of its process. Events of other processes than numbers (the
nemesis) are no operations of clients. `:index` may have gaps and is not read. Without any `:time`
the place in the file is the time.

Keys and values become their text in EDN, so `:a`, `"a"` and `1` stay different.

Source: jepsen.history; jepsen.tests.kafka, "micro-ops".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from checkers.histories.edn import NotEdn, Tagged, entries, text
from checkers.histories.recorded import UnreadableHistory
from model.histories import MicroOperation, Operation, Outcome, Poll, Send

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from checkers.histories.edn import Form

_OUTCOMES: Final[dict[str, Outcome]] = {":ok": "ok", ":fail": "fail", ":info": "info"}
_TRANSACTIONAL: Final = frozenset({"send", "poll", "txn"})
LARGEST: Final = 2**63 - 1
NEXT: Final = "`urteil explain history` shows the form of a history"


class _Odd(ValueError):
    """An event that is none; the message says why."""


@dataclass(slots=True)
class _Pairing:
    """The operations that are open, by process, and those that never completed."""

    opened: dict[int, Operation] = field(default_factory=dict)
    never: list[Operation] = field(default_factory=list)
    timed: bool | None = None  # whether events have a `:time`; the first one tells
    place: int = 0

    def follow(self, event: Form) -> Operation | None:
        """The operation that the event completes, if it is one."""
        if isinstance(event, Tagged):
            event = event.form
        if not isinstance(event, dict):
            raise _Odd(f"{text(event)[:60]} is no map")
        self.place += 1
        process = event.get(":process")
        if not isinstance(process, int):
            return None
        kind, at_ns = event.get(":type"), self._time(event)
        if kind == ":invoke":
            if process in self.opened:
                self.never.append(self.opened[process])
            self.opened[process] = _operation(process, event, "info", at_ns, None)
            return None
        if kind not in _OUTCOMES:
            raise _Odd(f":type {text(kind)}: :invoke, :ok, :fail and :info exist")
        if process not in self.opened:
            raise _Odd(f"process {process} completes what it never invoked")
        invoked_ns = self.opened.pop(process).invoked_ns
        return _operation(process, event, _OUTCOMES[kind], invoked_ns, at_ns)

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
        raise UnreadableHistory(f"{path}: {fault}; EDN is UTF-8 text") from fault
    except ValueError as fault:
        raise UnreadableHistory(f"{path}, line {line}: {fault}; {NEXT}") from fault
    yield from pairing.never
    yield from pairing.opened.values()


def _events(lines: Iterable[str]) -> Iterator[tuple[int, Form]]:
    for line, form in entries(lines):
        plain = form.form if isinstance(form, Tagged) else form
        if isinstance(plain, list):
            yield from ((line, event) for event in plain)
        else:
            yield line, plain


def _operation(
    process: int,
    event: dict[Any, Form],
    outcome: Outcome,
    invoked_ns: int,
    completed_ns: int | None,
) -> Operation:
    f = text(event.get(":f")).removeprefix(":")
    error = event.get(":error")
    return Operation(
        process=_integer(process, ":process"),
        f=f,
        outcome=outcome,
        invoked_ns=invoked_ns,
        completed_ns=completed_ns,
        did=tuple(_did(event.get(":value"))) if f in _TRANSACTIONAL else (),
        error=None if error is None else text(error),
    )


def _did(value: Form) -> Iterator[MicroOperation]:
    match value:
        case None:
            return
        case list():
            for micro in value:
                yield from _micro(micro)
        case _:
            raise _Odd(f":value {text(value)[:60]} is no vector of micro-operations")


def _micro(micro: Form) -> Iterator[MicroOperation]:
    """What one `[:send ..]` or `[:poll ..]` shows."""
    match micro:
        case [":send", key, [offset, value]]:
            yield Send(text(key), text(value), _offset(offset))
        case [":send", key, value] if not isinstance(value, list):
            yield Send(text(key), text(value))
        case [":poll"] | [":poll", None]:
            return
        case [":poll", dict(keys)]:
            for key, records in keys.items():
                for record in records or ():
                    match record:
                        case [offset, value]:
                            yield Poll(text(key), _offset(offset), text(value))
                        case _:
                            raise _Odd(f"{text(record)[:60]} is no [offset value]")
        case _:
            raise _Odd(f"{text(micro)[:60]} is neither [:send key ..] nor [:poll {{key ..}}]")


def _offset(form: Form) -> int | None:
    return None if form is None else _integer(form, "an offset")


def _integer(form: Form, what: str) -> int:
    if not isinstance(form, int) or abs(form) > LARGEST:
        raise _Odd(f"{what} is {text(form)[:60]}, not an integer of 64 bits")
    return form
