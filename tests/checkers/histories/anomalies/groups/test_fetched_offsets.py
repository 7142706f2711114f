"""The analysis finds the same anomalies of fetched group offsets as the literal definitions.

The result does not depend on how the history is partitioned.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.histories import (
    CommitOffset,
    FetchOffset,
    History,
    MicroOperation,
    Operation,
    Outcome,
    Send,
)
from model.history_notation import history
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from tests.checkers.histories.drawn_histories import CUTS, analysed, assert_agrees

ANOMALIES = (
    "group-offset-went-backwards",
    "group-offset-moved-without-commit",
    "aborted-offset-read",
)
DECLARED = st.sampled_from([NOTHING_DECLARED, Declarations(isolation="read_uncommitted")])


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draws commits and fetches. They have few different offsets, and many of them overlap in time,
    or begin when another one ends.
    """
    rng = random.Random(draw(st.integers(0, 1 << 40)))
    wide, committed = rng.choice([1, 4, 9]), [0]
    made: list[Operation] = []
    for process in range(draw(st.integers(0, 14))):
        f = rng.choice(["commit_offset", "txn", "fetch_offset", "fetch_offset"])
        outcomes: list[Outcome] = ["ok", "ok", "ok", "info", "fail"]
        outcome, never = rng.choice(outcomes), rng.random() < 0.4
        key = rng.choice("kkkj")
        did: list[MicroOperation] = []
        if f == "fetch_offset":
            did.append(FetchOffset(key, rng.choice([*committed[-4:], None])))
        else:
            committed.append(rng.randrange(5))
            did.append(CommitOffset(key, committed[-1]))
        if f == "txn" and rng.random() < 0.5:
            did.append(Send("o", f"o{process}", process))
        at = 3 * process + rng.randrange(-wide, wide) + 20
        made.append(
            Operation(
                process=process,
                f=f,
                outcome=outcome,
                invoked_ns=at,
                completed_ns=None if outcome == "info" and never else at + rng.randrange(wide),
                did=tuple(did),
                group=rng.choice("gggh"),
                isolation=rng.choice([None, "read_committed", "read_uncommitted"]),
            )
        )
    last = 1 << 60
    return tuple(sorted(made, key=lambda o: last if o.completed_ns is None else o.completed_ns))


@settings(max_examples=80, deadline=None)
@given(h=histories(), declared=DECLARED, at=CUTS)
def test_kernels_agree_with_the_literal_definitions(
    h: History, declared: Declarations, at: list[int]
) -> None:
    assert_agrees(h, ANOMALIES, declared, at)


@pytest.mark.parametrize("at", [[], [2], [1, 2, 3]])
@pytest.mark.parametrize(
    ("commit", "backwards"), [("txn{id=x,group=g}", 0), ("commit_offset{group=g}", 1)]
)
def test_a_dirty_fetch_may_see_the_offset_of_a_transaction_late(
    at: list[int], commit: str, backwards: int
) -> None:
    h = history(f"""
        c1  commit_offset{{group=g}} +k@5                         -> ok
        c1  {commit} +k@3                                         -> ok
        c2  fetch_offset{{group=g,isolation=read_uncommitted}} k  -> ok @5
        c2  fetch_offset{{group=g,isolation=read_uncommitted}} k  -> ok @3
    """)
    assert_agrees(h, ANOMALIES, NOTHING_DECLARED, at)
    analysis = analysed(h, ("group-offset-went-backwards",), NOTHING_DECLARED, at)
    assert [d.count for d in analysis.decisions] == [backwards]
