"""A search finds counterexamples, and the nearest state that a predicate describes. It keeps to its
budget and can be stopped.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from checkers.counterexample_record import kept
from checkers.explore.formulas import FormulaFault
from checkers.explore.requests import Explorer
from model.faults import InputFault, UnknownName

Ask = Any
BEGUN = "controller_elect_leader(b0); become_leader(b0, leader_epoch 0); leader_write(b0)"


def test_a_search_finds_a_shortest_path_to_a_state(ask: Ask, ended: Ask) -> None:
    found = ended("search", formula="exists(replica[b].high_watermark == 1 for b in Replica)")
    assert (found["status"], found["steps"], found["why"]) == ("found", 5, "shortest path")
    lanes = ask("walk", path=found["path"])["picture"]["lanes"]
    assert {lane["logs"][0]["marks"][0]["at"] for lane in lanes} == {0, 1}


def test_a_search_begins_in_the_present_state(ended: Ask) -> None:
    found = ended("search", path=BEGUN, formula="log[b1].end_offset > 0", from_here=True)
    assert found["path"].startswith(f"{BEGUN}; ")
    assert found["steps"] == 2
    again = ended("search", path=found["path"], formula="log[b1].end_offset > 0", from_here=True)
    assert (again["path"], again["steps"]) == (found["path"], 0)


@pytest.mark.parametrize(
    ("spec", "path", "formula"),
    [
        ("transactions", "", "exists(owner[k] == owner[k] for k in Transaction)"),
        ("retention", "", "exists(log[b].end_offset > 0 for b in Replica)"),
        ("quorum", "time_out(c1)", "exists(member[r].epoch > 0 for r in Replica)"),
        ("idempotence-abstract", "", "true"),
    ],
)
def test_a_search_begins_in_a_state_of_any_spec(
    ended: Ask, spec: str, path: str, formula: str
) -> None:
    where = {"spec": spec, "variant": "", "constants": {}, "path": path}
    found = ended("search", **where, formula=formula, from_here=True, states=3_000)
    assert found["status"] == "found"


def test_a_missing_state_and_a_spent_budget_have_different_answers(ended: Ask) -> None:
    none = ended("search", formula="next_id > 1 + 1", states=100_000)
    assert (none["status"], none["why"]) == ("none", "no reachable state: every one was explored")
    spent = ended("search", formula="false", states=50)
    assert (spent["status"], spent["why"]) == ("none", "the budget of states is spent")


def test_a_search_shows_its_progress_and_stops(ask: Ask) -> None:
    where = {"spec": "election", "variant": "", "constants": {}}
    job = ask("search", **where, formula="false", states=20_000)["job"]
    until = time.monotonic() + 60
    while not (at := ask("job", job=job)).get("states"):
        assert at["status"] == "running"
        assert time.monotonic() < until
        time.sleep(0.01)
    while (at := ask("stop", job=job))["status"] == "running":
        assert time.monotonic() < until
    assert at["status"] == "none"


def test_a_recorded_counterexample_needs_no_search(ask: Ask) -> None:
    found = ask("counterexample", property="weak_isr")
    assert found["why"] == "from the record of counterexamples"
    assert found["path"] == "; ".join(kept()["replication", "truncate-to-hw"].steps)
    view = ask("walk", path=found["path"])
    (broken,) = [one for one in view["properties"] if one["broken_at"] is not None]
    assert (broken["name"], broken["broken_at"]) == ("weak_isr", 8)
    assert broken["why"][-1] == "but  0 < log[b1].end_offset 0  is false"


def test_other_counterexamples_are_searched_for(ask: Ask, ended: Ask) -> None:
    found = ended("counterexample", property="strong_isr", states=20_000)
    assert found["status"] == "found"
    broken = [p for p in ask("walk", path=found["path"])["properties"] if p["broken_at"]]
    assert found["steps"] in [one["broken_at"] for one in broken if one["name"] == "strong_isr"]
    held = ended("counterexample", property="high_watermark_in_log", variant="kip-320",
                 constants={"replicas": 2, "log_size": 1, "max_records": 1})  # fmt: skip
    assert (held["status"], held["path"]) == ("none", None)
    assert held["why"] == "high_watermark_in_log holds in every reachable state"


def test_a_mistake_is_reported_before_a_search_begins(ask: Ask) -> None:
    with pytest.raises(FormulaFault, match="nearest: next_id"):
        ask("search", formula="nexid == 1")
    with pytest.raises(InputFault, match="states: 0; write a number from 1"):
        ask("search", formula="true", states=0)
    with pytest.raises(UnknownName, match="replication truncate-to-hw has no property 'weak'"):
        ask("counterexample", property="weak")
    with pytest.raises(InputFault, match="no search 99"):
        Explorer(opened={"spec": "replication"}).answer("job", {"job": 99})
