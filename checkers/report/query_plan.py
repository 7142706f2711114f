"""Renders the query plan of an analysis as text: the stages of each pass over the history, with
the columns that they read.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from checkers.plan_events import PassExplained, StageExplained

WIDTH: Final = 100
IF_NEEDED: Final = "only if earlier stages found rows for it"


def pass_explained(one: PassExplained) -> str:
    into = f" → {', '.join(one.into)}" if one.into else ""
    return "\n".join([f"pass {one.number}  {one.source}{into}", *_lines(one)])


def _lines(one: PassExplained) -> Iterator[str]:
    for stage in one.stages:
        yield f"  {stage.stage}"
        for label, text in _facts(stage):
            first = f"    {label:<9}"
            yield from wrap(
                text,
                WIDTH,
                initial_indent=first,
                subsequent_indent=" " * len(first),
                break_on_hyphens=False,
            )


def _facts(stage: StageExplained) -> Iterator[tuple[str, str]]:
    if not stage.is_always:
        yield "runs", IF_NEEDED
    yield "reads", ", ".join(stage.reads)
    if stage.shuffled_by:
        yield "shuffles", f"by {', '.join(stage.shuffled_by)}"
    yield "keeps", ", ".join(stage.keeps)
    yield "used by", ", ".join(stage.used_by) or "every anomaly"
