"""Each run of the hunt gets a verdict and a row in the record, however the run ends.

The hunt runs Kafka clusters under random faults and looks for broken guarantees. These tests copy a
recorded history instead of running a cluster.
"""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from checkers.histories.io.faults import Step
from checkers.systems.system import SystemFailed
from tools.hunt import __main__ as command
from tools.hunt import campaign, record
from tools.hunt.campaign import HISTORY, VERDICT, Done, conduct
from tools.hunt.page import page
from tools.hunt.plan import Plan, drawn
from tools.hunt.record import Row, add, kept, next_seed

DATA = Path(__file__).parents[2] / "data"
LOSES = DATA / "reproduce" / "unclean-election" / "case"  # a record is lost
HOLDS = DATA / "reproduce" / "unclean-election" / "control"
BROKER = DATA / "apache_kafka" / "log_dirs_stopped" / "broker-1"
Recorded = Callable[[Plan, Path, Done], None]


def recorded(history: Path) -> Recorded:
    """Returns a function that copies a recorded history instead of running a cluster."""

    def run(_: Plan, folder: Path, done: Done) -> None:
        shutil.copytree(history, folder / HISTORY)
        shutil.copytree(BROKER, folder / "cluster" / "node-1" / "logs")
        done.faults.append(Step(at_ns=1, do="kill", node=1))

    return run


def raising(error: BaseException) -> Recorded:
    def run(_plan: Plan, _folder: Path, _done: Done) -> None:
        raise error

    return run


@pytest.mark.parametrize(
    ("run", "verdict", "violated", "stays"),
    [
        (recorded(HOLDS), "holds", False, False),
        (recorded(LOSES), "violated", True, True),
        (raising(KeyboardInterrupt()), "interrupted", False, True),
        (raising(SystemFailed("node 2 died")), "failed", False, True),
    ],
)
def test_each_run_has_a_row_and_keeps_its_violations(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    run: Recorded,
    verdict: str,
    violated: bool,
    stays: bool,
) -> None:
    monkeypatch.setattr(campaign, "_record", run)
    row = conduct(drawn(7), tmp_path / "run")

    assert row.verdict == verdict, row
    assert ("lost-write" in row.violated) == violated
    assert (tmp_path / "run").exists() == stays
    assert row.reason == ("node 2 died" if verdict == "failed" else "")
    if verdict == "violated":
        assert "lost-write" in (tmp_path / "run" / VERDICT).read_text()
        assert row.faults == {"kill": 1}


def row(seed: int, **fields: object) -> Row:
    some = {"day": "2026-11-23", "version": "4.3.0", "workload": "append-and-read", "acks": "all"}
    rest = {"replicas": 3, "verdict": "holds", "seconds": 60.0, **fields}
    return Row(seed=seed, **some, **rest)  # type: ignore[arg-type]


def test_rows_are_only_added_and_seeds_are_used_once(tmp_path: Path) -> None:
    path = tmp_path / "hunt.json"
    assert kept(path) == ()
    assert next_seed(()) == 1

    first, second = row(1, faults={"kill": 2}), row(5, violated=("lost-write",))
    add(first, path)
    add(second, path)
    assert kept(path) == (first, second)
    assert next_seed(kept(path)) == 6
    assert len(path.read_text().splitlines()) == 4


def test_the_page_lists_the_runs_that_broke_and_those_that_did_not() -> None:
    rows = [
        row(1, operations=50, faults={"kill": 2}, changes={"reassign": 3}),
        row(2, verdict="violated", violated=("duplicate",), finding="duplicate-after-restart"),
        row(3, verdict="failed", reason="node 2 died | early"),
        row(0, verdict="violated", violated=("lost-write",), known="unclean-election"),
    ]
    text = page(rows)

    assert "| all | 3 | 3 | 50 | 2 | 3 | 1 | 1 |" in text
    assert "1 of 3 drawn runs hold, with 50 operations in 1 minutes." in text
    assert "| violated | duplicate (duplicate-after-restart) |" in text
    assert r"node 2 died \| early" in text
    assert "| unclean-election | 2026-11-23 |" in text
    assert "No drawn run broke a promise." in page(rows[:1])
    assert "None of 1 drawn runs has held" in page(rows[1:2])


def test_the_campaign_ends_by_its_budget_and_by_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(record, "KEPT", tmp_path / "hunt.json")
    monkeypatch.setattr(command, "PAGE", tmp_path / "hunt.md")
    monkeypatch.setattr(campaign, "_record", recorded(HOLDS))
    folder = ["--folder", str(tmp_path / "runs")]

    for arguments, seeds in (
        (["--seconds", "100"], []),  # too short for a run
        (["--runs", "2"], [1, 2]),
        (["--runs", "1", "--seed", "9"], [1, 2, 9]),
    ):
        monkeypatch.setattr(sys, "argv", ["hunt", *arguments, *folder])
        command.main()
        assert [one.seed for one in kept(record.KEPT)] == seeds

    monkeypatch.setattr(campaign, "_record", raising(KeyboardInterrupt()))
    monkeypatch.setattr(sys, "argv", ["hunt", "--known", "unclean-election", *folder])
    command.main()
    last = kept(record.KEPT)[-1]
    assert (last.known, last.verdict) == ("unclean-election", "interrupted")
    assert "| unclean-election |" in (tmp_path / "hunt.md").read_text()


def test_faults_end_after_some_time_or_when_every_record_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = threading.Event()
    monkeypatch.setattr(campaign, "FAULTS_S", 0.01)
    assert campaign._over(sent).wait(5)

    monkeypatch.setattr(campaign, "FAULTS_S", 60.0)
    over = campaign._over(sent)
    assert not over.is_set()
    sent.set()
    assert over.wait(5)
