"""Each violation becomes an event for the report.

The event has a text, and the operations near the violation for a timeline.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from checkers.events import FaultShown, RowShown
from checkers.histories.analysis import KEPT, PICTURED, Decision, analyze
from checkers.histories.io.operation_rows import as_table
from checkers.report.rows_shown import NEARBY, rows_shown
from model.history_notation import history
from properties.anomalies.cycles import forms
from properties.anomalies.declarations import NOTHING_DECLARED


def rows(anomaly: str, text: str, *faults: FaultShown) -> list[RowShown]:
    analysis = analyze(as_table(history(text)), anomalies=(anomaly,))
    (decision,) = analysis.decisions
    return list(rows_shown(analysis, decision, "a history", faults))


LOST = """
    p1  send k=a  -> ok @0
    p1  send k=b  -> ok @1
    p2  send j=x  -> ok @0
    c1  poll      -> ok k=a@0 j=x@0 k=c@2
    p2  send k=c  -> ok @2
    p2  send k=d  -> never
"""


def test_a_row_comes_with_the_operations_around_it() -> None:
    (row,) = rows("lost-write", LOST)
    assert row.number == 1
    assert row.ops == (1, 3)
    assert row.text.startswith("key k: the value b is at offset 1;")
    assert [one.op for one in row.operations] == [0, 1, 2, 3, 4, 5]
    assert [one.relevant for one in row.operations] == [True, True, False, True, True, True]
    assert [one.completed_ns for one in row.operations][-1] is None


def test_an_operation_is_cut_to_the_records_of_the_row_and_labels_are_short() -> None:
    (row,) = rows("lost-write", LOST)
    poll = row.operations[3]
    assert poll.text == "poll -> ok k=c@2  (and 2 more)"
    assert poll.label == "poll c@2 +2"
    assert [one.label for one in row.operations[:2]] == ["send a@0", "send b@1"]
    assert row.operations[5].label == "send d never"


def test_times_count_from_the_first_invocation() -> None:
    (row,) = rows("lost-write", LOST)
    assert row.operations[0].invoked_ns == 0
    assert row.operations[1].invoked_ns == 10


def test_only_the_worst_few_have_a_picture() -> None:
    sends = "\n".join(["p1 send k=z -> ok @99", *(f"p1 send k=v{n} -> ok @{n}" for n in range(40))])
    found = rows("offset-order-inversion", sends)
    assert [row.number for row in found] == list(range(1, KEPT + 1))
    assert [bool(row.operations) for row in found] == [n < PICTURED for n in range(KEPT)]


def test_only_the_nearest_operations_are_shown() -> None:
    before = "\n".join(f"p9 send j=w{n} -> ok @{n}" for n in range(40))
    between = "\n".join(f"p9 send j=x{n} -> ok @{n + 40}" for n in range(40))
    (row,) = rows(
        "offset-order-inversion",
        f"{before}\np1 send k=a -> ok @5\n{between}\np1 send k=b -> ok @4",
    )
    assert row.ops == (40, 81)
    shown = [one.op for one in row.operations]
    assert {40, 81} <= set(shown)
    assert len(shown) == 2 + NEARBY
    assert min(shown) >= 30


def test_a_poll_of_a_thousand_records_is_short() -> None:
    records = " ".join(f"k=v{n}@{n}" for n in range(1_000) if n != 500)
    sends = "\n".join(f"p1 send k=v{n} -> ok @{n}" for n in (500, 999))
    (row,) = rows("lost-write", f"{sends}\nc1 poll -> ok {records}")
    poll = row.operations[-1]
    assert poll.text == "poll -> ok k=v999@999  (and 998 more)"
    assert poll.label == "poll v999@999 +998"


def test_a_fault_is_part_of_the_rows_that_it_overlaps() -> None:
    early = FaultShown(description="kill broker 1", from_ns=-50, until_ns=-10)
    during = FaultShown(description="kill broker 2", from_ns=12, until_ns=22)
    late = FaultShown(description="kill broker 3", from_ns=1_000)
    since = FaultShown(description="pause broker 1", from_ns=-50)
    (row,) = rows("lost-write", LOST, early, during, late, since)
    assert row.faults == (during, since)


def test_a_cycle_has_an_edge_for_each_reason() -> None:
    text = """
        p1  txn k=a j=b  ...
        p2  txn k=c      ...
        p1  ...          -> ok @0 @0 k=c@1
        p2  ...          -> ok @1 j=b@0
    """
    of_history = history(text)
    (anomaly,) = (one for one in forms.anomalies(NOTHING_DECLARED) if one.id == "G1c")
    worst = anomaly.find(of_history)
    decision = Decision(
        anomaly=anomaly, verdict="violated", count=1, observations=2, worst=worst, rows=pa.table({})
    )
    analysis = replace(
        analyze(as_table(of_history)), decisions=(decision,), shown=dict(enumerate(of_history))
    )
    (row,) = rows_shown(analysis, decision, "a history")
    assert row.ops == (0, 1)
    assert [(edge.source, edge.target, edge.kind, edge.reason) for edge in row.edges] == [
        (0, 1, "wr", "j=b"),
        (1, 0, "wr", "k=c"),
    ]
    assert row.text.splitlines()[0] == "Let:"
    assert [one.label for one in row.operations] == ["txn j=b@0 k=c@1 +1", "txn k=c@1 j=b@0"]
