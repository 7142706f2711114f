"""A verdict is flaky if runs under the same conditions disagree, and only then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkers.over_time.flaky import flaky
from checkers.over_time.kept_run import read_run
from checkers.verdicts import Verdict
from tests.checkers.over_time.written_runs import claim, write_run


def unsteady(folder: Path, *runs: tuple[Verdict, dict[str, Any]]) -> list[str]:
    folders = [
        write_run(folder, f"{n:04}", claim(verdict=verdict), command="test", **fields)
        for n, (verdict, fields) in enumerate(runs)
    ]
    return [str(one) for one in flaky(map(read_run, folders))]


def test_a_verdict_that_differs_at_one_commit_is_flaky(tmp_path: Path) -> None:
    here = {"commit": "0123456789ab"}
    runs: list[tuple[Verdict, dict[str, Any]]] = [
        ("violated", here),
        ("holds", {**here, "seed": 5}),
        ("violated", here),
        ("undecided", here),
    ]
    expected = "flaky: violated in 2 of 3 runs at commit 01234567"
    assert unsteady(tmp_path, *runs) == [expected]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"commit": "a"}, {"commit": "b"}),
        ({"commit": "a"}, {"commit": "a", "uncommitted": True}),
    ],
)
def test_another_commit_or_uncommitted_changes_may_be_the_cause(
    before: dict[str, Any], after: dict[str, Any], tmp_path: Path
) -> None:
    assert unsteady(tmp_path, ("violated", before), ("holds", after)) == []


def test_without_a_repository_all_runs_count_as_one_commit(tmp_path: Path) -> None:
    assert unsteady(tmp_path, ("violated", {}), ("holds", {})) == ["flaky: violated in 1 of 2 runs"]


def test_a_steady_verdict_is_not_flaky(tmp_path: Path) -> None:
    assert unsteady(tmp_path, ("violated", {}), ("violated", {})) == []
