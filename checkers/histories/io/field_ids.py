"""Parquet files of an Iceberg table, whose columns are found by id instead of name.

A file may lack a column that was added to the table later. The column is then null in each row. A
file may also lack a column by which the table is partitioned. In this case, the table's metadata
has the value of the column.

Source: the Iceberg table spec, "Column Projection".
Simplified: default values of columns and name mappings are not supported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import Mask
from checkers.histories.io.deleted_values import DeletedValues, TypedColumn
from checkers.histories.io.locations import Place
from checkers.histories.io.parquet_files import opened, reading_parquet, tables_of
from checkers.histories.io.unreadable import UnreadableHistory
from checkers.histories.io.unreadable_tables import COPY

_ID: Final = b"PARQUET:field_id"
_REWRITE: Final = "rewrite the data files of the table"
_NULL: Final = pa.scalar(None)
_NONE: Final[Ints] = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class FieldIds:
    """Reads a Parquet file of an Iceberg table. Columns are matched by field id, not by name.

    - `columns` has the id and the name of each column.
    - `of_partitions` has, for each file and each column that the file may lack, the value of the
      column in all rows of the file. If the value is unknown, the entry is a text with the reason.
    - `deleted` has, for each file, the positions of the deleted rows, in ascending order.
    - `deleted_values` has, for each data file, the sets of combinations of values that delete its
      rows. Each set is paired with the sequence number of the data file, because only newer delete
      files apply.
    """

    columns: tuple[tuple[int, str], ...]
    of_partitions: Mapping[Place, Mapping[int, pa.Scalar | str]] = field(
        default_factory=dict, repr=False
    )
    deleted: Mapping[Place, Ints] = field(default_factory=dict, repr=False)
    deleted_values: Mapping[Place, tuple[tuple[DeletedValues, int], ...]] = field(
        default_factory=dict, repr=False
    )

    def __call__(self, path: Place) -> Iterator[pa.Table]:
        """Yields the rows of the file that are not deleted.

        Raises UnreadableHistory if the file is damaged, if its columns have no field ids, or if a
        position delete is beyond its last row. Also raises UnreadableHistory if the file lacks a
        column, and the partition of the file does not determine the value of this column.
        """
        constants = self.of_partitions.get(path, {})
        deleted, by_value = self.deleted.get(path, _NONE), self.deleted_values.get(path, ())
        compared = [column for values, _ in by_value for column in values.columns]
        columns = dict(self.columns) | {column.number: column.name for column in compared}
        with reading_parquet(path), opened(path) as file:
            names = names_by_id(file.schema_arrow, path)
            _refuse_incomplete(names, columns, constants, path)
            _refuse_beyond(deleted, file.metadata.num_rows, path)
            there = [names[number] for number in columns if number in names]
            first = 0
            for stored in tables_of(file, there):
                kept = _not_deleted(deleted, first, stored.num_rows)
                for values, sequence in by_value:
                    compared_values = [
                        _values(stored, names, column, constants) for column in values.columns
                    ]
                    kept &= ~values.are_in(compared_values, sequence)
                rows = self._renamed(stored, names, constants)
                yield rows if kept.all() else rows.filter(pa.array(kept))
                first += stored.num_rows

    def are_rows_of(self, path: Place, schema: pa.Schema) -> bool:
        """Returns True if the rows of the Parquet file `path` are rows of the table without any
        conversion.

        In this case, no row of the file is deleted, and each column has the same name in the file
        and in the table.
        """
        names = names_by_id(schema, path)
        has_names = len(names) == len(schema) and {*names.items()} <= {*self.columns}
        return has_names and path not in self.deleted and path not in self.deleted_values

    def _renamed(
        self, stored: pa.Table, names: dict[int, str], constants: Mapping[int, Any]
    ) -> pa.Table:
        columns = [
            (
                name,
                stored[names[number]]
                if number in names
                else pa.repeat(constants.get(number, _NULL), stored.num_rows),
            )
            for number, name in self.columns
        ]
        return pa.table(dict(columns))


def _refuse_incomplete(
    names: dict[int, str], columns: Mapping[int, str], constants: Mapping[int, Any], path: Place
) -> None:
    if not names:
        raise UnreadableHistory(f"{path}: its columns have no field ids; {_REWRITE}")
    for number, name in columns.items():
        reason = constants.get(number)
        if number not in names and isinstance(reason, str):
            raise UnreadableHistory(f"{path}: the file lacks column {name}, {reason}; {_REWRITE}")


def _refuse_beyond(deleted: Ints, rows: int, path: Place) -> None:
    if len(deleted) and not 0 <= deleted[0] <= deleted[-1] < rows:
        odd = deleted[0] if deleted[0] < 0 else deleted[-1]
        raise UnreadableHistory(
            f"{path}: a position delete of the table deletes row {odd}, and the file has {rows} "
            f"rows; {COPY}"
        )


def _not_deleted(deleted: Ints, first: int, rows: int) -> Mask:
    """Returns a mask of `rows` consecutive rows: True for each row that is not deleted.

    `first` is the position of the first of these rows in its file.
    """
    kept = np.ones(rows, np.bool_)
    begin, end = np.searchsorted(deleted, (first, first + rows))
    kept[deleted[begin:end] - first] = False
    return kept


def _values(
    stored: pa.Table,
    names: Mapping[int, str],
    column: TypedColumn,
    constants: Mapping[int, Any],
) -> pa.ChunkedArray:
    if column.number not in names:
        value = constants.get(column.number, _NULL)
        return pa.chunked_array([pa.repeat(value.cast(column.type), stored.num_rows)])
    return stored[names[column.number]].cast(column.type)


def names_by_id(schema: pa.Schema, path: Place) -> dict[int, str]:
    """Returns a dict from the field id of each column of a Parquet file to the column's name.

    Raises UnreadableHistory if two columns have the same name, or if a field id is not a number.
    """
    names: dict[int, str] = {}
    for column in schema:
        number = (column.metadata or {}).get(_ID)
        if schema.names.count(column.name) > 1:
            raise UnreadableHistory(f"{path}: two columns have the name {column.name}; {_REWRITE}")
        if number is not None and not number.isdigit():
            raise UnreadableHistory(f"{path}: column {column.name} has no valid field id; {COPY}")
        if number is not None:
            names[int(number)] = column.name
    return names
