"""Reconstructs the log that the history proves: for each value, its offsets and its sender.

The first three lines prove the log in the table below:

    p1 send k=a -> ok @0      op 0
    p2 send k=b -> ok @1      op 1
    c1 poll     -> ok k=b@1

    key  offset  value  sender
    k    0       a      0
    k    1       b      1         directly after `a`: op 1 has a ww dependency on op 0

Source: `properties.anomalies.cycles.dependencies`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from checkers.histories.anomalies.cycles.dependency_context import UNKNOWN_SENDER, DependencyContext
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.sorting import (
    Mask,
    any_in_run,
    member,
    run_lengths,
    run_starts,
)
from checkers.histories.facts.record_locations import (
    LOCATION,
    UNCOMMITTED,
    block,
    first_rows,
    location_of,
    proves_location,
    role_of,
    took_effect,
)
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch


@dataclass(frozen=True, slots=True)
class LogRecords:
    """The records of each key (topic partition), with one row for each offset and value, ordered
    by key and offset.
    """

    key: Ints
    offset: Ints
    value: Ints
    sender: Ints  # or UNKNOWN_SENDER
    last: Mask  # True at the last location of the value

    def groups(self) -> tuple[Ints, Ints]:
        """Returns two arrays with an entry for each offset: the index of the offset's first row,
        and the number of its rows.
        """
        starts = run_starts(self.key, self.offset)
        return starts, run_lengths(starts, len(self.key))


def _senders_of_locations(dependencies: DependencyContext, batch: Batch) -> Ints:
    return batch.derived(
        ("senders of locations",),
        partial(_last_effective_senders, dependencies.unconfirmed.committed),
    )


def _last_effective_senders(committed: Ints, batch: Batch) -> Ints:
    senders, sent = (
        np.full(len(first_rows(batch)), UNKNOWN_SENDER),
        np.flatnonzero(took_effect(batch, committed)),
    )
    senders[location_of(batch).take(sent)] = batch.ints("op").take(sent)
    return senders


def log_records(dependencies: DependencyContext, batch: Batch) -> LogRecords:
    senders, is_unconfirmed = dependencies.senders, dependencies.unconfirmed.of(batch)
    at, of_place = first_rows(batch), _senders_of_locations(dependencies, batch)
    key, offset, value = map(batch.ints, LOCATION)
    is_located = proves_location(batch, dependencies.unconfirmed.committed) & (
        offset != UNKNOWN_OFFSET
    )
    copies = np.flatnonzero(is_located & is_unconfirmed & (role_of(batch) >= UNCOMMITTED))
    is_located[copies] = ~member(hash_of_pair(key[copies], value[copies]), senders.failed)
    there = np.flatnonzero(any_in_run(is_located, at))
    row, sender = at[there], of_place[there]
    last = np.ones(len(row), dtype=np.bool_)
    some = np.flatnonzero(is_unconfirmed[row])
    pair = np.searchsorted(senders.pairs, hash_of_pair(key[row[some]], value[row[some]]))
    sender[some], last[some] = senders.ops[pair], senders.last[pair] == offset[row[some]]
    return LogRecords(key[row], offset[row], value[row], sender, last)


def adjacent_records(log: LogRecords) -> tuple[Ints, Ints]:
    """Returns the row numbers of all pairs of adjacent records in a log that have different known
    senders.

    Only records in the same block of 65,536 offsets are paired.
    """
    at, sizes = log.groups()
    key, of_block = log.key[at], block(log.offset[at])
    first = np.flatnonzero((key[:-1] == key[1:]) & (of_block[:-1] == of_block[1:]))
    return ww_pairs(log, first, first + 1, at, sizes)


def ww_pairs(
    log: LogRecords, first: Ints, second: Ints, starts: Ints, sizes: Ints
) -> tuple[Ints, Ints]:
    """Returns the ww dependencies between values at adjacent offsets of a log, as two arrays of row
    numbers.

    `first` and `second` have the indexes of adjacent offsets. `starts` has the first row of each
    offset, and `sizes` has the number of its rows. Two values have no dependency in these cases:

    - They have the same sender.
    - A sender is unknown.
    - The later value occurs again at a higher offset. A value counts only at its highest offset.
    """
    many = sizes[first] * sizes[second]
    before, after = starts[first], starts[second]
    if len(many) and many.max() > 1:
        of_pair = np.repeat(np.arange(len(first)), many)
        number = np.arange(len(of_pair)) - np.repeat(np.cumsum(many) - many, many)
        width = sizes[second][of_pair]
        before, after = before[of_pair] + number // width, after[of_pair] + number % width
    sender, following = log.sender[before], log.sender[after]
    linked = (
        log.last[after]
        & (sender != UNKNOWN_SENDER)
        & (following != UNKNOWN_SENDER)
        & (sender != following)
    )
    return before[linked], after[linked]
