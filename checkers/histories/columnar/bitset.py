"""Sparse bitsets of integers: only the 64-bit words that have a member are stored.

Word n has the bits of the numbers from 64n to 64n+63. For example, the set of 3, 5 and 64 has two
words:

    members 3, 5, 64     word 0: 0b101000     word 1: 0b1

A bitset of a hundred million consecutive numbers needs 12.5 MB, so every Spark task can have a copy
of the bitset.

`KeyedWords` has one bitset for each key, such as a topic partition. The words of all bitsets are in
one column, sorted by their addresses:

    address = rank of the key * (count of word numbers + 1) + rank of the word number

The rank of a key is its position, from 0, among all keys in ascending order. The rank of a word
number is its position, from 0, among all word numbers that occur. The `+ 1` makes a free address
after the words of each key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.histories.columnar.arrow import as_ints, int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import Mask, distinct, run_lengths, run_starts, runs

Bits = npt.NDArray[np.uint64]
WORD_BITS: Final = 6  # 2**6 numbers a word
LAST_BIT: Final = 63
ONE: Final = np.uint64(1)
_ALL: Final = np.uint64(2**64 - 1)
_GAPS: Final = 4  # missing words are stored as empty words if total < _GAPS * present
_DENSE: Final = 1 << 22  # or if total is at most this number: 64 MB
WORDS: Final = int64_schema("word", "bits")
COUNTED: Final = int64_schema("word", "once", "twice")


def word_of(number: Ints) -> Ints:
    """Returns, for each number, the index of the 64-bit word that has the number's bit."""
    return number >> WORD_BITS


def bit_of(number: Ints) -> Bits:
    """Returns, for each number, a 64-bit word in which only the bit `number % 64` is set."""
    return ONE << (number & LAST_BIT).astype(np.uint64)


def bits_between(word: Ints, low: Ints, high: Ints) -> Bits:
    """Returns, for each 64-bit word with the index `word`, the bits of the numbers from `low` to
    `high - 1`.

    For example, word 1, low 64 and high 66 give `0b11`.
    """
    begin = word << WORD_BITS
    from_low = _ALL << np.clip(low - begin, 0, LAST_BIT).astype(np.uint64)
    left = np.clip(begin + 64 - high, 0, 64)
    shift = np.minimum(left, LAST_BIT).astype(np.uint64)
    to_high = np.where(left == 64, np.uint64(0), _ALL >> shift)
    return np.where(low - begin > LAST_BIT, np.uint64(0), from_low & to_high)


def union_of_runs(bits: Bits, starts: Ints) -> Bits:
    """Returns, for each range of rows, the bitwise OR of the words `bits` in the range.

    `starts` has the first row of each range. A range ends where the next range starts.
    """
    return np.bitwise_or.reduceat(bits, starts) if len(starts) else bits


def count(bits: Bits) -> int:
    return int(np.bitwise_count(bits).sum())


def members(word: Ints, bits: Bits) -> tuple[Ints, Ints]:
    """Returns two arrays with an entry for each number in a bitset: the row that stores the number,
    and the number.

    Example: row 0 has word 0 with `0b101000`, and row 1 has word 2 with `0b1`. The results are
    `[0, 0, 1]` and `[3, 5, 128]`.
    """
    flags = np.unpackbits(bits.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    row, bit = np.nonzero(flags)
    return row, (word[row] << WORD_BITS) + bit


def packed(numbers: Ints) -> pa.Table:
    """Returns the bitset of the numbers as a table of the 64-bit words that are not empty.

    Example: the numbers 3, 5, 64 and 3 give the words 0 and 1 with the bits `0b101000` and `0b1`.
    """
    numbers = np.sort(numbers)
    starts = run_starts(word_of(numbers))
    bits = union_of_runs(bit_of(numbers), starts)
    columns = {"word": word_of(numbers[starts]), "bits": bits.view(np.int64)}
    return pa.table(columns, schema=WORDS)


def counted(numbers: Ints) -> pa.Table:
    """Returns two bitsets in one table: a bitset of all numbers, and a bitset of the numbers that
    occur more than once.

    Example: the numbers 3, 5, 64 and 3 give word 0 with `once` `0b101000` and `twice` `0b1000`, and
    word 1 with `once` `0b1` and `twice` 0.
    """
    numbers = np.sort(numbers)
    starts = run_starts(numbers)
    several = numbers[starts[run_lengths(starts, len(numbers)) > 1]]
    once, of_several = packed(numbers), packed(several)
    twice = np.zeros(len(once), dtype=np.int64)
    words = as_ints(once["word"])
    twice[np.searchsorted(words, as_ints(of_several["word"]))] = as_ints(of_several["bits"])
    return table_from(COUNTED, words, as_ints(once["bits"]), twice)


def combined_counts(words: pa.Table) -> pa.Table:
    """Combines several results of `counted` into one, as if `counted` had been called with all
    numbers together.

    The table `words` has the rows of all these results. In the column `once`, a bit is set for each
    number that occurs. In `twice`, a bit is set for each number that occurs more than once. For
    example, two rows of word 0 with `once` `0b101000` and `0b1001` give `twice` `0b1000`.
    """
    order, starts = runs(as_ints(words["word"]))
    lengths = run_lengths(starts, len(order))
    ones, twos = (as_ints(words[name])[order] for name in ("once", "twice"))
    once, twice = np.zeros((2, len(starts)), dtype=np.int64)
    for done in range(int(lengths.max(initial=0))):
        some = np.flatnonzero(lengths > done)
        row = starts[some] + done
        twice[some] |= twos[row] | (once[some] & ones[row])
        once[some] |= ones[row]
    return table_from(COUNTED, as_ints(words["word"])[order[starts]], once, twice)


@dataclass(frozen=True, slots=True)
class Bitset:
    words: Ints  # ascending
    bits: Bits

    @classmethod
    def of(cls, words: pa.Table, bits_in: str = "bits") -> Self:
        """Returns the union of several bitsets. The table `words` has the rows of all these
        bitsets.

        `bits_in` is the name of the column with the bits.
        """
        number = as_ints(words["word"])
        present = distinct(number)
        if len(present) and present[-1] - present[0] < max(_GAPS * len(present), _DENSE):
            present = np.arange(present[0], present[-1] + 1)
        bits = np.zeros(len(present), dtype=np.uint64)
        row = np.searchsorted(present, number)
        np.bitwise_or.at(bits, row, as_ints(words[bits_in]).view(np.uint64))
        return cls(present, bits)

    def __len__(self) -> int:
        return count(self.bits)

    def has(self, numbers: Ints) -> Mask:
        if not len(self.words):
            return np.zeros(len(numbers), dtype=np.bool_)
        word = word_of(numbers)
        at = word - self.words[0]
        if len(self.words) > self.words[-1] - self.words[0]:  # no word is missing
            found = (at >= 0) & (at < len(self.words))
        else:
            at, found = find_near(self.words, word, at)
        bit = self.bits.take(at, mode="clip") >> (numbers & LAST_BIT).view(np.uint64)
        is_member: Mask = found & (bit & ONE).view(np.int64).astype(np.bool_)
        return is_member


# ---------------------------------------------------------------- words of several keys


@dataclass(frozen=True, slots=True)
class KeyedWords:
    """An index of the 64-bit words of many bitsets. There is one bitset for each key, such as a
    topic partition.
    """

    keys: Ints  # ascending
    ranks: Ints | None  # the rank of each key in addresses; None: keys have the same order
    words: Ints  # the words that any key has, ascending
    addresses: Ints  # of the words of all keys, ascending

    def find(self, key: Ints, word: Ints) -> tuple[Ints, Mask]:
        """Returns two arrays with an entry for each requested word: the row of the word, and True
        if the word exists.

        For example, `key` [7] and `word` [2] request the bits of the numbers from 128 to 191 in the
        bitset of key 7.
        """
        if not len(self.addresses):
            return np.zeros_like(key), np.zeros(len(key), dtype=np.bool_)
        heads = run_starts(key, word)  # adjacent offsets are mostly in one word
        at, found = self._find_runs(key.take(heads), word.take(heads))
        lengths = run_lengths(heads, len(key))
        return np.repeat(at, lengths), np.repeat(found, lengths)

    def _find_runs(self, key: Ints, word: Ints) -> tuple[Ints, Mask]:
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
        """Returns the row of each requested word. For a missing word, returns the row at which the
        word would be inserted.

        `starts` has, for each key, the index of its first requested word in `word`. Example: `key`
        [7, 9], `starts` [0, 2] and `word` [0, 1, 4] request the words 0 and 1 of key 7, and the
        word 4 of key 9. If a key has no bitset, the result is the row after all rows.
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
    """Returns two arrays: the position of each number in the array `ascending`, and True if the
    number is in this array.

    For a missing number, the position is where the number would be inserted. `guess` has a likely
    position for each number, which makes the search faster.
    """
    at = guess.clip(0, len(ascending) - 1)
    found = ascending.take(at) == numbers
    # A number that is not at its likely position is searched.
    other = np.flatnonzero(~found)
    at[other], found[other] = _find(ascending, numbers[other])
    return at, found


def _find(ascending: Ints, numbers: Ints) -> tuple[Ints, Mask]:
    at = np.searchsorted(ascending, numbers)
    found = ascending.take(at, mode="clip") == numbers if len(ascending) else at < 0
    return at, found
