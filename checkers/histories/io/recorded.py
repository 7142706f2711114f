"""Histories on disk: the recorder's folder, read back as operations or as Arrow tables.

    history.json            schema version, workload, clients, settings, seed, whether it was
                            finished: not interrupted, and every log read to its end
    part-00000.parquet      rows of `COLUMNS` in completion order, operations numbered across parts
    part-00001.parquet
    tail-00002.ndjson       what happened since: one line per invocation, one per completion

Part k takes the place of tail k, and appears only whole. A recorder that was killed leaves its last
tail, whose last line may be torn; whatever was still open then has the outcome `info` and comes
last. A recorder that was killed between two parts leaves two tails: the later one repeats the
invocations that were open. Lines of a tail:

    {"invoked": 7, "process": 2, "f": "send", "at_ns": 12, "did": [["send", "a-0", null, "v"]]}
    {"completed": 7, "outcome": "ok", "at_ns": 15, "did": [["send", "a-0", 3, "v"]], "error": null}

Micro-operations are `[kind, key, offset, value]`, each null where there is none. A line has the
fields of `NEW_IN_2` too where they are known. An open operation that is invoked again is the same
one, which says more of what it does.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

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
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SCHEMA: Final = pa.schema(
    [
        pa.field(name, pa.type_for_alias(arrow_type), nullable=nullable)
        for name, (arrow_type, nullable, _) in COLUMNS.items()
    ]
)
METADATA: Final = "history.json"
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
_OF_SOME: Final = ("key", "offset", "value")  # micro-operations; null of the others
_OF_OPERATION: Final = tuple(name for name in COLUMNS if name in Operation.__dataclass_fields__)


class UnreadableHistory(InputFault):
    """A history that is missing, cut short or of another shape: names the file and what to do."""


def part_path(folder: Path, number: int) -> Path:
    return folder / f"part-{number:05d}.parquet"


def tail_path(folder: Path, number: int) -> Path:
    return folder / f"tail-{number:05d}.ndjson"


# ---------------------------------------------------------------- the whole folder


def metadata(folder: Path) -> dict[str, Any]:
    """What the recorder says of the history; UnreadableHistory when it is none of ours."""
    path = folder / METADATA
    try:
        told: Any = json.loads(path.read_text())
    except FileNotFoundError:
        raise UnreadableHistory(
            f"{folder}: no {METADATA} there; `urteil record` writes such a folder"
        ) from None
    except (ValueError, OSError) as error:
        raise UnreadableHistory(f"{path}: {error}; copy or record it again") from error
    described: dict[str, Any] = told if isinstance(told, dict) else {}
    version = described.get("schema_version")
    if version not in READABLE:
        readable = " and ".join(map(str, READABLE))
        raise UnreadableHistory(f"{path}: schema version {version}, this reads {readable}")
    settings: Any = described.setdefault("settings", {})
    if not isinstance(settings, dict):
        raise UnreadableHistory(f"{path}: settings are {settings!r}, and no object; mend that")
    return described


def tables(folder: Path) -> Iterator[pa.Table]:
    """Tables of exactly `COLUMNS`, in completion order; UnreadableHistory."""
    metadata(folder)
    numbers = _numbers(folder)
    first_op = 0
    for number in numbers:
        if part_path(folder, number).exists():
            table = _part(part_path(folder, number))
        else:
            last = number == numbers[-1]
            table = as_table(_tail(tail_path(folder, number), last=last), first_op=first_op)
        yield table
        if table.num_rows:
            first_op = table["op"][-1].as_py() + 1


def _numbers(folder: Path) -> list[int]:
    """Of parts and tails, from 0; UnreadableHistory where one is missing."""
    kept = [*folder.glob("part-?????.parquet"), *folder.glob("tail-?????.ndjson")]
    numbers = sorted({int(path.stem[5:]) for path in kept})
    if numbers != list(range(len(numbers))):
        missing = min(set(range(len(numbers))) - set(numbers))
        raise UnreadableHistory(f"{folder}: part {missing} is missing; copy the whole folder again")
    return numbers


def parts(folder: Path) -> list[Path]:
    """The Parquet parts of a recording that has nothing else; of another one none."""
    metadata(folder)
    _numbers(folder)
    if any(folder.glob("tail-?????.ndjson")):
        return []
    return sorted(folder.glob("part-?????.parquet"))


def operations(folder: Path) -> History:
    """The operations of a recorded history, in completion order; UnreadableHistory."""
    return tuple(operation for table in tables(folder) for operation in as_operations(table))


# ---------------------------------------------------------------- operations and rows


def as_table(history: Iterable[Operation], *, first_op: int = 0) -> pa.Table:
    """One row per micro-operation, one of kind `none` for an operation that shows none."""
    operations = list(history)
    did = [operation.did or (None,) for operation in operations]
    micros = [micro for some in did for micro in some]
    places = [place for place, some in enumerate(did) for _ in some]
    columns: dict[str, Any] = {
        "op": [first_op + place for place in places],
        "position": [position for some in did for position in range(len(some))],
        "kind": ["none" if micro is None else KIND_OF[type(micro)] for micro in micros],
        **{name: [getattr(micro, name, None) for micro in micros] for name in _OF_SOME},
    }
    of_row = pa.array(places, pa.int64())
    for name in _OF_OPERATION:
        each = pa.array([getattr(one, name) for one in operations], SCHEMA.field(name).type)
        columns[name] = each.take(of_row)
    return pa.table({name: columns[name] for name in COLUMNS}, schema=SCHEMA)


def as_operations(table: pa.Table) -> Iterator[Operation]:
    """The operations whose rows lie together in the table."""
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
        raise UnreadableHistory(f"micro-operation {row['kind']!r}: {', '.join(KINDS)} exist")
    return kind(**{name: row[name] for name in kind.__dataclass_fields__})


# ---------------------------------------------------------------- parts and tails


def _part(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise UnreadableHistory(f"{path}: {error}") from error
    table = with_new_columns(table)
    if table.schema.names != SCHEMA.names:
        raise UnreadableHistory(f"{path}: columns {table.schema.names}, not {SCHEMA.names}")
    return table.cast(SCHEMA)


def with_new_columns(table: pa.Table) -> pa.Table:
    """The table with null in each column that its version of the schema did not have."""
    for name in NEW_IN_2:
        if name not in table.schema.names:
            table = table.append_column(name, pa.nulls(table.num_rows, SCHEMA.field(name).type))
    return table


def invocation_line(number: int, operation: Operation) -> bytes:
    """The line that a tail gets before the operation begins."""
    return _line(
        {
            "invoked": number,
            "process": operation.process,
            "f": operation.f,
            "at_ns": operation.invoked_ns,
            "did": [_plain(micro) for micro in operation.did],
            **_known(operation),
        }
    )


def completion_line(number: int, operation: Operation) -> bytes:
    """The line that a tail gets once the operation has ended."""
    return _line(
        {
            "completed": number,
            "outcome": operation.outcome,
            "at_ns": operation.completed_ns,
            "did": [_plain(micro) for micro in operation.did],
            "error": operation.error,
            **_known(operation),
        }
    )


def _known(operation: Operation) -> dict[str, Any]:
    told = {name: getattr(operation, name) for name in NEW_IN_2}
    return {name: cell for name, cell in told.items() if cell is not None}


def _line(told: dict[str, Any]) -> bytes:
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"


def _tail(path: Path, *, last: bool) -> list[Operation]:
    """What a tail tells, completed operations first; what is left open counts in the last one."""
    opened: dict[int, Operation] = {}
    completed: list[Operation] = []
    lines = path.read_bytes().split(b"\n")
    torn = lines.pop()  # behind the last newline: nothing, or what a killed recorder half wrote
    if torn and not last:
        _unreadable(path, len(lines) + 1, "it is torn, and this is not the last tail")
    for number, line in enumerate(lines, 1):
        try:
            told = json.loads(line)
            if "invoked" in told:
                opened[told["invoked"]] = _opened(told)
            else:
                completed.append(_closed(opened.pop(told["completed"]), told))
        except (ValueError, KeyError, TypeError) as error:
            _unreadable(path, number, f"{type(error).__name__}: {error}")
    return [*completed, *(opened.values() if last else ())]


def _opened(told: dict[str, Any]) -> Operation:
    return Operation(
        process=told["process"],
        f=told["f"],
        outcome="info",
        invoked_ns=told["at_ns"],
        completed_ns=None,
        did=_did(told),
        error="the recorder ended before the operation did",
        **_told_new(told),
    )


def _closed(operation: Operation, told: dict[str, Any]) -> Operation:
    return replace(
        operation,
        outcome=told["outcome"],
        completed_ns=told["at_ns"],
        did=_did(told),
        error=told["error"],
        **_told_new(told),
    )


def _told_new(told: dict[str, Any]) -> dict[str, Any]:
    return {name: told[name] for name in NEW_IN_2 if name in told}


def _did(told: dict[str, Any]) -> tuple[MicroOperation, ...]:
    names = ("kind", "key", "offset", "value")
    return tuple(_micro(dict(zip(names, micro, strict=True))) for micro in told["did"])


def _unreadable(path: Path, line: int, what: str) -> NoReturn:
    raise UnreadableHistory(f"{path}, line {line}: {what}; mend that line, or copy it again")
