"""Sparse bitsets of integers: only the 64-bit words that have a member are stored.

Word n stands for the numbers from 64n to 64n+63.

    members     3, 5, 64           words  0: 0b101000, 1: 0b1

A set is small enough for every task to have all of it: a hundred million consecutive numbers take
12.5 MB. Each task packs the numbers in its batch into words (`packed`). `Bitset.of` is the union of
the words of all batches.

`KeyedWords` finds the words of several sets in one column. There is one set for each key. Each word
of a key has an address, and the column is in the order of the addresses:

    address = rank of the key * (number of distinct words + 1) + rank of the word

The rank of a key is its position among all keys. The rank of a word is its position among the
distinct word numbers of all keys. The `+ 1` leaves one free address after the last word of a key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.histories.columnar.arrow import as_ints
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import Mask, distinct, run_lengths, run_starts

Bits = npt.NDArray[np.uint64]
WORD_BITS: Final = 6  # 2**6 numbers a word
LAST_BIT: Final = 63
ONE: Final = np.uint64(1)
_ALL: Final = np.uint64(2**64 - 1)
_GAPS: Final = 4  # fewer missing words than this for each present one are stored as empty words
WORDS: Final = pa.schema([("word", pa.int64()), ("bits", pa.int64())])


def word_of(number: Ints) -> Ints:
    """Returns, for each number, the index of the 64-bit word that has its bit."""
    return number >> WORD_BITS


def bit_of(number: Ints) -> Bits:
    """Returns, for each number, a 64-bit word in which only its bit is set."""
    return ONE << (number & LAST_BIT).astype(np.uint64)


def bits_between(word: Ints, low: Ints, high: Ints) -> Bits:
    """Returns the words of a bitset that has the numbers from `low` to `high - 1`.

    `word` has the indices of these words; each word has 64 bits.
    """
    begin = word << WORD_BITS
    from_low = _ALL << np.clip(low - begin, 0, LAST_BIT).astype(np.uint64)
    left = np.clip(begin + 64 - high, 0, 64)
    shift = np.minimum(left, LAST_BIT).astype(np.uint64)
    to_high = np.where(left == 64, np.uint64(0), _ALL >> shift)
    return np.where(low - begin > LAST_BIT, np.uint64(0), from_low & to_high)


def union_of_runs(bits: Bits, starts: Ints) -> Bits:
    """Returns the bitwise or of `bits` over each range of rows.

    `starts` has the first row of each range; the first of them must be 0.
    """
    return np.bitwise_or.reduceat(bits, starts) if len(starts) else bits


def count(bits: Bits) -> int:
    """Returns the number of members of a bitset: the bits that are set in all its words."""
    return int(np.bitwise_count(bits).sum())


def members(word: Ints, bits: Bits) -> tuple[Ints, Ints]:
    """Returns two arrays with one entry for each member: the row of its word, and the member."""
    flags = np.unpackbits(bits.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    row, bit = np.nonzero(flags)
    return row, (word[row] << WORD_BITS) + bit


def packed(numbers: Ints) -> pa.Table:
    """Returns the bitset of the numbers, which may repeat: a row for each 64-bit word with a
    member.
    """
    numbers = np.sort(numbers, kind="stable")  # mostly long runs are sorted already
    starts = run_starts(word_of(numbers))
    bits = union_of_runs(bit_of(numbers), starts)
    columns = {"word": word_of(numbers[starts]), "bits": bits.view(np.int64)}
    return pa.table(columns, schema=WORDS)


@dataclass(frozen=True, slots=True)
class Bitset:
    """A set of numbers, stored as 64-bit words."""

    words: Ints  # ascending
    bits: Bits

    @classmethod
    def of(cls, words: pa.Table) -> Self:
        """Returns the union of several bitsets; `words` has the rows that `packed` returned."""
        number = as_ints(words["word"])
        present = distinct(number)
        if len(present) and present[-1] - present[0] < _GAPS * len(present):
            present = np.arange(present[0], present[-1] + 1)
        bits = np.zeros(len(present), dtype=np.uint64)
        row = np.searchsorted(present, number)
        np.bitwise_or.at(bits, row, as_ints(words["bits"]).view(np.uint64))
        return cls(present, bits)

    def __len__(self) -> int:
        return count(self.bits)

    def has(self, numbers: Ints) -> Mask:
        if not len(self.words):
            return np.zeros(len(numbers), dtype=np.bool_)
        word = word_of(numbers)
        at, found = find_near(self.words, word, word - self.words[0])
        bit = self.bits.take(at, mode="clip") >> (numbers & LAST_BIT).view(np.uint64)
        is_member: Mask = found & (bit & ONE).view(np.int64).astype(np.bool_)
        return is_member


# ---------------------------------------------------------------- words of several keys


@dataclass(frozen=True, slots=True)
class KeyedWords:
    """An index that finds the row of a 64-bit word of a key, for several bitsets in one column."""

    keys: Ints  # ascending
    ranks: Ints | None  # of each key in the order of addresses; None: keys are in that order
    words: Ints  # the words that any key has, ascending
    addresses: Ints  # of the words of all keys, ascending

    def find(self, key: Ints, word: Ints) -> tuple[Ints, Mask]:
        """Returns the row of each word of a key, and a mask of the words that the index has.

        If the index does not have a word, its row has no meaning.
        """
        if not len(self.addresses):
            return np.zeros_like(key), np.zeros(len(key), dtype=np.bool_)
        rank, occurs = find_near(self.words, word, word - self.words[0])
        starts = run_starts(key)
        of_key, exists = self._ranks_of(key[starts])
        begin = of_key * (len(self.words) + 1)
        first = np.searchsorted(self.addresses, begin)  # the first word of each key
        ahead = first - self.addresses.take(first, mode="clip")
        of_run = np.array([begin, ahead, exists])
        begin, ahead, exists = np.repeat(of_run, run_lengths(starts, len(key)), axis=1)
        address = begin + exists * rank
        at, found = find_near(self.addresses, address, address + ahead)
        return at, found & occurs & (exists > 0)

    def insertion_point(self, key: Ints, starts: Ints, word: Ints) -> Ints:
        """Returns the row of each word; for a missing word, the row where it would be inserted.

        `word` has the words of several keys, one key after the other, as in `key`. `starts` has the
        position of the first word of each key. If the index does not have a key, the result is the
        number of rows.
        """
        of_key, exists = self._ranks_of(key)
        of_key = np.where(exists, of_key, len(self.keys))  # after all keys
        begin = np.repeat(of_key, run_lengths(starts, len(word))) * (len(self.words) + 1)
        return np.searchsorted(self.addresses, begin + np.searchsorted(self.words, word))

    def _ranks_of(self, key: Ints) -> tuple[Ints, Mask]:
        at, exists = _find(self.keys, key)
        if self.ranks is None or not len(self.ranks):
            return at, exists
        return self.ranks.take(at, mode="clip"), exists


def find_near(ascending: Ints, numbers: Ints, guess: Ints) -> tuple[Ints, Mask]:
    """Returns the position of each number in `ascending`, and a mask of those found there.

    A missing number has its insertion point.
    """
    at = guess.clip(0, len(ascending) - 1)
    found = ascending.take(at) == numbers
    # `guess` has a likely position for each number. Only the others are searched.
    other = np.flatnonzero(~found)
    at[other], found[other] = _find(ascending, numbers[other])
    return at, found


def _find(ascending: Ints, numbers: Ints) -> tuple[Ints, Mask]:
    at = np.searchsorted(ascending, numbers)
    found = ascending.take(at, mode="clip") == numbers if len(ascending) else at < 0
    return at, found
