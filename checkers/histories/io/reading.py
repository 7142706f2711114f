"""Reads any history as Arrow tables with exactly `COLUMNS`, or raises one clear error.

    a folder of `urteil record`    its files are described in `recorded`
    a folder of files              Parquet or NDJSON, also in nested folders, such as `date=…`
    a .parquet file                it has the columns of `COLUMNS`
    a .ndjson or .jsonl file       each line is an object; its fields are the columns
    a .edn file                    a history of Jepsen

The format of any other file is detected from its first bytes. A column that is not in `COLUMNS` is
refused, because its name may be misspelt. A column of a different type is cast, if this changes no
value. The analysis does not check these tables again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np
import pyarrow as pa
import pyarrow.json as paj
import pyarrow.parquet as pq

from checkers.histories.columnar.arrow import compute
from checkers.histories.columnar.sorting import Mask
from checkers.histories.io import jepsen, recorded
from checkers.histories.io.json_faults import LONGEST_LINE, first_fault, unknown_column
from checkers.histories.io.locations import (
    FileSet,
    Location,
    Place,
    Remote,
    readable,
    refuse_changed,
    version,
)
from checkers.histories.io.parquet_layout import write_part
from checkers.histories.io.recorded import (
    KINDS,
    SCHEMA,
    SHOWN,
    UnreadableHistory,
    as_table,
    reading_parquet,
    with_new_columns,
)
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from model.histories import COLUMNS, NEW_IN_2, Isolation, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

ROWS_AT_ONCE: Final = 200_000
MANY_FILES: Final = 1_000
SMALL_FILE_BYTES: Final = 1 << 20
SAMPLED_FILES: Final = 20  # their mean size decides whether a history has small files
FILES_AT_ONCE: Final = 16  # of a store, whose files are opened in parallel
OPERATIONS_AT_ONCE: Final = 5_000  # more would reach the garbage collector's old generation first
Reader = Callable[[Place], Iterator[pa.Table]]
MOST_ROWS_AT_ONCE: Final = 10_000_000
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
ENUMERATIONS: Final = {
    "outcome": get_args(Outcome),
    "kind": (*KINDS, "none"),
    "isolation": get_args(Isolation),
}
TABLE_FOLDERS: Final = ("_delta_log",)
TABLE_METADATA: Final = (".metadata.json",)
_NOT_TEXT: Final = "is not UTF-8 text"
ODD: Final = pa.schema([("op", pa.int64()), ("what", pa.string())])


def tables(history: Location) -> Iterator[pa.Table]:
    """Yields the history as tables with exactly the columns in `COLUMNS`.

    Raises UnreadableHistory. Raises UnreadableLocation, for example if a file changes while it is
    read.
    """
    for place, table in _unchecked(history):
        refuse(odd_rows(Batch(table)), place)
        yield table


def _unchecked(history: Location) -> Iterator[tuple[Place, pa.Table]]:
    for read, place in sources(history):
        before = None if read is recorded.tables else version(place)
        for table in read(place):
            yield place, cast(table, place)
        if before is not None:
            refuse_changed(place, before)


def whole(path: Location) -> pa.Table:
    return pa.concat_tables([SCHEMA.empty_table(), *tables(path)])


def parquet_parts(history: Location, folder: Path) -> list[Place]:
    """Returns Parquet files that hold the history; if necessary, writes them to `folder` first.

    A history of many small files is rewritten too, because each pass over the history would open
    every file. Raises UnreadableHistory or UnreadableLocation.
    """
    found = sources(history)
    read, first = found[0]
    stored = recorded.parts(first) if read is recorded.tables else []
    if read is _parquet:
        stored = [place for _, place in found]
    if stored and not _many_and_small(stored) and _all_ours(stored):
        return stored  # unchecked
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[Place] = []
    for number, table in enumerate(chain([SCHEMA.empty_table()], gathered(_unchecked(history)))):
        part = folder / f"part-{number:05d}.parquet"
        write_part(table, part)
        parts.append(part)
    return parts


def gathered(some: Iterable[tuple[Place, pa.Table]]) -> Iterator[pa.Table]:
    """Yields checked tables of at least `ROWS_AT_ONCE` rows; only the last table may be shorter.

    The tables of small files are joined and checked together. Raises UnreadableHistory, which names
    the file.
    """
    held: list[tuple[Place, pa.Table]] = []
    rows = 0
    for place, table in some:
        held.append((place, table))
        rows += table.num_rows
        if rows >= ROWS_AT_ONCE:
            yield _checked(held)
            held, rows = [], 0
    if held:
        yield _checked(held)


def _checked(held: list[tuple[Place, pa.Table]]) -> pa.Table:
    together = pa.concat_tables([table for _, table in held]).combine_chunks()
    if odd_rows(Batch(together)).num_rows:
        for place, table in held:
            refuse(odd_rows(Batch(table)), place)
    return together


def _many_and_small(files: list[Place]) -> bool:
    if len(files) <= MANY_FILES:
        return False
    sizes = [found.size for found in map(version, files[:SAMPLED_FILES]) if found is not None]
    return sum(sizes) < len(sizes) * SMALL_FILE_BYTES


def _all_ours(files: list[Place]) -> bool:
    if not any(isinstance(file, Remote) for file in files):
        return all(map(_is_ours, files))
    with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
        return all(pool.map(_is_ours, files))


def _is_ours(file: Place) -> bool:
    with reading_parquet(file):
        stored = pq.read_metadata(readable(file))
        schema = stored.schema.to_arrow_schema()
        groups = [stored.row_group(number).num_rows for number in range(stored.num_row_groups)]
    _check_columns(schema.names, file)
    # a row group is read as a whole: its rows must fit into memory
    return max(groups, default=0) <= MOST_ROWS_AT_ONCE and all(
        field.name in schema.names and schema.field(field.name).type == field.type
        for field in SCHEMA
    )


# ---------------------------------------------------------------- which format


def sources(history: Location) -> list[tuple[Reader, Place]]:
    """Returns the files of a history, each with the function that reads it.

    The folder of a recording counts as one file. Raises UnreadableHistory.
    """
    if isinstance(history, FileSet):
        return _alike(history, [place for one in history.files for place in _files_at(one)])
    if history.is_dir():
        if (history / recorded.METADATA).exists():
            return [(recorded.tables, history)]
        return _alike(history, _files_at(history))
    return [(_reader(history), history)]


def _files_at(place: Place) -> list[Place]:
    if not place.is_dir():
        return [place]
    found: list[Place] = [*(_below(place) if isinstance(place, Path) else _remote_below(place))]
    for one in found:
        if one.name == recorded.METADATA:
            raise UnreadableHistory(
                f"{place}: {one} belongs to a recording; pass the folder of that file alone"
            )
        if one.name.endswith(TABLE_METADATA):
            raise UnreadableHistory(
                f"{place}: this is an Iceberg or Delta table, some of whose files are outdated; "
                "write its current rows as Parquet files and pass their folder"
            )
    return sorted((it for it in found if it.suffix in _SUFFIXES_IN_FOLDERS), key=str)


def _below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        if any(name in TABLE_FOLDERS for name in folders):
            yield Path(parent) / TABLE_METADATA[0]
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        for name in names:
            if not name.startswith(("_", ".")):
                yield Path(parent) / name


def _remote_below(folder: Remote) -> Iterator[Remote]:
    start = len(folder.path)
    for entry, is_folder in folder.entries(deep=True):
        names = entry.path[start:].split("/")
        if is_folder and names[-1] in TABLE_FOLDERS:
            yield entry / TABLE_METADATA[0]
        elif not is_folder and not any(name.startswith(("_", ".")) for name in names):
            yield entry


def _alike(history: Location, files: list[Place]) -> list[tuple[Reader, Place]]:
    if not files:
        raise UnreadableHistory(
            f"{history}: the folder contains neither {recorded.METADATA} nor *.parquet nor "
            "*.ndjson; pass the folder that `urteil record` wrote, or a file"
        )
    readers = {_BY_SUFFIX.get(file.suffix) or _reader(file) for file in files}
    if len(readers) > 1:
        kinds = ", ".join(sorted({file.suffix for file in files}))
        raise UnreadableHistory(
            f"{history}: files of several formats ({kinds}); pass those of one format by a glob"
        )
    (reader,) = readers
    if reader is _edn and len(files) > 1:
        raise UnreadableHistory(
            f"{history}: {len(files)} EDN files, and each is a history of its own; "
            "analyze them one by one"
        )
    return [(reader, file) for file in files]


def _reader(path: Place) -> Reader:
    if not path.exists():
        what = "bucket, object" if isinstance(path, Remote) else "file"
        where = "address" if isinstance(path, Remote) else "path"
        raise UnreadableHistory(f"{path}: no such {what} or folder; check the {where}")
    if path.is_fifo():  # a history is read more than once
        raise UnreadableHistory(
            f"{path}: this is a pipe, and a history is read more than once; "
            "write its content to a file and pass that"
        )
    try:
        with path.open("rb") as file:
            beginning = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError as error:
        raise UnreadableHistory(f"{path}: {error.strerror}; check its permissions") from error
    if not beginning:
        raise UnreadableHistory(f"{path}: the file is empty; record the history again")
    reader = _BY_SUFFIX.get(path.suffix)
    if reader:
        return reader
    if beginning.startswith(b"PAR1"):
        return _parquet
    if beginning.startswith(b'{"'):
        return _json_lines
    if beginning.startswith((b"{:", b"[{:", b"#", b";")):
        return _edn
    raise UnreadableHistory(
        f"{path}: unknown format: the file begins neither as Parquet nor as NDJSON nor as EDN; "
        "check the path, or end its name with .parquet, .ndjson or .edn"
    )


def _parquet(path: Place) -> Iterator[pa.Table]:
    return parquet(path)


def parquet(path: Place, *, known_only: bool = True) -> Iterator[pa.Table]:
    """Yields the tables of a Parquet file; with `known_only`, an unknown column is an error."""
    with reading_parquet(path), pq.ParquetFile(readable(path)) as file:
        schema = file.schema_arrow
        if known_only:
            _check_columns(schema.names, path)
        if file.metadata.num_rows == 0:
            yield schema.empty_table()
        for batch in file.iter_batches(ROWS_AT_ONCE):
            yield pa.Table.from_batches([batch])


def _edn(path: Place) -> Iterator[pa.Table]:
    return edn(path)


def edn(path: Place, unmapped: Counter[str] | None = None) -> Iterator[pa.Table]:
    """Yields the tables of a Jepsen history; `unmapped` counts the events and fields not read."""
    operations = jepsen.operations(path, unmapped)
    first_op = 0
    while some := list(islice(operations, OPERATIONS_AT_ONCE)):
        yield as_table(some, first_op=first_op)
        first_op += len(some)


def _json_lines(path: Place) -> Iterator[pa.Table]:
    return json_lines(path)


def json_lines(path: Place, *, known_only: bool = True) -> Iterator[pa.Table]:
    """Yields the tables of an NDJSON file; with `known_only`, an unknown field is an error."""
    lenient = pa.schema([field.with_nullable(nullable=True) for field in SCHEMA])
    unexpected = "error" if known_only else "infer"
    parse = paj.ParseOptions(explicit_schema=lenient, unexpected_field_behavior=unexpected)
    try:
        blocks = paj.open_json(
            readable(path),
            read_options=paj.ReadOptions(block_size=LONGEST_LINE),
            parse_options=parse,
        )
        for batch in blocks:
            yield pa.Table.from_batches([batch])
    except pa.ArrowException as error:
        raise UnreadableHistory(f"{path}{first_fault(path, _first_line(error))}") from error


_BY_SUFFIX: Final[dict[str, Reader]] = {
    ".edn": _edn,
    ".parquet": _parquet,
    ".ndjson": _json_lines,
    ".jsonl": _json_lines,
}
FORMATS: Final[dict[Reader, str]] = {_edn: "edn", _parquet: "parquet", _json_lines: "ndjson"}
_SUFFIXES_IN_FOLDERS: Final = (".parquet", ".ndjson", ".jsonl")


# ---------------------------------------------------------------- the columns


def cast(table: pa.Table, path: Place) -> pa.Table:
    """Returns the table with exactly the columns in `COLUMNS`, in their types; checks no values.

    Raises UnreadableHistory if a column is unknown, missing, or of a wrong type.
    """
    _check_columns(table.schema.names, path)
    table = with_new_columns(table)
    columns: list[pa.ChunkedArray] = []
    for field in SCHEMA:
        try:
            columns.append(table[field.name].cast(field.type))
        except pa.ArrowException as error:
            raise UnreadableHistory(
                f"{path}: column {field.name} has the type {table[field.name].type} instead of "
                f"{field.type} ({_first_line(error)}); cast the column"
            ) from error
    return pa.table(columns, schema=SCHEMA)


def refuse(odd: pa.Table, path: Place | str) -> None:
    """Raises UnreadableHistory for the first invalid row, if there is one.

    `odd` has a row for each broken rule, with the first operation that breaks it (see `odd_rows`).
    """
    if odd.num_rows:
        first = min(odd.to_pylist(), key=lambda row: (row["op"], row["what"]))
        where = "a row without an op" if first["op"] < 0 else f"a row of operation {first['op']}"
        raise UnreadableHistory(f"{path}, {where}: {first['what']}; fix that row")


def odd_rows(batch: Batch) -> pa.Table:
    """Returns the broken rules of `COLUMNS`, each with the number of the first wrong operation.

    Rules of columns that the batch lacks are not checked.
    """
    found: list[dict[str, Any]] = []
    for odd, what in broken_rules(batch):
        ops = batch.table["op"].filter(pa.array(odd)).fill_null(-1)
        found.append({"op": compute.min(ops).as_py(), "what": what})
    return pa.Table.from_pylist(found, schema=ODD)


def broken_rules(batch: Batch) -> Iterator[tuple[Mask, str]]:
    """Yields each broken rule of `COLUMNS`: a mask of the rows that break it, and the rule as text.

    Rules of columns that the batch lacks are not checked.
    """
    return ((odd, what) for odd, what in _rules(batch) if odd.any())


def _rules(batch: Batch) -> Iterator[tuple[Mask, str]]:
    has_other_bytes = False
    for odd, what in _rules_of_cells(batch):
        has_other_bytes |= what.endswith(_NOT_TEXT) and bool(odd.any())
        yield odd, what
    if not has_other_bytes:  # such a column cannot be compared with the allowed values
        yield from _rules_of_rows(batch)


def _rules_of_cells(batch: Batch) -> Iterator[tuple[Mask, str]]:
    for field in SCHEMA:
        if field.name not in batch.table.schema.names:
            continue
        if not field.nullable:
            yield ~batch.is_valid(field.name), f"column {field.name} is null, and needs a value"
        if pa.types.is_string(field.type):
            yield _not_utf8(batch.table[field.name]), f"column {field.name} {_NOT_TEXT}"


def _rules_of_rows(batch: Batch) -> Iterator[tuple[Mask, str]]:
    present = batch.table.schema.names
    for name, allowed in ENUMERATIONS.items():
        if name in present:
            odd = batch.is_valid(name) & ~batch.is_in(name, *allowed)
            yield odd, f"column {name} is none of {', '.join(allowed)}"
    if "offset" in present:
        yield (
            batch.is_valid("offset") & (batch.ints("offset", null=UNKNOWN_OFFSET) < 0),
            "column offset is negative: clients use -1 and -1001 for an unknown offset; write null",
        )
    for kind, needed in NEEDED.items():
        for name in needed:
            if name in present:
                yield (
                    batch.is_in("kind", kind) & ~batch.is_valid(name),
                    f"column {name} is null, and a row of kind {kind} needs it",
                )


def _not_utf8(column: pa.ChunkedArray) -> Mask:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return np.array([not _is_utf8(cell) for cell in column.cast(pa.binary()).to_pylist()])
    return np.zeros(len(column), np.bool_)


def _is_utf8(cell: bytes | None) -> bool:
    try:
        (cell or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _check_columns(names: list[str], path: Place) -> None:
    unknown = [name for name in names if name not in COLUMNS]
    if unknown:
        raise UnreadableHistory(f"{path}: {unknown_column(unknown[0])}")
    missing = [name for name in COLUMNS if name not in (*names, *NEW_IN_2)]
    if missing:
        raise UnreadableHistory(
            f"{path}: no column {', '.join(missing)}; add it: a history has the columns "
            f"{', '.join(COLUMNS)}"
        )


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:SHOWN] if str(error) else type(error).__name__
