"""The page of verdicts over time shows each claim's runs, and loads nothing from the network."""

from __future__ import annotations

import re
from pathlib import Path

from checkers.over_time.flaky import flaky
from checkers.over_time.kept_run import KeptRun, read_run
from checkers.over_time.page import MOST, page
from tests.checkers.over_time.written_runs import anomaly, claim, write_run


def runs(folder: Path, count: int = 3) -> tuple[KeptRun, ...]:
    made = []
    for n in range(count):
        found = claim("<b>&", "violated" if n % 2 else "holds")
        events = (anomaly(verdict="holds"), found)
        made.append(read_run(write_run(folder, f"{n:04x}", *events, seed=40 + n, commit="abc")))
    return tuple(made)


def test_each_claim_has_its_runs_with_seed_version_and_duration(tmp_path: Path) -> None:
    shown = page(runs(tmp_path), ())
    rows = re.findall(r'<tr class="verdict (\S+)">(.*?)</tr>', shown, re.DOTALL)
    assert sorted(state for state, _ in rows) == ["holds"] * 5 + ["violated"]
    for row in (row for _, row in rows):
        assert re.search(r"<td>4[012]</td>", row)
        assert "<td>0.4.0</td>" in row
        assert re.search(r"<td>(1|2)\.5 s</td>", row)
        assert "<td>abc</td>" in row


def test_a_flaky_claim_has_its_number_of_failed_runs(tmp_path: Path) -> None:
    kept = runs(tmp_path)
    assert "flaky: violated in 1 of 3 runs at commit abc" in page(kept, flaky(kept))
    assert "flaky:" not in page(kept, ())


def test_claims_that_are_violated_now_come_first(tmp_path: Path) -> None:
    shown = page(runs(tmp_path, 2), ())
    assert shown.index("&lt;b&gt;&amp;") < shown.index("lost-write")
    assert "<b>" not in shown


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    shown = page(runs(tmp_path), ())
    assert "default-src 'none'" in shown
    assert not re.search(r"https?:|<script|<link rel=.stylesheet|@import|src=", shown)


def test_old_runs_are_left_out_and_counted(tmp_path: Path) -> None:
    (one,) = runs(tmp_path, 1)
    shown = page([one] * (MOST + 5), ())
    assert "5 earlier runs are left out" in shown


def test_a_page_without_runs_says_that_there_are_none() -> None:
    assert "No run matches." in page((), ())
