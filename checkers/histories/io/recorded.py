"""Reads the folder of a recorded history, as operations or as Arrow tables.

The recorder writes such a folder:

    history.json            schema version, workload, clients, settings, seed, clock, and
                            `finished`: true if the recorder read every log to its end, then ended
    part-00000.parquet      rows of `COLUMNS` in completion order, operations numbered across parts
    part-00001.parquet
    tail-00002.ndjson       everything after the last part: a line per invocation and completion

The recorder first writes operations as text to a *tail*, and later as a table to a *part*. Part k
replaces tail k, and gets its name only when it is complete. If the recorder is killed, the last
tail remains, and its last line may be incomplete. An operation that was open at the kill gets the
outcome `info`, and is read after all completed operations. Tail k+1 begins before part k is
complete, so a kill in this time leaves both tails on disk. A tail begins with the invocations of
all operations that are open at its start. A tail has lines such as:

    {"invoked": 7, "process": 2, "f": "send", "at_ns": 12, "did": [["send", "a-0", null, "v"]]}
    {"completed": 7, "outcome": "ok", "at_ns": 15, "did": [["send", "a-0", 3, "v"]], "error": null}

A micro-operation (a single send, poll or other action of an operation) is the list
`[kind, key, offset, value]`, with null for a field that does not apply. A line may also have the
fields that schema version 2 added (`NEW_IN_2`), such as `"group": "g"`. A missing field is null. If
an operation has two invocation lines, the second line replaces the first line.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, cast

import pyarrow as pa

from checkers.histories.io.field_types import check_types
from checkers.histories.io.parquet_files import opened, table_of
from model.faults import InputFault
from model.histories import (
    COLUMNS,
    NEW_IN_2,
    SCHEMA_VERSION,
    Assigned,
    CommitOffset,
    EndOffset,
    FetchOffset,
    History,
    MicroOperation,
    Operation,
    Poll,
    Rebalanced,
    Send,
    StartOffset,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from checkers.histories.io.locations import Place

SCHEMA: Final = pa.schema(
    [
        pa.field(name, pa.type_for_alias(arrow_type), nullable=nullable)
        for name, (arrow_type, nullable, _) in COLUMNS.items()
    ]
)
METADATA: Final = "history.json"
SHOWN: Final = 200  # characters of a wrong text in an error message
READABLE: Final = (1, SCHEMA_VERSION)
KINDS: Final[dict[str, type[MicroOperation]]] = {
    "send": Send,
    "poll": Poll,
    "end_offset": EndOffset,
    "start_offset": StartOffset,
    "assigned": Assigned,
    "rebalanced": Rebalanced,
    "commit_offset": CommitOffset,
    "fetch_offset": FetchOffset,
}
KIND_OF: Final = {micro: kind for kind, micro in KINDS.items()}
_OF_LINES: Final = {  # the types of the fields in a tail
    **dict.fromkeys(("invoked", "completed", "at_ns"), "int64"),
    **{name: kind for name, (kind, _, _) in COLUMNS.items()},
}
_OF_SOME: Final = ("key", "offset", "value")  # fields that some micro-operations lack
_OF_OPERATION: Final = tuple(name for name in COLUMNS if name in Operation.__dataclass_fields__)


class UnreadableHistory(InputFault):
    """Raised for a history that is missing, incomplete or malformed. The message has the next
    step for the user.
    """


def shown(found: object) -> str:
    """Returns a wrong value as a text for an error message, in Python's notation. A long text is
    shortened.
    """
    text = repr(found)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


@contextmanager
def reading_parquet(path: Place | str) -> Generator[None]:
    """Raises UnreadableHistory if a Parquet reader raises an error in the `with` block.

    A ValueError is such an error, too: in a damaged file, the names of columns may not be UTF-8.
    """
    try:
        yield
    except InputFault:
        raise
    except FileNotFoundError as error:
        raise UnreadableHistory(
            f"{path}: no such file; if VACUUM of a Delta table deleted it, name a newer version, "
            "else copy or record the history again"
        ) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        fault = (str(error).splitlines() or [type(error).__name__])[0][:SHOWN]
        raise UnreadableHistory(
            f"{path}: this is no complete Parquet file ({fault}); copy or record it again"
        ) from error


PlaceT = TypeVar("PlaceT", bound="Place")


def part_path(folder: PlaceT, number: int) -> PlaceT:
    return cast("PlaceT", folder / f"part-{number:05d}.parquet")


def tail_path(folder: PlaceT, number: int) -> PlaceT:
    return cast("PlaceT", folder / f"tail-{number:05d}.ndjson")


# ---------------------------------------------------------------- the whole folder


def metadata(folder: Place) -> dict[str, Any]:
    """Returns the content of `history.json` in the folder.

    Raises UnreadableHistory if the file is missing or malformed, or if its schema version is not
    readable.
    """
    path = folder / METADATA
    try:
        content: Any = json.loads(path.read_text())
    except FileNotFoundError:
        raise UnreadableHistory(
            f"{folder}: the folder has no {METADATA}; pass a folder that `urteil record` wrote"
        ) from None
    except (ValueError, OSError, RecursionError) as error:
        raise UnreadableHistory(f"{path}: {error}; copy or record it again") from error
    described: dict[str, Any] = content if isinstance(content, dict) else {}
    version = described.get("schema_version")
    if type(version) is not int or version not in READABLE:
        readable = " and ".join(map(str, READABLE))
        raise UnreadableHistory(
            f"{path}: schema_version is {shown(version)}, and this urteil reads {readable}; "
            "update urteil, or record the history again"
        )
    settings: Any = described.setdefault("settings", {})
    if not isinstance(settings, dict):
        raise UnreadableHistory(f"{path}: settings is {shown(settings)}, not a JSON object; fix it")
    return described


def tables(folder: Place) -> Iterator[pa.Table]:
    """Yields the tables of a recorded history in completion order, with exactly the columns
    `COLUMNS`.

    Raises UnreadableHistory if the folder is malformed.
    """
    metadata(folder)
    numbers = numbers_of(folder)
    first_op = 0
    for number in numbers:
        if part_path(folder, number).exists():
            table = _part(part_path(folder, number))
        else:
            last = number == numbers[-1]
            tail = read_tail(tail_path(folder, number), last=last)
            found = (*tail.completed, *(tail.opened.values() if last else ()))
            table = as_table(found, first_op=first_op)
        yield table
        if table.num_rows:
            first_op = table["op"][-1].as_py() + 1


def numbers_of(folder: Place) -> list[int]:
    """Returns the numbers of all parts and tails in the folder, in ascending order.

    Raises UnreadableHistory if a number is missing.
    """
    # tails first: while this function runs, a recorder may replace a tail by its part
    kept = [*folder.glob("tail-?????.ndjson"), *folder.glob("part-?????.parquet")]
    numbers = sorted({int(path.stem[5:]) for path in kept})
    if numbers != list(range(len(numbers))):
        missing = min(set(range(len(numbers))) - set(numbers))
        raise UnreadableHistory(f"{folder}: part {missing} is missing; copy the whole folder again")
    return numbers


def parts(folder: Place) -> list[Place]:
    """Returns the Parquet files of a recorded history.

    The result is empty if the recorder was killed, because the folder still has a tail. The caller
    must call `tables` in this case.
    """
    metadata(folder)
    numbers_of(folder)
    if any(folder.glob("tail-?????.ndjson")):
        return []
    return sorted(folder.glob("part-?????.parquet"))


def operations(folder: Place) -> History:
    """Returns the operations of a recorded history in completion order.

    Raises UnreadableHistory if the folder is malformed.
    """
    return tuple(operation for table in tables(folder) for operation in as_operations(table))


# ---------------------------------------------------------------- operations and rows


def as_table(history: Iterable[Operation], *, first_op: int = 0) -> pa.Table:
    """Returns a table of the operations, with one row for each micro-operation.

    An operation without micro-operations has one row of the kind `none`. The operations are
    numbered from `first_op` on.
    """
    operations = list(history)
    did = [operation.did or (None,) for operation in operations]
    micros = [micro for some in did for micro in some]
    indexes = [index for index, some in enumerate(did) for _ in some]
    columns: dict[str, Any] = {
        "op": [first_op + index for index in indexes],
        "position": [position for some in did for position in range(len(some))],
        "kind": ["none" if micro is None else KIND_OF[type(micro)] for micro in micros],
        **{name: [getattr(micro, name, None) for micro in micros] for name in _OF_SOME},
    }
    of_row = pa.array(indexes, pa.int64())
    for name in _OF_OPERATION:
        each = pa.array([getattr(one, name) for one in operations], SCHEMA.field(name).type)
        columns[name] = each.take(of_row)
    return pa.table({name: columns[name] for name in COLUMNS}, schema=SCHEMA)


def as_operations(table: pa.Table) -> Iterator[Operation]:
    """Yields the operations of a table. The rows of an operation must be adjacent in the table."""
    for _, together in groupby(table.to_pylist(), key=itemgetter("op")):
        rows = list(together)
        first = rows[0]
        yield Operation(
            process=first["process"],
            f=first["f"],
            outcome=first["outcome"],
            invoked_ns=first["invoked_ns"],
            completed_ns=first["completed_ns"],
            did=tuple(_micro(row) for row in rows if row["kind"] != "none"),
            error=first["error"],
            **{name: first[name] for name in NEW_IN_2},
        )


def _plain(micro: MicroOperation) -> tuple[str, str, int | None, str | None]:
    offset, value = getattr(micro, "offset", None), getattr(micro, "value", None)
    return KIND_OF[type(micro)], micro.key, offset, value


def _micro(row: dict[str, Any]) -> MicroOperation:
    kind = KINDS.get(row["kind"])
    if kind is None:
        raise ValueError(f"kind is {shown(row['kind'])}, none of {', '.join(KINDS)}")
    return kind(**{name: row[name] for name in kind.__dataclass_fields__})


# ---------------------------------------------------------------- parts and tails


def _part(path: Place) -> pa.Table:
    with reading_parquet(path), opened(path) as file:
        table = table_of(file)
    table = with_new_columns(table)
    if table.schema.names != SCHEMA.names:
        raise UnreadableHistory(
            f"{path}: the columns are {', '.join(table.schema.names)} instead of "
            f"{', '.join(SCHEMA.names)}; copy or record the folder again"
        )
    return table.cast(SCHEMA)


def with_new_columns(table: pa.Table) -> pa.Table:
    """Returns the table with all columns of schema version 2. A column that is missing in the
    table is added, with nulls.
    """
    for name in NEW_IN_2:
        if name not in table.schema.names:
            table = table.append_column(name, pa.nulls(table.num_rows, SCHEMA.field(name).type))
    return table


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
    return tuple(map(_micro, rows))


def _unreadable(path: Place, line: int, fault: str) -> NoReturn:
    raise UnreadableHistory(f"{path}, line {line}: {fault}; fix that line, or copy the file again")
