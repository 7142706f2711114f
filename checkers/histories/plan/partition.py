"""A partition: stored rows that can be read, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints


class Partition(Protocol):
    """Stored rows. Only the columns that are needed are read, and only when they are needed."""

    @property
    def rows(self) -> int:
        """The number of rows, or an upper bound."""
        ...

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Reads these columns."""
        ...

    def may_contain(self, ops: Ints) -> bool:
        """False only if the partition has none of these operations, which ascend."""
        ...

    def containing(self, ops: Sequence[Ints]) -> Partition:
        """A part with at least the rows of these operations; each array of numbers ascends."""
        ...


@dataclass(frozen=True, slots=True)
class InMemory:
    """A partition that is a table in memory."""

    table: pa.Table

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    def may_contain(self, ops: Ints) -> bool:
        """True if any operation is given: the table is not searched."""
        return len(ops) > 0

    def containing(self, ops: Sequence[Ints]) -> InMemory:
        """The whole table."""
        return self

    def read(self, columns: Sequence[str]) -> pa.Table:
        """These columns of the table."""
        return self.table.select(list(columns))
