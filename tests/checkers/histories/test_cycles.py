"""The cycles are those of the literal definitions, wherever the history is cut."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.histories import cycles
from checkers.histories.chunks import Rows, chunks_of
from checkers.histories.found import Known
from checkers.histories.inquiry import OPERATIONS, PLACES, SENDS, answered
from checkers.histories.pieces import LocalPieces
from checkers.histories.places import exchanged, strays
from checkers.histories.recorded import as_table
from checkers.histories.rows import as_rows
from model.histories import History, Isolation, MicroOperation, Operation, Outcome, Poll, Send
from properties.anomalies.cycles.cycle import FORMS, Cycle
from properties.anomalies.cycles.forms import anomalies
from properties.anomalies.declared import Declared

SPREAD = [1, 40_000]  # between offsets: in one block, and in several


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Transactions that send and poll records of two logs, now and then out of order."""
    rng = random.Random(draw(st.integers(0, 1 << 40)))
    spread, wide = rng.choice(SPREAD), rng.choice([2, 6, 12])
    odd = rng.choice([0.0, 0.1, 0.3])
    unsent = [(key, place) for key in "kj" for place in range(rng.randrange(6))]
    records = list(unsent)
    resent: list[tuple[str, int]] = []
    made: list[Operation] = []
    free: dict[int, int] = {}
    for number in range(draw(st.integers(0, 9))):
        process = rng.randrange(4)
        at = max(free.get(process, 0), 3 * number + rng.randrange(-wide, wide) + 20)
        ended = at + rng.randrange(wide)
        outcome: Outcome = rng.choice(["ok", "ok", "ok", "ok", "info", "fail"])
        never = outcome == "info" and rng.random() < 0.4
        free[process] = 1 << 40 if never else ended + rng.randrange(2)
        did: list[MicroOperation] = []
        for _ in range(rng.choice([0, 1, 2, 3])):
            if unsent and rng.random() < 0.5:
                key, place = unsent.pop(rng.choice([0, -1]))
                known = outcome != "fail" and rng.random() < 0.9
                offset = place * spread + (rng.random() < odd)
                did.append(Send(key, f"{key}{place}", offset if known else None))
                if outcome == "fail" and rng.random() < 0.5:
                    resent.append((key, place))
            elif records:
                key, place = rng.choice(records)
                polled = rng.choice([place * spread + (rng.random() < odd)] * 9 + [None])
                did.append(Poll(key, polled, f"{key}{place}"))
        unsent += resent
        resent = []
        isolation: Isolation | None = rng.choice([None, "read_committed", "read_uncommitted"])
        if at >= 1 << 40:
            continue
        made.append(
            Operation(
                process=process,
                f="txn",
                outcome=outcome,
                invoked_ns=at,
                completed_ns=None if never else ended,
                did=tuple(did),
                isolation=isolation,
            )
        )
    last = 1 << 60
    return tuple(sorted(made, key=lambda o: last if o.completed_ns is None else o.completed_ns))


def kernel_rows(h: History, declared: Declared, rows: int, groups: int) -> dict[str, object]:
    """The rows of each form, and on how much they rest."""
    tables = [Rows(as_table([one], first_op=number)) for number, one in enumerate(h)]
    chunks = LocalPieces(chunks_of(tables, rows))
    with chunks.exchange(exchanged(declared), groups) as dealt:
        sources = {
            OPERATIONS: lambda: chunks,
            PLACES: lambda: dealt[PLACES],
            SENDS: lambda: dealt[SENDS],
        }
        known = Known(declared=declared, strays=answered({"it": strays()}, sources)["it"])
        found = answered({"it": cycles.dependency_cycles(known)}, sources)["it"]
    by = [(name, "ascending") for name in ("first_op", "component")]
    return {one.id: (as_rows(one.rows.sort_by(by), Cycle), one.observations) for one in found}


@settings(max_examples=250, deadline=None)
@given(
    h=histories(),
    ww_deps=st.booleans(),
    isolation=st.sampled_from(["read_committed", "read_uncommitted"]),
    rows=st.sampled_from([1, 3, 100]),
    groups=st.integers(1, 3),
)
def test_kernels_agree_with_the_literal_definitions(
    h: History, ww_deps: bool, isolation: Isolation, rows: int, groups: int
) -> None:
    declared = Declared(ww_deps=ww_deps, isolation=isolation)
    applied = declared.applied(h)
    literal = {
        one.id: (one.find(applied), one.observed(applied))
        for one in anomalies(declared)
        if one.id in FORMS
    }
    assert kernel_rows(h, declared, rows, groups) == literal
