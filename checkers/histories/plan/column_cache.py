"""Caches columns of a dataset, so that a later pass need not read or compute them a second time.

An analysis of all anomalies makes about twenty passes over a history. Columns are stored in memory
up to a limit, and all further columns are stored in memory-mapped files. The files need 73 bytes
for each row, including 14 bytes for the texts of values. If they are compressed, they need 24 bytes
for each row. A file gets its name only when it is complete, so several processes may share a
folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa

from checkers.histories.columnar.arrow import as_ints
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.plan.partition import Partition
from checkers.histories.plan.spill import Codec, only_table_in, shrunk_column, spill_whole

_FEW: Final = 2  # a part is read only if it has at most 1 / _FEW of the rows


@dataclass(slots=True)
class ColumnCache:
    folder: Path | None
    room: int  # bytes left in memory; further columns go to the folder, if there is one
    codec: Codec = None  # of the files
    held: dict[str, pa.ChunkedArray] = field(default_factory=dict[str, pa.ChunkedArray])

    def column(self, name: str) -> pa.ChunkedArray | None:
        if name in self.held or not self.folder or not (path := self.folder / name).exists():
            return self.held.get(name)
        return only_table_in(path)[0]

    def keep(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Stores the column, and returns it.

        The column is stored in memory if it fits there. Otherwise it is stored in a file of the
        folder. If there is no folder, the column is not stored.
        """
        fits = column.nbytes <= self.room
        if not fits and not self.folder:
            return column
        column = shrunk_column(column)
        if fits:
            self.room -= column.nbytes
            self.held[name] = column
        elif self.folder:
            spill_whole(pa.table({"column": column}), self.folder / name, self.codec)
        return column


@dataclass(frozen=True, slots=True)
class CachedPartition:
    """A partition of a dataset with a cache for its columns. Several partitions may share a
    cache.
    """

    stored: Partition
    number: int
    cache: ColumnCache

    @property
    def rows(self) -> int:
        return self.stored.rows

    def may_contain(self, ops: Ints) -> bool:
        return self.stored.may_contain(ops)

    def containing(self, ops: Sequence[Ints]) -> Partition:
        """Returns a partition with all rows of the operations in `ops`, and possibly other rows.

        `ops` is a list of ascending arrays of operation numbers.
        """
        near = self.stored.containing(ops)
        few = near.rows * _FEW <= self.rows
        # If the part would be large, or if cached columns are in files, it is the whole partition.
        return near if few and not self.cache.folder else self

    def read(self, columns: Sequence[str]) -> pa.Table:
        kept = {name: self.cache.column(self._name(name)) for name in columns}
        if missing := [name for name, column in kept.items() if column is None]:
            table = self.stored.read(missing)
            kept |= {name: self.cache.keep(self._name(name), table[name]) for name in missing}
        return pa.table(kept)

    def cached_ints(self, name: str, compute: Callable[[], Ints]) -> Ints:
        column = self.cache.column(self._name(name))
        if column is None:
            column = self.cache.keep(self._name(name), pa.chunked_array([pa.array(compute())]))
        return as_ints(column)

    def _name(self, column: str) -> str:
        return f"{self.number}-{column}"
