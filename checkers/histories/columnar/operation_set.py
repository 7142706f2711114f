"""Sets of operations, a bit for each: a hundred million fit into 12.5 MB, so every piece has them.

A word is 64 operations. Pieces tell their words (`words`), the union of all is an `OpSet`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import Mask, distinct, run_starts
from checkers.histories.plan.batch import Batch

_BITS: Final = 6
_GAPS: Final = 4  # words that are missing for each that is not, where all are better held
_ONE: Final = np.uint64(1)
WORDS: Final = pa.schema([("word", pa.int64()), ("bits", pa.int64())])


def words(ops: Ints) -> pa.Table:
    """The words of these operations; one may be named several times."""
    ops = np.sort(ops, kind="stable")  # they mostly come in runs
    starts = run_starts(ops >> _BITS)
    bits = _ONE << (ops & 63).view(np.uint64)
    bits = np.bitwise_or.reduceat(bits, starts) if len(starts) else bits
    return pa.table({"word": ops[starts] >> _BITS, "bits": bits.view(np.int64)}, schema=WORDS)


@dataclass(frozen=True, slots=True)
class Bitset:
    """Operations by their numbers."""

    words: Ints  # ascending
    bits: np.ndarray[tuple[int], np.dtype[np.uint64]]

    @classmethod
    def of(cls, told: pa.Table) -> Bitset:
        """The union of all that pieces told."""
        batch = Batch(told)
        words = distinct(batch.ints("word"))
        if len(words) and words[-1] - words[0] < _GAPS * len(words):
            words = np.arange(words[0], words[-1] + 1)
        bits = np.zeros(len(words), dtype=np.uint64)
        row = np.searchsorted(words, batch.ints("word"))
        np.bitwise_or.at(bits, row, batch.ints("bits").view(np.uint64))
        return cls(words, bits)

    def __len__(self) -> int:
        return int(np.bitwise_count(self.bits).sum())

    def has(self, ops: Ints) -> Mask:
        """Which of these operations are in it."""
        if not len(self.words):
            return np.zeros(len(ops), dtype=np.bool_)
        word = ops >> _BITS
        at = word - self.words[0]  # if none is missing
        inside = self.words.take(at, mode="clip") == word
        other = np.flatnonzero(~inside)
        at[other] = np.searchsorted(self.words, word[other])
        inside[other] = self.words.take(at[other], mode="clip") == word[other]
        bit = self.bits.take(at, mode="clip") >> (ops & 63).view(np.uint64)
        found: Mask = inside & (bit & _ONE).view(np.int64).astype(np.bool_)
        return found
