"""Reads histories of Jepsen: events in EDN, which are paired by process into operations.

A file holds one event map on each line, or a single vector with all events. An operation has two
events: an `:invoke`, and its completion, which is the next `:ok`, `:fail` or `:info` of the same
process. If the completion has no `:value`, it has the `:value` of the invocation. The events of a
process with a name, such as `:nemesis`, are not operations. If the first of the other events has no
`:time`, the time of each event is its position in the file.

If the completion of a send equals its invocation, the send has no offset. The last line is such a
send:

    invoked             completed
    [:send k 5]         [:send k [3 5]]       value 5 at offset 3
    [:send k [3 5]]     [:send k [3 5]]       value [3 5], no offset

The keys of an `:assign` or `:subscribe` are the consumer's assignment after the operation. The keys
of a `:rebalance-log` were assigned or revoked while the operation ran. Each key and each value is
converted to its text in EDN, so `:a`, `"a"` and `1` stay different.

Source: jepsen.history; jepsen.tests.kafka, "micro-ops".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from checkers.histories.io.edn import EdnSet, NotEdn, Tagged, text
from checkers.histories.io.edn_lines import entries
from checkers.histories.io.unreadable import UnreadableHistory
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
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from checkers.histories.io.edn import Form
    from checkers.histories.io.locations import Place

_OUTCOMES: Final[dict[str, Outcome]] = {":ok": "ok", ":fail": "fail", ":info": "info"}
_FIELDS: Final = frozenset(
    {":type", ":process", ":f", ":value", ":time", ":error", ":rebalance-log"}
)
_ASSIGNING: Final = frozenset({"assign", "subscribe"})
_DOING: Final = _ASSIGNING | {"send", "poll", "txn"}
MAX_INTEGER: Final = 2**63 - 2  # 2**63 - 1 is the completion time of an operation that never ends
NEXT_STEP: Final = "fix that line, or delete it"


class _InvalidEvent(ValueError):
    pass


@dataclass(frozen=True, slots=True)
class _OpenOperation:
    process: int
    event: dict[Any, Form]
    at_ns: int
    did: tuple[MicroOperation, ...]

    def ended(self, event: dict[Any, Form], outcome: Outcome, at_ns: int | None) -> Operation:
        value, error = event.get(":value"), event.get(":error")
        invoked, f = self.event.get(":value"), _name(event)
        return Operation(
            process=self.process,
            f=f,
            outcome=outcome,
            invoked_ns=self.at_ns,
            completed_ns=at_ns,
            did=(
                *(self.did if value is None else _micro_operations(f, value, invoked)),
                *_rebalanced(event.get(":rebalance-log")),
            ),
            error=None if error is None else text(error),
        )

    def never_ended(self) -> Operation:
        return self.ended(self.event, "info", None)


@dataclass(slots=True)
class _Pairing:
    opened: dict[int, _OpenOperation] = field(default_factory=dict)
    never: list[Operation] = field(default_factory=list)
    timed: bool | None = None  # whether events have a `:time`; None before the first event
    position: int = 0
    unmapped: Counter[str] | None = None  # how often each unknown field occurs

    def add(self, event: Form) -> Operation | None:
        """Adds an event; returns the operation that the event completes, or None if it completes
        none.
        """
        if isinstance(event, Tagged):
            event = event.form
        if not isinstance(event, dict):
            raise _InvalidEvent(f"{_shown(event)} is not a map, and an event is one")
        self.position += 1
        named = event.get(":process")
        if isinstance(named, str) and named.startswith(":"):
            if self.unmapped is not None:
                self.unmapped[f"events of process {named}"] += 1
            return None
        if self.unmapped is not None:
            self.unmapped.update(f"field {text(key)}" for key in event if key not in _FIELDS)
        kind = event.get(":type")
        if not isinstance(kind, str) or (kind != ":invoke" and kind not in _OUTCOMES):
            raise _InvalidEvent(f":type is {_shown(kind)}, not :invoke, :ok, :fail or :info")
        process = _integer(named, ":process")
        if event.get(":f") is None:
            raise _InvalidEvent(f"the event of process {process} has no :f")
        at_ns = self._time(event)
        if kind == ":invoke":
            if process in self.opened:
                self.never.append(self.opened[process].never_ended())
            value = event.get(":value")
            did = () if value is None else _micro_operations(_name(event), value, value)
            self.opened[process] = _OpenOperation(process, event, at_ns, did)
            return None
        if process not in self.opened:
            raise _InvalidEvent(f"process {process} completes an operation that it never invoked")
        return self.opened.pop(process).ended(event, _OUTCOMES[kind], at_ns)

    def _time(self, event: dict[Any, Form]) -> int:
        time = event.get(":time")
        if self.timed is None:
            self.timed = time is not None
        if not self.timed:
            return self.position
        return _integer(time, ":time")


def operations(path: Place, unmapped: Counter[str] | None = None) -> Iterator[Operation]:
    """Yields the completed operations in completion order, and then the operations that never
    completed.

    `unmapped` counts the events and the fields that are not read. Raises UnreadableHistory with the
    line number if an event is malformed.
    """
    pairing = _Pairing(unmapped=unmapped)
    line = 0
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for line, event in _events(lines):  # noqa: B007  # the error below names the line
                completed = pairing.add(event)
                if completed is not None:
                    yield completed
    except NotEdn as fault:
        raise UnreadableHistory(f"{path}, {fault}; copy the file again, or cut it there") from fault
    except UnicodeDecodeError as fault:
        line = _first_line_not_utf8(path)
        raise UnreadableHistory(
            f"{path}, line {line}: {fault.reason}; EDN is UTF-8 text: convert the file"
        ) from fault
    except ValueError as fault:
        raise UnreadableHistory(f"{path}, line {line}: {fault}; {NEXT_STEP}") from fault
    yield from pairing.never
    for invoked in pairing.opened.values():
        yield invoked.never_ended()


def _first_line_not_utf8(path: Place) -> int:
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


def _micro_operations(f: str, value: Form, invoked_value: Form) -> tuple[MicroOperation, ...]:
    if f not in _DOING:
        return ()
    if not isinstance(value, list):
        raise _InvalidEvent(f":value of {f} is {_shown(value)}, not a vector")
    if f in _ASSIGNING:
        return tuple(Assigned(text(key)) for key in value)
    # `[:send k v]` becomes `[:send k [offset v]]` when the send completes
    did: list[MicroOperation] = []
    invocations = invoked_value[: len(value)] if isinstance(invoked_value, list) else ()
    for form, invoked in zip_longest(value, invocations):
        did += _as_invoked(form) if form == invoked else _with_result(form)
    return tuple(did)


def _rebalanced(log: Form) -> Iterator[Rebalanced]:
    keys: dict[str, None] = {}
    for rebalance in log if isinstance(log, list) else ():
        match rebalance:
            case {":keys": list(some) | EdnSet(some)}:
                keys.update(dict.fromkeys(map(text, some)))
            case {":keys": other} if other is not None:
                raise _InvalidEvent(f":keys of a rebalance is {_shown(other)}, not a vector")
            case _:
                pass
    yield from map(Rebalanced, keys)


def _as_invoked(micro: Form) -> Iterable[MicroOperation]:
    match micro:
        case [":send", key, value]:
            return (Send(text(key), text(value)),)
        case _:
            return _with_result(micro)


def _with_result(micro: Form) -> Iterable[MicroOperation]:
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
            raise _InvalidEvent(f"{_shown(micro)} is neither [:send key ..] nor [:poll {{key ..}}]")


def _polled(key: str, records: Form) -> Iterator[Poll]:
    if records is not None and not isinstance(records, list):
        raise _InvalidEvent(
            f"records of a poll are {_shown(records)}, not a vector of [offset value]"
        )
    for record in records or ():
        if not isinstance(record, list) or len(record) != 2:
            raise _InvalidEvent(f"a record of a poll is {_shown(record)}, not [offset value]")
        yield Poll(key, _offset(record[0]), text(record[1]))


def _offset(form: Form) -> int | None:
    return None if form is None else _integer(form, "an offset")


def _integer(form: Form, name: str) -> int:
    if not isinstance(form, int) or abs(form) > MAX_INTEGER:
        raise _InvalidEvent(f"{name} is {_shown(form)}, not an integer of 64 bits")
    return form


def _shown(form: Form) -> str:
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text(form)[:60])
