"""Finds the dependencies between operations that are visible in one batch of the history's rows.

    p1 send k=a -> ok @0      op 0
    p2 send k=b -> ok @1      op 1
    c1 poll     -> ok k=a@0   op 2

    wr  op 0 -> op 2    op 2 polled a, which op 0 sent
    ww  op 0 -> op 1    b follows a in the log

All sends and polls in a block of 65,536 offsets are in one batch, so most dependencies are visible
in a single batch. The module `block_ends` finds the dependencies between two blocks. The Spark
driver finds the dependencies through unconfirmed values, which were polled at an offset where no
send of the value was acknowledged. An operation that did not end ok is considered only if a value
that it sent was polled.

Source: `properties.anomalies.cycles.dependencies`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.cycles.dependency_context import UNKNOWN_SENDER, DependencyContext
from checkers.histories.anomalies.cycles.log_records import (
    LogRecords,
    _senders_of_locations,
    adjacent_records,
    log_records,
)
from checkers.histories.anomalies.cycles.possible_steps import PossibleSteps
from checkers.histories.anomalies.cycles.time_ranges import TimeRanges
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import Pairs, hash_of_pair
from checkers.histories.columnar.sorting import (
    Mask,
    NumberSet,
    runs,
)
from checkers.histories.facts.record_locations import POLL_OK, UNCOMMITTED, location_of, role_of
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.plan.batch import Batch

WW, WR, RW = 0, 1, 2
EDGES: Final = int64_schema("first", "second", "kind")
LABELS: Final = int64_schema("first", "second", "kind", "key", "value", "next_value")
COUNT: Final = int64_schema("ww", "wr", "in_g1c", "in_g1c_process")


@dataclass(frozen=True, slots=True)
class Dependents:
    """The dependencies that are visible in one batch of the history's rows: first all wr, then
    all ww dependencies.
    """

    first: Ints
    second: Ints
    counts: Mask  # True if it may be in a cycle: the second ended ok or is an InfoSender
    polls: Ints  # rows of the batch
    log: LogRecords
    before: Ints  # rows of `log`
    after: Ints

    def edges(self, some: Ints) -> pa.Table:
        """Returns a table of the dependencies whose indexes are in `some`, without duplicates.

        A row has two operations and the kind of the dependency.
        """
        first, second = self.first.take(some), self.second.take(some)
        kind = np.where(some < len(self.polls), WR, WW)
        order, starts = runs(hash_of_pair(first, second), kind)
        once = order[starts]
        return table_from(EDGES, first[once], second[once], kind[once])

    def labels(self, batch: Batch, some: Ints) -> pa.Table:
        """Returns one row for each dependency with an index in `some`, which must be ascending.

        A row has the two operations, the kind, the key (topic partition), and the values of the
        records.
        """
        polled = some[some < len(self.polls)]
        row, followed = self.polls[polled], some[len(polled) :] - len(self.polls)
        before, after = self.before[followed], self.after[followed]
        return table_from(
            LABELS,
            self.first[some],
            self.second[some],
            np.repeat([WR, WW], [len(row), len(before)]),
            np.r_[batch.ints("key")[row], self.log.key[before]],
            np.r_[batch.ints("value")[row], self.log.value[before]],
            np.r_[np.zeros(len(row), dtype=np.int64), self.log.value[after]],
        )


def dependents_of(dependencies: DependencyContext, batch: Batch) -> Dependents:
    return batch.derived(
        ("dependents", dependencies.of), lambda it: _find_dependents(dependencies, it)
    )


def _find_dependents(dependencies: DependencyContext, batch: Batch) -> Dependents:
    op, role = batch.ints("op"), role_of(batch)
    sender_of_location = _senders_of_locations(dependencies, batch)
    sender = sender_of_location.take(location_of(batch))
    polls = (role >= POLL_OK) & (sender != UNKNOWN_SENDER) & (sender != op)
    polls = np.flatnonzero(polls & ~dependencies.unconfirmed.of(batch))
    sound = (role.take(polls) & ~UNCOMMITTED) == POLL_OK
    counts, info_senders = sound.copy(), np.flatnonzero(~sound)
    counts[info_senders] = dependencies.info_senders.ops.has(op[polls[info_senders]])
    if not dependencies.ww_deps:
        nothing = np.zeros(len(polls), dtype=np.int64)
        log = LogRecords(nothing[:0], nothing[:0], nothing[:0], nothing[:0], sound[:0])
    else:
        log = log_records(dependencies, batch)
    before, after = adjacent_records(log)
    return Dependents(
        first=np.r_[sender.take(polls), log.sender[before]],
        second=np.r_[op.take(polls), log.sender[after]],
        counts=np.r_[counts, np.ones(len(before), dtype=np.bool_)],
        polls=polls,
        log=log,
        before=before,
        after=after,
    )


def count_dependencies(
    dependencies: DependencyContext, possible: PossibleSteps, batch: Batch
) -> pa.Table:
    """Returns one row with four counts of dependencies in one batch of the history's rows.

    The first two counts are all ww dependencies and all wr dependencies. The third count is the wr
    dependencies that can be in a G1c cycle. The fourth count is the wr dependencies that can be in
    a G1c-process cycle.
    """
    made = dependents_of(dependencies, batch)
    wr = len(made.polls)
    counts = (len(made.before), wr, *possible.of(made.first[:wr], made.second[:wr]))
    return table_from(COUNT, *(np.array([count]) for count in counts))


def dependencies_back_in_time(dependencies: DependencyContext, batch: Batch) -> pa.Table:
    """Returns the dependencies whose second operation does not end later than the first operation.

    For an operation that did not end ok, its start is used instead of its end. The result has one
    row for each pair of operations and kind of dependency.
    """
    made, info_senders = dependents_of(dependencies, batch), dependencies.info_senders
    some = np.flatnonzero(made.counts)
    back = info_senders.time(made.first.take(some)) >= info_senders.time(made.second.take(some))
    return made.edges(some[np.flatnonzero(back)])


def inside_time_ranges(
    dependencies: DependencyContext, time_ranges: TimeRanges, batch: Batch
) -> pa.Table:
    """Returns the dependencies whose two operations are both inside the same time range."""
    made, info_senders = dependents_of(dependencies, batch), dependencies.info_senders
    some = np.flatnonzero(made.counts)
    first, second = (info_senders.time(ops.take(some)) for ops in (made.first, made.second))
    return made.edges(some[time_ranges.contain(first, second)])


def with_records(dependencies: DependencyContext, pairs: Pairs, batch: Batch) -> pa.Table:
    """Returns one row for each dependency between the two operations of a pair, with its key (topic
    partition) and values.

    A wr dependency has one value, and a ww dependency has two values.
    """
    if not dependencies.ww_deps:
        batch = _locations_polled_by(pairs.values, batch)
    made = dependents_of(dependencies, batch)
    return made.labels(batch, np.flatnonzero(pairs.have(made.first, made.second)))


def _locations_polled_by(ops: NumberSet, batch: Batch) -> Batch:
    key, offset = batch.ints("key"), batch.ints("offset")
    rows = np.flatnonzero(ops.has(batch.ints("op")))
    rows = rows[role_of(batch)[rows] >= POLL_OK]
    return batch.where(Pairs.of(key[rows], offset[rows]).have(key, offset))


def unconfirmed_wr(
    dependencies: DependencyContext, unconfirmed: UnconfirmedValues
) -> tuple[pa.Table, Mask]:
    """Returns the wr dependencies through unconfirmed values, and a mask of the dependencies that
    may be in a cycle.

    An unconfirmed value was polled at an offset where no send of the value was acknowledged. A
    dependency leads from the sender to the operation that polled the value. The dependency may be
    in a cycle if this operation ended ok, or if it sent a value that was polled.
    """
    senders, polls = (
        dependencies.senders,
        unconfirmed.observations.where(unconfirmed.observations.ints("role") >= POLL_OK),
    )
    key, value, op = (polls.ints(name) for name in ("key", "value", "op"))
    sender = senders.ops[np.searchsorted(senders.pairs, hash_of_pair(key, value))]
    row = np.flatnonzero((sender != UNKNOWN_SENDER) & (sender != op))
    sound = (polls.ints("role")[row] & ~UNCOMMITTED) == POLL_OK
    nothing, kind = np.zeros(len(row), dtype=np.int64), np.full(len(row), WR)
    table = table_from(LABELS, sender[row], op[row], kind, key[row], value[row], nothing)
    return table, sound | dependencies.info_senders.ops.has(op[row])


def all_dependencies(dependencies: DependencyContext, batch: Batch) -> pa.Table:
    made = dependents_of(dependencies, batch)
    return made.edges(np.arange(len(made.first)))
