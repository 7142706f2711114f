"""Rows that agree, as numbers: strings leave the kernels here, and only numbers are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

NEVER_NS = 2**63 - 1  # when an operation completes that never does


def ints(column: pa.ChunkedArray, *, null: int = 0) -> Ints:
    """The column as int64, with `null` for what is null."""
    numbers: Ints = column.fill_null(null).cast(pa.int64()).to_numpy()
    return numbers


def codes(column: pa.ChunkedArray) -> Ints:
    """A number for each cell: equal cells have equal numbers, from 0; null is one of them."""
    encoded = column.combine_chunks().dictionary_encode("encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    numbers: Ints = encoded.indices.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers


def codes_together(columns: Iterable[pa.ChunkedArray]) -> list[Ints]:
    """Numbers as of `codes`, from one space for several columns."""
    cells = [chunk for column in columns for chunk in [column.combine_chunks()]]
    flat = [piece for cell in cells for piece in _chunks(cell)]
    numbers = codes(pa.chunked_array(flat, type=pa.string()))
    ends = np.cumsum([len(cell) for cell in cells])[:-1]
    return np.split(numbers, ends)


def _chunks(cell: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return cell.chunks if isinstance(cell, pa.ChunkedArray) else [cell]


def group_ids(table: pa.Table, names: tuple[str, ...]) -> Ints:
    """A number for each row: rows that agree in these columns have equal numbers, from 0."""
    ids = np.zeros(table.num_rows, dtype=np.int64)
    for name in names:
        column = codes(table[name])
        width = int(column.max(initial=0)) + 1
        _, ids = np.unique(ids * width + column, return_inverse=True)
    return ids


def first_of_each(groups: Ints, order: Ints) -> Ints:
    """The row that comes first in the order, of each group."""
    ordered = groups[order]
    _, first = np.unique(ordered, return_index=True)
    return order[first]


def distinct(table: pa.Table, names: tuple[str, ...], *order_by: str) -> pa.Table:
    """Of the rows that agree in these columns one, the first by the other columns."""
    if not table.num_rows:
        return table
    order = np.lexsort([ints(table[name]) for name in reversed(order_by)]) if order_by else None
    if order is None:
        order = np.arange(table.num_rows)
    return table.take(first_of_each(group_ids(table, names), order))
