"""Merges the rows that a kernel (a function on rows) returns for several partitions, as a combiner
of MapReduce does.

Each task merges the rows of its own partitions. So a task returns about as many rows as for a
single partition, and the driver needs less memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

Combine = Callable[[pa.Table], pa.Table]


@dataclass(slots=True)
class Combined:
    """The rows that a kernel (a function on rows) returned for several partitions.

    The rows are merged when there are more than `few` of them, and more than twice as many as after
    the previous merge.
    """

    combine: Combine
    tables: list[pa.Table] = field(default_factory=list[pa.Table])
    rows: int = 0  # of all tables
    merged: int = 0  # rows after the last merge
    few: int = 1 << 16  # rows that are not yet worth a merge

    def add(self, table: pa.Table) -> None:
        self.tables.append(table)
        self.rows += table.num_rows
        if self.rows > max(self.few, 2 * self.merged):
            self.tables = [self.combine(pa.concat_tables(self.tables))]
            self.rows = self.merged = self.tables[0].num_rows


Combiners = dict[int, Combined]


def combiners(combines: Iterable[Combine | None]) -> Combiners:
    """Returns a new `Combined` for each function in `combines`. Its key is the position of the
    function in `combines`. An entry that is None is left out.
    """
    return {number: Combined(one) for number, one in enumerate(combines) if one is not None}


def combined_tables(some: Combiners) -> Iterator[tuple[int, pa.Table]]:
    """Merges the tables of each function that has tables. Yields the function's number (its key in
    `some`) and the merged table.
    """
    for number, one in some.items():
        if one.tables:
            yield number, one.combine(pa.concat_tables(one.tables))
