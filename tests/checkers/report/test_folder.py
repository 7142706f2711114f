"""The run folder describes the run before the work starts; each piece of evidence has a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.events import Measured, RunStarted
from checkers.explore import traces
from checkers.report.folder import RunFolder
from checkers.run_files import DESCRIPTION, RUNNING
from model.faults import InputFault


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.make(tmp_path / "runs", command=["urteil", "check", "it's"], seed=7)


def test_a_new_folder_describes_the_command_and_the_machine(folder: RunFolder) -> None:
    run = json.loads((folder.path / "run.json").read_text())
    assert run["command"] == ["urteil", "check", "it's"]
    assert run["seed"] == 7
    assert {"started", "urteil", "python", "platform", "cores"} < run.keys()


def test_every_event_is_one_line_as_it_comes(folder: RunFolder) -> None:
    folder(RunStarted(command="check", folder=str(folder.path), seed=7))
    folder(Measured(metric="two\nlines", value=1))
    lines = (folder.path / "events.ndjson").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["run_started", "measured"]


def test_evidence_of_the_same_name_gets_its_own_file(folder: RunFolder) -> None:
    names = [folder.keep("replication-weak_isr.txt", text) for text in ("one", "two", "three")]
    assert names == [
        "replication-weak_isr.txt",
        "replication-weak_isr-2.txt",
        "replication-weak_isr-3.txt",
    ]
    assert [(folder.path / name).read_text() for name in names] == ["one", "two", "three"]


def test_the_number_of_a_repeated_trace_precedes_its_whole_ending(folder: RunFolder) -> None:
    names = [folder.keep("orders.v1-0-replication-abstract.trace.json", "{}") for _ in range(2)]
    assert names[1] == "orders.v1-0-replication-abstract-2.trace.json"
    assert traces.files(folder.path) == sorted(folder.path / name for name in names)


def test_the_evidence_of_a_spec_in_another_folder_has_a_plain_file_name(folder: RunFolder) -> None:
    assert folder.keep("../specs/my spec.py-reg-inv.txt", "✗") == "specs-my-spec.py-reg-inv.txt"
    assert folder.keep("specs/my spec.py-reg-inv.txt", "✗") == "specs-my-spec.py-reg-inv-2.txt"


@given(names=st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=5))
def test_any_name_of_evidence_gets_a_file_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    folder = RunFolder.make(tmp_path_factory.mktemp("runs"), command=[], seed=0)
    kept = [folder.keep(name, name) for name in names]
    there = {file.name for file in folder.path.iterdir()} - {DESCRIPTION, RUNNING}
    assert there == set(kept)
    assert len(there) == len(names)


def test_a_folder_that_holds_nothing_else_can_be_dropped(folder: RunFolder) -> None:
    folder(RunStarted(command="check", folder=str(folder.path), seed=7))
    folder.drop_if_bare()
    assert not folder.path.exists()


def test_a_folder_with_evidence_is_not_dropped(folder: RunFolder) -> None:
    folder.keep("weak_isr.txt", "✗")
    folder.drop_if_bare()
    assert (folder.path / "run.json").exists()


def test_a_folder_that_cannot_be_written_names_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputFault, match="Not a directory; name another by --out"):
        RunFolder.make(tmp_path / "file", command=[], seed=0)
