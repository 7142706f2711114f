"""A piece of a history as numbers: strings leave here, and kernels compare only integers.

A piece is an Arrow table with views of its columns as NumPy arrays. Several kernels look at one
piece, so a view is made once. Columns of few texts (`kind`, `key`, `outcome`) are dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.histories.columnar.fingerprints import NULL, Ints, fingerprints
from checkers.histories.columnar.sorting import Codes, stretches

ViewT = TypeVar("ViewT")
Mask = npt.NDArray[np.bool_]
_INT64: Final = pa.int64()
NEVER_NS: Final = 2**63 - 1  # when an operation completes that never does
UNKNOWN: Final = -(2**63)  # an offset that nobody knows


class Readable(Protocol):
    """A piece that is read when it is looked at, and only the columns that are."""

    @property
    def rows(self) -> int: ...

    def read(self, columns: Sequence[str]) -> pa.Table: ...

    def may_have(self, ops: Ints) -> bool:
        """Whether one of these operations may be in it; they ascend."""
        ...

    def having(self, ops: Sequence[Ints]) -> Readable:
        """What is stored with any of these operations, at least; each of several ascends."""
        ...


class Keeper(Protocol):
    """Who keeps what was made of a piece from one look to the next."""

    def kept(self, what: str, make: Callable[[], Ints]) -> Ints: ...


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a history, or rows made of them; `number` is the place among all pieces."""

    table: pa.Table
    number: int = 0
    salt: int = 0  # of fingerprints
    keeper: Keeper | None = field(default=None, repr=False, compare=False)
    _seen: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __reduce__(self) -> tuple[type[Piece], tuple[pa.Table, int, int]]:
        return Piece, (self.table, self.number, self.salt)  # views are made anew

    def ints(self, name: str, *, null: int = 0) -> Ints:
        """The column as int64, with `null` for what is null."""
        return self._once(("ints", name, null), lambda: as_ints(self.table[name], null))

    def known(self, name: str) -> Mask:
        """Where the column is not null."""
        return self._once(("known", name), lambda: self._known(name))

    def is_(self, name: str, *words: str) -> Mask:
        """Where the column is one of the words."""
        return self._once(("is", name, words), lambda: self._is(name, words))

    def codes(self, name: str) -> tuple[Ints, pa.Array]:
        """A number for each cell, and the text of each number; null is -1."""
        numbers, texts = self.narrow(name)
        return self._once(("codes", name), lambda: numbers.astype(np.int64)), texts

    def narrow(self, name: str) -> tuple[Codes, pa.Array]:
        """The same as codes, in numbers as wide as the column has them."""
        return self._once(("narrow", name), lambda: _narrow(self.table[name]))

    def fingerprints(self, name: str) -> Ints:
        """The fingerprint of each cell."""
        return self._once(("fingerprints", name), lambda: self._fingerprints(name))

    def derived(self, what: tuple[object, ...], make: Callable[[Piece], ViewT]) -> ViewT:
        """What is made of the piece under this name: once, for all kernels that look at it."""
        return self._once(("derived", *what), lambda: make(self))

    def rows_of(self, ops: Ints) -> Ints:
        """The rows of these operations, which ascend; as they do in a piece of the history."""
        op = self.ints("op")
        if not len(op):
            return op
        here = ops[slice(*np.searchsorted(ops, [op[0], op[-1] + 1]))]
        first, end = np.searchsorted(op, here), np.searchsorted(op, here, side="right")
        return stretches(first, end - first)

    def where(self, rows: Mask | Ints, columns: Sequence[str] = ()) -> Piece:
        """A piece of these rows alone, of these columns or of all."""
        at = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        table = self.table.select(columns) if columns else self.table
        some = table.take(pa.array(at)) if len(at) else table.schema.empty_table()
        return Piece(some, self.number, self.salt)

    def _known(self, name: str) -> Mask:
        column = self.table[name]
        return _numpy(column.is_valid()) if column.null_count else np.ones(len(self), np.bool_)

    def _is(self, name: str, words: tuple[str, ...]) -> Mask:
        numbers, texts = self.narrow(name)
        numbered = self._once(("words", name), lambda: _numbered(texts))
        found = np.zeros(len(self), dtype=np.bool_)
        for number in (numbered[word] for word in words if word in numbered):
            found |= numbers == number
        return found

    def _fingerprints(self, name: str) -> Ints:
        column = self.table[name]
        if not pa.types.is_dictionary(column.type):
            return self._kept(
                f"{name} {self.salt}", lambda: fingerprints(column.combine_chunks(), self.salt)
            )
        numbers, texts = self.narrow(name)
        of_each = np.r_[fingerprints(texts, self.salt), NULL]
        made: Ints = of_each.take(numbers, mode="wrap")  # -1 is the last
        return made

    def _kept(self, what: str, make: Callable[[], Ints]) -> Ints:
        return self.keeper.kept(what, make) if self.keeper else make()

    def _once(self, what: Any, make: Callable[[], ViewT]) -> ViewT:
        if what not in self._seen:
            self._seen[what] = make()
        view: ViewT = self._seen[what]
        return view


def as_ints(column: pa.ChunkedArray, null: int = 0) -> Ints:
    """A column as int64, with `null` for what is null."""
    if column.null_count:
        column = column.cast(_INT64).fill_null(null)
    numbers: Ints = column.to_numpy().astype(np.int64, copy=False)
    return numbers


def _numbered(texts: pa.Array) -> dict[str, int]:
    return {text: number for number, text in enumerate(texts.to_pylist())}


def _narrow(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return np.zeros(0, dtype=np.int64), pa.array([], pa.string())
    whole = column.combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    numbers = whole.indices.fill_null(-1) if whole.null_count else whole.indices
    return numbers.to_numpy(), whole.dictionary.cast(pa.string())


def _numpy(flags: pa.ChunkedArray) -> Mask:
    """Bits as bytes."""
    whole = flags.combine_chunks()
    _, data = whole.buffers()
    if data is None:
        return np.zeros(0, dtype=np.bool_)
    bits = np.unpackbits(
        np.frombuffer(data, np.uint8), count=whole.offset + len(whole), bitorder="little"
    )
    return bits[whole.offset :].view(np.bool_)
