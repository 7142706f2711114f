"""Defines the logical time of operations, and the ranges of logical time that can contain a cycle.

The logical time of an operation that ended ok is twice its number. An operation that took effect
but did not end ok has an odd logical time. This time is one more than the time of the last
operation that ended ok before this operation started.

    p1 txn k=a ...
    p2 txn j=b ...
    p1 ...     -> ok @0 j=b@0     op 0, time 0
    p2 ...     -> ok @0 k=a@0     op 1, time 2

    wr  op 1 -> op 0    time 2 to time 0: this dependency leads back, over the range 0..2
    wr  op 0 -> op 1    time 0 to time 2: this dependency leads forward, inside that range

In `ok @0 j=b@0`, the first @0 is the offset of the sent record. The time of each operation of a
cycle is in the range of at least one dependency that leads back. Dependencies by real time never
lead back.

Source: `properties.anomalies.cycles`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.histories.columnar.bitset import Bitset, packed
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import (
    NumberSet,
)
from checkers.histories.plan.batch import Batch


@dataclass(frozen=True, slots=True)
class InfoSenders:
    """The operations that did not end ok, although a poll returned a value that they sent.

    `times` has the logical time of each of these operations.
    """

    ops: NumberSet
    times: Ints  # odd, because the time of an operation that ended ok is even

    def time(self, ops: Ints) -> Ints:
        """Returns the logical time of each operation in `ops`. The module's docstring defines
        logical times.

        If an operation did not end ok, it must be in `self.ops`.
        """
        times = 2 * ops
        some = np.flatnonzero(self.ops.has(ops))
        times[some] = self.times[np.searchsorted(self.ops.ascending, ops[some])]
        return times


@dataclass(frozen=True, slots=True)
class TimeRanges:
    """Disjoint ranges of logical time, which the module's docstring defines. Every cycle of
    dependencies is inside one of these ranges.
    """

    begin: Ints
    end: Ints
    covered: Bitset  # operations with a time in some range

    @classmethod
    def of(cls, back: Batch, info_senders: InfoSenders) -> TimeRanges:
        """Returns the ranges of logical time over which the dependencies in `back` lead back in
        time. Overlapping ranges are joined: 0..4 and 2..6 become 0..6.
        """
        begin, end = info_senders.time(back.ints("second")), info_senders.time(back.ints("first"))
        order = np.argsort(begin)
        begin, end = begin[order], np.maximum.accumulate(end[order])
        starts = np.ones(len(begin), dtype=np.bool_)
        starts[1:] = begin[1:] > end[:-1]
        ends = np.roll(starts, -1)  # the last range ends with the last row
        begin, end = begin[starts], end[ends]
        covered = packed(_all_between(begin >> 1, (end >> 1) + 1))
        return cls(begin, end, Bitset.of(covered))

    def contain(self, first: Ints, second: Ints) -> Ints:
        """Returns the indexes i for which both logical times `first[i]` and `second[i]` are in
        the same range.
        """
        some = np.flatnonzero(self.covered.has(first >> 1))
        first, second = first.take(some), second.take(some)
        at = np.searchsorted(self.begin, first, side="right") - 1
        within = (at >= 0) & (self.begin[at] <= second)
        return some[within & (np.maximum(first, second) <= self.end[at])]


def _all_between(first: Ints, end: Ints) -> Ints:
    many = end - first
    return np.arange(int(many.sum())) + np.repeat(end - np.cumsum(many), many)
