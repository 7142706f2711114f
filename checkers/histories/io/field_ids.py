"""Parquet files of an Iceberg table, whose columns are found by id instead of name.

A column keeps its id when it is renamed, so an old file may have another name for it. A file lacks
a column that was added later, and may have one that was dropped. A file still has rows that were
deleted later.

Source: the Iceberg table spec, "Column Projection".
Simplified: no default values, and no values from partitions or from a name mapping.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.io.locations import Place, readable
from checkers.histories.io.recorded import UnreadableHistory, reading_parquet
from checkers.histories.io.unreadable_tables import COPY

ROWS_AT_ONCE: Final = 200_000
_ID: Final = b"PARQUET:field_id"
_REWRITE: Final = "rewrite the data files of the table"
_NONE: Final[Ints] = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class FieldIds:
    """Reads a Parquet file of an Iceberg table; columns are matched by field id, not by name.

    `columns` has the id and the name of each column of the table. `partitions` has the ids of
    partition columns, whose values may be only in the metadata of a file. `deleted` has the
    positions of the deleted rows of a file, ascending; a file without deleted rows is left out.
    """

    columns: tuple[tuple[int, str], ...]
    partitions: frozenset[int] = frozenset()
    deleted: Mapping[Place, Ints] = field(default_factory=dict, repr=False)

    def __call__(self, path: Place) -> Iterator[pa.Table]:
        """Yields the rows of the file; a column that the file lacks is null.

        Raises UnreadableHistory if the file has no field ids, or if it lacks a partition column,
        whose values are only in the table's metadata.
        """
        deleted = self.deleted.get(path, _NONE)
        with reading_parquet(path), pq.ParquetFile(readable(path)) as file:
            names = _names_by_id(file.schema_arrow)
            self._refuse_incomplete(names, path)
            _refuse_beyond(deleted, file.metadata.num_rows, path)
            there = [names[number] for number, _ in self.columns if number in names]
            first = 0
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=there):
                stored = self._renamed(pa.Table.from_batches([batch]), names)
                yield _without(stored, deleted, first)
                first += stored.num_rows

    def are_rows_of(self, path: Place, schema: pa.Schema) -> bool:
        """Returns True if a Parquet file has the rows of the table, with the names of its columns.

        `schema` is the file's schema. Every column of the file must have the id and the name of a
        column of the table, and no row of the file may be deleted.
        """
        names = _names_by_id(schema)
        has_names = len(names) == len(schema) and {*names.items()} <= {*self.columns}
        return has_names and path not in self.deleted

    def _refuse_incomplete(self, names: dict[int, str], path: Place) -> None:
        if not names:
            raise UnreadableHistory(f"{path}: its columns have no field ids; {_REWRITE}")
        for number, name in self.columns:
            if number in self.partitions and number not in names:
                raise UnreadableHistory(
                    f"{path}: the file lacks column {name}, whose value is only in the metadata of "
                    f"its partition; {_REWRITE}"
                )

    def _renamed(self, stored: pa.Table, names: dict[int, str]) -> pa.Table:
        nulls = pa.nulls(stored.num_rows)
        columns = [
            (name, stored[names[number]] if number in names else nulls)
            for number, name in self.columns
        ]
        return pa.table(dict(columns))


def _refuse_beyond(deleted: Ints, rows: int, path: Place) -> None:
    if len(deleted) and not 0 <= deleted[0] <= deleted[-1] < rows:
        odd = deleted[0] if deleted[0] < 0 else deleted[-1]
        raise UnreadableHistory(
            f"{path}: a position delete of the table deletes row {odd}, and the file has {rows} "
            f"rows; {COPY}"
        )


def _without(table: pa.Table, deleted: Ints, first: int) -> pa.Table:
    """Returns the rows that are not deleted; the table's first row has position `first`."""
    begin, end = np.searchsorted(deleted, (first, first + table.num_rows))
    if begin == end:
        return table
    kept = np.ones(table.num_rows, dtype=np.bool_)
    kept[deleted[begin:end] - first] = False
    return table.filter(pa.array(kept))


def _names_by_id(schema: pa.Schema) -> dict[int, str]:
    ids = [(field.metadata or {}).get(_ID) for field in schema]
    return {
        int(number): field.name
        for number, field in zip(ids, schema, strict=True)
        if number is not None
    }
