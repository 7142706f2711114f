"""Converts violations of anomalies and assumptions between dataclasses and Arrow tables."""

from __future__ import annotations

import types
from dataclasses import fields
from functools import cache
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import compute

RowT = TypeVar("RowT")
_AT_ONCE: Final = 10_000  # rows that are dataclasses at one time
_SCALARS: Final = {int: pa.int64(), str: pa.string()}


@cache
def schema_of(row: type[Any]) -> pa.Schema:
    """Returns the Arrow schema for a dataclass whose fields are integers, texts, or tuples of
    integers or texts.
    """
    hints = get_type_hints(row)
    return pa.schema([(field.name, _arrow_type(hints[field.name])) for field in fields(row)])


def _arrow_type(hint: Any) -> pa.DataType:
    if get_origin(hint) is tuple:
        return pa.list_(_arrow_type(get_args(hint)[0]))
    if get_origin(hint) is Literal:
        return pa.string()
    assert not isinstance(hint, types.UnionType), hint
    return _SCALARS[hint]


def as_rows(table: pa.Table, row: type[RowT]) -> tuple[RowT, ...]:
    """Returns the rows of the table as instances of the dataclass `row`. A list in the table
    becomes a tuple.
    """
    return tuple(
        row(
            **{
                name: tuple(cell) if isinstance(cell, list) else cell
                for name, cell in cells.items()
            }
        )
        for cells in table.to_pylist()
    )


def in_order(table: pa.Table, sizes: np.ndarray[Any, Any] | None = None) -> pa.Table:
    """Returns the table sorted by its columns from left to right. Columns of lists are ignored.

    With `sizes`, one number for each row, the rows are first sorted by this number in descending
    order.
    """
    scalars = [field.name for field in table.schema if not pa.types.is_list(field.type)]
    keys = [(name, "ascending") for name in scalars]
    if sizes is not None:
        table = table.append_column("size", pa.array(sizes, pa.int64()))
        keys.insert(0, ("size", "descending"))
    ordered = table.take(compute.sort_indices(table, sort_keys=keys))
    return ordered.drop_columns(["size"]) if sizes is not None else ordered


def sizes(table: pa.Table, row: type[Any]) -> np.ndarray[Any, Any]:
    """Returns the property `size` of each anomaly in the table. A worse anomaly has a larger
    size.
    """
    some = (table.slice(first, _AT_ONCE) for first in range(0, table.num_rows, _AT_ONCE))
    found = (one.size for part in some for one in as_rows(part, row))
    return np.fromiter(found, dtype=np.int64, count=table.num_rows)
