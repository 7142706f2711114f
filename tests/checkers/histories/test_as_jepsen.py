"""With Jepsen's rules, the analysis of Jepsen's sample histories has Jepsen's verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkers.histories.analysis import Analysis, analyze
from checkers.histories.io.operation_rows import as_table
from model.history_notation import history
from properties.anomalies.declarations import Declarations, SubVia
from properties.anomalies.in_jepsen import NOT_IN_JEPSEN

SAMPLES = Path(__file__).parents[2] / "data" / "jepsen"
VERDICTS: dict[str, Any] = json.loads((SAMPLES / "verdicts.json").read_text())
# jepsen.tests.kafka, allowed-error-types
ALLOWED = {
    "int-send-skip", "G0", "G0-process", "G0-realtime", "PL-1-cycle-exists",
    "strong-PL-1-cycle-exists",
}  # fmt: skip
ALLOWED_BY_SUBSCRIBERS = {"poll-skip", "nonmonotonic-poll"}
ALLOWED_WITH_WW_DEPS = {
    "G1c", "G1c-process", "G1c-realtime", "PL-2-cycle-exists", "strong-PL-2-cycle-exists",
}  # fmt: skip


def counted(analysis: Analysis) -> set[str]:
    """Returns the ids of the anomalies that the analysis found.

    Anomalies that Jepsen does not look for are left out.
    """
    return {
        decision.anomaly.id
        for decision in analysis.decisions
        if decision.verdict == "violated" and decision.reason != NOT_IN_JEPSEN
    }


@pytest.mark.parametrize("ww_deps", [False, True])
@pytest.mark.parametrize("sub_via", ["assign", "subscribe"])
@pytest.mark.parametrize("name", sorted(VERDICTS))
def test_samples_have_the_verdicts_of_jepsen_for_each_flag(
    name: str, sub_via: SubVia, *, ww_deps: bool
) -> None:
    declared = Declarations(jepsen=True, ww_deps=ww_deps, sub_via=frozenset({sub_via}))
    analysis = analyze(SAMPLES / f"{name}.edn", declared=declared)
    reported = set(VERDICTS[name]["anomalies_with_ww_deps" if ww_deps else "anomalies"])
    assert counted(analysis) == reported
    allowed = ALLOWED | (ALLOWED_WITH_WW_DEPS if ww_deps else set())
    allowed |= ALLOWED_BY_SUBSCRIBERS if sub_via == "subscribe" else set()
    assert analysis.exit_code == (1 if reported - allowed else 0)


CROSSED = """
    t1  txn k=a j=b  ...
    t2  txn j=c k=d  ...
    t1  ...          -> ok @0 @1
    t2  ...          -> ok @0 @1
    c1  poll         -> ok k=a@0 k=d@1 j=c@0 j=b@1
"""
OWN_PAST = """
    c1  poll      -> ok k=a@0
    c1  send k=a  -> ok @0
"""
INVERTED = """
    p1  send k=a  -> ok @1
    p2  send k=b  -> ok @0
    c1  poll      -> ok k=b@0 k=a@1
"""


@pytest.mark.parametrize(
    ("text", "declared", "reported", "code"),
    [
        (CROSSED, Declarations(ww_deps=True), {"G0", "PL-1-cycle-exists"}, 0),
        (CROSSED, Declarations(), set[str](), 0),
        (OWN_PAST, Declarations(), {"G1c-realtime", "strong-PL-2-cycle-exists"}, 1),
        (INVERTED, Declarations(), set[str](), 0),
        ("", Declarations(), {"empty-transaction-graph"}, 1),
    ],
)
def test_cycles_are_reported_as_by_jepsen(
    text: str, declared: Declarations, reported: set[str], code: int
) -> None:
    there = Declarations(jepsen=True, ww_deps=declared.ww_deps)
    analysis = analyze(as_table(history(text)), declared=there)
    assert (counted(analysis), analysis.exit_code) == (reported, code)


def test_anomalies_that_jepsen_does_not_look_for_are_shown_and_permitted() -> None:
    table = as_table(history(INVERTED))
    there = analyze(table, declared=Declarations(jepsen=True))
    (inverted,) = [d for d in there.decisions if d.anomaly.id == "offset-order-inversion"]
    assert (inverted.verdict, inverted.permitted, inverted.reason) == (
        "violated", True, NOT_IN_JEPSEN,
    )  # fmt: skip
    assert (analyze(table).exit_code, there.exit_code) == (1, 0)
