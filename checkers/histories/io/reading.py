"""Any history as Arrow tables of exactly `COLUMNS`, or one clear error.

    a folder of `urteil record`    history.json, Parquet parts, a tail
    a folder of Parquet files      each with the columns
    .parquet                       the columns
    .ndjson .jsonl                 one object a line, its fields the columns
    .edn                           a history of Jepsen

A file of another name is known by how it begins. Columns that are not ours are left out; a column
of another type is taken if no value changes. What the tables say is trusted from here on.
"""

from __future__ import annotations

import json
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, get_args

import pyarrow as pa
import pyarrow.json as paj
import pyarrow.parquet as pq

from checkers.histories.columnar.arrow import compute
from checkers.histories.io import jepsen, recorded
from checkers.histories.io.parquet_layout import write_part
from checkers.histories.io.recorded import (
    KINDS,
    SCHEMA,
    UnreadableHistory,
    as_table,
    with_new_columns,
)
from checkers.histories.plan.batch import Mask, Piece
from model.histories import COLUMNS, NEW_IN_2, Isolation, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ROWS_AT_ONCE: Final = 200_000
OPERATIONS_AT_ONCE: Final = 5_000  # more would be old for the collector before they are a table
JSON_BLOCK_BYTES: Final = 16 << 20
NEEDED: Final = {
    "send": ("key", "value"),
    "poll": ("key", "value"),
    "end_offset": ("key", "offset"),
    "start_offset": ("key", "offset"),
    "assigned": ("key",),
    "rebalanced": ("key",),
    "commit_offset": ("key", "offset", "group"),
    "fetch_offset": ("key", "group"),
}
_WORDS: Final = {
    "outcome": get_args(Outcome),
    "kind": (*KINDS, "none"),
    "isolation": get_args(Isolation),
}
ODD: Final = pa.schema([("op", pa.int64()), ("what", pa.string())])
_PYTHON: Final = {"int64": int, "int32": int, "string": str}


def tables(path: Path) -> Iterator[pa.Table]:
    """The history in tables of exactly `COLUMNS`; UnreadableHistory names the place and a move."""
    for table in _reader(path)(path):
        yield conforming(table, path)


def whole(path: Path) -> pa.Table:
    """The history in one table; UnreadableHistory."""
    return pa.concat_tables([SCHEMA.empty_table(), *tables(path)])


def parquet_parts(path: Path, folder: Path) -> list[Path]:
    """Parquet files that hold the history; UnreadableHistory.

    What is Parquet is named where it lies, of its rows nothing is known yet. What is not is written
    into the folder.
    """
    read = _reader(path)
    stored = [path] if read is _parquet else sorted(path.glob("*.parquet")) if path.is_dir() else []
    if read is recorded.tables:
        stored = recorded.parts(path)
    if stored and all(_is_ours(file) for file in stored):
        return stored
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[Path] = []
    for number, table in enumerate(chain([SCHEMA.empty_table()], tables(path))):
        part = folder / f"part-{number:05d}.parquet"
        write_part(table, part)
        parts.append(part)
    return parts


def _is_ours(file: Path) -> bool:
    """The file has the columns in their types, so that it needs no casting."""
    try:
        schema = pq.read_schema(file)
    except (pa.ArrowException, OSError) as error:
        raise _torn(file, error) from error
    _columns_present(schema.names, file)
    return all(
        field.name in schema.names and schema.field(field.name).type == field.type
        for field in SCHEMA
    )


# ---------------------------------------------------------------- which format


def _reader(path: Path) -> Callable[[Path], Iterator[pa.Table]]:
    if path.is_dir():
        if (path / recorded.METADATA).exists():
            return recorded.tables
        if any(path.glob("*.parquet")):
            return _folder
        raise UnreadableHistory(
            f"{path}: neither {recorded.METADATA} nor *.parquet is in this folder; "
            "name the folder that `urteil record` wrote, or a file"
        )
    if not path.exists():
        raise UnreadableHistory(f"{path}: there is no such file or folder; check the path")
    if path.is_fifo():  # it is read more than once
        raise UnreadableHistory(f"{path}: it is a pipe; write what comes out of it to a file")
    try:
        with path.open("rb") as file:
            begins = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError as error:
        raise UnreadableHistory(f"{path}: {error.strerror}; check who may read it") from error
    known = _BY_SUFFIX.get(path.suffix)
    if known:
        return known
    if begins.startswith(b"PAR1"):
        return _parquet
    if begins.startswith(b'{"'):
        return _json_lines
    if begins.startswith((b"{:", b"[{:", b"#", b";")):
        return _edn
    raise UnreadableHistory(
        f"{path}: it begins like no history; name it .edn, .ndjson or .parquet if it is one"
    )


def _folder(path: Path) -> Iterator[pa.Table]:
    for part in sorted(path.glob("*.parquet")):
        yield from _parquet(part)


def _parquet(path: Path) -> Iterator[pa.Table]:
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            _columns_present(schema.names, path)
            if file.metadata.num_rows == 0:
                yield schema.empty_table()
            known = [name for name in COLUMNS if name in schema.names]
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=known):
                yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        raise _torn(path, error) from error


def _torn(path: Path, error: Exception) -> UnreadableHistory:
    return UnreadableHistory(
        f"{path}: it is torn or no Parquet file ({_first_line(error)}); copy or record it again"
    )


def _edn(path: Path) -> Iterator[pa.Table]:
    operations = jepsen.operations(path)
    first_op = 0
    while some := list(islice(operations, OPERATIONS_AT_ONCE)):
        yield as_table(some, first_op=first_op)
        first_op += len(some)


def _json_lines(path: Path) -> Iterator[pa.Table]:
    lenient = pa.schema([field.with_nullable(nullable=True) for field in SCHEMA])
    parse = paj.ParseOptions(explicit_schema=lenient, unexpected_field_behavior="ignore")
    if not path.stat().st_size:
        return
    try:
        blocks = paj.open_json(
            path, read_options=paj.ReadOptions(block_size=JSON_BLOCK_BYTES), parse_options=parse
        )
        for batch in blocks:
            yield pa.Table.from_batches([batch])
    except pa.ArrowException as error:
        raise UnreadableHistory(f"{path}{_odd_line(path, _first_line(error))}") from error


_BY_SUFFIX: Final[dict[str, Callable[[Path], Iterator[pa.Table]]]] = {
    ".edn": _edn,
    ".parquet": _parquet,
    ".ndjson": _json_lines,
    ".jsonl": _json_lines,
}


# ---------------------------------------------------------------- the columns


def conforming(table: pa.Table, path: Path) -> pa.Table:
    """The table with exactly `COLUMNS`; UnreadableHistory names the column and the row."""
    _columns_present(table.schema.names, path)
    table = with_new_columns(table)
    columns: list[pa.ChunkedArray] = []
    for field in SCHEMA:
        try:
            columns.append(table[field.name].cast(field.type))
        except pa.ArrowException as error:
            raise UnreadableHistory(
                f"{path}: column {field.name} is {table[field.name].type}, a history has "
                f"{field.type} ({_first_line(error)}); cast it"
            ) from error
    made = pa.table(columns, schema=SCHEMA)
    refuse(odd_rows(Piece(made)), path)
    return made


def refuse(odd: pa.Table, path: Path | str) -> None:
    """UnreadableHistory names the first row that says what none may."""
    if odd.num_rows:
        first = min(odd.to_pylist(), key=lambda row: (row["op"], row["what"]))
        where = "a row without an op" if first["op"] < 0 else f"operation {first['op']}"
        raise UnreadableHistory(f"{path}, {where}: {first['what']}; mend that row")


def odd_rows(piece: Piece) -> pa.Table:
    """For each rule of `COLUMNS` that rows break: what it is, and the first operation's number.

    Of columns that the piece lacks nothing is asked.
    """
    found: list[dict[str, Any]] = []
    there = piece.table.schema.names

    def seek(odd: Mask, what: str) -> None:
        if odd.any():
            ops = piece.table["op"].filter(pa.array(odd)).fill_null(-1)
            found.append({"op": compute.min(ops).as_py(), "what": what})

    for field in SCHEMA:
        if field.name in there and not field.nullable:
            seek(~piece.known(field.name), f"{field.name} is null, and it must not be")
    for name, known in _WORDS.items():
        if name in there:
            odd = piece.known(name) & ~piece.is_(name, *known)
            seek(odd, f"{name} is none of {', '.join(known)}")
    for kind, needed in NEEDED.items():
        for name in needed:
            if name in there:
                seek(piece.is_("kind", kind) & ~piece.known(name), f"a {kind} without a {name}")
    return pa.Table.from_pylist(found, schema=ODD)


def _columns_present(names: list[str], path: Path) -> None:
    missing = [name for name in COLUMNS if name not in (*names, *NEW_IN_2)]
    if missing:
        raise UnreadableHistory(
            f"{path}: no column {', '.join(missing)}; a history has the columns "
            f"{', '.join(COLUMNS)}"
        )


def _odd_line(path: Path, otherwise: str) -> str:
    """Where in the lines the first fault is, and what."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                told: Any = json.loads(line)
            except json.JSONDecodeError as error:
                torn = "" if line.endswith(b"\n") else ": the last line is torn; delete it"
                return f", line {number}, column {error.colno}: {error.msg}{torn or '; mend it'}"
            except UnicodeDecodeError as error:
                return f", line {number}: {error}; JSON is UTF-8 text, convert it"
            if not isinstance(told, dict):
                return f", line {number}: no object; each line is one, with the columns as fields"
            for name, (kind, _, _) in COLUMNS.items():
                if told.get(name) is not None and type(told[name]) is not _PYTHON[kind]:
                    return f", line {number}: {name} is {told[name]!r}, not of {kind}; mend it"
                if kind == "int64" and abs(told.get(name) or 0) >= 2**63:
                    return f", line {number}: {name} is {told[name]}, beyond 64 bits; mend it"
    return f": {otherwise}"


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
