"""A prefix-max index: for each group and each time, the group's highest value up to that time.

The first line has the values of a group at three times, and the second line has the highest value
up to each of these times:

    group 0    time 1: 5    time 2: 3    time 4: 7
    maxima             5            5            7

A *position* is the number of a row when all rows are sorted by group and time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import Codes, Mask, bits_needed, stable_order

_BITS: Final = 62
NOWHERE: Final = -(2**62)  # below all values
_EXCLUDED: Final = -1  # below every combined number


@dataclass(frozen=True, slots=True)
class PrefixMaxIndex:
    """Rows sorted by group and time. Each row has the highest value of its group up to and
    including the row.
    """

    instants: Ints  # the times of all rows, ascending
    rows: Ints  # the number in the input of each row; by group and time
    places: Ints  # for each row: group * number of rows + rank of its time; ascending
    own: Ints  # for each row: group * width + rank of its value
    packed: Ints  # for each row: group * width + rank of its maximum so far; ascending
    width: int  # the number of ranks of values
    levels: int | Ints  # the value of each rank; an int if values are consecutive: that of rank 0

    @property
    def reaches(self) -> Ints:
        """For each row, the highest value in the row's group up to the row. The rows are in the
        order of group and time.
        """
        return self.reach(np.arange(len(self.rows)))

    def reach(self, at: Ints) -> Ints:
        """Returns, for each position in `at`, the highest value of the position's group up to this
        position.

        If the index was made by `restricted_to`, only the included rows have values. The result is
        NOWHERE if no row up to the position is included.
        """
        rank = self.packed[at] - self.places[at] // len(self.rows) * self.width
        far = rank + self.levels if isinstance(self.levels, int) else self.levels[rank]
        # An index made by `restricted_to` counts only some rows. NOWHERE is below all values.
        return np.where(rank < 0, NOWHERE, far)

    def before(self, group: Codes, time_ns: Ints) -> Ints:
        """Returns, for each i, the position of the latest row of the group `group[i]` before the
        time `time_ns[i]`. The position is -1 if there is no such row.
        """
        facts = len(self.instants)
        if not facts:
            return np.full(len(group), -1, dtype=np.int64)
        base = group.astype(np.int64) * facts
        at = np.searchsorted(self.places, base + np.searchsorted(self.instants, time_ns)) - 1
        none = (at < 0) | (self.places[at] < base)
        return np.where(none, -1, at)

    def first(self, groups: int) -> Ints:
        """Returns the position of the first row of each group from 0 to `groups - 1`, or -1 if the
        group has no rows.

        If the index was made by `restricted_to`, the result is the first included row.
        """
        low = np.arange(groups) * self.width
        at = np.searchsorted(self.packed, low)
        at[at == len(self.packed)] = -1
        if len(self.packed):
            at[(self.packed[at] < low) | (self.packed[at] >= low + self.width)] = -1
        return at

    def below_maximum(self, ties: Mask) -> Ints:
        """Returns the rows whose value is below an earlier value of their group.

        For a row in the mask `ties`, it is enough that the value equals the highest earlier value.
        """
        before, own, rows = self.packed[:-1], self.own[1:], self.rows[1:]
        passed = before > own
        passed |= (before == own) & ties.take(rows)
        return rows.compress(passed)

    def restricted_to(self, included: Mask) -> PrefixMaxIndex:
        """Returns a copy of the index in which only the rows in the mask `included` contribute
        to the maxima.
        """
        own = np.where(included.take(self.rows), self.own, _EXCLUDED)
        return replace(self, own=own, packed=np.maximum.accumulate(own))

    def exceeded(self, group: Codes, offset: Ints, time_ns: Ints) -> Mask:
        """Returns a mask: True for row i if the group `group[i]` had a value above `offset[i]`
        before the time `time_ns[i]`.
        """
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
        """Returns, for each position in `at`, the input row with the highest value of the
        position's group up to this position.

        A position is the number of a row in the order of groups and times. Example: one group has
        the values 5, 3, 7, in this order, in the input rows 0, 1, 2. The positions 0, 1, 2 give the
        rows 0, 0, 2.
        """
        return self.rows[np.searchsorted(self.packed, self.packed[at])]


def prefix_max_index(group: Codes, reach: Ints, time_ns: Ints) -> PrefixMaxIndex:
    """Returns a `PrefixMaxIndex` for rows that are given as three columns: the groups `group`, the
    values `reach` and the times `time_ns`.

    The groups are numbered from 0, without gaps.
    """
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
