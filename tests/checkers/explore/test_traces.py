"""The explorer opens a recorded trace as a path: a sequence of actions of a spec.

The trace is a counterexample in a run folder, or any other file in ITF (a trace format).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkers.counterexample_record import kept
from checkers.explicit.exploration import Discovery, Step
from checkers.explore import traces
from checkers.explore.paths import walked
from checkers.explore.walks import Walk
from checkers.report.itf import document
from model.faults import InputFault
from model.specs import find

STEPS = "; ".join(kept()["replication", "truncate-to-hw"].steps)


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    variant = find("replication", "truncate-to-hw")
    walk = Walk.of(variant, variant.make(variant.at))
    path = walked(walk, STEPS)
    names = [("init", ()), *(call.key for call in path.calls)]
    trace = tuple(
        Step(action=name, values=values, state=state)
        for (name, values), state in zip(names, path.states, strict=True)
    )
    claim = next(c for c in walk.spec.claims if c.name == "weak_isr")
    found = Discovery(claim=claim, verdict="violated", trace=trace)
    ranges = walk.interpreter.ranges
    made = document(walk.spec, ranges, found, name="replication", variant="truncate-to-hw")
    return dict(made)


@pytest.fixture
def file(tmp_path: Path, written: dict[str, Any]) -> Path:
    made = tmp_path / "replication-truncate-to-hw-weak_isr.itf.json"
    made.write_text(json.dumps(written))
    return made


def changed(file: Path, change: Callable[[Any], object]) -> Path:
    read = json.loads(file.read_text())
    change(read)
    other = file.with_name("changed.itf.json")
    other.write_text(json.dumps(read))
    return other


def test_a_counterexample_opens_as_its_path(file: Path) -> None:
    found = traces.opened(file)
    assert (found.path.text, found.notes) == (STEPS, ())
    assert (found.walk.title, found.walk.spec.replicas) == ("replication truncate-to-hw", 2)  # type: ignore[attr-defined] # a constant of this spec


def test_a_trace_without_actions_is_followed_by_its_states(file: Path) -> None:
    def bare(read: Any) -> None:
        states = [{k: v for k, v in one.items() if k != "#meta"} for one in read["states"]]
        read["states"] = [states[0], *states]

    found = traces.opened(changed(file, bare))
    assert found.path.text == STEPS
    assert found.notes == ("step 1 of the trace changes nothing, and is left out",)


def test_a_state_that_differs_from_the_spec_is_noted(file: Path) -> None:
    found = traces.opened(changed(file, lambda read: read["states"][4].update(next_id=2)))
    assert found.notes == ("step 4: the state of the trace differs from the spec's in next_id",)


def test_on_a_variant_that_forbids_a_step_its_conjunct_is_named(file: Path) -> None:
    with pytest.raises(InputFault, match=r"step 8, become_follower.*kip-320.*leader_epoch 0 is 1"):
        traces.opened(file, "kip-320")


def test_a_run_folder_has_its_traces_in_order(file: Path) -> None:
    other = changed(file, lambda _: None)
    assert traces.files(file.parent) == [other, file]
    assert traces.is_recorded(str(file.parent))
    assert not traces.is_recorded("replication")
    assert not traces.is_recorded("specs/mine.py")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a trace"),
        ("{}", "the trace does not name its spec"),
        ('{"#meta": {"spec": "replication"}}', "the trace has no states"),
        ('{"#meta": {"spec": "replicatio"}}', "no spec 'replicatio'"),
    ],
)
def test_a_file_that_is_no_trace_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "a.itf.json"
    file.write_text(text)
    with pytest.raises(InputFault, match=message):
        traces.opened(file)


def test_a_folder_without_traces_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFault, match=r"no trace \*\.itf\.json or \*\.trace\.json in"):
        traces.files(tmp_path)
    with pytest.raises(InputFault, match="no such file; name a spec, a run folder"):
        traces.files(tmp_path / "b.itf.json")
