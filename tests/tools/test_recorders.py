"""The recorders' histories keep the format, and show a bug of the broker on which they ran.

`make recorders` builds the recorders and records new histories; the tests read stored ones.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tools.recorders import (
    CASES,
    COMMITTING,
    OF_SAMPLES,
    RECORDERS,
    SAMPLES,
    faults,
    uncommitted,
)


@pytest.mark.parametrize("name", RECORDERS)
def test_a_recorded_history_shows_the_lost_records(name: str) -> None:
    assert faults(SAMPLES / f"{name}.ndjson", OF_SAMPLES) == []


@pytest.mark.parametrize("name", COMMITTING)
def test_a_recorded_history_has_the_commits_of_its_group(name: str, tmp_path: Path) -> None:
    sample = SAMPLES / f"{name}.ndjson"
    assert uncommitted(sample) == []
    rows = [json.loads(line) for line in sample.read_text().splitlines()]
    commits = [row for row in rows if row["kind"] == "commit_offset"]
    assert {(row["f"], row["outcome"], row["group"]) for row in commits} == {
        ("commit_offset", "ok", "billing")
    }
    # no operation of a process of a commit overlaps another one
    of_commits = {row["process"]: row["op"] for row in commits}
    others = {row["process"] for row in rows if row["kind"] != "commit_offset"}
    assert len(of_commits) == len({row["op"] for row in commits}) > 1
    assert of_commits.keys().isdisjoint(others)

    without = tmp_path / "without.ndjson"
    kept = [row for row in rows if row["kind"] != "commit_offset" or row["key"] == "orders-0"]
    without.write_text("".join(json.dumps(row) + "\n" for row in kept))
    (fault,) = uncommitted(without)
    assert fault.startswith("orders-1: offset -1 was committed, and offset ")


def test_histories_of_both_recorders_are_one_history() -> None:
    assert len(list(SAMPLES.glob("*.ndjson"))) == len(RECORDERS)
    # two runs on two topics of the same name: offsets name two records
    found = faults(SAMPLES, replace(OF_SAMPLES, anomalies=frozenset({"inconsistent-offsets"})))
    assert found == []


def test_a_difference_from_the_case_is_a_fault(tmp_path: Path) -> None:
    sample = SAMPLES / "java.ndjson"
    assert "lost-write was found" in faults(sample, CASES[0])
    other = replace(OF_SAMPLES, anomalies=frozenset({"G1a"}))
    assert faults(sample, other) == ["G1a was not found"]
    broken = tmp_path / "broken.ndjson"
    lines = sample.read_text().splitlines(keepends=True)
    row = next(number for number, line in enumerate(lines) if '"offset":0,' in line)
    lines[row] = lines[row].replace('"offset":0,', '"offset":-1,')
    broken.write_text("".join(lines))
    (fault,) = faults(broken, OF_SAMPLES)
    assert f"row {row + 1}: column offset is negative" in fault
