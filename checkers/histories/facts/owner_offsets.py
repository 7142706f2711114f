"""Collects the offsets that each consumer or group received, once or several times.

An *owner* is a consumer or a consumer group; it is represented by a number. The offsets that an
owner received from a key (topic partition) are stored in 64-bit words: bit i of word n stands for
the offset 64n + i.

An offset is *repeated* if an owner received it twice. The history is processed in batches of
operations. The number `repeated_in` of a word is the number of the first batch that repeated one of
the word's offsets. In this example, owner 1 receives the offset 4 of the key k in two batches, and
the last line shows the union of the words of both batches:

    batch 0    owner 1 polls k@3 k@4          word 0 of (1, k): bits 0b11000
    batch 1    owner 1 polls k@4              word 0 of (1, k): bits 0b10000
    union                                     bits 0b11000, repeated 0b10000, repeated_in 1
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.bitset import (
    Bits,
    KeyedWords,
    bit_of,
    bits_between,
    word_of,
)
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.sorting import (
    PACKED_BITS,
    Mask,
    bits_needed,
    codes,
    concatenated_ranges,
    distinct,
    first_occurrences,
    run_lengths,
    run_starts,
    stably_sorted,
)
from checkers.histories.plan.batch import Batch

_CODE_BITS: Final = 32  # owner and key are combined without hashing up to this many bits
OWNER_WORDS: Final = pa.schema(
    [(name, pa.int64()) for name in ("owner", "key", "word", "bits", "repeated", "batch")]
)


def packed_offsets(owner: Ints, key: Ints, offset: Ints, batch: int) -> pa.Table:
    """Returns a table of the offsets that each owner (a consumer or a group) received in one batch
    of operations.

    `batch` is the number of the batch. The columns `bits` and `repeated` are bitsets of 64 offsets:
    the received ones, and those that the owner received more than once in this batch.
    """
    word, bit = word_of(offset), bit_of(offset)
    starts = run_starts(owner, key, word)  # consecutive rows are mostly in one word
    if not len(starts):
        return OWNER_WORDS.empty_table()
    bits, repeated = np.bitwise_or.reduceat(bit, starts), np.zeros(len(starts), dtype=np.uint64)
    ends = np.r_[starts[1:], len(word)]
    for run in np.flatnonzero(np.bitwise_count(bits) != ends - starts).tolist():
        repeated[run] = _repeated(bit[starts[run] : ends[run]])
    numbers = np.full(len(starts), batch)
    union = _union(owner[starts], key[starts], word[starts], bits, repeated, numbers)
    columns = (
        *(union.owner, union.key, union.word),
        *(union.bits.view(np.int64), union.repeated.view(np.int64)),
        np.full(len(union), batch),
    )
    return pa.table(dict(zip(OWNER_WORDS.names, columns, strict=True)), schema=OWNER_WORDS)


def _repeated(bits: Bits) -> np.uint64:
    once = repeated = np.uint64(0)
    for bit in bits:
        repeated |= once & bit
        once |= bit
    return repeated


@dataclass(frozen=True, slots=True)
class OwnerOffsets:
    """The offsets that each owner (a consumer or a group) received from each key (topic
    partition), as bitsets.
    """

    owner: Ints
    key: Ints
    word: Ints
    bits: Bits
    repeated: Bits
    repeated_in: Ints  # the first batch that repeats an offset; -1: no batch repeats one
    _index: list[KeyedWords] = field(default_factory=list[KeyedWords], repr=False, compare=False)

    @classmethod
    def of(cls, words: pa.Table) -> OwnerOffsets:
        """Returns the union of several tables of `packed_offsets`.

        `words` has the rows of these tables, joined in the order of their batches of operations.
        """
        batch = Batch(words)
        bits, repeated = (batch.ints(name).view(np.uint64) for name in ("bits", "repeated"))
        owner, key, word = (batch.ints(name) for name in ("owner", "key", "word"))
        # In another order, `repeated_in` would not be the first batch that repeats an offset.
        return _union(owner, key, word, bits, repeated, batch.ints("batch"))

    def __len__(self) -> int:
        return len(self.word)

    def where(self, rows: Mask | Ints) -> OwnerOffsets:
        return OwnerOffsets(
            self.owner[rows],
            self.key[rows],
            self.word[rows],
            self.bits[rows],
            self.repeated[rows],
            self.repeated_in[rows],
        )

    def at(self, owner: Ints, key: Ints, word: Ints) -> Ints:
        """Returns, for each index i, the number of the row with `owner[i]`, `key[i]` and `word[i]`,
        or -1 if there is no such row.
        """
        at = self._insertion_point(owner, key, word)
        rows = np.flatnonzero(at < len(self))
        candidate = at.take(rows)
        same = self.word.take(candidate) == word.take(rows)
        same &= self.key.take(candidate) == key.take(rows)
        same &= self.owner.take(candidate) == owner.take(rows)
        found = np.full(len(at), -1, dtype=np.int64)
        found[rows[same]] = candidate[same]
        return found

    def has(self, owner: Ints, key: Ints, offset: Ints) -> Mask:
        row = self.at(owner, key, word_of(offset))
        found: Mask = row >= 0
        found[found] = (self.bits[row[found]] & bit_of(offset[found])) != 0
        return found

    def within(self, owner: Ints, key: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints, Bits]:
        """Returns the received offsets that are inside some intervals, as three arrays.

        Interval i has the offsets from `low[i]` to `high[i] - 1` of the topic partition `key[i]`
        for the owner `owner[i]`. A row of this object has the bits of 64 consecutive offsets. If an
        interval and a row overlap, each array has an entry for them. The first array has the number
        of the interval, and the second array has the number of the row. The third array has the
        bits of the row that are inside the interval.
        """
        first = self._insertion_point(owner, key, word_of(low))
        last = self._insertion_point(owner, key, word_of(high + 63))
        counts = np.maximum(last - first, 0)
        interval = np.repeat(np.arange(len(first)), counts)
        row = concatenated_ranges(first, counts)
        inside = bits_between(self.word[row], low[interval], high[interval])
        return interval, row, self.bits[row] & inside

    def _insertion_point(self, owner: Ints, key: Ints, word: Ints) -> Ints:
        if not self._index:
            self._index.append(_index_of(self))
        starts = run_starts(owner, key)  # consecutive rows mostly have one owner and key
        pair = hash_of_pair(owner[starts], key[starts])
        return self._index[0].insertion_point(pair, starts, word)


def _index_of(offsets: OwnerOffsets) -> KeyedWords:
    starts = run_starts(offsets.owner, offsets.key)
    pairs = hash_of_pair(offsets.owner[starts], offsets.key[starts])
    ranks = np.argsort(pairs)
    words = distinct(offsets.word)
    addresses = np.searchsorted(words, offsets.word)
    addresses += np.repeat(
        np.arange(len(starts)) * (len(words) + 1), run_lengths(starts, len(offsets))
    )
    return KeyedWords(pairs[ranks], ranks, words, addresses)


def _union(
    owner: Ints, key: Ints, word: Ints, bits: Bits, repeated: Bits, batch: Ints
) -> OwnerOffsets:
    # Bit i of word n is the offset 64n + i. The rows of an earlier batch come first.
    order, starts = _order(owner, key, word)
    if not len(order):
        return OwnerOffsets(owner, key, word, bits, repeated, batch)
    ordered = bits.take(order)
    union, more = (np.bitwise_or.reduceat(it, starts) for it in (ordered, repeated.take(order)))
    total = np.add.reduceat(np.bitwise_count(ordered), starts, dtype=np.int64)
    first = np.full(len(starts), -1, dtype=np.int64)
    several = np.flatnonzero((more != 0) | (total > np.bitwise_count(union)))
    counts, seen = run_lengths(starts, len(order))[several], np.zeros(len(several), np.uint64)
    for nth in range(int(counts.max(initial=0))):
        some = np.flatnonzero(counts > nth)
        at = several[some]
        row = order[starts[at] + nth]
        twice = repeated[row] | (seen[some] & bits[row])
        fresh = (first[at] < 0) & (twice != 0)
        first[at[fresh]] = batch[row[fresh]]
        more[at] |= twice
        seen[some] |= bits[row]
    head = order[starts]
    return OwnerOffsets(owner[head], key[head], word[head], union, more, first)


def _order(owner: Ints, key: Ints, word: Ints) -> tuple[Ints, Ints]:
    if not len(word):
        return word, word
    pair, count = _pairs(owner, key)
    low, width = _range(word)
    if bits_needed(count) + bits_needed(width) > PACKED_BITS:
        order = np.lexsort([word, pair])
        return order, run_starts(pair[order], word[order])
    combined = pair * width + (word - low)
    order, ordered = stably_sorted(combined, count * width)
    return order, run_starts(ordered)


def _pairs(owner: Ints, key: Ints) -> tuple[Ints, int]:
    (low, owners), (lowest, keys) = _range(owner), _range(key)
    if bits_needed(owners) + bits_needed(keys) <= _CODE_BITS:
        return (owner - low) * keys + (key - lowest), owners * keys
    pair, count = codes(hash_of_pair(owner, key))
    heads = first_occurrences(pair)
    rank = np.empty(count, dtype=np.int64)
    rank[np.lexsort([key[heads], owner[heads]])] = np.arange(count)
    return rank.take(pair), count


def _range(numbers: Ints) -> tuple[int, int]:
    low = int(numbers.min())
    return low, int(numbers.max()) - low + 1


def without(words: pa.Table, key: Ints, offset: Ints) -> pa.Table:
    """Returns the table `words` of bitsets without some offsets, for every owner.

    These are the offsets `offset[i]` of the topic partition `key[i]`, for each i. A row without
    remaining offsets is removed.
    """
    gone = OwnerOffsets.of(packed_offsets(np.zeros(len(key), dtype=np.int64), key, offset, 0))
    if not len(gone) or not words.num_rows:
        return words
    batch = Batch(words)
    same_owner = np.zeros(len(batch), dtype=np.int64)
    row = gone.at(same_owner, batch.ints("key"), batch.ints("word"))
    left = ~np.r_[gone.bits, np.uint64(0)][row].view(np.int64)
    bits, repeated = batch.ints("bits") & left, batch.ints("repeated") & left
    for name, column in (("bits", bits), ("repeated", repeated)):
        words = words.set_column(words.column_names.index(name), name, pa.array(column))
    return words.filter(pa.array(bits != 0))
