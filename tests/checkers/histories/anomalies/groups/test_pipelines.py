"""The analysis finds the same skipped and repeated inputs of pipelines as the literal definitions.

The result does not depend on how the history is partitioned.
"""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from model.histories import (
    CommitOffset,
    FetchOffset,
    History,
    MicroOperation,
    Operation,
    Outcome,
    Poll,
    Send,
    StartOffset,
)
from model.history_notation import history
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.groups.input_skipped import inputs_skipped
from tests.checkers.histories.drawn_histories import CUTS, assert_agrees

ANOMALIES = ("input-processed-twice", "input-skipped")
DECLARED = st.sampled_from(
    [
        NOTHING_DECLARED,
        Declarations(isolation="read_uncommitted"),
        Declarations(compacted=frozenset({"j"})),
    ]
)
INPUTS = (0, 1, 2, 62, 63, 64, 65, 128)  # offsets of records, at the borders of 64-bit words


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draws transactions of two groups that consume two logs; some skip or repeat records.

    Operations overlap in time, and many begin when another one ends.
    """
    rng = random.Random(draw(st.integers(0, 1 << 40)))
    wide, odd = rng.choice([1, 4, 9]), rng.choice([0.1, 0.4])
    next_input = {(group, key): rng.choice([0, 0, 3, 5]) for group in "gh" for key in "ij"}
    records = tuple(Send(key, f"{key}{offset}", offset) for key in "ij" for offset in INPUTS)
    made = [Operation(process=0, f="send", outcome="ok", invoked_ns=0, completed_ns=1, did=records)]
    for process in range(1, 1 + draw(st.integers(0, 14))):
        group, key = rng.choice("ggh"), rng.choice("iij")
        f = rng.choice(["txn", "txn", "txn", "txn", "poll", "commit_offset", "fetch_offset"])
        f = "start_offset" if rng.random() < 0.05 else f
        outcomes: list[Outcome] = ["ok", "ok", "ok", "ok", "info", "fail"]
        outcome, never = rng.choice(outcomes), rng.random() < 0.4
        begin = next_input[group, key]
        if rng.random() < odd:
            begin = rng.choice([max(0, begin - 2), rng.randrange(len(INPUTS))])
        end = min(len(INPUTS) - 1, begin + rng.choice([0, 1, 2, 2]))
        reached = min(len(INPUTS) - 1, end + (rng.random() < odd / 2))
        did: list[MicroOperation] = []
        if f == "start_offset":
            did.append(StartOffset(key, rng.choice(INPUTS)))
        elif f == "fetch_offset":
            did.append(FetchOffset(key, rng.choice([None, INPUTS[begin], INPUTS[end]])))
        elif f == "commit_offset":
            did.append(CommitOffset(key, INPUTS[begin]))
        else:
            did += [Poll(key, offset, f"{key}{offset}") for offset in INPUTS[begin:end]]
        if f == "txn":
            did += [CommitOffset(key, INPUTS[reached])] * rng.choice([0, 1, 1, 1, 2])
            did += [Send("o", f"o{process}", process)] * (rng.random() < 0.5)
        if did and outcome == "ok" and f in {"txn", "commit_offset"}:
            next_input[group, key] = reached
        at = 3 * process + rng.randrange(-wide, wide) + 20
        made.append(
            Operation(
                process=process,
                f=f,
                outcome=outcome,
                invoked_ns=at,
                completed_ns=None if outcome == "info" and never else at + rng.randrange(wide),
                did=tuple(did),
                group=None if f == "poll" and rng.random() < 0.2 else group,
                isolation=rng.choice([None, None, "read_committed", "read_uncommitted"]),
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


def test_the_only_transaction_of_a_group_may_skip_an_input() -> None:
    h = history("""
        p1  send i=m i=n                -> ok @0 @1
        t1  fetch_offset{group=g} i     -> ok @0
        t1  txn{id=x,group=g} o=a +i@2  -> ok @0 i=n@1
    """)
    assert [row.value for row in inputs_skipped(h)] == ["m"]
    assert_agrees(h, ANOMALIES, NOTHING_DECLARED, [])
