from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints


class Partition(Protocol):
    """A part of a dataset's rows in storage; a column is read only when it is needed."""

    @property
    def rows(self) -> int:
        """Returns the number of rows, or an upper bound if the exact number is not stored."""
        ...

    def read(self, columns: Sequence[str]) -> pa.Table: ...

    def may_contain(self, ops: Ints) -> bool:
        """Returns False if this partition surely has none of the operations `ops`, which are
        ascending.
        """
        ...

    def containing(self, ops: Sequence[Ints]) -> Partition:
        """Returns a part of this partition with all rows of the operations in `ops`, and perhaps
        other rows.

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
