"""Which offsets of a key an owner has, in a bit each, and which it has several times.

An owner is a number: a consumer, a group. A word is 64 offsets of a key; pieces of the history tell
the words that they show, and `Bitmaps` joins them. A bit that a piece shows twice, or that two
pieces show, is `again`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import (
    PACKED_BITS,
    Mask,
    bits,
    codes,
    concatenated_ranges,
    distinct,
    first_occurrences,
    run_lengths,
    run_starts,
    stable_order,
)
from checkers.histories.facts.record_locations import hash_of_pair
from checkers.histories.plan.batch import Batch

Bits = npt.NDArray[np.uint64]
_WORD_BITS: Final = 6
_LAST: Final = 63
_ONE: Final = np.uint64(1)
_ALL: Final = np.uint64(2**64 - 1)
_CODE_BITS: Final = 32  # in which owners and keys are packed as they are
WORDS: Final = pa.schema(
    [(name, pa.int64()) for name in ("owner", "key", "word", "bits", "again", "batch")]
)


def word_of(offset: Ints) -> Ints:
    """The word that each offset lies in."""
    return offset >> _WORD_BITS


def words(owner: Ints, key: Ints, offset: Ints, batch: int) -> pa.Table:
    """The words of these offsets, one of which may be named several times."""
    word, bit = word_of(offset), _ONE << (offset & _LAST).astype(np.uint64)
    starts = run_starts(owner, key, word)  # offsets mostly follow each other
    if not len(starts):
        return WORDS.empty_table()
    bits, again = np.bitwise_or.reduceat(bit, starts), np.zeros(len(starts), dtype=np.uint64)
    ends = np.r_[starts[1:], len(word)]
    for run in np.flatnonzero(np.bitwise_count(bits) != ends - starts).tolist():
        again[run] = _several(bit[starts[run] : ends[run]])
    numbers = np.full(len(starts), batch)
    joined = _joined(owner[starts], key[starts], word[starts], bits, again, numbers)
    columns = (joined.owner, joined.key, joined.word, joined.bits.view(np.int64))
    named = (*columns, joined.again.view(np.int64), np.full(len(joined), batch))
    return pa.table(dict(zip(WORDS.names, named, strict=True)), schema=WORDS)


def _several(bits: Bits) -> np.uint64:
    """The bits that are there more than once."""
    once = again = np.uint64(0)
    for bit in bits:
        again |= once & bit
        once |= bit
    return again


@dataclass(frozen=True, slots=True)
class OwnerOffsets:
    """Words by owner and key, and ascending in each."""

    owner: Ints
    key: Ints
    word: Ints
    bits: Bits
    again: Bits
    repeated_in: Ints  # the first piece that shows a bit again; -1: none does
    _index: list[_Index] = field(default_factory=list["_Index"], repr=False, compare=False)

    @classmethod
    def of(cls, told: pa.Table) -> OwnerOffsets:
        """What pieces told, in the order of the pieces."""
        batch = Batch(told)
        bits, again = (batch.ints(name).view(np.uint64) for name in ("bits", "again"))
        owner, key, word = (batch.ints(name) for name in ("owner", "key", "word"))
        return _joined(owner, key, word, bits, again, batch.ints("batch"))

    def __len__(self) -> int:
        return len(self.word)

    def where(self, rows: Mask | Ints) -> OwnerOffsets:
        """These words alone."""
        return OwnerOffsets(
            self.owner[rows],
            self.key[rows],
            self.word[rows],
            self.bits[rows],
            self.again[rows],
            self.repeated_in[rows],
        )

    def at(self, owner: Ints, key: Ints, word: Ints) -> Ints:
        """The row of each word; -1 if there is none."""
        at = self._place(owner, key, word)
        rows = np.flatnonzero(at < len(self))
        there = at.take(rows)
        same = self.word.take(there) == word.take(rows)
        same &= self.key.take(there) == key.take(rows)
        same &= self.owner.take(there) == owner.take(rows)
        found = np.full(len(at), -1, dtype=np.int64)
        found[rows[same]] = there[same]
        return found

    def has(self, owner: Ints, key: Ints, offset: Ints) -> Mask:
        """Which of these offsets each owner has."""
        row = self.at(owner, key, word_of(offset))
        held: Mask = row >= 0
        bit = _ONE << (offset[held] & _LAST).astype(np.uint64)
        held[held] = (self.bits[row[held]] & bit) != 0
        return held

    def _place(self, owner: Ints, key: Ints, word: Ints) -> Ints:
        if not self._index:
            self._index.append(_Index.of(self))
        return self._index[0].place(owner, key, word)

    def spread(self, first: Ints, last: Ints) -> tuple[Ints, Ints]:
        """For stretches of rows: which stretch each row is of, and the row."""
        counts = np.maximum(last - first, 0)
        stretch = np.repeat(np.arange(len(first)), counts)
        return stretch, concatenated_ranges(first, counts)

    def within(self, owner: Ints, key: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints, Bits]:
        """What owners have in keys from an offset up to but without another.

        For each word that is part of a stretch: the stretch, the row, its bits in the stretch.
        """
        first = self._place(owner, key, low >> _WORD_BITS)
        last = self._place(owner, key, (high + _LAST) >> _WORD_BITS)
        stretch, row = self.spread(first, last)
        word = self.word[row]
        return stretch, row, self.bits[row] & _mask(word, low[stretch], high[stretch])


def _joined(
    owner: Ints, key: Ints, word: Ints, bits: Bits, again: Bits, batch: Ints
) -> OwnerOffsets:
    """Rows of one word as one; those of an earlier piece come first."""
    order, starts = _order(owner, key, word)
    if not len(order):
        return OwnerOffsets(owner, key, word, bits, again, batch)
    ordered = bits.take(order)
    once, more = (np.bitwise_or.reduceat(it, starts) for it in (ordered, again.take(order)))
    told = np.add.reduceat(np.bitwise_count(ordered), starts, dtype=np.int64)
    first = np.full(len(starts), -1, dtype=np.int64)
    several = np.flatnonzero((more != 0) | (told > np.bitwise_count(once)))
    counts, seen = run_lengths(starts, len(order))[several], np.zeros(len(several), dtype=np.uint64)
    for nth in range(int(counts.max(initial=0))):
        some = np.flatnonzero(counts > nth)
        at = several[some]
        row = order[starts[at] + nth]
        twice = again[row] | (seen[some] & bits[row])
        fresh = (first[at] < 0) & (twice != 0)
        first[at[fresh]] = batch[row[fresh]]
        more[at] |= twice
        seen[some] |= bits[row]
    head = order[starts]
    return OwnerOffsets(owner[head], key[head], word[head], once, more, first)


def _order(owner: Ints, key: Ints, word: Ints) -> tuple[Ints, Ints]:
    """By owner, key and word, and where each begins; rows of one word keep their order."""
    if not len(word):
        return word, word
    pair, count = _pairs(owner, key)
    low, width = _range(word)
    if bits(count) + bits(width) > PACKED_BITS:
        order = np.lexsort([word, pair])
        return order, run_starts(pair[order], word[order])
    packed = pair * width + (word - low)
    order = stable_order(packed, count * width)
    return order, run_starts(packed.take(order))


def _pairs(owner: Ints, key: Ints) -> tuple[Ints, int]:
    """A number for each owner and key, in their order, and below what all of them are."""
    (low, owners), (lowest, keys) = _range(owner), _range(key)
    if bits(owners) + bits(keys) <= _CODE_BITS:
        return (owner - low) * keys + (key - lowest), owners * keys
    pair, count = codes(hash_of_pair(owner, key))
    heads = first_occurrences(pair)
    rank = np.empty(count, dtype=np.int64)
    rank[np.lexsort([key[heads], owner[heads]])] = np.arange(count)
    return rank.take(pair), count


def _range(numbers: Ints) -> tuple[int, int]:
    """The lowest, and from it on up to how many there may be."""
    low = int(numbers.min())
    return low, int(numbers.max()) - low + 1


def without(told: pa.Table, key: Ints, offset: Ints) -> pa.Table:
    """The words that pieces told, without these places."""
    gone = OwnerOffsets.of(words(np.zeros(len(key), dtype=np.int64), key, offset, 0))
    if not len(gone) or not told.num_rows:
        return told
    batch = Batch(told)
    nobody = np.zeros(len(batch), dtype=np.int64)
    row = gone.at(nobody, batch.ints("key"), batch.ints("word"))
    left = ~np.r_[gone.bits, np.uint64(0)][row].view(np.int64)
    bits, again = batch.ints("bits") & left, batch.ints("again") & left
    for name, column in (("bits", bits), ("again", again)):
        told = told.set_column(told.column_names.index(name), name, pa.array(column))
    return told.filter(pa.array(bits != 0))


def _mask(word: Ints, low: Ints, high: Ints) -> Bits:
    """The bits of each word from an offset up to but without another."""
    begin = word << _WORD_BITS
    from_low = _ALL << np.clip(low - begin, 0, _LAST).astype(np.uint64)
    left = np.clip(begin + 64 - high, 0, 64)
    to_high = np.where(left == 64, np.uint64(0), _ALL >> np.minimum(left, _LAST).astype(np.uint64))
    return np.where(low - begin > _LAST, np.uint64(0), from_low & to_high)


@dataclass(frozen=True, slots=True)
class _Index:
    """Where the words of each owner and key are: both in one number, and the word in another."""

    pairs: Ints  # ascending
    groups: Ints  # of each pair: its place among them in the order of the rows
    words: Ints  # all that occur, ascending
    places: Ints  # of each row: its group and the rank of its word, ascending

    @classmethod
    def of(cls, bitmaps: OwnerOffsets) -> Self:
        """Of words that ascend by owner, key and word."""
        starts = run_starts(bitmaps.owner, bitmaps.key)
        pairs = hash_of_pair(bitmaps.owner[starts], bitmaps.key[starts])
        groups = np.argsort(pairs)
        words = distinct(bitmaps.word)
        places = np.searchsorted(words, bitmaps.word)
        places += np.repeat(
            np.arange(len(starts)) * (len(words) + 1), run_lengths(starts, len(bitmaps))
        )
        return cls(pairs[groups], groups, words, places)

    def place(self, owner: Ints, key: Ints, word: Ints) -> Ints:
        """The row of each word, or where it would be; of an unknown pair the number of rows."""
        starts = run_starts(owner, key)  # owners and keys mostly follow each other
        pair = hash_of_pair(owner[starts], key[starts])
        at = np.searchsorted(self.pairs, pair)
        known = (np.r_[self.pairs, 0][at] == pair) & (at < len(self.pairs))
        group = np.where(known, np.r_[self.groups, 0][at], len(self.pairs))  # behind all
        group = np.repeat(group, run_lengths(starts, len(owner))) * (len(self.words) + 1)
        return np.searchsorted(self.places, group + np.searchsorted(self.words, word))


def count(bits: Bits) -> int:
    """How many bits are set."""
    return int(np.bitwise_count(bits).sum())


def offsets(word: Ints, bits: Bits) -> tuple[Ints, Ints]:
    """Every offset that is set: the row that it is of, and the offset."""
    flags = np.unpackbits(bits.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    row, bit = np.nonzero(flags)
    return row, (word[row] << _WORD_BITS) + bit
