"""Each row of a result file keeps the circumstances of its own measurement."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks import pairs
from benchmarks.analyze import __main__ as sizes
from benchmarks.analyze import small_files
from benchmarks.analyze.measuring import Cost
from checkers.report.repository import Commit

OLD = {"way": "spark", "check": "all", "partitions": 1, "cpu_s": 1.5}  # without circumstances


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module in (pairs, sizes, small_files):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    return tmp_path


def at(monkeypatch: pytest.MonkeyPatch, commit: str | None, load: float) -> None:
    found = None if commit is None else Commit(hash=commit, uncommitted=False)
    monkeypatch.setattr(pairs, "commit_of", lambda _: found)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, load, load))


def cost(way: str, cpu_s: float) -> Cost:
    return Cost(
        way=way,
        check="all",
        rows=10,
        partitions=1,
        cpu_s=cpu_s,
        system_s=0.0,
        wall_s=cpu_s,
        ready_cpu_s=0.0,
        ready_s=0.0,
        peak_bytes=1,
    )


def of_way(file: Path) -> dict[str, Any]:
    return {row["way"]: row for row in json.loads(file.read_text())["costs"]}


def test_a_new_row_has_its_circumstances_and_those_of_other_rows_stay(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = results / "analyze-1e+01.json"
    file.write_text(json.dumps({"costs": [OLD]}))
    at(monkeypatch, "c1", 3.25)
    sizes._keep(10, cost("polars", 2.0))
    at(monkeypatch, None, 0.5)
    sizes._keep(10, cost("in-process", 1.0))
    rows = of_way(file)
    assert rows["spark"] == OLD  # nothing is invented for it
    before, now = rows["polars"]["measured"], rows["in-process"]["measured"]
    assert (before["commit"], before["uncommitted"], before["load"]) == ("c1", False, [3.2] * 3)
    assert (now["commit"], now["uncommitted"], now["load"]) == (None, None, [0.5] * 3)
    age = datetime.now(UTC) - datetime.fromisoformat(now["at"])
    assert timedelta() <= age < timedelta(minutes=5)
    assert json.loads(file.read_text())["written"].items() >= {"commit": None}.items()

    sizes._keep(10, cost("spark", 1.0))  # replaces the old row
    assert of_way(file)["spark"]["measured"]["load"] == [0.5] * 3
    assert of_way(file)["polars"]["measured"] == before


def test_a_measurement_of_small_files_has_its_circumstances(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(monkeypatch, "c1", 1.0)
    small_files.keep({"place": "local", "files": 10})
    at(monkeypatch, "c2", 2.0)
    file = small_files.keep({"place": "local", "files": 100})
    assert file.parent == results
    kept = json.loads(file.read_text())["sizes"]
    assert [(row["files"], row["measured"]["commit"]) for row in kept] == [(10, "c1"), (100, "c2")]
