from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints


class Partition(Protocol):
    """A part of the rows of a dataset, in storage. A column is read only when it is needed."""

    @property
    def rows(self) -> int:
        """The number of rows. If the exact number is not stored, it is an upper bound."""
        ...

    def read(self, columns: Sequence[str]) -> pa.Table: ...

    def may_contain(self, ops: Ints) -> bool:
        """Returns False only if this partition has no rows of the operations `ops`. The numbers in
        `ops` are ascending.
        """
        ...

    def containing(self, ops: Sequence[Ints]) -> Partition:
        """Returns a part of this partition that has all rows of the operations in `ops`, and
        possibly other rows.

        `ops` is a list of ascending arrays of operation numbers.
        """
        ...


@dataclass(frozen=True, slots=True)
class InMemory:
    """A table in memory that is one partition of a dataset."""

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
