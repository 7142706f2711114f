"""What a piece of a history tells of committed offsets: kernels of `group_offsets`.

A register is one number for its group and key.

Source: `properties.anomalies.groups.offsets`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.prefix_max import PrefixMaxIndex, prefix_max_index
from checkers.histories.columnar.sorting import NumberSet, member, run_lengths, run_starts
from checkers.histories.facts.observed_offsets import reads_uncommitted
from checkers.histories.facts.record_locations import hash_of_pair
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
    "isolation",
)
_OF_COMMIT: Final = tuple(name for name in COLUMNS if name != "isolation")
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
    """What groups were told of their offsets."""
    told = batch.is_in("kind", "fetch_offset") & batch.is_in("outcome", "ok")
    few = batch.where(told & batch.is_valid("group"), COLUMNS)
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


def count_aborted(batch: Batch) -> pa.Table:
    """How many offsets transactions committed that failed."""
    some = (
        batch.is_in("kind", "commit_offset")
        & batch.is_in("f", "txn")
        & batch.is_in("outcome", "fail")
    )
    count = np.count_nonzero(some & batch.is_valid("group"))
    return table_from(COUNT, np.array([count]))


def commits(batch: Batch) -> Batch:
    """Every commit of a group's offset; made once for all kernels."""
    return batch.derived(("commits",), _commits)


def _commits(batch: Batch) -> Batch:
    few = batch.where(batch.is_in("kind", "commit_offset") & batch.is_valid("group"), _OF_COMMIT)
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
class Told:
    """Fetches of one kind, and of each register the least that they were told from a time on.

    What was told less than a commit that came before is found from the commits: in a sound history
    there is none, and nothing is asked of the fetches themselves.
    """

    stable: bool  # they wait for transactions
    fetches: Batch
    rows: Ints  # of each its place among all
    registers: Ints  # ascending
    least: (
        PrefixMaxIndex  # seen from behind: what was told, and when it was asked, change their signs
    )

    @classmethod
    def of(cls, fetches: Batch, *, stable: bool) -> Self:
        """Of all fetches those of the kind."""
        rows = np.flatnonzero(fetches.ints("stable") == stable)
        some = fetches.where(rows)
        registers, group = np.unique(some.ints("register"), return_inverse=True)
        least = prefix_max_index(group, -some.ints("offset"), -some.ints("invoked_ns"))
        return cls(stable, some, rows, registers, least)

    def less(self, of: Batch, since_ns: Ints) -> Batch:
        """The commits than which a fetch was told less that was begun later than this."""
        some = np.flatnonzero(member(of.ints("register"), self.registers))
        group = np.searchsorted(self.registers, of.ints("register")[some])
        at = self.least.before(group, -since_ns[some])
        some, at = some[at >= 0], at[at >= 0]
        return of.where(some[-self.least.reach(at) < of.ints("offset")[some]])


def tried_offsets(told: NumberSet, batch: Batch) -> pa.Table:
    """The commits of the very offset that a fetch was told, of which these are all."""
    of = commits(batch)
    return of.where(told.has(hash_of_pair(of.ints("register"), of.ints("offset")))).table


def first_commits(registers: Ints, batch: Batch) -> pa.Table:
    """Of each of these registers the first commit, and the first of another offset."""
    of = commits(batch)
    some = (of.ints("outcome") == OK) & member(of.ints("register"), registers)
    made = []
    for staged in (0, 1):
        rows = of.where(some & (of.ints("staged") == staged))
        made.append(first_two(Batch(rows.table.select(FIRST.names))).table)
    return pa.concat_tables(made)


def first_two(of: Batch) -> Batch:
    """Of each register the first to end, and the first of those with another offset."""
    columns = [of.ints(name) for name in ("offset", "op", "ended_ns", "register")]
    ordered = of.where(np.lexsort(columns))
    register, offset = ordered.ints("register"), ordered.ints("offset")
    starts = run_starts(register)
    of_first = np.repeat(offset[starts], run_lengths(starts, len(register)))
    others = np.flatnonzero(offset != of_first)
    seconds = others[run_starts(register[others])]
    return ordered.where(np.sort(np.r_[starts, seconds]))


@dataclass(frozen=True, slots=True)
class Facts:
    """What registers are known to have held: since when, and of an operation that began when."""

    register: Ints
    offset: Ints
    op: Ints
    invoked_ns: Ints
    known_ns: Ints

    @classmethod
    def of(cls, batch: Batch, known: str) -> Facts:
        names = ("register", "offset", "op", "invoked_ns", known)
        return cls(*(batch.ints(name) for name in names))

    def highest(self, asked: Batch, since_ns: Ints | None = None) -> Ints:
        """For each that asks the fact of the highest offset above its own; -1 if there is none.

        Known before it began, and of an operation that began after `since_ns`; of equals the first.
        """
        found = np.full(len(asked), -1, dtype=np.int64)
        registers = np.unique(self.register)
        some = np.flatnonzero(member(asked.ints("register"), registers))
        if not len(some):
            return found
        rank = np.empty(len(self.op), dtype=np.int64)
        by_rank = np.lexsort([-self.op, self.offset])
        rank[by_rank] = np.arange(len(by_rank))
        got = prefix_max_index(np.searchsorted(registers, self.register), rank, self.known_ns)
        of_asked = np.searchsorted(registers, asked.ints("register")[some])
        at = got.before(of_asked, asked.ints("invoked_ns")[some])
        some, at = some[at >= 0], at[at >= 0]
        fact = by_rank[got.reach(at)]
        higher = self.offset[fact] > asked.ints("offset")[some]
        some, fact = some[higher], fact[higher]
        found[some] = fact
        if since_ns is not None:
            for number in some[self.invoked_ns[fact] <= since_ns[some]].tolist():
                found[number] = self._since(asked, number, int(since_ns[number]))
        return found

    def _since(self, asked: Batch, number: int, since_ns: int) -> int:
        """The same of one, looking at every fact."""
        rows = np.flatnonzero(
            (self.register == asked.ints("register")[number])
            & (self.known_ns < asked.ints("invoked_ns")[number])
            & (self.offset > asked.ints("offset")[number])
            & (self.invoked_ns > since_ns)
        )
        if not len(rows):
            return -1
        return int(rows[np.lexsort([self.op[rows], -self.offset[rows]])[0]])


def higher_commits(told: Told, since_ns: Ints | None, batch: Batch) -> pa.Table:
    """For each fetch the highest offset that had been committed before, if it is higher."""
    of = commits(batch)
    sure = of.where((of.ints("outcome") == OK) & (told.stable | (of.ints("staged") == 0)))
    higher = told.less(sure, sure.ints("ended_ns"))
    if not len(higher):
        return HIGHER.empty_table()
    facts = Facts.of(higher, "ended_ns")
    fact = facts.highest(told.fetches, None if since_ns is None else since_ns[told.rows])
    found = np.flatnonzero(fact >= 0)
    fact = fact[found]
    columns = (facts.offset[fact], facts.op[fact], facts.invoked_ns[fact])
    return table_from(HIGHER, told.rows[found], *columns)


def _producing(batch: Batch) -> Batch:
    """Commits of transactions that did not fail and have output."""
    of = commits(batch)
    produces = (of.ints("staged") == 1) & (of.ints("sends") > 0) & (of.ints("outcome") != FAIL)
    return of.where(produces)


def first_producing(batch: Batch) -> pa.Table:
    """Of each register when the first transaction with output that commits it began."""
    of = _producing(batch)
    order = np.lexsort([of.ints("invoked_ns"), of.ints("register")])
    first = order[run_starts(of.ints("register")[order])]
    return of.where(first).table.select(PRODUCED.names)


def producing_ahead(told: Told, batch: Batch) -> pa.Table:
    """Transactions with output that a fetch begun later was told less than."""
    of = _producing(batch)
    return told.less(of, of.ints("invoked_ns")).table
