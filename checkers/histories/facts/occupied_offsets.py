"""Collects, for each key (topic partition), the offsets at which the history proves a record.

The offsets of a key are stored as a bitset: bit i of word n stands for the offset 64n + i. A word
without a record is not stored, so the bitset is small enough for every Spark task.

An offset is *clean* if every reader at `read_committed` must receive its record. An offset is clean
under two conditions:

- A send, or a poll at `read_committed`, proves the record.
- At least one send of the record's value did not fail.

Jepsen's rules omit the second condition.

Source: `properties.anomalies.observations`; Jacobson, "Space-efficient Static Trees and Graphs".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.bitset import (
    ONE,
    WORD_BITS,
    Bits,
    KeyedWords,
    bit_of,
    union_of_runs,
    word_of,
)
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import Pairs
from checkers.histories.columnar.sorting import Mask, distinct, per_key, run_starts, stably_sorted
from checkers.histories.facts.record_locations import (
    RECORD_COLUMNS,
    UNCOMMITTED,
    proves_location,
    role_of,
)
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Source, Stage

OFFSET_WORDS: Final = int64_schema("key", "word", "bits")
KEY_WORDS: Final = OFFSET_WORDS.append(pa.field("clean", pa.bool_()))


def occupied_offsets(committed: Ints, aborted: Pairs) -> Stage[pa.Table]:
    """Returns a query-plan stage (one query on a dataset) that collects the offsets at which the
    history proves a record.

    `committed` has the operations that took effect although they ended `info`. `aborted` has the
    values whose sends all failed.
    """
    # The sends of the operations in `committed` prove their records, although they ended `info`.
    title = "packing the offsets of records"
    kernel = Kernel(title, RECORD_COLUMNS, KEY_WORDS, partial(_words, committed, aborted))
    return Stage(Source.RECORD_LOCATIONS, kernel)


def _words(committed: Ints, aborted: Pairs, batch: Batch) -> pa.Table:
    return batch.derived(("occupied offsets",), partial(_words_of, committed, aborted))


def may_be_skipped(aborted: Pairs, batch: Batch) -> Mask:
    """Returns a mask: True for each poll at read_uncommitted, and for each row with a value in
    `aborted` (the values whose sends all failed).

    The record of such a row may be aborted, so a reader at read_committed may skip it.
    """
    # These are the polls at read_uncommitted, and all polls of the values in `aborted`.
    dirty: Mask = role_of(batch) >= UNCOMMITTED
    return dirty | aborted.have(batch.ints("key"), batch.ints("value"))


def _words_of(committed: Ints, aborted: Pairs, batch: Batch) -> pa.Table:
    shown = proves_location(batch, committed) & (batch.ints("offset") != UNKNOWN_OFFSET)
    dirty = may_be_skipped(aborted, batch)
    clean = _packed(batch, np.flatnonzero(shown & ~dirty), clean=True)
    return pa.concat_tables([clean, _packed(batch, np.flatnonzero(shown & dirty), clean=False)])


def _packed(batch: Batch, rows: Ints, *, clean: bool) -> pa.Table:
    words = packed_by_key(batch.ints("key")[rows], batch.ints("offset")[rows])
    return words.append_column("clean", pa.array(np.full(len(words), clean)))


def packed_by_key(key: Ints, offset: Ints) -> pa.Table:
    """Returns a table of bitsets, which has the offsets of each key (topic partition).

    The rows of a key must be adjacent, with ascending offsets.
    """
    starts = run_starts(key, word_of(offset))
    bits = union_of_runs(bit_of(offset), starts).view(np.int64)
    return table_from(OFFSET_WORDS, key[starts], word_of(offset[starts]), bits)


@dataclass(frozen=True, slots=True)
class OffsetCounts:
    """The offsets that have a record, as one bitset for each topic partition.

    The records in a range of offsets are counted without a visit to each offset.
    """

    index: KeyedWords
    bits: Bits
    before: Ints  # the number of records before each word, and at the end of all records

    @classmethod
    def of(cls, words: pa.Table) -> OffsetCounts:
        """Returns the union of the bitsets in `words`, a table with rows from all batches of the
        history's operations.
        """
        batch = Batch(words)
        key, word = batch.ints("key"), batch.ints("word")
        keys, present = distinct(key), distinct(word)
        address = per_key(key, keys.searchsorted) * (len(present) + 1)
        address += np.searchsorted(present, word)
        order, address = stably_sorted(address, len(keys) * (len(present) + 1))
        starts = run_starts(address)
        bits = union_of_runs(batch.ints("bits").view(np.uint64).take(order), starts)
        records = np.bitwise_count(bits).astype(np.int64)
        index = KeyedWords(keys, None, present, address[starts])
        return cls(index, bits, np.r_[0, np.cumsum(records)])

    def __len__(self) -> int:
        return int(self.before[-1])

    def between(self, key: Ints, first: Ints, end: Ints) -> Ints:
        """Returns, for each index i, how many of the offsets from `first[i]` to `end[i] - 1` of the
        topic partition `key[i]` have a record.
        """
        counts = np.zeros(len(key), dtype=np.int64)
        if not len(self.bits):
            return counts
        near = word_of(first) == word_of(end)
        some = np.flatnonzero(near)
        at, found = self.index.find(key[some], word_of(first[some]))
        inside = (bit_of(end[some]) - ONE) & ~(bit_of(first[some]) - ONE)
        counts[some] = np.bitwise_count(self.bits.take(at, mode="clip") & inside) * found
        far = np.flatnonzero(~near & (first < end))
        counts[far] = self._rank(key[far], end[far]) - self._rank(key[far], first[far])
        return counts

    def has(self, key: Ints, offset: Ints) -> Mask:
        at, found = self.index.find(key, word_of(offset))
        if not found.any():
            return found
        there: Mask = found & ((self.bits.take(at, mode="clip") & bit_of(offset)) != 0)
        return there

    def next_from(self, key: Ints, first: Ints) -> Ints:
        """Returns, for each index i, the lowest offset at or above `first[i]` at which the topic
        partition `key[i]` has a record. There must be such an offset.
        """
        rank = self._rank(key, first)
        at = np.searchsorted(self.before, rank, side="right") - 1
        bits, skipped = self.bits[at], rank - self.before[at]
        for done in range(int(skipped.max(initial=0))):
            bits = np.where(skipped > done, bits & (bits - ONE), bits)
        zeros = np.bitwise_count((bits & (~bits + ONE)) - ONE).astype(np.int64)
        words = self.index.words
        word: Ints = words[self.index.addresses[at] % (len(words) + 1)]
        return (word << WORD_BITS) + zeros

    def _rank(self, key: Ints, offset: Ints) -> Ints:
        # All records of lower keys are counted too.
        at, found = self.index.find(key, word_of(offset))
        rank: Ints = self.before[at]
        below = self.bits[at[found]] & (bit_of(offset[found]) - ONE)
        rank[found] += np.bitwise_count(below).astype(np.int64)
        return rank


@dataclass(frozen=True, slots=True)
class OccupiedOffsets:
    """The offsets at which the history proves a record.

    `clean` has only the offsets of the records that every reader at read_committed must receive.
    """

    clean: OffsetCounts
    everything: OffsetCounts

    @classmethod
    def of(cls, words: pa.Table) -> OccupiedOffsets:
        """Returns the union of the bitsets in `words`, a table with rows from all batches of the
        history's operations.
        """
        everything = OffsetCounts.of(words)
        clean = words.filter(words["clean"])
        return cls(everything if len(clean) == len(words) else OffsetCounts.of(clean), everything)
