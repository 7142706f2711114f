"""A partition: stored rows that can be read, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints


class Partition(Protocol):
    """Stored rows; a column is read only when it is needed."""

    @property
    def rows(self) -> int:
        """Returns the number of rows, or an upper bound."""
        ...

    def read(self, columns: Sequence[str]) -> pa.Table: ...

    def may_contain(self, ops: Ints) -> bool:
        """Returns False only if the partition has no operation in `ops`, which is sorted."""
        ...

    def containing(self, ops: Sequence[Ints]) -> Partition:
        """Returns a part of this partition that has all rows of the operations `ops`, or more.

        Each array in `ops` is sorted.
        """
        ...


@dataclass(frozen=True, slots=True)
class InMemory:
    """A partition that is a table in memory."""

    table: pa.Table

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    def may_contain(self, ops: Ints) -> bool:
        return len(ops) > 0

    def containing(self, ops: Sequence[Ints]) -> InMemory:
        return self

    def read(self, columns: Sequence[str]) -> pa.Table:
        return self.table.select(list(columns))
