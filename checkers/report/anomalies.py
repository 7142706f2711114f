"""An analysis of a history as text for a terminal, and its offending rows as Parquet.

One line an anomaly, then for each that occurs its worst rows and in words why each is one. What is
left out is said. Times count from the first invocation of the history.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Final

import pyarrow.parquet as pq

from checkers.report.rows_shown import since_start
from checkers.report.terminal import unobserved
from properties.delivery import breaking, explain, strongest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from checkers.histories.analysis import Analysis, BrokenAssumption, Decision

WIDTH: Final = 100
SHOWN: Final = 8
SHOWN_VERBOSE: Final = 32  # as many as an analysis keeps
_SIGNS: Final = {"holds": "✓", "violated": "✗", "undecided": "?"}


def explained(analysis: Analysis, *, verbose: bool = False) -> str:
    """The analysis in words: at most 8 rows an anomaly, 32 if verbose, the worst first."""
    limit = SHOWN_VERBOSE if verbose else SHOWN
    paragraphs = [
        "\n".join(_summary(analysis)),
        *("\n".join(_broken(broken, limit)) for broken in analysis.broken),
        *_delivery(analysis),
        *(
            "\n".join(_violated(decision, analysis, limit))
            for decision in analysis.decisions
            if decision.verdict == "violated"
        ),
    ]
    return "\n\n".join(paragraphs)


def _summary(analysis: Analysis) -> Iterator[str]:
    yield (
        f"{analysis.history}: {analysis.verdict}   "
        f"{_many(analysis.operations, 'operation')}, "
        f"{_many(analysis.micro_operations, 'micro-operation')}"
    )
    silent = [d for d in analysis.decisions if d.verdict == "holds" and not d.observations]
    told = [decision for decision in analysis.decisions if decision not in silent]
    width = max((len(decision.anomaly.id) for decision in told), default=0)
    for decision in told:
        yield f"  {_SIGNS[decision.verdict]} {decision.anomaly.id:<{width}}  {_said(decision)}"
    if silent:
        yield from unobserved([decision.anomaly.id for decision in silent])
    if semantics := strongest(analysis.delivered):
        given = Counter(it.semantics for it in analysis.delivered)
        each = ", ".join(f"{count:,} {name}" for name, count in sorted(given.items()))
        yield f"  delivery semantics: {semantics} (applications: {each})"


def _delivery(analysis: Analysis) -> Iterator[str]:
    """What breaks the stronger semantics, with its operations."""
    if broken := breaking(analysis.delivered):
        yield explain(broken, since_start(analysis))


def _said(decision: Decision) -> str:
    if decision.verdict == "undecided":
        return f"undecided: {decision.reason}"
    rests_on = f"{decision.observations:,} {decision.anomaly.observes}"
    if decision.verdict == "holds":
        return f"does not occur in {rests_on}"
    times = "once" if decision.count == 1 else f"{decision.count:,} times"
    permitted = f"; permitted: {decision.reason}" if decision.permitted else ""
    return f"occurs {times} in {rests_on}{permitted}"


def _broken(broken: BrokenAssumption, limit: int) -> Iterator[str]:
    yield (
        f"assumption broken: {broken.assumption.id}   {broken.assumption.statement} "
        "So no anomaly is decided."
    )
    yield from (f"  {row}" for row in broken.rows[:limit])
    yield from _left_out(broken.count, min(limit, len(broken.rows)))


def _violated(decision: Decision, analysis: Analysis, limit: int) -> Iterator[str]:
    anomaly = decision.anomaly
    yield f"✗ {anomaly.id}   {anomaly.statement}"
    for prose in (f"rule: {anomaly.rule}", anomaly.explanation):
        yield textwrap.fill(prose, WIDTH, initial_indent="  ", subsequent_indent="  ")
    shown = since_start(analysis)
    for number, row in enumerate(decision.worst[:limit], 1):
        first, *rest = anomaly.explain(row, shown).splitlines()
        yield f"  {number:>2}. {first}"
        yield from (f"      {line.strip()}" for line in rest)
    yield from _left_out(decision.count, min(limit, len(decision.worst)))


def _left_out(count: int, shown: int) -> Iterator[str]:
    if count > shown:
        yield f"  … {count - shown:,} more; these are the worst {shown} of {count:,}"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def keep_rows(analysis: Analysis, folder: Path, name: str) -> dict[str, str]:
    """Writes all rows of each anomaly that occurs to a Parquet file, in a folder of this name.

    Of each anomaly that occurs the file, as a path from the folder that holds that one.
    """
    kept: dict[str, str] = {}
    for decision in analysis.decisions:
        if decision.count:
            (folder / name).mkdir(parents=True, exist_ok=True)
            kept[decision.anomaly.id] = f"{name}/{decision.anomaly.id}.parquet"
            pq.write_table(decision.rows, folder / kept[decision.anomaly.id])
    return kept
