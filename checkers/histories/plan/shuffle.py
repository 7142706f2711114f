"""Implements the two halves of a shuffle: distributing rows by their shuffle key, and merging
the rows of each partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import as_ints, compute
from checkers.histories.columnar.sorting import grouping_order, stable_order
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.spill import shrunk

SHUFFLE_KEY: Final = "shuffle_key"  # a column of int64; hashes are valid keys
ROWS_OF_PART: Final = 4_000  # on average; a part in a file costs 0.1 ms, as much as so many rows
MOST_WAITING_ROWS: Final = 4_000_000  # about 160 MB


def split_by_key(table: pa.Table, partitions: int) -> Iterator[tuple[int, pa.Table]]:
    """Yields the number of each partition that gets rows of the table, and these rows without the
    shuffle key.

    The rows of a partition are in the order of the table.
    """
    keys = as_ints(table[SHUFFLE_KEY]).view(np.uint64)
    of_row = (keys % np.uint64(partitions)).view(np.int64)
    order = stable_order(of_row, partitions)
    bounds = np.r_[0, np.cumsum(np.bincount(of_row, minlength=partitions))]
    rows = shrunk(table.drop_columns([SHUFFLE_KEY]))
    ordered = rows if partitions == 1 else compute.take(rows, pa.array(order), boundscheck=False)
    for partition in np.flatnonzero(np.diff(bounds)).tolist():
        first, end = int(bounds[partition]), int(bounds[partition + 1])
        yield partition, ordered.slice(first, end - first)


@dataclass(slots=True)
class Outgoing:
    """The rows that a kernel (a function on rows) returned, and that are not distributed to
    partitions yet.

    They are collected into larger tables, because writing a table costs a fixed time, even if the
    table is small.
    """

    partitions: int
    tables: list[pa.Table] = field(default_factory=list[pa.Table])
    rows: int = 0

    def add(self, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Adds the table to the waiting rows. If there are enough waiting rows, yields all of
        them: the number of each partition, and its rows without the shuffle key.
        """
        self.tables.append(table)
        self.rows += table.num_rows
        if self.rows >= min(ROWS_OF_PART * self.partitions, MOST_WAITING_ROWS):
            yield from self.rest()

    def rest(self) -> Iterator[tuple[int, pa.Table]]:
        """Yields the rows that no earlier call has yielded: the number of each partition, and its
        rows without the shuffle key.
        """
        if self.rows:
            table = pa.concat_tables(self.tables)
            self.tables, self.rows = [], 0
            yield from split_by_key(table, self.partitions)


def merged(parts: Iterable[pa.Table], kernel: Kernel) -> pa.Table:
    """Returns the rows of one output partition of a shuffle, joined from `parts`.

    The rows are grouped by the first column of `kernel.order`, and sorted by its other columns. If
    `kernel.order` is empty, the rows are in the order of `parts`.
    """
    tables = [part for part in parts if part.num_rows] or [shuffled_schema(kernel).empty_table()]
    table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    if not kernel.order or not table.num_rows:
        return table
    order = grouping_order(*(as_ints(table[name]) for name in kernel.order))
    return compute.take(table, pa.array(order), boundscheck=False)


def shuffled_schema(kernel: Kernel) -> pa.Schema:
    """Returns the schema of a kernel's table after a shuffle, which removes the shuffle key."""
    return kernel.schema.remove(kernel.schema.get_field_index(SHUFFLE_KEY))
