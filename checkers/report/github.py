"""The output for GitHub Actions: a summary of the step, and annotations.

The summary is Markdown that is appended to the file in the variable `GITHUB_STEP_SUMMARY`. GitHub
discards a summary above 1,024 KiB. Annotations are workflow commands on stderr. GitHub displays ten
annotations of each level.

Source: GitHub, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checkers.events import AnomalyDecided, Event, RunFinished
from checkers.report.decisions import MARKS, claim, grounds, heading, verdict
from checkers.report.markup import readable, shortened
from checkers.report.run_result import Finding, RunResult, run_result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

MOST: Final = 10  # annotations of each level
ROWS: Final = 500  # of the summary's table
CELL: Final = 300  # characters
SHOWN: Final = 20_000  # characters of the evidence of the first violation
SUMMARY: Final = "GITHUB_STEP_SUMMARY"


@dataclass(slots=True)
class GitHub:
    """Collects the events of a run. When the run finishes, writes annotations to a stream, and a
    summary to a file.
    """

    stream: TextIO
    summary: Path | None = field(
        default_factory=lambda: Path(os.environ[SUMMARY]) if os.environ.get(SUMMARY) else None
    )
    _events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self._events.append(event)
        if isinstance(event, RunFinished):
            result = run_result(self._events)
            for line in commands(result):
                print(line, file=self.stream, flush=True)
            if self.summary is not None:
                with self.summary.open("a", encoding="utf-8") as kept:
                    kept.write(summary(result))


def commands(result: RunResult) -> list[str]:
    """Returns the annotations. Each annotation is one line of text.

    A violation has the level `error`. A permitted or known violation has the level `notice`. An
    undecided verdict has the level `warning`.
    """
    levels = (
        ("error", "violated"),
        ("warning", "undecided"),
        ("notice", "permitted"),
        ("notice", "known"),
    )
    lines: list[str] = []
    for level, state in levels:
        matching = [one for one in result.findings if _state(one) == state]
        kept = matching if len(matching) <= MOST else matching[: MOST - 1]
        lines += [_annotation(level, one) for one in kept]
        if len(matching) > len(kept):
            lines.append(f"::{level} title=urteil::{len(matching) - len(kept)} more {state}")
    return lines


def _state(finding: Finding) -> str:
    decision = finding.decision
    if finding.is_known:
        return "known"
    if finding.as_expected and isinstance(decision, AnomalyDecided) and decision.permitted:
        return "permitted"
    return finding.judged


def _annotation(level: str, finding: Finding) -> str:
    decision = finding.decision
    places = {"title": f"{claim(decision)} {verdict(decision)}"}
    if isinstance(decision, AnomalyDecided) and decision.history and decision.is_one_file:
        places = {"file": decision.history, **places}
    properties = ", ".join(f"{name}={_escaped(text, ':,')}" for name, text in places.items())
    shown = "\n".join(filter(None, (decision.statement, grounds(decision), _first(finding))))
    return f"::{level} {properties.replace(', ', ',')}::{_escaped(shortened(shown, 2_000))}"


def _first(finding: Finding) -> str:
    return finding.rows[0].text if finding.rows else ""


def _escaped(text: str, also: str = "") -> str:
    for sign in f"%\r\n{also}":
        text = text.replace(sign, f"%{ord(sign):02X}")
    return readable(text)


# ---------------------------------------------------------------- the summary


def summary(result: RunResult) -> str:
    """Returns Markdown of at most 900 kB: a table of verdicts, and the evidence of the first
    violation in a collapsed section.
    """
    started = result.started
    line = started.command_line if started is not None else "urteil"
    return "\n".join(
        [
            f"### {_code(line)}",
            "",
            *_table(result.findings),
            *_baseline(result),
            *_shown(result),
            "\n",
        ]
    )


def _table(findings: Sequence[Finding]) -> Iterator[str]:
    yield from ("| | claim | verdict | grounds | spec or input |", "|---|---|---|---|---|")
    ordered = sorted(findings, key=lambda one: one.judged == "holds")  # violations first
    for one in ordered[:ROWS]:
        decision = one.decision
        sign = "·" if one.as_expected or one.is_known else MARKS[decision.verdict]
        cells = (claim(decision), verdict(decision), grounds(decision), heading(decision))
        yield f"| {sign} | {' | '.join(map(_cell, cells))} |"
    if len(findings) > ROWS:
        yield f"\n{len(findings) - ROWS:,} more are in the report."


def _baseline(result: RunResult) -> Iterator[str]:
    applied = result.baseline
    if applied is None:
        return
    new = [
        f"{claim(one.decision)} {print_}: {shape}"
        for one in result.findings
        if one.judged == "violated"
        for print_, shape in one.decision.fingerprints.items()
        if print_ not in {**one.decision.known, **one.decision.expired}
    ]
    yield from ("", f"Against the baseline {_code(applied.file)}:", "")
    parts = (
        ("new", new),
        ("expired, fails again", applied.expired),
        ("known", applied.known),
        ("gone: remove the entry", applied.unmatched),
        ("not checked here", applied.not_checked),
    )
    for title, entries in parts:
        if entries:
            yield f"- **{len(entries):,} {title}**"
            yield from (f"  - {_cell(one)}" for one in entries[:ROWS])
    if not any(entries for _, entries in parts):
        yield "- no violation, and no entry"


def _shown(result: RunResult) -> Iterator[str]:
    worst = next((one for one in result.findings if one.judged == "violated"), None)
    if worst is not None:
        text = readable(shortened(worst.text, SHOWN))
        fence = "`" * max(3, 1 + max(map(len, text.split()), default=0) if "```" in text else 3)
        yield from ("", f"<details><summary>{_cell(claim(worst.decision))}</summary>", "")
        yield from (f"{fence}text", text, fence)
        if worst.replay:
            yield from ("", _code(worst.replay))
        yield from ("", "</details>")
    if result.started is not None:
        yield from ("", f"The report is {_code(result.started.folder + '/report.html')}.")


def _cell(text: str) -> str:
    plain = " ".join(readable(shortened(text, CELL)).split())
    for sign in "&<>|`*_[]":
        plain = plain.replace(sign, f"&#{ord(sign)};")
    return plain


def _code(text: str) -> str:
    return f"<code>{_cell(text)}</code>"
