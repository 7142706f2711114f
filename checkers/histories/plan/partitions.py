"""A history cut into chunks: whole operations in completion order, whatever order its rows have.

Each stretch of stored rows (a row group of Parquet, a table) says which numbers its operations
have. A chunk is a range of numbers, and reads every stretch that has some of them. Histories are
mostly stored in order: then a chunk is a few stretches. One whose stretches all overlap is sorted
once (`in_order`), so that no chunk reads much more than its own rows.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from checkers.histories.columnar.arrow import compute
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.io.parquet_layout import FEW_TEXTS, part_writer
from checkers.histories.io.recorded import SCHEMA, with_new_columns
from checkers.histories.plan.batch import as_ints
from model.histories import NEW_IN_2

ROWS_PER_CHUNK: Final = 1_000_000
_FEWEST_ROWS: Final = 1 << 18  # of a chunk that is not the only one
_CHUNKS: Final = 4  # of a history that is not large: memory is used again for the next
MOST_READ: Final = 3  # times its own rows that a chunk may read, before sorting is cheaper
_ORDER: Final = ("op", "position")


class Stretch(Protocol):
    """Stored rows, and the lowest and highest number of their operations."""

    @property
    def rows(self) -> int: ...
    @property
    def first_op(self) -> int: ...
    @property
    def last_op(self) -> int: ...
    def read(self, columns: Sequence[str]) -> pa.Table: ...


@dataclass(frozen=True, slots=True)
class Rows:
    """A table that is a stretch."""

    table: pa.Table

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    @property
    def first_op(self) -> int:
        return int(as_ints(self.table["op"]).min())

    @property
    def last_op(self) -> int:
        return int(as_ints(self.table["op"]).max())

    def read(self, columns: Sequence[str]) -> pa.Table:
        return self.table.select(list(columns))


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of a Parquet file."""

    path: str
    number: int
    rows: int
    first_op: int
    last_op: int

    def read(self, columns: Sequence[str]) -> pa.Table:
        with pq.ParquetFile(self.path, read_dictionary=list(FEW_TEXTS)) as file:
            stored = file.schema_arrow.names
            there = [name for name in columns if name in stored]
            table = file.read_row_group(self.number, there, use_threads=False)
        if set(columns) & set(NEW_IN_2) - set(stored):
            table = with_new_columns(table)
        return table.select(list(columns))


@dataclass(frozen=True, slots=True)
class Chunk:
    """The operations of these numbers, both ends included."""

    first_op: int
    last_op: int
    stretches: tuple[Stretch, ...]

    @property
    def rows(self) -> int:
        """Of all its stretches: at least its own."""
        return sum(stretch.rows for stretch in self.stretches)

    def may_have(self, ops: Ints) -> bool:
        """Whether one of these, which ascend, is among their numbers."""
        return _among(ops, self.first_op, self.last_op)

    def having(self, ops: Sequence[Ints]) -> Chunk:
        """Of its stretches those that may have one of these, each of which ascends."""
        return replace(self, stretches=tuple(it for it in self.stretches if _any(ops, it)))

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Their rows, by operation and position."""
        wanted = list(dict.fromkeys([*columns, *_ORDER]))
        tables = [self._of(stretch.read(wanted), stretch) for stretch in self.stretches]
        table = pa.concat_tables(tables, promote_options="permissive")
        op, position = as_ints(table["op"]), as_ints(table["position"])
        falls = (op[1:] < op[:-1]) | ((position[1:] < position[:-1]) & (op[1:] == op[:-1]))
        if np.any(falls):
            table = table.take(pa.array(np.lexsort([position, op])))
        return table.select(list(columns))

    def _of(self, table: pa.Table, stretch: Stretch) -> pa.Table:
        if self.first_op <= stretch.first_op and stretch.last_op <= self.last_op:
            return table
        ops = table["op"]
        return table.filter(
            compute.and_(
                compute.greater_equal(ops, self.first_op), compute.less_equal(ops, self.last_op)
            )
        )


def _any(ops: Sequence[Ints], of: Stretch) -> bool:
    return any(_among(some, of.first_op, of.last_op) for some in ops)


def _among(ops: Ints, first: int, last: int) -> bool:
    """Whether one of these, which ascend, is between the two, both included."""
    begin, end = np.searchsorted(ops, [first, last + 1])
    return bool(begin < end)


def chunk_size(rows: int) -> int:
    """About how many of so many rows a chunk has."""
    return min(ROWS_PER_CHUNK, max(_FEWEST_ROWS, rows // _CHUNKS))


def chunks_of(
    stretches: Sequence[Stretch], rows_per_chunk: int = ROWS_PER_CHUNK
) -> tuple[Chunk, ...]:
    """The history in chunks of about so many rows; one empty history is no chunk."""
    ordered = sorted((s for s in stretches if s.rows), key=lambda s: (s.first_op, s.last_op))
    made: list[Chunk] = []
    first, reached, rows = (ordered[0].first_op if ordered else 0), -(2**63), 0
    ends: list[int] = []
    for number, stretch in enumerate(ordered):
        reached, rows = max(reached, stretch.last_op), rows + stretch.rows
        last = number + 1 == len(ordered)
        if last or (rows >= rows_per_chunk and reached < ordered[number + 1].first_op):
            ends.append(reached)
            rows = 0
        elif rows >= rows_per_chunk and ordered[number + 1].first_op > first:
            ends.append(ordered[number + 1].first_op - 1)
            rows = 0
    for end in dict.fromkeys(ends):
        if end < first:
            continue
        of_chunk = tuple(s for s in _overlapping(ordered, first, end))
        if of_chunk:
            made.append(Chunk(first, end, of_chunk))
        first = end + 1
    return tuple(made)


def _overlapping(ordered: Sequence[Stretch], first: int, last: int) -> Iterator[Stretch]:
    end = bisect.bisect_right(ordered, last, key=lambda s: s.first_op)
    return (stretch for stretch in ordered[:end] if stretch.last_op >= first)


def read_twice(chunks: Sequence[Chunk], stretches: Sequence[Stretch]) -> float:
    """How often a row is read, when each chunk is read once."""
    rows = sum(stretch.rows for stretch in stretches)
    return sum(s.rows for chunk in chunks for s in chunk.stretches) / rows if rows else 1.0


# ---------------------------------------------------------------- what is stored


def row_groups(path: Path) -> Iterator[RowGroup]:
    """The row groups of a Parquet file of ours."""
    with pq.ParquetFile(path) as file:
        at = file.schema_arrow.names.index("op")
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            if not group.num_rows:
                continue
            told = group.column(at).statistics
            if told is not None and told.has_min_max:
                low, high = int(told.min), int(told.max)
            else:
                ops = as_ints(file.read_row_group(number, ["op"])["op"])
                low, high = int(ops.min()), int(ops.max())
            yield RowGroup(str(path), number, group.num_rows, low, high)


def in_order(stretches: Sequence[Stretch], folder: Path, rows: int = ROWS_PER_CHUNK) -> list[Path]:
    """Parquet files in the folder with the same rows, each of a range of operations.

    Nothing but one stretch and one file's rows is held at a time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    total = sum(stretch.rows for stretch in stretches)
    low = min(stretch.first_op for stretch in stretches)
    high = max(stretch.last_op for stretch in stretches)
    parts = max(1, -(-total // rows))
    width = max(1, -(-(high - low + 1) // parts))
    paths = [folder / f"part-{part:05d}.parquet" for part in range(parts)]
    writers = [part_writer(path, SCHEMA) for path in paths]
    for stretch in stretches:
        table = stretch.read(SCHEMA.names).cast(SCHEMA)
        part_of = (as_ints(table["op"]) - low) // width
        for part in np.unique(part_of).tolist():
            writers[part].write_table(table.filter(pa.array(part_of == part)))
    for writer in writers:
        writer.close()
    return paths
