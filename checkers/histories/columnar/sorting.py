"""Rows that agree, brought together: the sorting under every grouping.

Columns are packed into one number, a code of the first and the second. Sorted by its digits of 16
bits, the last one first, that takes a fraction of a sort by comparisons; and it is stable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints

Mask = npt.NDArray[np.bool_]
_Bytes = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.signedinteger[Any]]  # from 0, in any width
PACKED_BITS: Final = 63
_DIGIT_BITS: Final = 16  # NumPy sorts numbers as narrow as these without comparing them
_DIGITS: Final = 3  # with more of them comparing is faster
_LOW_BITS: Final = 32  # in which numbers mostly differ that do
_ROWS_OF_GROUP: Final = 8  # on average, where it pays to look whether groups lie together
_FEW: Final = 256  # numbers that are searched for faster than a sieve is made
_SEARCHED_BITS: Final = 5  # so are these bits' worth fewer than those they are sought among
_SPARSE_BITS: Final = 6  # so many bits' worth of bytes has a sieve for each number
_SIEVE_BITS: Final = 21  # of bytes at most
_SEVEN: Final = np.uint8(7)
_ONE: Final = np.uint8(1)


def bits_needed(count: int) -> int:
    """How many bits numbers below the count need."""
    return max(0, int(count) - 1).bit_length()


def stable_order(numbers: Codes, below: int) -> Ints:
    """The order of numbers from 0 to below a bound; equal ones keep theirs."""
    if bits_needed(below) > _DIGITS * _DIGIT_BITS:
        return np.argsort(numbers, kind="stable")
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    for lower in range(_DIGIT_BITS, bits_needed(below), _DIGIT_BITS):
        digit = (numbers >> lower).astype(np.uint16).take(order)
        order = order.take(np.argsort(digit, kind="stable"))
    return order


def codes(numbers: Ints) -> tuple[Ints, int]:
    """A number for each cell, from 0: equal cells have equal ones; and how many there are."""
    starts = run_starts(numbers)  # of equal neighbours one is looked up
    encoded = pa.array(numbers[starts]).dictionary_encode()
    code = encoded.indices.to_numpy().astype(np.int64)
    return np.repeat(code, run_lengths(starts, len(numbers))), len(encoded.dictionary)


def first_occurrences(codes: Ints) -> Ints:
    """Where each of these codes comes first: they are numbered from 0 as they come."""
    return np.flatnonzero(np.diff(np.maximum.accumulate(codes), prepend=-1))


def distinct(numbers: Ints) -> Ints:
    """Each number once, ascending."""
    heads = numbers[run_starts(numbers)]
    if np.all(heads[1:] > heads[:-1]):
        return heads
    return np.sort(pa.array(heads).unique().to_numpy())


def grouping_order(first: Ints, *rest: Ints) -> Ints:
    """An order in which rows that agree in the first column lie together, ascending in the rest.

    Rows that agree in all columns keep their order.
    """
    if _in_order(first, *rest):
        return np.arange(len(first))
    if rest and bits_needed(width := _width(rest[0])) + bits_needed(len(first)) <= PACKED_BITS:
        code, count = codes(first)
        packed = code * width + (rest[0] - rest[0].min())
        return _settled(stable_order(packed, count * width), packed, *rest[1:])
    low = first & ((1 << _LOW_BITS) - 1)
    return _settled(stable_order(low, 1 << _LOW_BITS), low, first, *rest)


def _width(column: Ints) -> int:
    return int(column.max()) - int(column.min()) + 1


def _in_order(first: Ints, *rest: Ints) -> bool:
    """Whether the rows already lie so; of many groups this is not asked."""
    changes = first[1:] != first[:-1]
    same = ~changes
    for column in rest:
        if np.any(same & (column[1:] < column[:-1])):
            return False
        same &= column[1:] == column[:-1]
    heads = np.r_[first[:1], first[1:][changes]]
    few = len(heads) <= 1 + len(first) // _ROWS_OF_GROUP
    return few and len(np.unique(heads)) == len(heads)


def _settled(order: Ints, first: Ints, *rest: Ints) -> Ints:
    """The order by all columns, from one by the first: where that agrees the others decide."""
    ordered = first.take(order)
    tied = ordered[1:] == ordered[:-1]
    ties = np.flatnonzero(tied)
    here, behind = order.take(ties), order.take(ties + 1)
    wrong, same = np.zeros(len(ties), np.bool_), np.ones(len(ties), np.bool_)
    for column in rest if len(ties) else ():
        before, after = column.take(here), column.take(behind)
        wrong |= same & (after < before)
        same &= after == before
    if not wrong.any():
        return order
    run = np.cumsum(np.r_[0, ~tied])
    odd = np.zeros(run[-1] + 1, dtype=np.bool_)
    odd[run[ties[wrong]]] = True
    at = np.flatnonzero(odd[run])
    rows = order[at]
    order[at] = rows[np.lexsort([*(column[rows] for column in rest[::-1]), run[at]])]
    return order


def run_starts(*columns: Ints) -> Ints:
    """Where a run of rows that agree in the columns begins."""
    if not len(columns[0]):
        return np.zeros(0, dtype=np.int64)
    changes = np.zeros(len(columns[0]), dtype=np.bool_)
    changes[0] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changes)


def run_lengths(starts: Ints, total: int) -> Ints:
    """How long the runs are that begin there."""
    return np.diff(starts, append=total)


def concatenated_ranges(first: Ints, counts: Ints) -> Ints:
    """The numbers of these stretches one after the other: of each so many, from its first on."""
    numbers = np.repeat(first - (np.cumsum(counts) - counts), counts)
    numbers += np.arange(len(numbers))
    return numbers


def member(numbers: Ints, ascending: Ints) -> Mask:
    """Which numbers are among the ascending ones; of these a set that is asked often is kept."""
    return NumberSet(ascending).has(numbers)


@dataclass(frozen=True, slots=True)
class NumberSet:
    """Numbers that others are sought among: mostly their low bits decide.

    Of the bytes of a sieve few are taken; where one is, its bits decide. It is made when it first
    pays, for all that is asked from then on, and stays where it was made.
    """

    ascending: Ints
    _sieve: list[_Bytes] = field(default_factory=list["_Bytes"], repr=False, compare=False)

    @classmethod
    def of(cls, numbers: Ints) -> Self:
        """Of these, in any order; one may be named several times."""
        ascending = np.sort(numbers)
        return cls(ascending[run_starts(ascending)])

    def __len__(self) -> int:
        return len(self.ascending)

    def __reduce__(self) -> tuple[type[NumberSet], tuple[Ints]]:
        return NumberSet, (self.ascending,)

    def has(self, numbers: Ints) -> Mask:
        """Which of these are in it."""
        if not len(self):
            return np.zeros(len(numbers), dtype=np.bool_)
        if len(numbers) <= max(_FEW, len(self) >> _SEARCHED_BITS):
            return self._found(numbers)
        some = self._sifted(numbers)
        found = np.zeros(len(numbers), dtype=np.bool_)
        found[some] = self._found(numbers.take(some))
        return found

    def _found(self, numbers: Ints) -> Mask:
        at = np.searchsorted(self.ascending, numbers)
        found: Mask = self.ascending.take(at, mode="clip") == numbers
        return found

    def _sifted(self, numbers: Ints) -> Ints:
        """Where the numbers are that the sieve does not tell from its own."""
        if not self._sieve:
            self._sieve.append(self._made())
        sieve = self._sieve[0]
        byte = sieve.take(numbers & (len(sieve) - 1))
        some = np.flatnonzero(byte != 0)
        return some.compress(byte.take(some) & _bit(numbers.take(some), len(sieve)))

    def _made(self) -> _Bytes:
        size = 1 << min(_SIEVE_BITS, bits_needed(len(self)) + _SPARSE_BITS)
        sieve = np.zeros(size, dtype=np.uint8)
        np.bitwise_or.at(sieve, self.ascending & (size - 1), _bit(self.ascending, size))
        return sieve


def _bit(numbers: Ints, size: int) -> _Bytes:
    """Which bit of its byte each number has: three bits tell that do not tell the byte."""
    return _ONE << ((numbers >> bits_needed(size)).astype(np.uint8) & _SEVEN)
