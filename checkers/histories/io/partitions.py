"""Divides a history into partitions. A partition has all rows of the operations in a range of
operation numbers.

A stored history has row ranges: the row groups of its Parquet files, or tables in memory. A
partition reads every row range that may have rows of the partition's operations. If too many row
ranges overlap, the history is first rewritten in the order of operations (`sorted_by_operation`).
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import as_ints, compute
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.io.locations import (
    Place,
    Remote,
    Version,
    file_or_folder,
    refuse_changed,
    version,
)
from checkers.histories.io.operation_rows import SCHEMA, with_new_columns
from checkers.histories.io.parquet_files import opened, reading_parquet
from checkers.histories.io.parquet_layout import FEW_TEXTS, part_writer
from checkers.histories.io.unreadable import UnreadableHistory
from model.histories import NEW_IN_2

ROWS_PER_PARTITION: Final = 1_000_000
_FEWEST_ROWS: Final = 1 << 18  # of a partition, unless it is the only one
_FEWEST_PARTITIONS: Final = 4  # of a small history: the memory of one serves the next
_FOOTERS_AT_ONCE: Final = 16
MAX_READS_PER_ROW: Final = 3  # a history whose rows are read more often is sorted first
_ORDER: Final = ("op", "position")


class RowRange(Protocol):
    """A range of stored rows, with the lowest and the highest operation number of these rows."""

    @property
    def rows(self) -> int: ...
    @property
    def first_op(self) -> int: ...
    @property
    def last_op(self) -> int: ...
    def read(self, columns: Sequence[str]) -> pa.Table: ...


@dataclass(frozen=True, slots=True)
class TableRows:
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
    path: str  # or the address of an object
    number: int
    rows: int
    first_op: int
    last_op: int
    version: Version | None = None  # of the file; None: changes are not noticed

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Returns the columns `columns` of the rows of this row group.

        Raises UnreadableLocation if the file has changed since its footer was read, and
        UnreadableHistory if the file is damaged.
        """
        place = file_or_folder(self.path)
        self._refuse_changed(place)
        try:
            with (
                reading_parquet(f"{place}, row group {self.number}"),
                opened(place, read_dictionary=list(FEW_TEXTS)) as file,
            ):
                stored = file.schema_arrow.names
                there = [name for name in columns if name in stored]
                table = file.read_row_group(self.number, there, use_threads=False)
                for name in set(there) & set(FEW_TEXTS):  # a damaged page may have any index
                    table[name].validate(full=True)
            self._check_operations(table)
        except UnreadableHistory:
            self._refuse_changed(place)
            raise
        if set(columns) & set(NEW_IN_2) - set(stored):
            table = with_new_columns(table)
        return table.select(list(columns))

    def _refuse_changed(self, place: Place) -> None:
        if self.version is not None:
            refuse_changed(place, self.version)

    def _check_operations(self, table: pa.Table) -> None:
        # Rows with other operations than the footer declares would be in no partition.
        if "op" not in table.schema.names:
            return
        found = compute.min_max(table["op"]).as_py()
        if found["min"] is None or found == {"min": self.first_op, "max": self.last_op}:
            return
        raise UnreadableHistory(
            f"{self.path}: row group {self.number} has the operations {found['min']} to "
            f"{found['max']}, and its footer declares {self.first_op} to {self.last_op}; "
            "copy or record it again"
        )


@dataclass(frozen=True, slots=True)
class HistoryPartition:
    """The rows of a history's operations with the numbers from `first_op` to `last_op`, both
    included.
    """

    first_op: int
    last_op: int
    row_ranges: tuple[RowRange, ...]

    @property
    def rows(self) -> int:
        """An upper bound of the number of rows in this partition."""
        return sum(row_range.rows for row_range in self.row_ranges)

    def may_contain(self, ops: Ints) -> bool:
        return _among(ops, self.first_op, self.last_op)

    def containing(self, ops: Sequence[Ints]) -> HistoryPartition:
        return replace(self, row_ranges=tuple(it for it in self.row_ranges if _any(ops, it)))

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Returns the columns `columns` of the rows, ordered by operation number and position."""
        wanted = list(dict.fromkeys([*columns, *_ORDER]))
        tables = [self._of(row_range.read(wanted), row_range) for row_range in self.row_ranges]
        table = pa.concat_tables(tables, promote_options="permissive")
        op, position = as_ints(table["op"]), as_ints(table["position"])
        falls = (op[1:] < op[:-1]) | ((position[1:] < position[:-1]) & (op[1:] == op[:-1]))
        if np.any(falls):
            table = table.take(pa.array(np.lexsort([position, op])))
        return table.select(list(columns))

    def _of(self, table: pa.Table, row_range: RowRange) -> pa.Table:
        if self.first_op <= row_range.first_op and row_range.last_op <= self.last_op:
            return table
        ops = table["op"]
        return table.filter(
            compute.and_(
                compute.greater_equal(ops, self.first_op), compute.less_equal(ops, self.last_op)
            )
        )


def _any(ops: Sequence[Ints], of: RowRange) -> bool:
    return any(_among(some, of.first_op, of.last_op) for some in ops)


def _among(ops: Ints, first: int, last: int) -> bool:
    begin, end = np.searchsorted(ops, [first, last + 1])
    return bool(begin < end)


def partition_size(rows: int) -> int:
    return min(ROWS_PER_PARTITION, max(_FEWEST_ROWS, rows // _FEWEST_PARTITIONS))


def partitions_of(
    row_ranges: Sequence[RowRange], rows_per_partition: int = ROWS_PER_PARTITION
) -> tuple[HistoryPartition, ...]:
    """Returns the partitions of the rows in `row_ranges`, with about `rows_per_partition` rows
    each.
    """
    ordered = sorted((s for s in row_ranges if s.rows), key=lambda s: (s.first_op, s.last_op))
    partitions: list[HistoryPartition] = []
    first, reached, rows = (ordered[0].first_op if ordered else 0), -(2**63), 0
    ends: list[int] = []
    for number, row_range in enumerate(ordered):
        reached, rows = max(reached, row_range.last_op), rows + row_range.rows
        last = number + 1 == len(ordered)
        if last or (rows >= rows_per_partition and reached < ordered[number + 1].first_op):
            ends.append(reached)
            rows = 0
        elif rows >= rows_per_partition and ordered[number + 1].first_op > first:
            ends.append(ordered[number + 1].first_op - 1)
            rows = 0
    for end in dict.fromkeys(ends):
        if end < first:
            continue
        overlapping = tuple(s for s in _overlapping(ordered, first, end))
        if overlapping:
            partitions.append(HistoryPartition(first, end, overlapping))
        first = end + 1
    return tuple(partitions)


def _overlapping(ordered: Sequence[RowRange], first: int, last: int) -> Iterator[RowRange]:
    end = bisect.bisect_right(ordered, last, key=lambda s: s.first_op)
    return (row_range for row_range in ordered[:end] if row_range.last_op >= first)


def reads_per_row(partitions: Sequence[HistoryPartition], row_ranges: Sequence[RowRange]) -> float:
    """Returns how many partitions read a stored row, on average. The result is 1 for an empty
    history.

    The average can exceed 1: two partitions may share a row range, and each of them reads the whole
    range.
    """
    rows = sum(row_range.rows for row_range in row_ranges)
    return (
        sum(s.rows for partition in partitions for s in partition.row_ranges) / rows
        if rows
        else 1.0
    )


# ---------------------------------------------------------------- Parquet files


def row_groups_of(files: Sequence[Place]) -> list[RowGroup]:
    if not any(isinstance(file, Remote) for file in files):
        return [group for file in files for group in row_groups(file)]
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
        return [
            group for groups in pool.map(lambda it: [*row_groups(it)], files) for group in groups
        ]


def row_groups(path: Place) -> Iterator[RowGroup]:
    """Yields the row groups of a Parquet file that has the columns of a history.

    Raises UnreadableHistory if the file is damaged.
    """
    changed = version(path)
    with reading_parquet(path), opened(path) as file:
        at = file.schema_arrow.names.index("op")
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            if not group.num_rows:
                continue
            statistics = group.column(at).statistics
            if statistics is not None and statistics.has_min_max:
                low, high = int(statistics.min), int(statistics.max)
            else:
                ops = as_ints(file.read_row_group(number, ["op"])["op"])
                low, high = int(ops.min()), int(ops.max())
            yield RowGroup(str(path), number, group.num_rows, low, high, changed)


def sorted_by_operation(
    row_ranges: Sequence[RowRange], folder: Path, rows: int = ROWS_PER_PARTITION
) -> list[Path]:
    """Writes the rows to Parquet files, each with its own range of operation numbers. Returns the
    paths of these files in ascending order of the numbers.

    Each file has about `rows` rows. Inside a file, the rows have the order in which the function
    read them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    total = sum(row_range.rows for row_range in row_ranges)
    low = min(row_range.first_op for row_range in row_ranges)
    high = max(row_range.last_op for row_range in row_ranges)
    parts = max(1, -(-total // rows))
    width = max(1, -(-(high - low + 1) // parts))
    # Each file has its own range of operation numbers, and fits into memory.
    paths = [folder / f"part-{part:05d}.parquet" for part in range(parts)]
    writers = [part_writer(path, SCHEMA) for path in paths]
    for row_range in row_ranges:
        table = row_range.read(SCHEMA.names).cast(SCHEMA)
        part_of = (as_ints(table["op"]) - low) // width
        for part in np.unique(part_of).tolist():
            writers[part].write_table(table.filter(pa.array(part_of == part)))
    for writer in writers:
        writer.close()
    return paths
