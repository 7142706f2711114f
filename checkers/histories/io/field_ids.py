"""Parquet files of an Iceberg table, whose columns are found by id instead of name.

A column keeps its id when it is renamed, so an old file may have another name for it. A file lacks
a column that was added later, and may have one that was dropped.

Source: the Iceberg table spec, "Column Projection".
Simplified: no default values, and no values from partitions or from a name mapping.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from checkers.histories.io.locations import Place, readable
from checkers.histories.io.recorded import UnreadableHistory, reading_parquet

ROWS_AT_ONCE: Final = 200_000
_ID: Final = b"PARQUET:field_id"
_REWRITE: Final = "rewrite the data files of the table"


@dataclass(frozen=True, slots=True)
class FieldIds:
    """Reads a Parquet file of an Iceberg table; columns are matched by field id, not by name.

    `columns` has the id and the name of each column of the table. `partitions` has the ids of
    partition columns, whose values may be only in the metadata of a file.
    """

    columns: tuple[tuple[int, str], ...]
    partitions: frozenset[int] = frozenset()

    def __call__(self, path: Place) -> Iterator[pa.Table]:
        """Yields the rows of the file; a column that the file lacks is null.

        Raises UnreadableHistory if the file has no field ids, or if it lacks a partition column,
        whose values are only in the table's metadata.
        """
        with reading_parquet(path), pq.ParquetFile(readable(path)) as file:
            names = _names_by_id(file.schema_arrow)
            self._refuse_incomplete(names, path)
            there = [names[number] for number, _ in self.columns if number in names]
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=there):
                yield self._renamed(pa.Table.from_batches([batch]), names)

    def are_names_of(self, schema: pa.Schema) -> bool:
        """Returns True if every column of a Parquet file has the id and the name of a table column.

        `schema` is the file's schema; `columns` has the ids and the names of the table.
        """
        names = _names_by_id(schema)
        return len(names) == len(schema) and {*names.items()} <= {*self.columns}

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


def _names_by_id(schema: pa.Schema) -> dict[int, str]:
    ids = [(field.metadata or {}).get(_ID) for field in schema]
    return {
        int(number): field.name
        for number, field in zip(ids, schema, strict=True)
        if number is not None
    }
