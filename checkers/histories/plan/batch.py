"""Defines `Batch`: rows in memory that are the input of a kernel (a function from a batch to a
table).

A batch is an Arrow table. The class can also return a column as a NumPy array of integers. For a
column of texts, the integers are dictionary codes or fingerprints (64-bit hashes).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import as_ints
from checkers.histories.columnar.fingerprints import NULL, Ints, fingerprints
from checkers.histories.columnar.sorting import Codes, Mask, concatenated_ranges

DerivedT = TypeVar("DerivedT")
NEVER_NS: Final = 2**63 - 1  # completion time of an operation that never completes
UNKNOWN_OFFSET: Final = -(2**63)  # of a record whose offset the history does not contain


class DerivedColumns(Protocol):
    """A cache of integer columns that were computed from the rows of one partition of the
    history.
    """

    def cached_ints(self, name: str, compute: Callable[[], Ints]) -> Ints: ...


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows of one partition of a dataset. `number` is the number of this partition, which is
    not a topic partition.
    """

    table: pa.Table
    number: int = 0
    hash_seed: int = 0  # of fingerprints
    cache: DerivedColumns | None = field(default=None, repr=False, compare=False)
    _computed: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __reduce__(self) -> tuple[type[Batch], tuple[pa.Table, int, int]]:
        return Batch, (self.table, self.number, self.hash_seed)

    def ints(self, name: str, *, null: int = 0) -> Ints:
        """Returns the column `name` as int64. A null becomes the value of the parameter `null`."""
        return self._once(("ints", name, null), lambda: as_ints(self.table[name], null))

    def is_valid(self, name: str) -> Mask:
        """Returns a mask: True for each row that has a value (not null) in the column `name`."""
        return self._once(("is_valid", name), lambda: self._is_valid(name))

    def is_in(self, name: str, *texts: str) -> Mask:
        """Returns a mask: True for each row whose text in the column `name` is one of `texts`."""
        return self._once(("is_in", name, texts), lambda: self._is_in(name, texts))

    def codes(self, name: str) -> tuple[Ints, pa.Array]:
        """Returns the dictionary code of each row as int64 (-1 for null), and an array with the
        text of each code.
        """
        codes, texts = self.narrow_codes(name)
        return self._once(("codes", name), lambda: codes.astype(np.int64)), texts

    def narrow_codes(self, name: str) -> tuple[Codes, pa.Array]:
        """Returns the dictionary code of each row (-1 for null), and an array with the text of each
        code.

        The codes are not converted: they have the integer type of the Arrow dictionary.
        """
        return self._once(("narrow_codes", name), lambda: _dictionary(self.table[name]))

    def fingerprints(self, name: str) -> Ints:
        """Returns a 64-bit hash of the text in the column `name`, for each row."""
        return self._once(("fingerprints", name), lambda: self._fingerprints(name))

    def derived(self, name: tuple[object, ...], compute: Callable[[Batch], DerivedT]) -> DerivedT:
        """Returns the result of `compute` on this batch. The result is stored, so each `name` is
        computed only once.
        """
        return self._once(("derived", *name), lambda: compute(self))

    def rows_of(self, ops: Ints) -> Ints:
        """Returns the row numbers of the operations `ops`.

        Both the array `ops` and the column `op` must be sorted. An operation without rows in this
        batch is ignored.
        """
        op = self.ints("op")
        if not len(op):
            return op
        here = ops[slice(*np.searchsorted(ops, [op[0], op[-1] + 1]))]
        first, end = np.searchsorted(op, here), np.searchsorted(op, here, side="right")
        return concatenated_ranges(first, end - first)

    def where(self, rows: Mask | Ints, columns: Sequence[str] = ()) -> Batch:
        """Returns a batch with only the selected rows. `rows` is a mask or an array of row numbers.

        If `columns` is empty, the result has all columns.
        """
        at = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        table = self.table.select(columns) if columns else self.table
        some = table.take(pa.array(at)) if len(at) else table.schema.empty_table()
        return Batch(some, self.number, self.hash_seed)

    def _is_valid(self, name: str) -> Mask:
        column = self.table[name]
        return _unpacked(column.is_valid()) if column.null_count else np.ones(len(self), np.bool_)

    def _is_in(self, name: str, texts: tuple[str, ...]) -> Mask:
        codes, dictionary = self.narrow_codes(name)
        code_of = self._once(("code_of", name), lambda: _code_of(dictionary))
        found = np.zeros(len(self), dtype=np.bool_)
        for code in (code_of[text] for text in texts if text in code_of):
            found |= codes == code
        return found

    def _fingerprints(self, name: str) -> Ints:
        column = self.table[name]
        if not pa.types.is_dictionary(column.type):
            return self._cached(
                f"{name} {self.hash_seed}",
                lambda: fingerprints(column.combine_chunks(), self.hash_seed),
            )
        codes, texts = self.narrow_codes(name)
        of_code = np.r_[fingerprints(texts, self.hash_seed), NULL]
        of_row: Ints = of_code.take(codes, mode="wrap")  # code -1 wraps to the last
        return of_row

    def _cached(self, name: str, compute: Callable[[], Ints]) -> Ints:
        return self.cache.cached_ints(name, compute) if self.cache else compute()

    def _once(self, name: Any, compute: Callable[[], DerivedT]) -> DerivedT:
        if name not in self._computed:
            self._computed[name] = compute()
        result: DerivedT = self._computed[name]
        return result


def _code_of(dictionary: pa.Array) -> dict[str, int]:
    return {text: code for code, text in enumerate(dictionary.to_pylist())}


def _dictionary(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return np.zeros(0, dtype=np.int64), pa.array([], pa.string())
    whole = column.combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    codes = whole.indices.fill_null(-1) if whole.null_count else whole.indices
    return codes.to_numpy(), whole.dictionary.cast(pa.string())


def _unpacked(flags: pa.ChunkedArray) -> Mask:
    whole = flags.combine_chunks()
    _, data = whole.buffers()
    if data is None:
        return np.zeros(0, dtype=np.bool_)
    bits = np.unpackbits(
        np.frombuffer(data, np.uint8), count=whole.offset + len(whole), bitorder="little"
    )
    return bits[whole.offset :].view(np.bool_)
