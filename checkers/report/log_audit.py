"""Renders the audit of log directories as text for a terminal, and converts its violations to
events.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from checkers.events import RowShown
from checkers.report.decisions import MARKS, many
from checkers.report.shapes import shape_of_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checkers.log_dirs.audit import Audit, Decision

WIDTH: Final = 100
SHOWN: Final = 8
SHOWN_VERBOSE: Final = 32  # as many as an audit keeps


def explained(audit: Audit, name: str, *, verbose: bool = False) -> str:
    """Returns a summary of the audit, followed by each violated check with its first violations.
    The text has at most 8 violations of a check, or 32 if `verbose` is true. It also states how
    many violations are omitted.

    The violations are ordered by topic partition and offset.
    """
    limit = SHOWN_VERBOSE if verbose else SHOWN
    paragraphs = [
        "\n".join(_summary(audit, name)),
        *("\n".join(_found(one, limit)) for one in audit.decisions if one.count),
    ]
    return "\n\n".join(paragraphs)


def _summary(audit: Audit, name: str) -> Iterator[str]:
    held = (
        many(audit.partitions, "topic partition"),
        many(audit.logs, "log"),
        many(audit.segments, "segment"),
        f"{audit.batches:,} batch{'' if audit.batches == 1 else 'es'}",
    )
    yield f"{name}: {audit.verdict}   {', '.join(held)}"


def _found(decision: Decision, limit: int) -> Iterator[str]:
    check = decision.check
    yield f"{MARKS[decision.verdict]} {check.id}   {check.statement}"
    for prose in (f"rule: {check.rule}", check.explanation):
        yield textwrap.fill(prose, WIDTH, initial_indent="  ", subsequent_indent="  ")
    shown = decision.first[:limit]
    yield from (f"  {number:>2}. {check.explain(row)}" for number, row in enumerate(shown, 1))
    if decision.count > len(shown):
        more = decision.count - len(shown)
        yield f"  … {more:,} more; these are the first {len(shown)} of {decision.count:,}"


def rows_shown(decision: Decision, name: str) -> Iterator[RowShown]:
    for number, row in enumerate(decision.first, 1):
        text = decision.check.explain(row)
        yield RowShown(
            anomaly=decision.check.id,
            history=name,
            number=number,
            text=text,
            shape=shape_of_text(text),
        )
