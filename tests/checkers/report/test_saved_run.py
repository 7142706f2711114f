"""A report that is written again from a run folder is identical to the first report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from checkers.events import Measured, PropertyDecided, RunStarted
from checkers.report.folder import RunFolder
from checkers.report.saved_run import NoRun, write_report
from checkers.saved_events import UnreadableEvents

Analysed = Callable[..., Path]
HOLDS = PropertyDecided(property="weak_isr", verdict="holds", engine="explicit")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder.make(tmp_path, command=["urteil", "check"], seed=0)
    made(RunStarted(command="check", folder=str(made.path), seed=0))
    return made


def test_the_same_events_make_the_same_report(analysed: Analysed) -> None:
    folder = analysed("p1 send k=a -> ok @1\np1 send k=b -> ok @0")
    before = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    assert write_report(folder).read_bytes() == before


def test_a_killed_run_has_a_report_of_its_verdicts_so_far(folder: RunFolder) -> None:
    folder(HOLDS)
    with (folder.path / "events.ndjson").open("a") as lines:
        lines.write('{"v": 2, "event": "property_dec')
    text = write_report(folder.path).read_text()
    assert "weak_isr" in text
    assert "the run has not ended" in text


def test_a_run_that_decided_nothing_has_nothing_to_report(folder: RunFolder) -> None:
    folder(Measured(metric="sends", value=3))
    with pytest.raises(NoRun, match="this run has no verdicts"):
        write_report(folder.path)


def test_a_folder_that_is_not_a_run_folder_is_one_line(tmp_path: Path, folder: RunFolder) -> None:
    with pytest.raises(NoRun, match=r"name the folder of a run, runs/\.\.\."):
        write_report(tmp_path / "nowhere")
    (folder.path / "events.ndjson").write_text("hello\n")
    with pytest.raises(UnreadableEvents, match="line 1: not an event: 'hello'"):
        write_report(folder.path)
    (folder.path / "events.ndjson").write_text(HOLDS.as_json() + "\n")
    (folder.path / "run.json").write_text("[")
    with pytest.raises(NoRun, match=r"run\.json"):
        write_report(folder.path)
