"""The output for GitHub consists of annotations and a summary that lists violations first."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.events import AnomalyDecided, Event, RowShown, RunFinished, RunStarted
from checkers.report.github import MOST, GitHub, commands, summary
from checkers.report.run_result import run_result
from checkers.verdicts import Verdict

STARTED = RunStarted(
    command="analyze", folder="runs/x", seed=0, command_line="urteil analyze h.edn"
)


def decided(name: str, verdict: Verdict = "violated", **named: Any) -> AnomalyDecided:
    fields: dict[str, Any] = {"count": 1, "permitted": False, "history": "h.edn", "observations": 9}
    return AnomalyDecided(anomaly=name, verdict=verdict, **{**fields, **named})


def row(name: str, text: str = "key k: the value a") -> RowShown:
    return RowShown(anomaly=name, history="h.edn", number=1, text=text)


def test_a_violation_is_an_error_undecided_a_warning_permitted_a_notice() -> None:
    result = run_result(
        [
            row("a", "100% lost:\n  two, three"),
            decided("a", statement="Nothing is lost."),
            decided("b", "undecided", count=0, reason="interrupted"),
            decided("c", permitted=True, reason="subscribed"),
            decided("d", "holds", count=0),
        ]
    )
    assert commands(result) == [
        "::error file=h.edn,title=a violated::Nothing is lost.%0A1 found in 9 observations%0A"
        "100%25 lost:%0A  two, three",
        "::warning file=h.edn,title=b undecided::interrupted",
        "::notice file=h.edn,title=c violated%2C permitted::subscribed",
    ]


def test_github_keeps_ten_of_a_level_and_the_tenth_counts_the_others() -> None:
    lines = commands(run_result([decided(f"a{n}") for n in range(30)]))
    assert len(lines) == MOST
    assert lines[-1] == "::error title=urteil::21 more violated"


@settings(deadline=None)
@given(st.text(), st.text())
def test_no_text_makes_a_command_of_its_own(name: str, text: str) -> None:
    lines = commands(run_result([row(name, text), decided(name, statement=text, reason=text)]))
    assert len(lines) == 1
    assert "\n" not in lines[0]
    assert "\r" not in lines[0]
    assert lines[0].startswith("::error file=h.edn,title=")


def test_the_summary_has_violations_first_and_one_of_them_folded() -> None:
    text = summary(
        run_result(
            [
                STARTED,
                decided("held", "holds", count=0),
                row("lost", "key k: gone\n  sent  operation 3"),
                decided("lost", replay="urteil analyze h.edn --anomaly lost"),
                RunFinished(exit_code=1),
            ]
        )
    )
    lines = text.splitlines()
    assert lines[0] == "### <code>urteil analyze h.edn</code>"
    assert lines[4] == "| ✗ | lost | violated | 1 found in 9 observations | h.edn · history |"
    assert lines[5].startswith("| ✓ | held | holds |")
    assert "  sent  operation 3" in lines
    assert "replay urteil analyze h.edn --anomaly lost" in text
    assert "The report is <code>runs/x/report.html</code>." in lines


@settings(deadline=None)
@given(st.text(max_size=200))
def test_no_value_breaks_the_table_or_its_fence(text: str) -> None:
    events: list[Event] = [row("a", text), decided("a", reason=text, history=text)]
    markdown = summary(run_result(events))
    markdown.encode()
    (cells,) = [line for line in markdown.splitlines() if line.startswith("| ✗")]
    assert cells.count("|") == 6


def test_a_summary_stays_below_the_limit_of_github() -> None:
    events: list[Event] = [decided(f"a{n}", reason="<" * 1_000) for n in range(5_000)]
    events += [row("a0", "`" * 100_000)]
    text = summary(run_result(events))
    assert len(text.encode()) < 900 * 1_024
    assert "4,500 more are in the report" in text


def test_the_summary_is_appended_at_the_end_of_the_run(tmp_path: Path) -> None:
    kept, stream = tmp_path / "summary.md", io.StringIO()
    kept.write_text("before\n")
    github = GitHub(stream, kept)
    github(STARTED)
    github(decided("a"))
    assert stream.getvalue() == ""
    github(RunFinished(exit_code=1))
    assert stream.getvalue().startswith("::error")
    assert kept.read_text().startswith("before\n###")
