"""The lines of a tail: the operations that a recorder has not yet written to a part.

A tail begins with the invocations of all operations that are open at its start. Its lines look like
these:

    {"invoked": 7, "process": 2, "f": "send", "at_ns": 12, "did": [["send", "a-0", null, "v"]]}
    {"completed": 7, "outcome": "ok", "at_ns": 15, "did": [["send", "a-0", 3, "v"]], "error": null}

A micro-operation is the list `[kind, key, offset, value]`, with null for a field that does not
apply. A line may also have the fields that schema version 2 added (`NEW_IN_2`), such as `"group":
"g"`. A missing field is null. If an operation has two invocation lines, the second line replaces
the first line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from checkers.histories.io.field_types import check_types
from checkers.histories.io.operation_rows import KIND_OF, micro_of
from checkers.histories.io.unreadable import SHOWN, UnreadableHistory, shown
from model.histories import COLUMNS, NEW_IN_2, MicroOperation, Operation

if TYPE_CHECKING:
    from checkers.histories.io.locations import Place

_OF_LINES: Final = {  # the types of the fields in a tail
    **dict.fromkeys(("invoked", "completed", "at_ns"), "int64"),
    **{name: kind for name, (kind, _, _) in COLUMNS.items()},
}


def invocation_line(number: int, operation: Operation) -> bytes:
    return _line(
        {
            "invoked": number,
            "process": operation.process,
            "f": operation.f,
            "at_ns": operation.invoked_ns,
            "did": [_plain(micro) for micro in operation.did],
            **_new_fields(operation),
        }
    )


def completion_line(number: int, operation: Operation) -> bytes:
    return _line(
        {
            "completed": number,
            "outcome": operation.outcome,
            "at_ns": operation.completed_ns,
            "did": [_plain(micro) for micro in operation.did],
            "error": operation.error,
            **_new_fields(operation),
        }
    )


def _plain(micro: MicroOperation) -> tuple[str, str, int | None, str | None]:
    offset, value = getattr(micro, "offset", None), getattr(micro, "value", None)
    return KIND_OF[type(micro)], micro.key, offset, value


def _new_fields(operation: Operation) -> dict[str, Any]:
    fields = {name: getattr(operation, name) for name in NEW_IN_2}
    return {name: cell for name, cell in fields.items() if cell is not None}


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Tail:
    """The operations of a tail, and the tail's last line if this line is incomplete because of a
    kill.
    """

    completed: list[Operation]
    opened: dict[int, Operation]  # by number; a later tail repeats them
    incomplete: bytes


def read_tail(path: Place, *, last: bool) -> Tail:
    """Returns the content of a tail, an NDJSON file that remains after the recorder was killed.

    `last` is True for the last tail of a folder. In any other tail, an incomplete last line is an
    error. Raises UnreadableHistory for a malformed line.
    """
    opened: dict[int, Operation] = {}
    completed: list[Operation] = []
    lines = path.read_bytes().split(b"\n")
    incomplete = lines.pop()
    if incomplete and not last:
        _unreadable(path, len(lines) + 1, "the line is cut short, and this is not the last tail")
    for number, line in enumerate(lines, 1):
        try:
            event = json.loads(line)
            check_types(event, _OF_LINES)
            if "invoked" in event:
                opened[event["invoked"]] = _opened(event)
            elif event["completed"] in opened:
                completed.append(_closed(opened.pop(event["completed"]), event))
            else:
                _unreadable(
                    path, number, f"operation {shown(event['completed'])} was never invoked"
                )
        except KeyError as error:
            _unreadable(path, number, f"field {error} is missing")
        except (ValueError, TypeError, RecursionError) as error:
            _unreadable(path, number, f"{error}"[:SHOWN])
    return Tail(completed, opened, incomplete)


def _opened(event: dict[str, Any]) -> Operation:
    return Operation(
        process=event["process"],
        f=event["f"],
        outcome="info",
        invoked_ns=event["at_ns"],
        completed_ns=None,
        did=_did(event),
        error="the recorder ended before the operation did",
        **_new_fields_of(event),
    )


def _closed(operation: Operation, event: dict[str, Any]) -> Operation:
    return replace(
        operation,
        outcome=event["outcome"],
        completed_ns=event["at_ns"],
        did=_did(event),
        error=event["error"],
        **_new_fields_of(event),
    )


def _new_fields_of(event: dict[str, Any]) -> dict[str, Any]:
    return {name: event[name] for name in NEW_IN_2 if name in event}


def _did(event: dict[str, Any]) -> tuple[MicroOperation, ...]:
    names = ("kind", "key", "offset", "value")
    rows: list[dict[str, Any]] = [dict(zip(names, micro, strict=True)) for micro in event["did"]]
    for row in rows:
        check_types(row, _OF_LINES)
    return tuple(map(micro_of, rows))


def _unreadable(path: Place, line: int, fault: str) -> NoReturn:
    raise UnreadableHistory(f"{path}, line {line}: {fault}; fix that line, or copy the file again")
