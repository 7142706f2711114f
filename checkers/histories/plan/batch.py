"""A batch: rows in memory, the input of a kernel (a function from a batch to a table).

A batch is an Arrow table whose columns are also NumPy arrays of integers. A text becomes a
dictionary code or a fingerprint (a 64-bit hash).
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
    """A cache of integer columns, computed from the rows of one partition of the history."""

    def cached_ints(self, name: str, compute: Callable[[], Ints]) -> Ints: ...


@dataclass(frozen=True, slots=True)
class Batch:
    """The rows of one partition of a dataset (not of a topic); `number` is the partition's
    number.
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
        """Returns the column as int64; a null becomes the value of the parameter `null`."""
        return self._once(("ints", name, null), lambda: as_ints(self.table[name], null))

    def is_valid(self, name: str) -> Mask:
        """Returns a mask: True for each row with a value in the column."""
        return self._once(("is_valid", name), lambda: self._is_valid(name))

    def is_in(self, name: str, *texts: str) -> Mask:
        """Returns a mask: True for each row whose text in the column is one of `texts`."""
        return self._once(("is_in", name, texts), lambda: self._is_in(name, texts))

    def codes(self, name: str) -> tuple[Ints, pa.Array]:
        """Returns each row's dictionary code as int64 (-1 for null), and the text of each code."""
        codes, texts = self.narrow_codes(name)
        return self._once(("codes", name), lambda: codes.astype(np.int64)), texts

    def narrow_codes(self, name: str) -> tuple[Codes, pa.Array]:
        """Returns each row's dictionary code (-1 for null) as stored, and the text of each code."""
        return self._once(("narrow_codes", name), lambda: _dictionary(self.table[name]))

    def fingerprints(self, name: str) -> Ints:
        """Returns a 64-bit hash of each text in the column."""
        return self._once(("fingerprints", name), lambda: self._fingerprints(name))

    def derived(self, name: tuple[object, ...], compute: Callable[[Batch], DerivedT]) -> DerivedT:
        """Returns the result of `compute` on this batch, computed only once for each `name`."""
        return self._once(("derived", *name), lambda: compute(self))

    def rows_of(self, ops: Ints) -> Ints:
        """Returns the rows of the operations `ops`; both `ops` and the column `op` must be
        sorted.
        """
        op = self.ints("op")
        if not len(op):
            return op
        here = ops[slice(*np.searchsorted(ops, [op[0], op[-1] + 1]))]
        first, end = np.searchsorted(op, here), np.searchsorted(op, here, side="right")
        return concatenated_ranges(first, end - first)

    def where(self, rows: Mask | Ints, columns: Sequence[str] = ()) -> Batch:
        """Returns a batch with only the rows that a mask or row numbers select.

        If `columns` is empty, all columns are kept.
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
