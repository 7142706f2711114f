"""The report of a run: one HTML file without dependencies, with at most 5 MB for any run.

The page works without scripts. Its scripts only filter, expand, copy and highlight. It makes no
network requests, and its content security policy forbids them. `CAPS` is a list of sets of limits,
such as the number of violations. The report uses the first set of limits with which the page is
small enough. The page says what is omitted.
"""

from __future__ import annotations

import base64
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from checkers.events import (
    AnomalyDecided,
    EdgeShown,
    Evidence,
    PropertyDecided,
    RowShown,
    TraceKept,
)
from checkers.plan_events import PassMeasured
from checkers.report.cycle_drawing import cycle_drawing
from checkers.report.decisions import MARKS, claim, grounds, heading, verdict
from checkers.report.markup import readable, shortened
from checkers.report.terminal import baseline_lines
from checkers.report.timeline import timeline
from checkers.verdicts import AS_EXPECTED, EXIT_CODES, MEANINGS

if TYPE_CHECKING:
    from checkers.report.run_result import Finding, RunResult

BUDGET: Final = 5_000_000  # bytes
ATTENTION: Final = ("violated", "undecided")  # states that the page shows first
_OPERATION: Final = re.compile(r"\boperation (\d+)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    findings: int
    rows: int  # of each finding
    pictures: int  # of each finding
    characters: int  # of the text of a row
    evidence: int  # characters of each piece of evidence
    figures: int


CAPS: Final = (
    Caps(findings=2_000, rows=32, pictures=8, characters=4_000, evidence=200_000, figures=1_000),
    Caps(findings=2_000, rows=16, pictures=4, characters=2_000, evidence=40_000, figures=1_000),
    Caps(findings=2_000, rows=8, pictures=2, characters=1_000, evidence=10_000, figures=500),
    Caps(findings=1_000, rows=3, pictures=1, characters=400, evidence=1_000, figures=200),
    Caps(findings=500, rows=1, pictures=0, characters=200, evidence=0, figures=50),
)


def report(result: RunResult, described: Mapping[str, Any], *, budget: int = BUDGET) -> str:
    """Returns the HTML report, with at most `budget` bytes. `described` is the content of
    run.json.
    """
    template = environment().get_template("report.html.j2")
    page = ""
    for caps in CAPS:
        page = template.render(_context(result, described, caps))
        if len(page.encode()) <= budget:
            return page
    raise AssertionError(f"the report has {len(page.encode())} bytes at the smallest caps")


def environment() -> Environment:
    """Returns a Jinja environment that escapes every text for HTML."""
    made = Environment(
        loader=PackageLoader("checkers.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda one: readable(one) if type(one) is str else one,
    )
    made.filters["operations"] = operations_marked
    return made


def operations_marked(text: str) -> Markup:
    """Returns the text as HTML. Each `operation N` in the text becomes a link that highlights
    this operation in the page.
    """
    parts = _OPERATION.split(readable(text))
    made = Markup()
    for n, part in enumerate(parts):
        made += (
            part
            if n % 2 == 0
            else Markup('<a class="op" data-op="{0}">operation {0}</a>').format(part)
        )
    return made


def _context(result: RunResult, described: Mapping[str, Any], caps: Caps) -> dict[str, Any]:
    shown = result.findings[: caps.findings]
    numbered = [_finding(n, finding, caps) for n, finding in enumerate(shown, 1)]
    meanings = {**EXIT_CODES, **(AS_EXPECTED if result.by_expectation else {})}
    code = result.exit_code
    states = Counter(map(_state_of, result.findings))
    as_expected = "as expected" if result.by_expectation else "permitted"
    labels = {"violated": "violated", "undecided": "undecided", "known-violation": "known"}
    labels |= {"as-expected": as_expected}
    labels |= {"holds": "holds", "not-exercised": "not exercised"}
    return {
        "described": _described(described),
        "command": " ".join(described.get("command", ())),
        "title": _title(result),
        "state": _state(result),
        "exit_code": code,
        "meaning": "the run has not ended" if code is None else meanings[code],
        "counts": [(state, states[state], label) for state, label in labels.items()],
        "attention": [
            group
            for state in ATTENTION
            for group in _groups(one for one in numbered if one["state"] == state)
        ],
        "rest": _groups(one for one in numbered if one["state"] not in ATTENTION),
        "rest_summary": ", ".join(
            f"{states[state]:,} {label}"
            for state, label in labels.items()
            if state not in ATTENTION and states[state]
        ),
        "findings": sorted(
            (one for one in numbered if one["rows"] or one["evidence"]),
            key=lambda one: [*labels].index(one["state"]),
        ),
        "left_out_findings": len(result.findings) - len(shown),
        "evidence": [_evidence(one, caps) for one in result.evidence] if caps.evidence else [],
        "baseline": baseline_lines(result.baseline) if result.baseline is not None else (),
        "figures": result.figures[: caps.figures],
        "left_out_figures": max(0, len(result.figures) - caps.figures),
        "passes": _passes(result.passes[: caps.figures]),
        "left_out_passes": max(0, len(result.passes) - caps.figures),
        "traces": [
            (about, [*kept]) for about, kept in groupby(result.traces[: caps.figures], _about)
        ],
        "left_out_traces": max(0, len(result.traces) - caps.figures),
        "reduced": caps is not CAPS[0],
        "caps": caps,
        "megabytes": BUDGET // 1_000_000,
    }


def _about(trace: TraceKept) -> str:
    return trace.about


def _passes(measured: Iterable[PassMeasured]) -> list[tuple[str, float, list[PassMeasured]]]:
    """Returns an entry for each history: its name, the total seconds of its passes (reads of the
    history), and the list of these passes.
    """
    each = [(name, [*some]) for name, some in groupby(measured, lambda one: one.history)]
    return [(name, sum(one.seconds for one in some), some) for name, some in each]


def _groups(findings: Iterable[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    return [(title, [*group]) for title, group in groupby(findings, lambda one: one["heading"])]


def _title(result: RunResult) -> str:
    titles = {"violated": "violated", "undecided": "undecided", "holds": "holds"}
    if result.by_expectation:
        titles |= {"holds": "as expected", "violated": "not as expected"}
    return titles[_state(result)]


def _state(result: RunResult) -> str:
    every = {one.judged for one in result.findings}
    return next((one for one in ("violated", "undecided", "holds") if one in every), "undecided")


def _state_of(finding: Finding) -> str:
    if finding.is_known:
        return "known-violation"
    return "as-expected" if finding.as_expected else MEANINGS[finding.judged].state


def _described(description: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = {"started": "started", "seed": "seed", "urteil": "urteil", "python": "Python"}
    names |= {"platform": "platform", "cores": "cores"}
    return [
        (label, str(description[key]))
        for key, label in names.items()
        if description.get(key) is not None
    ]


def _finding(number: int, finding: Finding, caps: Caps) -> dict[str, Any]:
    decision = finding.decision
    anomaly = decision if isinstance(decision, AnomalyDecided) else None
    longest = caps.characters
    rows = finding.rows[: caps.rows]
    return {
        "id": f"finding-{number}",
        "claim": shortened(claim(decision), longest),
        "heading": shortened(heading(decision), longest),
        "in_force": decision.in_force if isinstance(decision, PropertyDecided) else None,
        "mark": MARKS[decision.verdict],
        "verdict": verdict(decision),
        "grounds": shortened(grounds(decision), longest),
        "state": _state_of(finding),
        "statement": shortened(decision.statement or "", longest),
        "catalogue": _catalogue_texts(anomaly, longest) if anomaly is not None else (),
        "permitted": shortened(grounds(decision), longest)
        if anomaly and anomaly.permitted
        else None,
        "rows": [_row(row, caps) for row in rows],
        "count": anomaly.count if anomaly is not None else None,
        "file": anomaly.file if anomaly is not None else None,
        "fingerprints": [*decision.fingerprints.items()],
        "replay": shortened((anomaly.replay if anomaly is not None else None) or "", longest),
        "evidence": [_evidence(one, caps) for one in finding.evidence] if caps.evidence else [],
    }


def _catalogue_texts(anomaly: AnomalyDecided, longest: int) -> list[tuple[str, str]]:
    texts = {"rule": anomaly.rule, "meaning": anomaly.explanation, "source": anomaly.source}
    return [(label, shortened(text, longest)) for label, text in texts.items() if text]


def _row(row: RowShown, caps: Caps) -> dict[str, Any]:
    first, _, rest = shortened(row.text, caps.characters).partition("\n")
    if row.edges:
        first, rest = f"A cycle of {len(row.edges)} operations.", f"{first}\n{rest}"
    pictured = row.number <= caps.pictures
    name = f"{row.anomaly}, row {row.number}"
    made = (
        timeline(row.operations, row.ops, row.faults, title=f"{name}: operations in time")
        if pictured and row.operations
        else None
    )
    return {
        "number": row.number,
        "first": first,
        "rest": textwrap.dedent(rest),
        "timeline": Markup(made.svg) if made else None,
        "left_out": made.left_out if made else 0,
        "cycle": _cycle(row, row.edges, name) if pictured and row.edges else None,
    }


def _cycle(row: RowShown, edges: Sequence[EdgeShown], name: str) -> Markup:
    texts = {one.op: one.text for one in row.operations}
    return Markup(cycle_drawing(edges, texts, title=f"{name}: the cycle"))


def _evidence(one: Evidence, caps: Caps) -> dict[str, Any]:
    title = next((line for line in one.text.splitlines() if line.strip()), one.about)
    return {
        "about": one.about,
        "title": shortened(" ".join(title.split()), 160),
        "text": shortened(one.text, caps.evidence),
        "left_out": max(0, len(one.text) - caps.evidence),
        "file": one.file,
        "drawing": _image(one.drawing) if one.drawing and caps.pictures else None,
    }


def _image(svg: str) -> str:
    # A browser runs no script in an image.
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
