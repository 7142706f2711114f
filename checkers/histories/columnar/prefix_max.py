"""How far each group had got at any time: prefix maxima over time, for many groups in one array.

A fact says that its group had got so far at its time. Facts are laid out group after group and in
time inside a group, and the maximum of all up to each is taken in one sweep: with the group in the
high part of a number, a maximum never falls back from one group to the one before.

Source: the prefix maximum over time chunks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import Codes, Mask, bits_needed, stable_order

_BITS: Final = 62
NOWHERE: Final = -(2**62)  # short of anything
_UNCOUNTED: Final = -1  # less than any group and reach in one number


@dataclass(frozen=True, slots=True)
class PrefixMaxIndex:
    """Facts by group and time, each with the furthest of its group up to it."""

    instants: Ints  # of all facts, ascending
    rows: Ints  # the facts by group, and by time inside a group
    places: Ints  # ascending: group * facts + place in time
    own: Ints  # group * width + the rank of how far each fact got
    packed: Ints  # ascending: the same of the furthest so far
    width: int  # of a group: the number of ranks
    levels: int | Ints  # how far each rank is; the first, if they are all numbers from it on

    @property
    def reaches(self) -> Ints:
        """The furthest so far, at each place."""
        return self.reach(np.arange(len(self.rows)))

    def reach(self, at: Ints) -> Ints:
        """The furthest so far at these places; NOWHERE if nothing that counts was there."""
        rank = self.packed[at] - self.places[at] // len(self.rows) * self.width
        far = rank + self.levels if isinstance(self.levels, int) else self.levels[rank]
        return np.where(rank < 0, NOWHERE, far)

    def before(self, group: Codes, time_ns: Ints) -> Ints:
        """The last fact of each group strictly before the time: its place here, -1 if none is."""
        facts = len(self.instants)
        if not facts:
            return np.full(len(group), -1, dtype=np.int64)
        base = group.astype(np.int64) * facts
        at = np.searchsorted(self.places, base + np.searchsorted(self.instants, time_ns)) - 1
        none = (at < 0) | (self.places[at] < base)
        return np.where(none, -1, at)

    def behind(self, ties: Mask) -> Ints:
        """The facts before which one of their group lies, by time or as they were given, that got
        further; or as far, of those whose ties count.
        """
        before, own, rows = self.packed[:-1], self.own[1:], self.rows[1:]
        passed = before > own
        passed |= (before == own) & ties.take(rows)
        return rows.compress(passed)

    def counting(self, counts: Mask) -> PrefixMaxIndex:
        """What it is if only these facts count."""
        own = np.where(counts.take(self.rows), self.own, _UNCOUNTED)
        return replace(self, own=own, packed=np.maximum.accumulate(own))

    def exceeded(self, group: Codes, offset: Ints, time_ns: Ints) -> Mask:
        """Where the group had got beyond the offset before the time: its first fact there was."""
        facts = len(self.instants)
        if not facts:
            return np.zeros(len(group), dtype=np.bool_)
        if isinstance(self.levels, int):
            short = self.levels - 1
            rank = np.clip(offset, short, short + self.width) - short
        else:
            rank = np.searchsorted(self.levels, offset, side="right")
        base = group.astype(np.int64) * self.width
        at = np.searchsorted(self.packed, base + rank)
        at[at == facts] = -1
        beyond = (base + rank <= self.packed[at]) & (self.packed[at] < base + self.width)
        broken: Mask = beyond & (self.instants[self.places[at] % facts] < time_ns)
        return broken

    def furthest(self, at: Ints) -> Ints:
        """The row of the first fact that got as far as was got at these places."""
        return self.rows[np.searchsorted(self.packed, self.packed[at])]


def prefix_max_index(group: Codes, reach: Ints, time_ns: Ints) -> PrefixMaxIndex:
    """Of facts: their groups from 0, how far and when; facts of one time keep their order."""
    facts = len(reach)
    if not facts:
        return PrefixMaxIndex(time_ns, reach, reach, reach, reach, 1, 0)
    in_time = not np.any(time_ns[1:] < time_ns[:-1])
    by_time = None if in_time else np.argsort(time_ns, kind="stable")
    if by_time is not None:
        group, reach, time_ns = group[by_time], reach[by_time], time_ns[by_time]
    of_group = np.bincount(group)
    numbers = np.arange(len(of_group))
    order = stable_order(group, len(of_group))
    own = reach.take(order)
    low, high = int(own.min()), int(own.max())
    levels: int | Ints = low
    if bits_needed(high - low + 1) + bits_needed(len(of_group)) <= _BITS:
        own -= low
        width = high - low + 1
    else:
        levels, own = np.unique(own, return_inverse=True)
        width = len(levels)
    own += np.repeat(numbers * width, of_group)
    places = np.repeat(numbers * facts, of_group)
    places += order
    packed = np.maximum.accumulate(own)
    rows = order if by_time is None else by_time[order]
    return PrefixMaxIndex(time_ns, rows, places, own, packed, width, levels)
