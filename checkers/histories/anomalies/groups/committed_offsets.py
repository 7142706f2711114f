"""Finds the commits and the fetches of group offsets in one batch of the history's operations.

    c1 commit_offset{group=g} +k@1 -> ok      op 0
    c1 commit_offset{group=g} +k@5 -> ok      op 1
    c2 fetch_offset{group=g} k     -> ok @1   op 2

In this example, op 2 fetched 1, although op 1 had committed 5 before op 2 began.

A *register* is the committed offset of one group and one key (a topic partition).

Source: `properties.anomalies.groups.offsets`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.prefix_max import PrefixMaxIndex, prefix_max_index
from checkers.histories.columnar.sorting import NumberSet, member, run_lengths, run_starts
from checkers.histories.facts.observed_offsets import reads_uncommitted
from checkers.histories.plan.batch import NEVER_NS, Batch
from model.histories import Isolation
from properties.anomalies.groups.offsets import NONE

OK, INFO, FAIL = range(3)
LONG_AGO: Final = -(2**63)
COLUMNS: Final = (
    "op",
    "f",
    "outcome",
    "invoked_ns",
    "completed_ns",
    "kind",
    "key",
    "offset",
    "group",
)
FETCH_COLUMNS: Final = (*COLUMNS, "isolation")
FETCHES: Final = int64_schema(
    "register", "group", "key", "offset", "op", "stable", "invoked_ns", "completed_ns"
)
COMMITS: Final = int64_schema(
    "register", "offset", "op", "outcome", "staged", "sends", "invoked_ns", "ended_ns"
)
FIRST: Final = int64_schema("register", "offset", "op", "staged", "ended_ns")
HIGHER: Final = int64_schema("fetch", "offset", "op", "invoked_ns")
PRODUCED: Final = int64_schema("register", "invoked_ns")
COUNT: Final = int64_schema("count")


def fetched(isolation: Isolation, batch: Batch) -> pa.Table:
    """Returns one row for each successful fetch of a group's committed offset.

    If the isolation level of a fetch is not recorded, the level `isolation` is assumed.
    """
    observed = batch.is_in("kind", "fetch_offset") & batch.is_in("outcome", "ok")
    few = batch.where(observed & batch.is_valid("group"), FETCH_COLUMNS)
    few = few.where(few.is_valid("completed_ns"))
    group, key = few.fingerprints("group"), few.fingerprints("key")
    return table_from(
        FETCHES,
        hash_of_pair(group, key),
        group,
        key,
        few.ints("offset", null=NONE),
        few.ints("op"),
        (~reads_uncommitted(few, isolation)).astype(np.int64),
        few.ints("invoked_ns"),
        few.ints("completed_ns"),
    )


def last_fetches(fetches: Batch) -> Batch:
    """Returns one fetch for each register (a group and a topic partition): the fetch that completed
    last. The rows are in ascending order of registers.
    """
    register = fetches.ints("register")
    order = np.lexsort([-fetches.ints("completed_ns"), register])
    return fetches.where(order[run_starts(register[order])])


def count_aborted(last: Batch, batch: Batch) -> pa.Table:
    """Returns one row: the number of offsets that the failed transactions in this batch of the
    history's operations tried to commit.

    An offset is counted only if a fetch of the same group and topic partition completed after the
    start of the transaction. `last` is the result of `last_fetches`.
    """
    of = commits(batch)
    aborted = of.where((of.ints("staged") == 1) & (of.ints("outcome") == FAIL))
    register = last.ints("register")
    some = np.flatnonzero(member(aborted.ints("register"), register))
    at = np.searchsorted(register, aborted.ints("register")[some])
    later = last.ints("completed_ns")[at] >= aborted.ints("invoked_ns")[some]
    return table_from(COUNT, np.array([np.count_nonzero(later)]))


def commits(batch: Batch) -> Batch:
    return batch.derived(("commits",), _commits)


def _commits(batch: Batch) -> Batch:
    few = batch.where(batch.is_in("kind", "commit_offset") & batch.is_valid("group"), COLUMNS)
    outcome = np.where(few.is_in("outcome", "ok"), OK, INFO)
    outcome[few.is_in("outcome", "fail")] = FAIL
    ended = few.ints("completed_ns", null=NEVER_NS)
    op = few.ints("op")
    theirs = batch.rows_of(op[run_starts(op)])
    sent_by = batch.ints("op")[theirs[batch.is_in("kind", "send")[theirs]]]
    sends = np.searchsorted(sent_by, op, side="right") - np.searchsorted(sent_by, op)
    return Batch(
        table_from(
            COMMITS,
            hash_of_pair(few.fingerprints("group"), few.fingerprints("key")),
            few.ints("offset"),
            op,
            outcome,
            few.is_in("f", "txn").astype(np.int64),
            sends,
            few.ints("invoked_ns"),
            np.where(outcome == INFO, NEVER_NS, ended),
        )
    )


@dataclass(frozen=True, slots=True)
class FetchIndex:
    """An index of fetches of group offsets. The index finds the lowest offset that was fetched
    after a time.
    """

    stable: bool  # True for fetches that wait for open transactions
    fetches: Batch
    rows: Ints  # the index of each of these fetches among all fetches
    registers: Ints  # ascending
    least: PrefixMaxIndex  # of negated offsets and times, since it finds maxima

    @classmethod
    def of(cls, fetches: Batch, *, stable: bool) -> Self:
        """Returns an index of one of two kinds of fetches.

        If `stable` is True, these are the fetches at `read_committed`, which wait for open
        transactions. If `stable` is False, these are all other fetches.
        """
        rows = np.flatnonzero(fetches.ints("stable") == stable)
        some = fetches.where(rows)
        registers, group = np.unique(some.ints("register"), return_inverse=True)
        least = prefix_max_index(group, -some.ints("offset"), -some.ints("invoked_ns"))
        return cls(stable, some, rows, registers, least)

    def above_later_fetch(self, of: Batch, since_ns: Ints) -> Batch:
        """Returns the rows of `of` (commits) whose offset is higher than the offset of a later
        fetch.

        A fetch is later than row i of `of` if it began after the time `since_ns[i]`.
        """
        some = np.flatnonzero(member(of.ints("register"), self.registers))
        group = np.searchsorted(self.registers, of.ints("register")[some])
        at = self.least.before(group, -since_ns[some])
        some, at = some[at >= 0], at[at >= 0]
        return of.where(some[-self.least.reach(at) < of.ints("offset")[some]])


def commits_of_offsets(observed: NumberSet, batch: Batch) -> pa.Table:
    of = commits(batch)
    return of.where(observed.has(hash_of_pair(of.ints("register"), of.ints("offset")))).table


def first_commits(registers: Ints, batch: Batch) -> pa.Table:
    """Returns two commits for each register (a group and a topic partition): the first commit, and
    the first commit of another offset.

    Only commits that ended ok are considered. Commits inside transactions and commits outside
    transactions are treated separately, so a register can have four rows.
    """
    of = commits(batch)
    some = (of.ints("outcome") == OK) & member(of.ints("register"), registers)
    made = []
    for staged in (0, 1):
        rows = of.where(some & (of.ints("staged") == staged))
        made.append(first_two(Batch(rows.table.select(FIRST.names))).table)
    return pa.concat_tables(made)


def first_two(of: Batch) -> Batch:
    """Returns two rows for each register (a group and a topic partition): the first row, and the
    first row with another offset.

    The rows are ordered by `ended_ns`. Example: for the offsets 3, 3, 7, 9, the result has the
    first 3 and the 7.
    """
    columns = [of.ints(name) for name in ("offset", "op", "ended_ns", "register")]
    ordered = of.where(np.lexsort(columns))
    register, offset = ordered.ints("register"), ordered.ints("offset")
    starts = run_starts(register)
    of_first = np.repeat(offset[starts], run_lengths(starts, len(register)))
    others = np.flatnonzero(offset != of_first)
    seconds = others[run_starts(register[others])]
    return ordered.where(np.sort(np.r_[starts, seconds]))


@dataclass(frozen=True, slots=True)
class KnownOffsets:
    """The committed offsets of groups. `known_ns[i]` is a time at which commit i had certainly
    taken effect.
    """

    register: Ints
    offset: Ints
    op: Ints
    invoked_ns: Ints
    known_ns: Ints

    @classmethod
    def of(cls, batch: Batch, known: str) -> KnownOffsets:
        names = ("register", "offset", "op", "invoked_ns", known)
        return cls(*(batch.ints(name) for name in names))

    def highest(self, queries: Batch, since_ns: Ints | None = None) -> Ints:
        """Returns, for each fetch in `queries`, the row of the highest offset that was committed
        before the fetch began.

        The row is -1 if there is no such offset, or if it is not above the fetched offset. With
        `since_ns`, only the commits that began after `since_ns[i]` are considered for fetch i.
        """
        found = np.full(len(queries), -1, dtype=np.int64)
        registers = np.unique(self.register)
        some = np.flatnonzero(member(queries.ints("register"), registers))
        if not len(some):
            return found
        rank = np.empty(len(self.op), dtype=np.int64)
        by_rank = np.lexsort([-self.op, self.offset])
        rank[by_rank] = np.arange(len(by_rank))
        got = prefix_max_index(np.searchsorted(registers, self.register), rank, self.known_ns)
        of_asked = np.searchsorted(registers, queries.ints("register")[some])
        at = got.before(of_asked, queries.ints("invoked_ns")[some])
        some, at = some[at >= 0], at[at >= 0]
        fact = by_rank[got.reach(at)]
        higher = self.offset[fact] > queries.ints("offset")[some]
        some, fact = some[higher], fact[higher]
        found[some] = fact
        if since_ns is not None:
            for number in some[self.invoked_ns[fact] <= since_ns[some]].tolist():
                found[number] = self._highest_by_scan(queries, number, int(since_ns[number]))
        return found

    def _highest_by_scan(self, queries: Batch, number: int, since_ns: int) -> int:
        rows = np.flatnonzero(
            (self.register == queries.ints("register")[number])
            & (self.known_ns < queries.ints("invoked_ns")[number])
            & (self.offset > queries.ints("offset")[number])
            & (self.invoked_ns > since_ns)
        )
        if not len(rows):
            return -1
        return int(rows[np.lexsort([self.op[rows], -self.offset[rows]])[0]])


def higher_commits(observed: FetchIndex, since_ns: Ints | None, batch: Batch) -> pa.Table:
    """Returns each fetch that returned a lower offset than a commit that ended ok before the fetch
    began.

    For each fetch, the result has the highest such commit in this batch of the history's
    operations. With `since_ns`, only the commits that began after `since_ns[i]` are considered for
    fetch i.
    """
    of = commits(batch)
    sure = of.where((of.ints("outcome") == OK) & (observed.stable | (of.ints("staged") == 0)))
    higher = observed.above_later_fetch(sure, sure.ints("ended_ns"))
    if not len(higher):
        return HIGHER.empty_table()
    facts = KnownOffsets.of(higher, "ended_ns")
    fact = facts.highest(observed.fetches, None if since_ns is None else since_ns[observed.rows])
    found = np.flatnonzero(fact >= 0)
    fact = fact[found]
    columns = (facts.offset[fact], facts.op[fact], facts.invoked_ns[fact])
    return table_from(HIGHER, observed.rows[found], *columns)


def _commits_with_output(batch: Batch) -> Batch:
    of = commits(batch)
    produces = (of.ints("staged") == 1) & (of.ints("sends") > 0) & (of.ints("outcome") != FAIL)
    return of.where(produces)


def first_output(batch: Batch) -> pa.Table:
    """Returns, for each register (a group and a topic partition), the start time of its first
    transaction with output.

    A transaction with output sends records, commits an offset for the register, and does not fail.
    """
    of = _commits_with_output(batch)
    order = np.lexsort([of.ints("invoked_ns"), of.ints("register")])
    first = order[run_starts(of.ints("register")[order])]
    return of.where(first).table.select(PRODUCED.names)


def output_ahead(observed: FetchIndex, batch: Batch) -> pa.Table:
    """Returns each commit by a transaction with output, if a later fetch returned a lower offset.

    A transaction has output if it sends records and does not fail.
    """
    of = _commits_with_output(batch)
    return observed.above_later_fetch(of, of.ints("invoked_ns")).table
