"""Faults that were injected into a cluster are read from the folder of the recorded history."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.histories.io.faults import MOMENTARY, Fault, Step, faults, paired, write_faults
from checkers.histories.io.unreadable import UnreadableHistory


def step(at_ns: int, do: str, node: int = 1) -> Step:
    return Step(at_ns=at_ns, do=do, node=node)


def test_a_step_ends_only_a_fault_of_the_same_node(tmp_path: Path) -> None:
    done = [
        step(10, "kill", 1),
        step(20, "pause", 2),
        step(30, "restart", 1),
        step(40, "kill", 1),
        step(50, "resume", 2),
    ]
    write_faults(tmp_path, done)
    assert faults(tmp_path) == (
        Fault(do="kill", node=1, from_ns=10, until_ns=30),
        Fault(do="pause", node=2, from_ns=20, until_ns=50),
        Fault(do="kill", node=1, from_ns=40),
    )


def test_a_repeated_kill_and_a_start_without_a_kill_are_ignored() -> None:
    assert paired([step(1, "start"), step(2, "kill"), step(3, "kill"), step(4, "start")]) == (
        Fault(do="kill", node=1, from_ns=2, until_ns=4),
    )


@pytest.mark.parametrize("down", ["kill", "stop", "power-loss"])
def test_a_start_ends_every_way_to_be_down(down: str) -> None:
    assert paired([step(2, down), step(4, "start")]) == (
        Fault(do=down, node=1, from_ns=2, until_ns=4),
    )


@pytest.mark.parametrize("do", MOMENTARY)
def test_some_faults_end_at_once(do: str) -> None:
    assert paired([step(2, do), step(3, do), step(4, "start")]) == (
        Fault(do=do, node=1, from_ns=2, until_ns=2),
        Fault(do=do, node=1, from_ns=3, until_ns=3),
    )


def test_a_history_without_the_file_has_no_faults(tmp_path: Path) -> None:
    assert faults(tmp_path) == ()
    assert faults(tmp_path / "history.edn") == ()


@pytest.mark.parametrize("line", ["", "3", '{"at_ns": 1, "do": "kill"}', '{"at_ns": "soon"}'])
def test_a_malformed_line_is_an_error_with_its_number(line: str, tmp_path: Path) -> None:
    write_faults(tmp_path, [step(1, "kill")])
    with (tmp_path / "faults.ndjson").open("a") as lines:
        lines.write(line + "\n")
    with pytest.raises(UnreadableHistory, match=r"faults\.ndjson, line 2: this is not a fault"):
        faults(tmp_path)


@given(
    st.lists(
        st.builds(
            Step,
            at_ns=st.integers(0, 100),
            do=st.sampled_from(["kill", "power-loss", "pause", "start", "restart", "resume"]),
            node=st.integers(1, 2),
        )
    )
)
def test_faults_of_one_kind_and_node_never_overlap(done: list[Step]) -> None:
    found = paired(done)
    for kind in {(one.do, one.node) for one in found}:
        own = [one for one in found if (one.do, one.node) == kind]
        for earlier, later in pairwise(own):
            assert earlier.until_ns is not None
            assert earlier.from_ns <= earlier.until_ns <= later.from_ns
