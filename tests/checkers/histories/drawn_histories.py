"""Draws small histories of three processes, and analyzes each history in several partitions.

A partition is a range of the history's operations. The result must not depend on the partitions.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

from hypothesis import strategies as st

from checkers.histories.analysis import KEPT, Analysis, analysis_of
from checkers.histories.io.operation_rows import as_table
from checkers.histories.io.partitions import TableRows, partitions_of
from checkers.histories.plan.in_process import LocalDataset
from model.histories import (
    Assigned,
    History,
    Isolation,
    MicroOperation,
    Operation,
    Outcome,
    Poll,
    Rebalanced,
    Send,
    StartOffset,
)
from properties.anomalies.anomaly import worst_first
from properties.anomalies.catalogue import named
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations

KEYS = ["t-0", "t-1", "u-0"]
FAR = 1 << 40


@st.composite
def operations(draw: st.DrawFn, at: int, sent: set[tuple[str, str]]) -> Operation:
    """Draws an operation whose offsets and values may contradict those of other operations.

    No value is sent twice to the same key.
    """
    f = draw(st.sampled_from(["poll", "poll", "poll", "send", "txn", "assign", "start_offset"]))
    outcome: Outcome = draw(st.sampled_from(["ok", "ok", "ok", "ok", "info", "fail"]))
    keys, values = st.sampled_from(KEYS), st.sampled_from("abcdefgh")
    offsets = st.none() | st.sampled_from([0, 1, 2, 3, 4, 63, 64, 65, 200, FAR, FAR + 1])
    did: list[MicroOperation] = []
    if f == "assign":
        did += map(Assigned, draw(st.lists(keys, max_size=2)))
    elif f == "start_offset":
        did.append(StartOffset(draw(keys), draw(st.sampled_from([0, 1, 3, 65]))))
    for _ in range(draw(st.integers(0, 3)) if f in {"send", "txn"} else 0):
        key, value = draw(keys), draw(values)
        if (key, value) not in sent:
            did.append(Send(key, value, draw(offsets)))
            if outcome != "fail":
                sent.add((key, value))
    for _ in range(draw(st.integers(0, 4)) if f in {"poll", "txn"} else 0):
        did.append(Poll(draw(keys), draw(offsets), draw(values)))
    if f == "poll" and draw(st.integers(0, 4)) == 0:
        did.append(Rebalanced(draw(st.sampled_from([micro.key for micro in did] or KEYS))))
    levels: list[Isolation | None] = [None, None, "read_committed", "read_uncommitted"]
    return Operation(
        process=draw(st.integers(0, 2)),
        f=f,
        outcome=outcome,
        invoked_ns=at,
        completed_ns=at + 1,
        did=tuple(did),
        isolation=draw(st.sampled_from(levels)),
    )


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draws a history of three processes, in which no two operations overlap."""
    sent: set[tuple[str, str]] = set()
    return tuple(draw(operations(2 * at, sent)) for at in range(draw(st.integers(0, 14))))


DECLARED = st.sampled_from(
    [
        NOTHING_DECLARED,
        Declarations(isolation="read_uncommitted"),
        Declarations(compacted=frozenset({"t"})),
        Declarations(jepsen=True),
        Declarations(isolation="read_uncommitted", compacted=frozenset({"u"})),
    ]
)


CUTS = st.lists(st.integers(0, 14), max_size=6)  # operations that begin a partition


def analysed(
    h: History, anomalies: Collection[str], declared: Declarations, at: list[int]
) -> Analysis:
    """Analyzes a history in partitions; a new partition begins at each operation number in `at`."""
    table = as_table(h)
    ops = table["op"].to_pylist()
    bounds = [0, *sorted(ops.index(op) for op in at if op in ops), table.num_rows]
    row_ranges = [TableRows(table.slice(a, b - a)) for a, b in pairwise(bounds) if b > a]
    return analysis_of(
        LocalDataset(partitions_of(row_ranges, 1)),
        named(tuple(anomalies), declared),
        name="generated",
        declared=declared,
        shuffle_partitions=1 + len(at) % 3,
    )


def assert_agrees(
    h: History, anomalies: Collection[str], declared: Declarations, at: list[int]
) -> None:
    """Asserts that an analysis of the history agrees with the definition of each anomaly.

    Both must find the same violations, and count equally many observations. An observation is an
    event that could have shown the anomaly.
    """
    analysis = analysed(h, anomalies, declared, at)
    assert not analysis.broken
    applied = declared.applied(h)
    observed = {d.anomaly.id: d.anomaly.observed(applied) for d in analysis.decisions}
    for decision in analysis.decisions:
        if not any(observed.values()):
            assert decision.verdict == "undecided"
            continue
        rows = decision.anomaly.find(applied)
        assert decision.worst == worst_first(rows)[:KEPT]
        assert decision.count == len(rows)
        assert (decision.anomaly.id, decision.observations) in observed.items()
