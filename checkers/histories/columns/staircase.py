"""How far each group had got at any time: prefix maxima over time, for many groups in one array.

A fact says that its group had got so far at its time. Facts are laid out group after group and in
time inside a group, and the maximum of all up to each is taken in one sweep: with the group in the
high part of a number, a maximum never falls back from one group to the one before.

Source: the prefix maximum over time chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from checkers.histories.columns.fingerprints import Ints
from checkers.histories.columns.order import begins, bits, stable

_BITS: Final = 62
NOWHERE: Final = -(2**62)  # short of anything


@dataclass(frozen=True, slots=True)
class Staircase:
    """Facts by group and time, each with the furthest of its group up to it."""

    instants: Ints  # of all facts, ascending
    rows: Ints  # the facts by group, and by time inside a group
    places: Ints  # ascending: group * facts + place in time
    packed: Ints  # ascending: group, and the rank of the furthest so far
    reaches: Ints  # the furthest so far

    def before(self, group: Ints, time_ns: Ints) -> Ints:
        """The last fact of each group strictly before the time: its place here, -1 if none is."""
        facts = len(self.instants)
        if not facts:
            return np.full(len(group), -1, dtype=np.int64)
        wanted = group * facts + np.searchsorted(self.instants, time_ns)
        at = np.searchsorted(self.places, wanted) - 1
        none = (at < 0) | (self.places[at] < group * facts)
        return np.where(none, -1, at)

    def without(self) -> Ints:
        """For each fact, as they were given, how far its group had got by the facts before it."""
        made = np.empty(len(self.rows), dtype=np.int64)
        made[self.rows[1:]] = self.reaches[:-1]
        made[self.rows[begins(self.places // max(1, len(self.rows)))]] = NOWHERE
        return made

    def exceeded(self, group: Ints, offset: Ints, time_ns: Ints) -> npt.NDArray[np.bool_]:
        """Where the group had got beyond the offset before the time."""
        at = self.before(group, time_ns)
        broken = np.zeros(len(at), dtype=np.bool_)
        some = np.flatnonzero(at >= 0)
        broken[some] = self.reaches[at[some]] > offset[some]
        return broken

    def furthest(self, at: Ints) -> Ints:
        """The row of the first fact that got as far as was got at these places."""
        return self.rows[np.searchsorted(self.packed, self.packed[at])]


def staircase(group: Ints, reach: Ints, time_ns: Ints) -> Staircase:
    """Of facts: their groups from 0, how far and when; facts of one time keep their order."""
    facts = len(group)
    if not facts:
        return Staircase(group, group, group, group, group)
    in_time = not np.any(time_ns[1:] < time_ns[:-1])
    by_time = None if in_time else np.argsort(time_ns, kind="stable")
    if by_time is not None:
        group, reach, time_ns = group[by_time], reach[by_time], time_ns[by_time]
    order = stable(group, int(group.max()) + 1)
    groups, reaches = group[order], reach[order]
    places = groups * facts
    places += order
    low, high = int(reaches.min()), int(reaches.max())
    if bits(high - low + 1) + bits(int(groups[-1]) + 1) <= _BITS:
        groups *= high - low + 1
        groups -= low
        reaches += groups
        packed = np.maximum.accumulate(reaches, out=reaches)
        reaches = packed - groups
    else:
        levels, rank = np.unique(reaches, return_inverse=True)
        packed = np.maximum.accumulate(groups * len(levels) + rank)
        reaches = levels[packed - groups * len(levels)]
    return Staircase(time_ns, order if by_time is None else by_time[order], places, packed, reaches)
