"""Finds the rows that the equality delete files of an Iceberg snapshot delete.

Each row of an equality delete file has values for some columns, which the equality ids of the file
select. The row deletes all rows of older data files that have the same values in these columns. A
data file is older if its sequence number is lower. A delete file applies only to data files in its
own partition. If its partition spec has no fields, it applies to all data files. A column that was
dropped from the table is still compared.

Source: the Iceberg table spec, "Equality Delete Files" and "Scan Planning".
Simplified: delete files are read completely, and their distinct values are held in memory. Nested
columns are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.io.deleted_values import DeletedValues, TypedColumn
from checkers.histories.io.field_ids import names_by_id
from checkers.histories.io.iceberg_manifests import Content, Partition, TableFile
from checkers.histories.io.iceberg_partitions import Spec, is_unpartitioned, spec_of
from checkers.histories.io.iceberg_types import arrow_type
from checkers.histories.io.locations import Place
from checkers.histories.io.parquet_files import opened, reading_parquet, table_of
from checkers.histories.io.unreadable import UnreadableHistory, shown
from checkers.histories.io.unreadable_tables import COPY, REWRITE


def deleted_values(
    files: Sequence[TableFile],
    fields: Mapping[int, Mapping[str, Any]],
    specs: Mapping[int, Spec],
    place: Callable[[str], Place],
) -> dict[Place, tuple[tuple[DeletedValues, int], ...]]:
    """Returns, for each data file, the combinations of values that delete its rows.

    The combinations of a data file are in one or more sets. All combinations of a set have the same
    columns. Each set is paired with the sequence number of the data file, because only newer delete
    files apply. `fields` has every field that any schema of the table has or had, by field id.
    `place` maps a path in the table's metadata to the location of the file that is read.

    Raises UnreadableHistory if a delete file is damaged, or if the table's metadata lacks a column
    or a partition spec.
    """
    alike: dict[tuple[Partition | None, tuple[int, ...]], list[TableFile]] = {}
    for file in files:
        if file.content is Content.EQUALITY_DELETES:
            scope = _scope(file, specs)
            alike.setdefault((scope, file.equality_ids), []).append(file)
    by_scope: dict[Partition | None, list[DeletedValues]] = {}
    for (scope, _), some in alike.items():
        if values := _values(some, fields, place):
            by_scope.setdefault(scope, []).append(values)
    found: dict[Place, tuple[tuple[DeletedValues, int], ...]] = {}
    for file in files if by_scope else ():
        applying = [*by_scope.get(None, ()), *by_scope.get(file.partition, ())]
        if file.content is Content.ROWS and applying:
            found[place(file.path)] = tuple((values, file.sequence) for values in applying)
    return found


def _scope(file: TableFile, specs: Mapping[int, Spec]) -> Partition | None:
    """Returns the partition to which a delete file applies, or None if it applies to all
    partitions.
    """
    return None if is_unpartitioned(spec_of(file, specs)) else file.partition


def _values(
    files: Sequence[TableFile],
    fields: Mapping[int, Mapping[str, Any]],
    place: Callable[[str], Place],
) -> DeletedValues | None:
    columns = tuple(_columns(files[0], fields))
    tables = [_rows(place(file.path), columns) for file in files]
    sequences = [np.full(len(one), file.sequence) for one, file in zip(tables, files, strict=True)]
    return DeletedValues.of(columns, pa.concat_tables(tables), np.concatenate(sequences))


def _columns(file: TableFile, fields: Mapping[int, Mapping[str, Any]]) -> Iterator[TypedColumn]:
    for number in file.equality_ids:
        field = fields.get(number)
        if field is None:
            raise UnreadableHistory(
                f"{file.path}: it deletes rows by the column with the id {number}, and no schema "
                f"of the table has it, except perhaps as a nested column; {_APPLY}"
            )
        kind = arrow_type(field.get("type"))
        if kind is None:
            raise UnreadableHistory(
                f"{file.path}: it deletes rows by the column {field['name']} of type "
                f"{shown(field.get('type'))}, which cannot be compared; {_APPLY}"
            )
        yield TypedColumn(number, str(field["name"]), kind)


def _rows(file: Place, columns: Sequence[TypedColumn]) -> pa.Table:
    with reading_parquet(file), opened(file) as content:
        names = names_by_id(content.schema_arrow, file)
        for column in columns:
            if column.number not in names:
                raise UnreadableHistory(
                    f"{file}: no column with the id {column.number} ({column.name}), by which it "
                    f"deletes rows; {COPY}"
                )
        stored = table_of(content, [names[column.number] for column in columns])
        values = [stored[names[column.number]].cast(column.type) for column in columns]
        return pa.table(values, [str(column.number) for column in columns])


_APPLY: Final = f"rewrite the data files of the table, or {REWRITE}"
