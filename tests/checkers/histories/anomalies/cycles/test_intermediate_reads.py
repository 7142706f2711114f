"""The analysis finds the same intermediate reads as the literal definition.

The result does not depend on how the history is partitioned.
"""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories.anomalies.findings import Context
from checkers.histories.anomalies.order import process_order
from checkers.histories.columnar.rows import as_rows
from checkers.histories.facts import retention
from checkers.histories.facts.unconfirmed_values import find_unconfirmed
from checkers.histories.plan.stage import in_parallel
from model.histories import (
    Assigned,
    History,
    MicroOperation,
    Operation,
    Outcome,
    Poll,
    Send,
    StartOffset,
)
from model.history_notation import history
from properties.anomalies.cycles.intermediate_read import (
    ID,
    IntermediateRead,
    intermediate_reads,
    observed,
)
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from tests.checkers.histories.plans import result_of, shuffled


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draws a history: transactions of one to three records, and readers that may skip records.

    Some transactions send to both logs in turn.
    """
    rng = random.Random(draw(st.integers(0, 1 << 40)))
    made: list[Operation] = []
    log: dict[str, list[tuple[int, str]]] = {"k": [], "j": []}
    stands = {process: {"k": 0, "j": 0} for process in (5, 6)}
    leaves = rng.choice([0.0, 0.2, 0.5])

    def add(process: int, f: str, outcome: Outcome, did: list[MicroOperation]) -> None:
        at = 10 * len(made)
        never = outcome == "info" and rng.random() < 0.3 and process > 100
        made.append(
            Operation(
                process=process,
                f=f,
                outcome=outcome,
                invoked_ns=at,
                completed_ns=None if never else at + 5,
                did=tuple(did),
                isolation=rng.choice([None, None, "read_committed", "read_uncommitted"]),
            )
        )

    for number in range(rng.randrange(draw(st.sampled_from([3, 20, 40])))):
        key, outcome = rng.choice("kkkj"), rng.choice(["ok"] * 8 + ["info", "fail"])
        ended: Outcome = "ok" if outcome == "ok" else "info" if outcome == "info" else "fail"
        if rng.random() < 0.4:
            sent: list[MicroOperation] = []
            keys = rng.choice([key, key, "kj"])
            for part in range(rng.choice([1, 3])):
                to = rng.choice(keys)
                offset = len(log[to]) + (rng.random() < 0.1)
                log[to].append((offset, f"{number}.{part}"))
                observed = offset if ended != "fail" and rng.random() < 0.9 else None
                sent.append(Send(to, f"{number}.{part}", observed))
            add(100 + number, rng.choice(["txn", "txn", "send"]), ended, sent)
            continue
        process, did = rng.choice([5, 6]), list[MicroOperation]()
        at = stands[process][key]
        for offset, value in log[key][at : at + rng.choice([1, 2, 8])]:
            if rng.random() >= leaves:
                did.append(Poll(key, offset, value))
            at += 1
        if ended == "ok":
            stands[process][key] = at if rng.random() < 0.9 else max(0, at - 2)
        add(process, "poll", ended, did)
        if rng.random() < 0.1:
            add(process, "assign", "ok", [Assigned(rng.choice("kj"))])
        if rng.random() < 0.05:
            add(7, "start_offset", "ok", [StartOffset(key, rng.randrange(4))])
    last = 1 << 60
    return tuple(sorted(made, key=lambda o: last if o.completed_ns is None else o.completed_ns))


@settings(max_examples=60, deadline=None)
@given(
    h=histories(),
    declared=st.sampled_from(
        [
            Declarations(),
            Declarations(isolation="read_uncommitted"),
            Declarations(compacted=frozenset("j")),
        ]
    ),
    rows=st.sampled_from([1, 3, 100]),
    groups=st.integers(1, 3),
)
def test_kernels_agree_with_the_literal_definition(
    h: History, declared: Declarations, rows: int, groups: int
) -> None:
    assert_agrees(h, declared, rows, groups)


def test_a_reader_that_skips_a_record_may_still_poll_the_last_one_of_the_transaction() -> None:
    h = history("""
        t1  txn k=a k=b k=c k=d  -> ok @0 @1 @2 @3
        c1  poll                 -> ok k=a@0
        c1  poll                 -> ok k=c@2
    """)
    assert intermediate_reads(h, NOTHING_DECLARED) == ()
    assert_agrees(h, NOTHING_DECLARED, rows=1, groups=1)


def assert_agrees(h: History, declared: Declarations, rows: int, groups: int) -> None:
    with shuffled(h, declared, rows, groups) as sources:
        shared = in_parallel(find_unconfirmed(), retention.find_log_starts(declared))
        unconfirmed, log_starts = result_of(shared, sources)
        context = Context(declared=declared, unconfirmed=unconfirmed, log_starts=log_starts)
        found = result_of(process_order.process_order(context), sources)
    (halves,) = (one for one in found if one.id == ID)
    by = [(name, "ascending") for name in IntermediateRead.__dataclass_fields__]
    applied = declared.applied(h)
    literal = intermediate_reads(applied, declared)
    assert as_rows(halves.rows.sort_by(by), IntermediateRead) == literal
    assert halves.observations == observed(applied, declared)
