"""A counterexample in the format ITF is read back unchanged; that of another spec is rejected."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checkers.explicit.search import explore
from checkers.report.itf import document, recorded
from model.faults import InputFault
from model.language.interpreter import Interpreter
from model.specs import find

SPEC = find("replication", "truncate-to-hw").make({"replicas": 2, "max_leader_epoch": 2})
FOUND = explore(SPEC, properties=["weak_isr"])
TRACE = FOUND.discoveries["weak_isr"].trace
RANGES = Interpreter.of(SPEC).ranges


def written() -> dict[str, Any]:
    made = document(
        SPEC, FOUND.ranges, FOUND.discoveries["weak_isr"], name="replication", variant="old"
    )
    read: dict[str, Any] = json.loads(json.dumps(made))
    return read


def test_a_trace_is_written_as_an_itf_document() -> None:
    made = written()
    assert made["#meta"]["property"] == "weak_isr"
    assert made["#meta"]["constants"]["replicas"] == 2
    assert len(made["states"]) == 9
    second = made["states"][1]
    assert second["#meta"] == {"index": 1, "action": "controller_elect_leader", "arguments": [0]}
    assert second["registration_leader"] == "replica_0"
    assert second["replica_leader"] == {
        "#map": [["replica_0", "Nothing"], ["replica_1", "Nothing"]]
    }
    assert second["registration_leader_epoch"] == 0
    assert set(made["vars"]) == set(second) - {"#meta"}


def test_a_written_trace_is_read_again() -> None:
    steps = recorded(SPEC, RANGES, written())
    assert [(s.action, s.values, s.state) for s in steps] == [
        (s.action, s.values, s.state) for s in TRACE
    ]


def test_a_trace_as_apalache_writes_it_is_read() -> None:
    made = written()
    for state in made["states"]:
        state["registration_leader_epoch"] = {"#bigint": str(state["registration_leader_epoch"])}
        del state["#meta"]
    steps = recorded(SPEC, RANGES, made)
    assert [s.state for s in steps] == [s.state for s in TRACE]
    assert {s.action for s in steps} == {None}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda made: made.pop("states"), "no states"),
        (
            lambda made: made["states"][3].pop("next_id"),
            "state 3 of the trace has no variable next",
        ),
        (
            lambda made: made["states"][2].update(next_id=77),
            "next_id is 77, which is not in the spec's scope",
        ),
        (
            lambda made: made["states"][2].update(registration_isr={}),
            "registration_isr[0] is missing",
        ),
        (
            lambda made: made["states"][2].update(next_id="Nothing"),
            "next_id is 'Nothing', which is not",
        ),
    ],
)
def test_a_trace_of_another_spec_is_refused(change: Any, says: str) -> None:
    made = written()
    change(made)
    with pytest.raises(InputFault) as caught:
        recorded(SPEC, RANGES, made)
    assert says in str(caught.value)
