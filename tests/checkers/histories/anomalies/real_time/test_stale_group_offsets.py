"""The analysis finds the same stale group offsets as the literal definition.

The result does not depend on how the history is partitioned.
"""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.anomalies.findings import Context
from checkers.histories.anomalies.real_time.stale_group_offsets import (
    _CALLS,
    _Fetches,
    stale_group_offsets,
)
from checkers.histories.columnar.rows import as_rows
from checkers.histories.facts.record_locations import RECORD
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.partitions import TableRows, partitions_of
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.in_process import LocalDataset
from checkers.histories.plan.stage import Source
from model.histories import (
    CommitOffset,
    FetchOffset,
    History,
    MicroOperation,
    Operation,
    Outcome,
)
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.real_time import stale_group_offset
from properties.anomalies.real_time.stale_group_offset import StaleGroupOffset
from tests.checkers.histories.plans import result_of


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draws a history of two groups, whose members mostly fetch the last committed offset."""
    rng = random.Random(draw(st.integers(0, 1 << 40)))
    steady, wide = rng.choice([0.7, 0.95, 1.0]), rng.choice([1, 4, 9])
    held: dict[tuple[str, str], int | None] = {}
    made: list[Operation] = []
    for process in range(draw(st.integers(0, 16))):
        group, key = rng.choice("ggh"), rng.choice("kkj")
        kind = rng.choice(["commit_offset", "commit_offset", "fetch_offset", "txn"])
        outcomes: list[Outcome] = ["ok", "ok", "ok", "ok", "info", "fail"]
        outcome, never = rng.choice(outcomes), rng.random() < 0.4
        did: list[MicroOperation] = []
        for _ in range(rng.choice([1, 1, 1, 2])):
            if kind == "fetch_offset":
                fetched = held.get((group, key))
                if rng.random() > steady:
                    fetched = rng.choice([None, *range(6)])
                did.append(FetchOffset(key, fetched))
            else:
                offset = rng.randrange(6)
                did.append(CommitOffset(key, offset))
                if outcome == "ok" or (outcome == "info" and rng.random() < 0.5):
                    held[group, key] = offset
        at = 3 * process + rng.randrange(-wide, wide) + 20
        made.append(
            Operation(
                process=process,
                f=kind,
                outcome=outcome,
                invoked_ns=at,
                completed_ns=None if outcome == "info" and never else at + rng.randrange(wide),
                did=tuple(did),
                group=group if rng.random() < 0.95 else None,
                isolation=rng.choice([None, None, "read_committed", "read_uncommitted"]),
            )
        )
    last = 1 << 60
    return tuple(sorted(made, key=lambda o: last if o.completed_ns is None else o.completed_ns))


@settings(max_examples=80, deadline=None)
@given(
    h=histories(),
    declared=st.sampled_from([Declarations(), Declarations(isolation="read_uncommitted")]),
    rows=st.sampled_from([1, 3, 100]),
)
def test_kernels_agree_with_the_literal_definition(
    h: History, declared: Declarations, rows: int
) -> None:
    assert_agrees(h, declared, rows)


def assert_agrees(h: History, declared: Declarations = NOTHING_DECLARED, rows: int = 1) -> None:
    tables = [TableRows(as_table([one], first_op=number)) for number, one in enumerate(h)]
    none, nothing = Batch(RECORD.empty_table()), np.zeros(0, dtype=np.int64)
    context = Context(
        declared=declared,
        unconfirmed=UnconfirmedValues(none, none, nothing, nothing, nothing, none),
    )
    sources = {Source.OPERATIONS: lambda: LocalDataset(partitions_of(tables, rows))}
    (found,) = result_of(stale_group_offsets(context), sources)
    by = [(name, "ascending") for name in ("group", "key", "offset", "op")]
    applied = declared.applied(h)
    rows_found = as_rows(found.rows.sort_by(by), StaleGroupOffset)
    assert rows_found == stale_group_offset.stale_group_offsets(applied)
    assert found.observations == stale_group_offset.observed(applied)


def test_a_commit_that_begins_when_a_fetch_ends_may_explain_it() -> None:
    h = (
        _operation(1, "fetch_offset", FetchOffset("k", 1), (0, 2)),
        _operation(1, "fetch_offset", FetchOffset("k", 4), (40, 44)),
        _operation(2, "commit_offset", CommitOffset("k", 5), (44, 58)),
    )
    (row,) = stale_group_offset.stale_group_offsets(h)
    assert row.possible == (1, 5)
    assert_agrees(h)


def _operation(process: int, f: str, did: MicroOperation, at: tuple[int, int]) -> Operation:
    return Operation(
        process=process,
        f=f,
        outcome="ok",
        invoked_ns=at[0],
        completed_ns=at[1],
        did=(did,),
        group="g",
    )


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 9)), min_size=1),
    st.integers(0, 25),
    st.integers(0, 9),
)
def test_fetches_near_a_batch_overlap_it_or_are_the_last_of_their_register(
    fetches: list[tuple[int, int, int]], began: int, length: int
) -> None:
    rows = [(register, at, at + took) for register, at, took in fetches]
    columns = dict(
        zip(("register", "invoked_ns", "completed_ns"), zip(*rows, strict=True), strict=True)
    )
    zeros = [0] * len(rows)
    table = pa.table({n: columns.get(n, zeros) for n in _CALLS.names}, schema=_CALLS)
    near = _Fetches.of(Batch(table)).near(began, began + length)
    found = Counter(zip(*(near.ints(name).tolist() for name in columns), strict=True))
    overlap = [row for row in rows if row[2] >= began and row[1] <= began + length]
    assert {row: n for row, n in found.items() if row in overlap} == Counter(overlap)
    last = {register: max(at for r, at, _ in rows if r == register) for register, _, _ in rows}
    later = {(r, at) for r, at in last.items() if at > began + length}
    assert {row[:2] for row in found if row not in overlap} == later
