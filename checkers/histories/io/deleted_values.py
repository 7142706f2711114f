"""Finds the rows of a data file that an Iceberg table has deleted by their values.

A row is deleted if an Iceberg delete file lists the row's combination of values, and this delete
file is newer than the data file. A null equals a null. This module numbers the values of each
column, from 0. For each n, it also numbers the combinations of values in the first n columns, from
0. In the example, a delete file lists three combinations of two columns:

    delete file      (a, 1)  (a, 2)  (b, 2)
    first column     values a b     combination 0 is a, 1 is b
    second column    values 1 2     combination 0 is (0, 0), 1 is (0, 1), 2 is (1, 1)

In the last line, a pair has two numbers: the number of the combination without the second column,
and the number of the value in the second column. So (0, 1) is the combination (a, 2). The pairs are
stored as integers in a sorted array, and the combination of a row is searched in this array.

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
    """A column of a table, with the type to which its values are converted for the comparison
    with deleted values.
    """

    number: int
    name: str
    type: pa.DataType


@dataclass(frozen=True, slots=True, eq=False)
class DeletedValues:
    """The combinations of values in `columns` that delete files list, stored for fast lookup.

    `levels` has two arrays for each column. The first array has the distinct values of the column.
    The second array has a code for each combination of values of this column and all columns to its
    left; the codes are sorted. The code of a combination is `p * n + v`: here `p` is the index of
    the combination without this column (0 for the first column), `n` is the number of distinct
    values, and `v` is the index of the value.

    `newest` has, for each combination, the highest sequence number of a delete file that lists it.
    """

    columns: tuple[TypedColumn, ...]
    levels: tuple[tuple[pa.Array, Ints], ...] = field(repr=False)
    newest: Ints = field(repr=False)

    @classmethod
    def of(
        cls, columns: tuple[TypedColumn, ...], rows: pa.Table, sequences: Ints
    ) -> DeletedValues | None:
        """Returns the combinations of values in `rows`, the rows of one or more delete files.

        `sequences` has, for each row, the sequence number of its delete file. Returns None if there
        are no rows.
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
        """Returns a mask over the rows of a data file: True for each deleted row.

        `columns` has the values of the rows, and `sequence` is the sequence number of the data
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
    """Returns, for each value of the column, its position in the array `values`, or -1 if the
    array lacks the value.
    """
    found = compute.index_in(column, value_set=values).fill_null(-1)
    numbers: Ints = found.to_numpy().astype(np.int64)
    return numbers
