"""Reads the rows of a history from Avro. Each record is a row, and each field of a record is a
column.

A column of numbers has the Avro type `int` or `long`. A column of texts has the type `string` or
`enum`. A column that may be null has a union with the type `null`.

Source: the columns of `model.histories`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from checkers.histories.io.avro.containers import MAX_BLOCK, Container
from checkers.histories.io.avro.schemas import AvroFault
from checkers.histories.io.columns import check_columns, unknown_column
from checkers.histories.io.locations import Place
from checkers.histories.io.operation_rows import SCHEMA
from checkers.histories.io.unreadable import UnreadableHistory, shown
from model.histories import COLUMNS

ROWS_AT_ONCE: Final = 10_000  # as Python objects
_NUMBER: Final = ("int", "long")
_TEXT: Final = ("string", "enum")
_ALLOWED: Final = {"int64": _NUMBER, "int32": _NUMBER, "string": _TEXT}


def tables(path: Place, *, known_only: bool = True) -> Iterator[pa.Table]:
    """Yields the tables of a container file. With `known_only`, an unknown field is an error.

    Without `known_only`, an unknown field becomes a column that is True in each row with a value of
    the field.
    """
    try:
        with path.open("rb") as file:
            container = Container(file)
            names = fields(container.schema)
            if known_only:
                check_columns(names, path)
            first = 1
            for some in _batches(container):
                yield table(some, names, first)
                first += len(some)
    except AvroFault as fault:
        raise UnreadableHistory(f"{path}{fault}") from fault


def _batches(container: Container) -> Iterator[list[Any]]:
    batch, start = list[Any](), 0
    for record in container.records():
        batch.append(record)
        if len(batch) == ROWS_AT_ONCE or container.bytes_read - start > MAX_BLOCK:
            yield batch
            batch, start = [], container.bytes_read
    if batch:
        yield batch


def fields(schema: Any) -> list[str]:
    """Returns the names of the fields of a record schema.

    Raises AvroFault if the schema is not the schema of a record, or if a column has a wrong type.
    """
    if not (isinstance(schema, dict) and schema.get("type") == "record"):
        raise AvroFault("its Avro schema is no record", "write a record whose fields are columns")
    names: list[str] = []
    for field in schema["fields"]:
        name, of_field = field["name"], field["type"]
        if name in names:
            raise AvroFault(f"its Avro schema has the field {shown(name)} twice", "rename one")
        names.append(name)
        if name not in COLUMNS:
            continue
        branches = of_field if isinstance(of_field, list) else [of_field]
        found = [one if isinstance(one, str) else one["type"] for one in branches]
        allowed = _ALLOWED[COLUMNS[name][0]]
        if not {*found} <= {*allowed, "null"}:
            raise AvroFault(
                f"column {name} has the Avro type {' or '.join(found)} instead of "
                f"{' or '.join(allowed)}",
                "write it with that type",
            )
    return names


def refuse_unknown(names: Sequence[str]) -> None:
    """Raises AvroFault for the first name in `names` that is not a column of a history."""
    for name in names:
        if name not in COLUMNS:
            what, _, move = unknown_column(name).partition("; ")
            raise AvroFault(what, move)


def table(records: Sequence[Any], names: Sequence[str], first: int | None = None) -> pa.Table:
    """Returns the fields `names` of the records as a table. `first` is the number of the first
    record in its file.

    Raises AvroFault for a number that is too large for its column.
    """
    columns: dict[str, pa.Array] = {}
    for name in names:
        cells = [record[name] for record in records]
        if name not in COLUMNS:
            columns[name] = pa.array([None if cell is None else True for cell in cells], pa.bool_())
            continue
        try:
            columns[name] = pa.array(cells, SCHEMA.field(name).type)
        except pa.ArrowInvalid as error:
            index = next(n for n, cell in enumerate(cells) if cell and not -(2**31) <= cell < 2**31)
            row = None if first is None else first + index
            what = f"column {name} is {cells[index]}, more than 32 bits"
            raise AvroFault(what, "fix that value", row) from error
    return pa.table(columns)
