"""Renders the analysis of a history as text for a terminal.

For each anomaly that occurs, the text has its worst violations with explanations, and the number of
the omitted violations. Times are printed relative to the first invocation of the history.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from checkers.report.decisions import MARKS, many
from checkers.report.rows_shown import since_start
from properties.delivery import breaking, explain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checkers.histories.analysis import Analysis, BrokenAssumption, Decision

WIDTH: Final = 100
SHOWN: Final = 8
SHOWN_VERBOSE: Final = 32  # as many as an analysis keeps


def explained(analysis: Analysis, *, verbose: bool = False) -> str:
    """Returns a summary of the analysis, followed by the anomalies that occur. Each anomaly has its
    8 worst violations, or its 32 worst if `verbose` is true.
    """
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
        f"{many(analysis.operations, 'operation')}, "
        f"{many(analysis.micro_operations, 'micro-operation')}"
    )
    if delivery := analysis.delivery:
        each = ", ".join(f"{count:,} {name}" for name, count in delivery.applications.items())
        yield f"  delivery semantics: {delivery.semantics} (applications: {each})"
        yield from (f"  {one.in_words()}" for one in delivery.contradictions)


def _delivery(analysis: Analysis) -> Iterator[str]:
    if broken := breaking(analysis.delivered):
        yield explain(broken, since_start(analysis))


def _broken(broken: BrokenAssumption, limit: int) -> Iterator[str]:
    yield (
        f"assumption broken {times(broken.count)}: {broken.assumption.id}   "
        f"{broken.assumption.statement} So no anomaly is decided."
    )
    yield from (f"  {row}" for row in broken.rows[:limit])
    yield from _left_out(broken.count, min(limit, len(broken.rows)))


def _violated(decision: Decision, analysis: Analysis, limit: int) -> Iterator[str]:
    anomaly = decision.anomaly
    yield f"{MARKS[decision.verdict]} {anomaly.id}   {anomaly.statement}"
    follows = (f"It {one.in_words()}." for one in decision.follows)
    for prose in (f"rule: {anomaly.rule}", anomaly.explanation, *follows):
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


def times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
