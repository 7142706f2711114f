"""Sorts and groups rows by integer columns, and searches in sorted columns.

NumPy sorts numbers with vector instructions. Such a sort is several times faster than a sort of row
numbers by a column. So this module combines the value and the number of each row to a single number
and sorts these numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints

Mask = npt.NDArray[np.bool_]
_Bytes = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.signedinteger[Any]]  # from 0, of any integer width
PACKED_BITS: Final = 63
_WORDS: Final = (np.uint32, np.uint64)  # a value and a row number are sorted as one of these
_LOW_BITS: Final = 32  # different numbers mostly differ in these bits
_ROWS_PER_GROUP: Final = 8  # with fewer on average, no test whether rows are grouped already
_FEW: Final = 256  # up to this many numbers are searched without a filter
_SEARCHED_BITS: Final = 5  # so are numbers if there are 2**5 times more members
_SPARSE_BITS: Final = 6  # a filter has 2**6 bytes for each member
_FILTER_BITS: Final = 21  # a filter has at most 2**21 bytes, which a processor's cache holds
_DENSE_BITS: Final = 1  # but at least 2 for each member
_COUNTER: Final = np.int32  # counts rows of a batch; faster than int64
_SEVEN: Final = np.uint8(7)
_ONE: Final = np.uint8(1)


def bits_needed(count: int) -> int:
    """Returns the number of bits that represent every number from 0 to `count - 1`."""
    return max(0, int(count) - 1).bit_length()


def stable_order(numbers: Codes, below: int) -> Ints:
    """Returns the row numbers, sorted by value. Rows with equal values are in their original order.

    The values are from 0 to `below - 1`.
    """
    if (found := _sorted_with_rows(numbers, below)) is None:
        return np.argsort(numbers, kind="stable")
    words, row_bits = found
    words &= (1 << row_bits) - 1
    return _as_ints(words)


def stably_sorted(numbers: Codes, below: int) -> tuple[Ints, Ints]:
    """Returns two arrays: the `stable_order` of the values, and the values in this order."""
    if (found := _sorted_with_rows(numbers, below)) is None:
        order = np.argsort(numbers, kind="stable")
        return order, numbers.take(order).astype(np.int64, copy=False)
    words, row_bits = found
    order = _as_ints(words & ((1 << row_bits) - 1))
    words >>= row_bits
    return order, _as_ints(words)


def _sorted_with_rows(numbers: Codes, below: int) -> tuple[Any, int] | None:
    """Returns a sorted array of words, and the number of bits in the lower part of a word.

    The upper part of a word is a value, and the lower part is the number of the value's row.
    Returns None if 64 bits are too few for both.
    """
    row_bits = bits_needed(len(numbers))
    bits = bits_needed(below) + row_bits
    word: Any = next((it for it in _WORDS if bits <= np.iinfo(it).bits), None)
    if word is None:
        return None
    words = numbers.astype(word)
    words <<= word(row_bits)
    words |= np.arange(len(numbers), dtype=word)
    words.sort()
    return words, row_bits


def _as_ints(words: Any) -> Ints:
    ints: Ints = words.view(np.int64) if words.dtype == np.uint64 else words.astype(np.int64)
    return ints


def codes(numbers: Ints) -> tuple[Ints, int]:
    """Returns a code for each row of `numbers`, and how many codes there are. Equal numbers have
    equal codes.

    The codes are 0, 1, 2 and so on, in the order in which the numbers first occur.
    """
    starts = run_starts(numbers)  # a run of equal numbers is looked up once
    encoded = pa.array(numbers[starts]).dictionary_encode()
    code = encoded.indices.to_numpy().astype(np.int64)
    return np.repeat(code, run_lengths(starts, len(numbers))), len(encoded.dictionary)


def first_occurrences(codes: Ints) -> Ints:
    highest = np.maximum.accumulate(codes)
    is_new = np.ones(len(codes), dtype=np.bool_)
    np.greater(highest[1:], highest[:-1], out=is_new[1:])
    return np.flatnonzero(is_new)


def distinct(numbers: Ints) -> Ints:
    """Returns each different number once, in ascending order."""
    heads = numbers[run_starts(numbers)]
    if np.all(heads[1:] > heads[:-1]):
        return heads
    return np.sort(pa.array(heads).unique().to_numpy())


def grouping_order(first: Ints, *rest: Ints) -> Ints:
    """Returns the row numbers in an order in which all rows with the same value in the column
    `first` are adjacent.

    Rows with the same value in `first` are sorted by the other columns. Rows that are equal in all
    columns are in their original order.
    """
    if _in_order(first, *rest):
        return np.arange(len(first))
    if rest and bits_needed(width := _width(rest[0])) + bits_needed(len(first)) <= PACKED_BITS:
        code, count = codes(first)
        packed = code * width + (rest[0] - rest[0].min())
        return _ordered_within_groups(*stably_sorted(packed, count * width), *rest[1:])
    low = first & ((1 << _LOW_BITS) - 1)
    return _ordered_within_groups(*stably_sorted(low, 1 << _LOW_BITS), first, *rest)


def _width(column: Ints) -> int:
    return int(column.max()) - int(column.min()) + 1


def _in_order(first: Ints, *rest: Ints) -> bool:
    """Returns True only if the rows are already grouped by `first` and sorted by the other columns.

    The result may be False for such rows, too, if the groups are small.
    """
    changes = first[1:] != first[:-1]
    same = ~changes
    for column in rest:
        if np.any(same & (column[1:] < column[:-1])):
            return False
        same &= column[1:] == column[:-1]
    heads = np.r_[first[:1], first[1:][changes]]
    few = len(heads) <= 1 + len(first) // _ROWS_PER_GROUP
    return few and len(np.unique(heads)) == len(heads)


def _ordered_within_groups(order: Ints, ordered: Ints, *rest: Ints) -> Ints:
    tied = ordered[1:] == ordered[:-1]
    ties = np.flatnonzero(tied)
    here, following = order.take(ties), order.take(ties + 1)
    wrong, same = np.zeros(len(ties), np.bool_), np.ones(len(ties), np.bool_)
    for column in rest if len(ties) else ():
        before, after = column.take(here), column.take(following)
        wrong |= same & (after < before)
        same &= after == before
    if not wrong.any():
        return order
    starts = np.r_[0, np.flatnonzero(~tied) + 1]
    odd = distinct(np.searchsorted(starts, ties[wrong], side="right") - 1)
    lengths = run_lengths(starts, len(order))[odd]
    at = concatenated_ranges(starts[odd], lengths)
    rows = order[at]
    run = np.repeat(odd, lengths)
    order[at] = rows[np.lexsort([*(column[rows] for column in rest[::-1]), run])]
    return order


def run_starts(*columns: Ints) -> Ints:
    """Returns the first row of each run. A run is a range of consecutive rows that are equal in
    all columns.
    """
    if not len(columns[0]):
        return np.zeros(0, dtype=np.int64)
    changes = np.zeros(len(columns[0]), dtype=np.bool_)
    changes[0] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changes)


def run_lengths(starts: Ints, total: int) -> Ints:
    lengths = np.empty_like(starts)
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    lengths[-1:] = total - starts[-1:]
    return lengths


def runs(*columns: Ints) -> tuple[Ints, Ints]:
    """Returns the `grouping_order` of the rows, and the positions in this order at which a run
    of equal rows starts.
    """
    order = grouping_order(*columns)
    return order, run_starts(*(column[order] for column in columns))


def any_in_run(flags: Mask, starts: Ints) -> Mask:
    """Returns one truth value for each range of rows: True if `flags` has True in some row of the
    range.

    `starts` has the first row of each range.
    """
    if not len(starts):
        return flags[:0]
    so_far = np.cumsum(flags, dtype=_COUNTER)[np.r_[starts[1:] - 1, -1]]
    flagged: Mask = np.diff(so_far, prepend=_COUNTER(0)) > 0
    return flagged


def first_in_run(flags: Mask, starts: Ints) -> Ints:
    """Returns, for each range of rows, the first row with True in `flags`. Every range must have
    such a row.

    `starts` has the first row of each range.
    """
    before = np.cumsum(flags, dtype=_COUNTER).take(starts) - flags.take(starts)
    return np.flatnonzero(flags).take(before)


def per_key(key: Ints, of: Callable[[Ints], Ints]) -> Ints:
    """Returns, for each row, the number of the row's key.

    The function `of` maps an array of keys to their numbers. It is called with one key for each run
    of equal keys.
    """
    starts = run_starts(key)
    return np.repeat(of(key[starts]), run_lengths(starts, len(key)))


def concatenated_ranges(first: Ints, counts: Ints) -> Ints:
    """Returns the integers of several ranges in one array. Range i has `counts[i]` integers,
    from `first[i]` on.
    """
    numbers = np.repeat(first - (np.cumsum(counts) - counts), counts)
    numbers += np.arange(len(numbers))
    return numbers


def member(numbers: Ints, ascending: Ints) -> Mask:
    """Returns a mask: True for each number that is in the sorted column `ascending`."""
    return NumberSet(ascending).has(numbers)


@dataclass(frozen=True, slots=True)
class NumberSet:
    ascending: Ints
    # A Bloom filter that rejects most other numbers. It is created at the first large lookup, and
    # is not pickled.
    _filter: list[_Bytes] = field(default_factory=list["_Bytes"], repr=False, compare=False)

    @classmethod
    def of(cls, numbers: Ints) -> Self:
        ascending = np.sort(numbers)
        return cls(ascending[run_starts(ascending)])

    def __len__(self) -> int:
        return len(self.ascending)

    def __reduce__(self) -> tuple[type[NumberSet], tuple[Ints]]:
        return NumberSet, (self.ascending,)

    def has(self, numbers: Ints) -> Mask:
        if not len(self):
            return np.zeros(len(numbers), dtype=np.bool_)
        if len(numbers) <= max(_FEW, len(self) >> _SEARCHED_BITS):
            return self._search(numbers)
        some = self._candidates(numbers)
        found = np.zeros(len(numbers), dtype=np.bool_)
        found[some] = self._search(numbers.take(some))
        return found

    def _search(self, numbers: Ints) -> Mask:
        order = np.argsort(numbers)  # a search in ascending order stays in the processor's cache
        ordered = numbers.take(order)
        at = np.searchsorted(self.ascending, ordered)
        found = np.zeros(len(numbers), dtype=np.bool_)
        found[order] = self.ascending.take(at, mode="clip") == ordered
        return found

    def _candidates(self, numbers: Ints) -> Ints:
        if not self._filter:
            self._filter.append(self._new_filter())
        filter_ = self._filter[0]
        byte = filter_.take(numbers & (len(filter_) - 1))
        some = np.flatnonzero(byte != 0)
        return some.compress(byte.take(some) & _bit(numbers.take(some), len(filter_)))

    def _new_filter(self) -> _Bytes:
        bits = bits_needed(len(self))
        size = 1 << min(bits + _SPARSE_BITS, max(_FILTER_BITS, bits + _DENSE_BITS))
        filter_ = np.zeros(size, dtype=np.uint8)
        np.bitwise_or.at(filter_, self.ascending & (size - 1), _bit(self.ascending, size))
        return filter_


def _bit(numbers: Ints, size: int) -> _Bytes:
    return _ONE << ((numbers >> bits_needed(size)).astype(np.uint8) & _SEVEN)
