"""A simulated run is a trace of each spec that covers it; a seeded bug ends the trace early."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checkers.explore import traces
from checkers.report.explained_trace import read_trace, written
from checkers.report.simulated_run import traces_of
from properties.refinement.explained_runs import explained_runs
from properties.refinement.trace_validation import validate
from reference_impl.node.bugs import NO_BUGS, Bug
from tests.properties.refinement.scenarios import SCENARIOS
from tests.properties.refinement.seeded_bugs import DETECTED, Detection

EARLY = [
    row for row in DETECTED if row.bug in (Bug.NO_DEDUP, Bug.LOST_APPEND, Bug.LATE_MARKER_ACCEPTED)
]


def test_a_correct_run_opens_with_the_state_of_the_validation() -> None:
    events = SCENARIOS["late markers"].make(0, NO_BUGS)
    runs = {(one.subject, one.spec): one for one in explained_runs(events)}
    assert {spec for _, spec in runs} == {
        "replication-abstract", "idempotence-abstract", "transactions-abstract",
    }  # fmt: skip
    for made in traces_of(events):
        run = runs[made.subject, made.spec]
        assert (made.refused, len(made.lines)) == (None, len(events))
        assert read_trace(json.loads(written(made)), "a file") == made
        opened = traces._explained(Path("a file"), made, None)
        assert opened.path.state == run.mapping.behaviour.state
        assert opened.lines is not None
        assert opened.lines.lines[-1]["end"] == len(opened.path.calls)


@pytest.mark.parametrize("row", EARLY, ids=lambda row: row.bug.value)
def test_a_seeded_bug_ends_the_trace_where_the_validation_rejects_it(row: Detection) -> None:
    events = SCENARIOS[row.scenario].make(row.seed, frozenset({row.bug}))
    mappings = SCENARIOS[row.scenario].mappings(events)
    expected = validate(mappings[row.spec], events).unexplained
    assert expected is not None
    found = [one for one in traces_of(events) if one.spec == row.spec and one.refused is not None]
    (made,) = found
    assert made.refused is not None
    assert made.refused.place == f"event {expected.number}"
    assert made.refused.why == "; ".join(expected.why)
    opened = traces._explained(Path("a file"), made, None)
    assert opened.lines is not None
    line = opened.lines.refused
    assert line is not None
    if made.refused.needs is not None:  # else a value of the run differs
        assert line["needs"]["why"].endswith("is false")
    assert (made.refused.needs is None) == (row.bug is Bug.LOST_APPEND)
