"""The analysis of committed offsets agrees with a loop over all commits and fetches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkers.histories.anomalies.groups.committed_offsets import (
    COMMITS,
    FETCHES,
    FetchIndex,
    KnownOffsets,
    fetched,
    higher_commits,
    last_fetches,
)
from checkers.histories.columnar.fingerprints import fingerprints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.io.operation_rows import as_table
from checkers.histories.plan.batch import NEVER_NS, Batch
from model.histories import CommitOffset, History
from properties.anomalies.groups.offsets import NONE
from tests.checkers.histories.random_histories import random_history

GROUPS = ("txn", "txn", "commit_offset", "commit_offset", "fetch_offset", "fetch_offset")
REGISTER = st.sampled_from([-(2**63), 1])
OFFSET = st.sampled_from([NONE, 0, 1, 2**61])
TIME_NS = st.sampled_from([0, 1, 2, 2**60])
FETCH = st.tuples(REGISTER, OFFSET, TIME_NS, st.integers(0, 1))
COMMIT = st.tuples(REGISTER, OFFSET, TIME_NS | st.just(NEVER_NS))
Fetch = tuple[int, int, int, int]
Commit = tuple[int, int, int]


def table(schema: pa.Schema, **columns: list[int]) -> Batch:
    rows = len(next(iter(columns.values())))
    zeros = [0] * rows
    return Batch(pa.table({name: columns.get(name, zeros) for name in schema.names}, schema=schema))


@example(fetches=[], commits=[(1, 1, 0)], stable=True)
@example(fetches=[(1, 1, 1, 1)], commits=[], stable=True)
@settings(max_examples=200)
@given(fetches=st.lists(FETCH), commits=st.lists(COMMIT), stable=st.booleans())
def test_a_later_fetch_of_a_lower_offset_is_found(
    fetches: list[Fetch], commits: list[Commit], stable: bool
) -> None:
    register, offset, begun, waits = ([row[n] for row in fetches] for n in range(4))
    observed = FetchIndex.of(
        table(FETCHES, register=register, offset=offset, invoked_ns=begun, stable=waits),
        stable=stable,
    )
    assert observed.rows.tolist() == [n for n, row in enumerate(fetches) if row[3] == stable]
    assert observed.fetches.ints("offset").tolist() == [
        row[1] for row in fetches if row[3] == stable
    ]

    def told_less(commit: Commit) -> bool:
        register, offset, since_ns = commit
        return any(
            (of, waits) == (register, stable) and begun > since_ns and observed < offset
            for of, observed, begun, waits in fetches
        )

    register, offset, since = ([row[n] for row in commits] for n in range(3))
    of = table(COMMITS, register=register, offset=offset, op=[*range(len(commits))])
    less = observed.above_later_fetch(of, np.array(since, dtype=np.int64))
    assert less.ints("op").tolist() == [n for n, row in enumerate(commits) if told_less(row)]


def register_of(group: str, key: str) -> int:
    return int(hash_of_pair(*(fingerprints(pa.array([text])) for text in (group, key)))[0])


def highest_before(h: History, fetch: dict[str, int], since_ns: int) -> list[tuple[int, ...]]:
    """Finds the highest offset that was certainly committed before a fetch.

    Returns a list with one row: the offset, and the number and start time of the first operation
    that committed it. The list is empty if no committed offset is above the fetched one. Commits
    that began at `since_ns` or earlier are ignored.
    """
    higher = [
        (-it.offset, op, commit.invoked_ns)
        for op, commit in enumerate(h)
        for it in commit.did
        if isinstance(it, CommitOffset)
        if commit.group and register_of(commit.group, it.key) == fetch["register"]
        if commit.outcome == "ok" and (fetch["stable"] or commit.f != "txn")
        if commit.completed_ns is not None and commit.completed_ns < fetch["invoked_ns"]
        if commit.invoked_ns > since_ns and it.offset > fetch["offset"]
    ]
    return [(-offset, op, invoked_ns) for offset, op, invoked_ns in sorted(higher)[:1]]


@settings(max_examples=100)
@given(seed=st.integers(0, 1 << 40), since=st.none() | st.integers(0, 1 << 40))
def test_the_highest_commit_before_a_fetch_is_found_if_it_is_higher(
    seed: int, since: int | None
) -> None:
    h = random_history(seed, GROUPS)
    batch = Batch(as_table(h))
    fetches = Batch(fetched("read_committed", batch))
    since_ns = None
    if since is not None:
        since_ns = np.random.default_rng(since).integers(-1, 140, len(fetches))
    for stable in (False, True):
        observed = higher_commits(FetchIndex.of(fetches, stable=stable), since_ns, batch)
        expected = [
            (number, *higher)
            for number, fetch in enumerate(fetches.table.to_pylist())
            if fetch["stable"] == stable
            for higher in highest_before(h, fetch, -1 if since_ns is None else since_ns[number])
        ]
        assert [tuple(row.values()) for row in observed.to_pylist()] == expected


def test_a_fetch_has_the_row_minus_one_if_no_commit_began_late_enough() -> None:
    row = {"register": 1, "offset": 5, "op": 0, "invoked_ns": 3, "known_ns": 4}
    facts = KnownOffsets(**{name: np.array([value]) for name, value in row.items()})
    fetch = table(FETCHES, register=[1], offset=[2], invoked_ns=[9])
    for since_ns, found in ((2, 0), (3, -1)):
        assert facts.highest(fetch, np.array([since_ns])).tolist() == [found]
    assert facts.highest(fetch).tolist() == [0]


@given(st.lists(st.tuples(REGISTER, TIME_NS)))
def test_the_last_fetch_of_a_register_completed_after_the_others(
    fetches: list[tuple[int, int]],
) -> None:
    registers, completed = ([row[n] for row in fetches] for n in range(2))
    last = last_fetches(table(FETCHES, register=registers, completed_ns=completed))
    found = [*zip(last.ints("register").tolist(), last.ints("completed_ns").tolist(), strict=True)]
    assert found == sorted(
        (register, max(ns for other, ns in fetches if other == register))
        for register in {*registers}
    )
