"""Finds the rows of a data file that an Iceberg table has deleted by their values.

A row is deleted if an Iceberg delete file, newer than the data file, lists its combination of
values. A null equals a null. Values and combinations are numbered column by column:

    delete file      (a, 1)  (a, 2)  (b, 2)
    first column     values a b     combination 0 is a, 1 is b
    second column    values 1 2     combination 0 is (0, 0), 1 is (0, 1), 2 is (1, 1)

A pair has the number of the combination without this column, and the number of this column's value:
(0, 1) is the combination (a, 2). Pairs are stored as integers in a sorted array, in which the
combination of a row is searched.

Source: the Iceberg table spec, "Equality Delete Files" and "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import compute
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import Mask


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A column of a table, with the type in which its values are compared with deleted values."""

    number: int
    name: str
    type: pa.DataType


@dataclass(frozen=True, slots=True, eq=False)
class DeletedValues:
    """The values that deleted rows have in `columns`, as arrays in which a row can be looked up.

    `levels` has two arrays for each column: its distinct values, and the sorted codes of
    combinations with the columns before. The code of a combination is `p * n + v`: `p` is the index
    of the combination without this column (0 for the first column), `n` is the number of distinct
    values, and `v` is the index of the value. `newest` has the highest sequence number of each
    combination.
    """

    columns: tuple[TypedColumn, ...]
    levels: tuple[tuple[pa.Array, Ints], ...] = field(repr=False)
    newest: Ints = field(repr=False)

    @classmethod
    def of(
        cls, columns: tuple[TypedColumn, ...], rows: pa.Table, sequences: Ints
    ) -> DeletedValues | None:
        """Returns the values of `rows` of delete files with the sequence numbers `sequences`;
        None without rows.
        """
        if not rows.num_rows:
            return None
        combination = np.zeros(rows.num_rows, np.int64)
        levels = []
        for column in rows.columns:
            values = column.unique()
            pairs = combination * len(values) + _numbers(column, values)
            combinations, combination = np.unique(pairs, return_inverse=True)
            levels.append((values, combinations))
        newest = np.full(combination.max() + 1, sequences.min())
        np.maximum.at(newest, combination, sequences)
        return cls(columns, tuple(levels), newest)

    def are_in(self, columns: Sequence[pa.ChunkedArray], sequence: int) -> Mask:
        """Returns True for each deleted row; `sequence` is the sequence number of the rows' data
        file.
        """
        combination = np.zeros(len(columns[0]), np.int64)
        found = np.ones(len(columns[0]), np.bool_)
        for column, (values, combinations) in zip(columns, self.levels, strict=True):
            numbers = _numbers(column, values)
            pairs = combination * len(values) + numbers
            combination = np.minimum(np.searchsorted(combinations, pairs), len(combinations) - 1)
            found &= (numbers >= 0) & (combinations[combination] == pairs)
        return found & (sequence < self.newest[combination])


def _numbers(column: pa.ChunkedArray, values: pa.Array) -> Ints:
    """Returns the position in `values` of each value of the column; -1 if there is none."""
    found = compute.index_in(column, value_set=values).fill_null(-1)
    numbers: Ints = found.to_numpy().astype(np.int64)
    return numbers
