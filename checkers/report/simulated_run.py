"""Converts a run of the simulated reference broker to explained traces, one for each spec. An
explained trace has the events of the run, each with the actions of the spec that explain it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from checkers.report.explained_trace import ExplainedTrace, Line, step_of, steps_of
from properties.refinement.behaviour import calls_between
from properties.refinement.explained_runs import ExplainedRun, explained_runs
from reference_impl.simulation.trace import Traced, described

LONGEST: Final = 240  # characters of a line


def traces_of(events: Sequence[Traced]) -> Iterator[ExplainedTrace]:
    """Yields the explained traces of a run: the events of the run, each with the actions of a spec
    that explain it. There is one trace for each spec. If a spec describes only one topic partition,
    there is one trace for each topic partition.

    A trace ends with the first event that the spec forbids.
    """
    for run in explained_runs(events):
        yield _trace(run, events)


def _trace(run: ExplainedRun, events: Sequence[Traced]) -> ExplainedTrace:
    behaviour, lines, last = run.mapping.behaviour, list[Line](), None
    for number, after in enumerate(run.after):
        # the actions that prepare the first state are steps of the first line
        steps = steps_of(calls_between(last, after))
        lines.append(_line(number, events[number], steps=steps))
        last = after
    refused: Line | None = None
    if run.rejected is not None:
        number, refusal = len(run.after), run.rejected.refusal
        refused = _line(
            number,
            events[number],
            steps=steps_of(calls_between(last, behaviour.last)),
            why="; ".join(run.rejected.why),
            needs=None if refusal is None else step_of(refusal),
        )
    return ExplainedTrace.of(run.subject, run.spec, behaviour, lines, refused, run.mapping.elements)


def _line(number: int, traced: Traced, **fields: Any) -> Line:
    action, arguments = described(traced.event)
    text = f"node {traced.node}: {action}"
    if arguments is not None:
        text += f" {json.dumps(arguments, separators=(', ', ': '))}"
    short = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return Line(place=f"event {number}", at_ms=float(traced.at_ms), text=short, **fields)
