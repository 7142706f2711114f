"""A command writes reports for other programs: JUnit XML, SARIF, and GitHub annotations."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from checkers.cli.main import urteil
from model.faults import InputFault

SCOPE = ("--set", "replicas=2", "--set", "max_leader_epoch=2")
STALE = ("--bug", "stale-end-offset")
CHECK = ("check", "replication", "--variant", "kip-101", *SCOPE, "--quiet")


def ran(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(urteil, [*words, "--out", str(folder / "runs")])


def test_every_command_with_verdicts_writes_the_requested_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    files = {"--junit": tmp_path / "junit.xml", "--sarif": tmp_path / "x.sarif"}
    options = [word for name, path in files.items() for word in (name, str(path))]
    result = ran(tmp_path, *CHECK, "--json", "--github", *options)
    events = [json.loads(line) for line in result.stdout.splitlines()]
    verdicts = {e["property"]: e["verdict"] for e in events if e["event"] == "property_decided"}
    assert verdicts["strong_isr"] == "violated"
    cases = ElementTree.parse(files["--junit"]).getroot().iter("testcase")
    assert {case.attrib["name"] for case in cases} == verdicts.keys()
    (run,) = json.loads(files["--sarif"].read_text())["runs"]
    assert {r["ruleId"] for r in run["results"]} == {
        name for name, verdict in verdicts.items() if verdict == "violated"
    }
    assert "::error title=strong_isr violated" in result.stderr
    assert "strong_isr" in (tmp_path / "summary.md").read_text()
    (folder,) = (tmp_path / "runs").glob("2*")
    assert "strong_isr" in (folder / "report.html").read_text()


@pytest.mark.parametrize(("variable", "annotated"), [("true", True), ("", False)])
def test_inside_github_actions_annotations_are_on_by_default(
    variable: str, annotated: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", variable)
    result = ran(tmp_path, *CHECK)
    assert ("::error" in result.stderr) == annotated
    assert "::error" not in result.stdout


def test_an_output_file_that_cannot_be_written_is_an_error_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = ran(tmp_path, *CHECK, "--junit", str(tmp_path / "file/junit.xml"))
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
    assert "name a file in a folder that exists" in result.stderr
    assert not any((tmp_path / "runs").glob("2*"))


def test_an_output_file_of_an_earlier_run_does_not_survive_a_failed_run(tmp_path: Path) -> None:
    kept = tmp_path / "junit.xml"
    kept.write_text("<testsuites>all is well</testsuites>")
    result = ran(tmp_path, "check", "no-such-spec", "--junit", str(kept))
    assert result.exit_code == 2
    (case,) = ElementTree.parse(kept).getroot().iter("testcase")
    assert case.attrib["name"] == "the run"


def test_a_report_is_written_again_by_its_command(tmp_path: Path) -> None:
    ran(tmp_path, *CHECK)
    (folder,) = (tmp_path / "runs").glob("2*")
    before = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    result = CliRunner().invoke(urteil, ["report", str(folder)])
    assert result.exit_code == 0
    assert result.stdout == f"report: {folder / 'report.html'}\n"
    assert (folder / "report.html").read_bytes() == before
    result = CliRunner().invoke(urteil, ["report", str(tmp_path)])
    assert result.exit_code == 2
    assert not isinstance(result.exception, InputFault)


def test_injected_faults_are_kept_with_the_history_and_drawn(tmp_path: Path) -> None:
    kill = "kill-broker:id=1,after=20,restart=20"
    output = ran(tmp_path, "record", "--sends", "300", "--fault", kill, *STALE, "--json")
    assert output.exit_code == 0
    (folder,) = (tmp_path / "runs").glob("2*")
    kept = (folder / "history/faults.ndjson").read_text()
    done = [json.loads(line) for line in kept.splitlines()]
    assert [(one["do"], one["node"]) for one in done] == [("kill", 1), ("restart", 1)]
    assert done[0]["at_ns"] < done[1]["at_ns"]
    assert not (folder / "history-faults.ndjson").exists()
    result = ran(tmp_path, "analyze", str(folder / "history"), "--engine", "local", "--json")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    rows = [event for event in events if event["event"] == "row_shown" and event["faults"]]
    for row in rows:
        assert row["faults"][0]["description"] == "kill broker 1"
