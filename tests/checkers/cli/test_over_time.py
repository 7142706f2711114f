"""`urteil runs` and `urteil diff` compare verdicts over time; a baseline lists known violations."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from checkers.cli.main import urteil
from model.faults import InputFault

FAULTY = """\
p1 send a=x -> ok @0
p1 send a=y -> ok @1
p2 poll -> ok a=y@1
"""
CLEAN = """\
p1 send a=x -> ok @0
p1 send a=y -> ok @1
p2 poll -> ok a=x@0 a=y@1
"""
TWICE = CLEAN + "p2 poll -> ok a=x@2\n"
Says = Callable[..., tuple[int, str]]


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Says:
    """Returns a function: `says("runs")` runs `urteil runs`; it returns exit code and output.

    The working directory has three histories: `faulty`, `clean` and `twice`. In `twice`, polls
    return a value at two offsets.
    """
    import pyarrow.parquet as pq

    from checkers.histories.io.operation_rows import as_table
    from model.history_notation import history

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    for name, text in {"faulty": FAULTY, "clean": CLEAN, "twice": TWICE}.items():
        pq.write_table(as_table(history(text)), f"{name}.parquet")

    def saying(line: str) -> tuple[int, str]:
        words = line.split()
        if words[0] == "analyze":
            words += ["--engine", "local", "--quiet"]
        monkeypatch.setattr("sys.argv", ["urteil", *words])
        result = CliRunner().invoke(urteil, words)
        if isinstance(result.exception, InputFault):
            return 2, f"urteil: {result.exception}\n"
        if not isinstance(result.exception, SystemExit | None):
            raise result.exception
        return result.exit_code, result.stdout + result.stderr

    return saying


def test_runs_are_listed_and_compared(says: Says) -> None:
    assert says("analyze clean.parquet")[0] == 0
    assert says("analyze faulty.parquet")[0] == 1
    code, listed = says("runs")
    assert code == 0
    first, second = listed.splitlines()
    assert re.match(r"2\S+ +analyze +\d+ holds, \d+ not exercised  seed 0  \d", first)
    assert " 2 violated, " in second
    (only,) = says("runs --verdict violated")[1].splitlines()
    assert only.split()[0] == second.split()[0]

    code, found = says("diff last~1 last")
    assert code == 1
    assert "new      lost-write" in found
    assert "holds → violated (1 found)" in found
    assert "writer: send ok; reader: poll ok" in found
    assert "differences: 2 new, 0 gone" in found
    code, found = says("diff last last~1")
    assert code == 0
    assert "gone     lost-write" in found
    assert says("diff last last")[0] == 0
    assert "0 new, 0 gone, 0 changed" in says("diff last last")[1]


def test_known_violations_pass_and_a_new_one_fails(says: Says, tmp_path: Path) -> None:
    says("analyze faulty.parquet")
    code, text = says("baseline last --owner storage --reason KAFKA-19148 --expires 2099-12-31")
    assert code == 0
    (tmp_path / "known.toml").write_text(text)

    outputs = "--junit j.xml --sarif s.json"
    code, printed = says(f"analyze faulty.parquet --baseline known.toml {outputs}")
    assert code == 0
    assert "violated, known" in printed
    assert "known: KAFKA-19148 (storage, until 2099-12-31)" in printed
    assert "baseline known.toml: 2 known, 0 expired, 0 entries without a violation" in printed
    assert "exit code 0: every violation is known" in printed
    cases = ElementTree.parse("j.xml").getroot().iter("testcase")
    (lost,) = [case for case in cases if case.attrib["name"] == "lost-write"]
    (skipped,) = lost
    assert skipped.tag == "skipped"
    assert "KAFKA-19148 (storage" in skipped.attrib["message"]
    results = json.loads(Path("s.json").read_text())["runs"][0]["results"]
    justified = {one["suppressions"][0]["justification"] for one in results}
    assert justified == {"KAFKA-19148 (storage, until 2099-12-31)"}
    page = (tmp_path / re.findall(r"report (\S+);", printed)[0]).read_text()
    assert '<span class="known-violation">2 known</span>' in page
    assert "baseline known.toml: 2 known, 0 expired" in page
    assert "2 known" in says("runs --verdict known")[1]

    code, printed = says("analyze twice.parquet --baseline known.toml")
    assert code == 1
    assert "0 known, 0 expired, 2 entries without a violation" in printed
    assert "no violation, remove  lost-write" in printed
    code, printed = says("analyze twice.parquet --anomaly duplicate --baseline known.toml")
    assert code == 1
    assert "not checked here      lost-write" in printed


def test_a_known_violation_fails_again_when_it_expires(says: Says, tmp_path: Path) -> None:
    says("analyze faulty.parquet")
    (tmp_path / "known.toml").write_text(says("baseline last --expires 2021-01-01")[1])
    code, printed = says("analyze faulty.parquet --baseline known.toml")
    assert code == 1
    assert "no longer known: not yet explained (nobody yet, until 2021-01-01)" in printed
    assert "0 known, 2 expired" in printed
    assert "  expired, fails again  lost-write" in printed


def test_the_baseline_is_an_event_and_in_the_job_summary(
    says: Says, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    says("analyze faulty.parquet")
    text = says("baseline last --expires 2099-12-31")[1]
    first, *others = text.split("[[known]]")
    (tmp_path / "known.toml").write_text("[[known]]".join([first, *others[:-1]]))
    code, printed = says("analyze faulty.parquet --baseline known.toml --json --github")
    assert code == 1
    events = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    (applied,) = [one for one in events if one["event"] == "baseline_applied"]
    assert (len(applied["known"]), applied["unmatched"]) == (1, [])
    known = [one for one in events if one["event"] == "anomaly_decided" and one["known"]]
    assert [one["known"].keys() == one["fingerprints"].keys() for one in known] == [True]
    assert printed.count("::notice ") == 1
    assert printed.count("::error ") == 1
    summary = (tmp_path / "summary.md").read_text()
    assert "- **1 new**" in summary
    assert "- **1 known**" in summary


def test_a_bad_baseline_is_refused_before_the_work_with_its_line(
    says: Says, tmp_path: Path
) -> None:
    (tmp_path / "known.toml").write_text('[[known]]\nanomaly = "lost-write"\n')
    code, printed = says("analyze faulty.parquet --baseline known.toml")
    assert code == 2
    assert "known.toml, line 1: fingerprint is missing" in printed
    assert not (tmp_path / "runs").exists()


def test_a_store_of_a_newer_release_stops_a_run_before_the_work(says: Says, tmp_path: Path) -> None:
    says("analyze clean.parquet")
    with sqlite3.connect(tmp_path / "runs" / "runs.sqlite") as database:
        database.execute("PRAGMA user_version = 9")
    database.close()
    for line in ("runs", "diff last last", "baseline last", "analyze clean.parquet"):
        code, printed = says(line)
        assert code == 2, line
        assert "a newer release wrote this store" in printed
    assert len([*(tmp_path / "runs").glob("2*")]) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("diff last~5 last", "last~5: there are 1 runs with verdicts; see urteil runs"),
        ("diff nope last", "no run 'nope'; the nearest: 2"),
        ("runs --verdict broken", "no verdict 'broken'; the nearest: "),
        ("runs --since tomorrow", "--since tomorrow: write a day such as 2026-11-21, or 7d"),
        ("runs --out none", "none: no such folder; name the parent of run folders by --out"),
        ("runs --html no/where.html", "--html no/where.html: cannot be written"),
        ("baseline last --expires soon", "--expires soon: write a day"),
    ],
)
def test_the_error_for_a_wrong_word_names_the_next_step(
    line: str, message: str, says: Says
) -> None:
    says("analyze clean.parquet --anomaly duplicate")
    code, printed = says(line)
    assert code == 2
    assert message in printed


def test_runs_are_filtered_and_written_as_a_page(says: Says, tmp_path: Path) -> None:
    says("analyze clean.parquet --anomaly duplicate")
    says("analyze twice.parquet --anomaly duplicate")
    says("check transactions-abstract --property no_hanging_transaction --quiet")
    assert len(says("runs --command analyze")[1].splitlines()) == 2
    assert len(says("runs --spec transactions-abstract")[1].splitlines()) == 1
    assert len(says("runs --claim duplicate --verdict violated")[1].splitlines()) == 1
    assert says("runs --since 2099-01-01") == (0, "no such run below runs\n")
    assert len(says("runs --since 7d")[1].splitlines()) == 3
    one = json.loads(says("runs --verdict violated --json")[1].splitlines()[0])
    assert one["verdicts"][0]["claim"] == "duplicate"
    assert says("runs --html page.html") == (0, "page: page.html\n")
    assert "no_hanging_transaction" in (tmp_path / "page.html").read_text()


def test_a_folder_or_four_digits_name_a_run(says: Says, tmp_path: Path) -> None:
    says("analyze clean.parquet --anomaly duplicate")
    (folder,) = (tmp_path / "runs").glob("2*")
    code, printed = says(f"diff runs/{folder.name} {folder.name[-4:]}")
    assert code == 0
    assert printed.count(folder.name) == 2
