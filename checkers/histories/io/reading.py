"""Reads any history as Arrow tables with exactly `COLUMNS`, or raises one clear error.

The module `sources` finds the files of a history and their formats. A column that is not in
`COLUMNS` is refused, because its name may be misspelt. A column of a different type is cast, if
this changes no value. The analysis does not check these tables again.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from checkers.histories.columnar.arrow import compute
from checkers.histories.columnar.sorting import Mask
from checkers.histories.io import recorded
from checkers.histories.io.locations import (
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
    UnreadableHistory,
    reading_parquet,
    with_new_columns,
)
from checkers.histories.io.sources import FORMATS, ROWS_AT_ONCE, check_columns, first_line, sources
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from model.histories import Isolation, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

MANY_FILES: Final = 1_000
SMALL_FILE_BYTES: Final = 1 << 20
SAMPLED_FILES: Final = 20  # their mean size decides whether a history has small files
FILES_AT_ONCE: Final = 16  # of a store, whose files are opened in parallel
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
    if FORMATS.get(read) == "parquet":
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
    check_columns(schema.names, file)
    # a row group is read as a whole: its rows must fit into memory
    return max(groups, default=0) <= MOST_ROWS_AT_ONCE and all(
        field.name in schema.names and schema.field(field.name).type == field.type
        for field in SCHEMA
    )


# ---------------------------------------------------------------- the columns


def cast(table: pa.Table, path: Place) -> pa.Table:
    """Returns the table with exactly the columns in `COLUMNS`, in their types; checks no values.

    Raises UnreadableHistory if a column is unknown, missing, or of a wrong type.
    """
    check_columns(table.schema.names, path)
    table = with_new_columns(table)
    columns: list[pa.ChunkedArray] = []
    for field in SCHEMA:
        try:
            columns.append(table[field.name].cast(field.type))
        except pa.ArrowException as error:
            raise UnreadableHistory(
                f"{path}: column {field.name} has the type {table[field.name].type} instead of "
                f"{field.type} ({first_line(error)}); cast the column"
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
