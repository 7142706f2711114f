"""Finds the values of columns that a data file lacks. The values come from the partition to which
the file belongs.

A partition field applies a transform to a column. If the transform is `identity`, the value of the
field is the value of the column in all rows. So the file may lack the column, for example if the
table was migrated from Hive. The value of another transform, such as `bucket[16]`, does not
determine the column's values. In this example, a table is partitioned by two columns, and the last
two lines show what happens if a file lacks one of these columns:

    fields of the spec   identity(key)   bucket[16](value)
    partition of a file  "a"             7
    without key          each row has the key "a"
    without value        refused

If the value of a field is null, a column that the file lacks is null in each row, whatever the
transform is. The transform `void`, whose values are null, replaces another transform when the table
is no longer partitioned by the column.

Source: the Iceberg table spec, "Column Projection" and "Partition Transforms".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from checkers.histories.io.iceberg_manifests import Content, Partition, TableFile
from checkers.histories.io.iceberg_types import arrow_type
from checkers.histories.io.locations import Place
from checkers.histories.io.unreadable import UnreadableHistory, shown
from checkers.histories.io.unreadable_tables import COPY

IDENTITY: Final = "identity"
VOID: Final = "void"


@dataclass(frozen=True, slots=True)
class PartitionField:
    source: int  # the id of a column
    transform: str


Spec = tuple[PartitionField, ...]
Values = Mapping[int, pa.Scalar | str]  # by column: the value, or why it does not follow


def partition_specs(metadata: Mapping[str, Any]) -> dict[int, Spec]:
    """Returns the partition specs in the table's metadata, by id. The result does not include
    malformed specs.
    """
    specs = metadata.get("partition-specs")
    if specs is None:  # version 1 may have only the current spec
        specs = [{"spec-id": 0, "fields": metadata.get("partition-spec")}]
    found: dict[int, Spec] = {}
    for spec in specs if isinstance(specs, list) else ():
        match spec:
            case {"spec-id": int(number), "fields": [*fields]} if all(map(_is_field, fields)):
                found[number] = tuple(
                    PartitionField(field["source-id"], field["transform"]) for field in fields
                )
            case _:
                pass
    return found


def _is_field(found: object) -> bool:
    match found:
        case {"source-id": int(), "transform": str()}:
            return True
        case _:
            return False


def spec_of(file: TableFile, specs: Mapping[int, Spec]) -> Spec:
    """Returns the partition spec of a file. Raises UnreadableHistory if the table's metadata
    lacks the spec.
    """
    number = file.partition.spec_id
    if number not in specs:
        raise UnreadableHistory(
            f"{file.path}: the table's metadata lacks its partition spec {number}; {COPY}"
        )
    return specs[number]


def is_unpartitioned(spec: Spec) -> bool:
    return all(field.transform == VOID for field in spec)


def values_of_partitions(
    files: Sequence[TableFile],
    specs: Mapping[int, Spec],
    fields: Mapping[int, Mapping[str, Any]],
    place: Callable[[str], Place],
) -> dict[Place, Values]:
    """Returns, for each data file with a partition, the values of the columns by which the file is
    partitioned.

    `fields` has every field that any schema of the table has or had, by field id. `place` maps a
    path in the table's metadata to the location of the file that is read. Raises UnreadableHistory
    if the table's metadata lacks a partition spec.
    """
    by_partition: dict[Partition, Values] = {}
    found: dict[Place, Values] = {}
    for file in files:
        if file.content is not Content.ROWS or not file.partition.values:
            continue
        values = by_partition.get(file.partition)
        if values is None:
            values = _values(file.partition.values, spec_of(file, specs), fields)
            by_partition[file.partition] = values
        found[place(file.path)] = values
    return found


def _values(
    partition: tuple[object, ...], spec: Spec, fields: Mapping[int, Mapping[str, Any]]
) -> Values:
    if len(partition) != len(spec):
        reason = f"and its partition has {len(partition)} values instead of {len(spec)}"
        return {field.source: reason for field in spec}
    found: dict[int, pa.Scalar | str] = {}
    for field, value in _identity_last(zip(spec, partition, strict=True)):
        if field.transform == IDENTITY:
            found[field.source] = _scalar(value, fields.get(field.source, {}).get("type"))
        elif field.transform != VOID and value is not None:
            found[field.source] = f"and its partition has only {field.transform} of it"
    return found


def _identity_last(
    pairs: Iterable[tuple[PartitionField, object]],
) -> list[tuple[PartitionField, object]]:
    # of several fields of a column, the one with its value counts
    return sorted(pairs, key=lambda pair: pair[0].transform == IDENTITY)


def _scalar(value: object, name: object) -> pa.Scalar | str:
    """Returns a partition's value, converted to the column's type `name`. If this is impossible,
    returns the reason as a text.

    In Avro, a date is a number of days, a time is a number of microseconds, and a decimal is the
    bytes of an integer.
    """
    kind = arrow_type(name)
    if kind is None:
        return f"and the value of its partition has the type {shown(name)}"
    wrong = f"and its partition has {shown(value)}, which is no {name}"
    if pa.types.is_string(kind) and not isinstance(value, str | None):
        return wrong
    if pa.types.is_decimal(kind) and isinstance(value, bytes):
        value = Decimal(int.from_bytes(value, signed=True)).scaleb(-kind.scale)
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return wrong
