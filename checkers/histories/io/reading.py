"""Reads a history of any format as Arrow tables with exactly the columns `COLUMNS`, or raises
one clear error.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from checkers.histories.io import recorded
from checkers.histories.io.columns import check_columns
from checkers.histories.io.field_ids import FieldIds
from checkers.histories.io.locations import (
    Location,
    Place,
    Remote,
    version,
)
from checkers.histories.io.operation_rows import SCHEMA
from checkers.histories.io.parquet_files import ROWS_AT_ONCE, check_footer, reading_parquet
from checkers.histories.io.parquet_layout import write_part
from checkers.histories.io.reading_ahead import FILES_AT_ONCE, read_in_order
from checkers.histories.io.row_rules import cast, odd_rows, refuse
from checkers.histories.io.small_files import SMALL_FILE_BYTES, content_or_file
from checkers.histories.io.sources import FORMATS, Reader, sources
from checkers.histories.plan.batch import Batch

if TYPE_CHECKING:
    from collections.abc import Iterable

MANY_FILES: Final = 1_000
SAMPLED_FILES: Final = 20  # their mean size decides whether a history has small files
MOST_ROWS_AT_ONCE: Final = 10_000_000


def tables(history: Location) -> Iterator[pa.Table]:
    """Yields the history as tables with exactly the columns `COLUMNS`.

    Raises UnreadableHistory if a file or a row is malformed. Raises UnreadableLocation if a file
    cannot be opened, or if it changes during the read.
    """
    for place, table in _unchecked(history):
        refuse(odd_rows(Batch(table)), place)
        yield table


def _unchecked(history: Location) -> Iterator[tuple[Place, pa.Table]]:
    for place, some in read_in_order(sources(history)):
        for table in some:
            yield place, cast(table, place)


def whole(path: Location) -> pa.Table:
    return pa.concat_tables([SCHEMA.empty_table(), *tables(path)])


def parquet_parts(history: Location, folder: Path) -> list[Place]:
    """Returns Parquet files with the rows of the history. If necessary, the function writes them to
    `folder` first.

    If the history has many small Parquet files, it is also rewritten, because each pass over the
    history would open every file. Raises UnreadableHistory or UnreadableLocation if the history
    cannot be read.
    """
    found = sources(history)
    read, first = found[0]
    stored = recorded.parts(first) if read is recorded.tables else []
    if FORMATS.get(read) == "parquet" or isinstance(read, FieldIds):
        stored = [place for _, place in found]
    if stored and not _many_and_small(stored) and _all_ours(stored, read):
        return stored  # unchecked
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[Place] = []
    for number, table in enumerate(chain([SCHEMA.empty_table()], gathered(_unchecked(history)))):
        part = folder / f"part-{number:05d}.parquet"
        write_part(table, part)
        parts.append(part)
    return parts


def gathered(some: Iterable[tuple[Place, pa.Table]]) -> Iterator[pa.Table]:
    """Joins small tables, and yields checked tables of at least `ROWS_AT_ONCE` rows. Only the final
    table may have fewer rows.

    Raises UnreadableHistory if a row breaks a rule of the format. The message names the file of the
    row.
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


def _all_ours(files: list[Place], read: Reader) -> bool:
    is_ours = partial(_is_ours, read=read)
    if not any(isinstance(file, Remote) for file in files):
        return all(map(is_ours, files))
    with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
        return all(pool.map(is_ours, files))


def _is_ours(file: Place, read: Reader) -> bool:
    with reading_parquet(file):
        stored = pq.read_metadata(content_or_file(file))
        check_footer(stored)
        schema = stored.schema.to_arrow_schema()
        groups = [stored.row_group(number).num_rows for number in range(stored.num_row_groups)]
    if isinstance(read, FieldIds) and not read.are_rows_of(file, schema):
        return False
    check_columns(schema.names, file)
    # a row group is read as a whole: its rows must fit into memory
    return max(groups, default=0) <= MOST_ROWS_AT_ONCE and all(
        field.name in schema.names and schema.field(field.name).type == field.type
        for field in SCHEMA
    )
