"""Which offsets of which keys hold a record, a bit each: small enough to be known everywhere.

A word is 64 offsets of a key. Each block of places tells the words that it shows; joined, they
say how many records lie between any two offsets of a log, however far apart these are. A dense log
costs 24 bytes for 64 offsets, a sparse one at most 24 bytes for each.

What only polls at `read_uncommitted` saw is not clean: polls at `read_committed` need not see it.

Source: `properties.anomalies.observations`; Jacobson, "Space-efficient Static Trees and Graphs".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import (
    Mask,
    distinct,
    run_lengths,
    run_starts,
    stable_order,
)
from checkers.histories.facts.record_locations import (
    RECORD_COLUMNS,
    UNCOMMITTED,
    per_key,
    proves_location,
    role_of,
)
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Source, Stage

_WORD_BITS: Final = 6
_LAST_BIT: Final = 63
_ONE: Final = np.uint64(1)
WORDS: Final = pa.schema(
    [("key", pa.int64()), ("word", pa.int64()), ("bits", pa.int64()), ("clean", pa.bool_())]
)


def occupied_offsets(committed: Ints) -> Stage[pa.Table]:
    """What each piece shows; `committed` are the operations ended info that took effect."""
    return Stage(
        Source.RECORD_LOCATIONS,
        Kernel("where records lie", RECORD_COLUMNS, WORDS, partial(_words, committed)),
    )


def _words(committed: Ints, batch: Batch) -> pa.Table:
    return batch.derived(("words",), partial(_made_words, committed))


def _made_words(committed: Ints, batch: Batch) -> pa.Table:
    told = proves_location(batch, committed) & (batch.ints("offset") != UNKNOWN_OFFSET)
    dirty = role_of(batch) >= UNCOMMITTED
    clean = _packed(batch, np.flatnonzero(told & ~dirty), clean=True)
    return pa.concat_tables([clean, _packed(batch, np.flatnonzero(told & dirty), clean=False)])


def _packed(batch: Batch, rows: Ints, *, clean: bool) -> pa.Table:
    """The words of these rows; where rows of a word do not follow each other it comes in parts."""
    key, offset = batch.ints("key")[rows], batch.ints("offset")[rows]
    starts = run_starts(key, offset >> _WORD_BITS)
    bits = _bit(offset)
    columns = {
        "key": key[starts],
        "word": offset[starts] >> _WORD_BITS,
        "bits": (np.bitwise_or.reduceat(bits, starts) if len(starts) else bits).view(np.int64),
        "clean": np.full(len(starts), clean),
    }
    return pa.table(columns, schema=WORDS)


def _bit(offset: Ints) -> npt.NDArray[np.uint64]:
    return _ONE << (offset & _LAST_BIT).astype(np.uint64)


@dataclass(frozen=True, slots=True)
class KeyedBitset:
    """The offsets of each key that hold a record."""

    keys: Ints  # ascending
    words: Ints  # those that occur, ascending
    places: Ints  # of the bits: number of the key and of the word in one, ascending
    bits: npt.NDArray[np.uint64]
    before: Ints  # how many are held before each place, and at the end by all

    @classmethod
    def of(cls, told: pa.Table) -> KeyedBitset:
        """What all pieces show together; `told` has the columns of WORDS."""
        batch = Batch(told)
        key, word = batch.ints("key"), batch.ints("word")
        keys, words = distinct(key), distinct(word)
        place = per_key(key, keys.searchsorted) * (len(words) + 1)
        place += np.searchsorted(words, word)
        order = stable_order(place, len(keys) * (len(words) + 1))
        place = place.take(order)
        starts = run_starts(place)
        bits = batch.ints("bits").view(np.uint64).take(order)
        bits = np.bitwise_or.reduceat(bits, starts) if len(starts) else bits
        held = np.bitwise_count(bits).astype(np.int64)
        return cls(keys, words, place[starts], bits, np.r_[0, np.cumsum(held)])

    def between(self, key: Ints, first: Ints, end: Ints) -> Ints:
        """How many records lie from the first offset on and below the end."""
        counts = np.zeros(len(key), dtype=np.int64)
        if not len(self.bits):
            return counts
        near = (first >> _WORD_BITS) == (end >> _WORD_BITS)
        some = np.flatnonzero(near & (first < end))
        at, known = self._place(key[some], first[some] >> _WORD_BITS)
        inside = (_bit(end[some]) - _ONE) & ~(_bit(first[some]) - _ONE)
        counts[some] = np.bitwise_count(self.bits.take(at, mode="clip") & inside) * known
        far = np.flatnonzero(~near & (first < end))
        counts[far] = self._rank(key[far], end[far]) - self._rank(key[far], first[far])
        return counts

    def next_from(self, key: Ints, first: Ints) -> Ints:
        """The lowest offset from the first on that holds a record; the key has to have one."""
        rank = self._rank(key, first)
        at = np.searchsorted(self.before, rank, side="right") - 1
        bits, skipped = self.bits[at], rank - self.before[at]
        for done in range(int(skipped.max(initial=0))):
            bits = np.where(skipped > done, bits & (bits - _ONE), bits)
        zeros = np.bitwise_count((bits & (~bits + _ONE)) - _ONE).astype(np.int64)
        word: Ints = self.words[self.places[at] % (len(self.words) + 1)]
        return (word << _WORD_BITS) + zeros

    def _rank(self, key: Ints, offset: Ints) -> Ints:
        """How many records lie in keys before the key, and in the key below the offset."""
        at, known = self._place(key, offset >> _WORD_BITS)
        rank: Ints = self.before[at]
        below = self.bits[at[known]] & (_bit(offset[known]) - _ONE)
        rank[known] += np.bitwise_count(below).astype(np.int64)
        return rank

    def _place(self, key: Ints, word: Ints) -> tuple[Ints, Mask]:
        """Where the bits of each word are, or would be; and whether there are any."""
        if not len(self.places):
            return np.zeros_like(key), np.zeros(len(key), dtype=np.bool_)
        of_word, occurs = _near(self.words, word, word - self.words[0])
        starts = run_starts(key)
        of_key, known = _found(self.keys, key[starts])
        begin = of_key * (len(self.words) + 1)
        first = np.searchsorted(self.places, begin)  # of the words of each key
        ahead = first - self.places.take(first, mode="clip")
        of_each = np.array([begin, ahead, known])
        begin, ahead, known = np.repeat(of_each, run_lengths(starts, len(key)), axis=1)
        place = begin + known * of_word
        at, there = _near(self.places, place, place + ahead)
        return at, there & occurs & (known > 0)


def _near(ascending: Ints, numbers: Ints, guess: Ints) -> tuple[Ints, Mask]:
    """As `_found`, looked for first where each number is if none before it is missing."""
    at = guess.clip(0, len(ascending) - 1)
    inside = ascending.take(at) == numbers
    other = np.flatnonzero(~inside)
    at[other], inside[other] = _found(ascending, numbers[other])
    return at, inside


def _found(ascending: Ints, numbers: Ints) -> tuple[Ints, Mask]:
    """Where each number is among the ascending ones, or would be; and whether it is there."""
    at = np.searchsorted(ascending, numbers)
    inside = ascending.take(at, mode="clip") == numbers if len(ascending) else at < 0
    return at, inside


@dataclass(frozen=True, slots=True)
class OccupiedOffsets:
    """What holds a record: surely for everybody, and for readers at read_uncommitted."""

    clean: KeyedBitset
    everything: KeyedBitset

    @classmethod
    def of(cls, told: pa.Table) -> OccupiedOffsets:
        """From what all pieces show."""
        everything = KeyedBitset.of(told)
        clean = told.filter(told["clean"])
        return cls(everything if len(clean) == len(told) else KeyedBitset.of(clean), everything)
