"""Converts a validated trace of a real broker to an explained trace. An explained trace shows, for
each event of the broker, the actions of the spec that stand for the event.
"""

from __future__ import annotations

from collections.abc import Sequence

from checkers.report.explained_trace import ExplainedTrace, Line, Step, step_of, steps_of
from checkers.tracing.following import Followed, TakenEvent
from checkers.tracing.logged_events import Event
from checkers.tracing.outcomes import Mapping
from properties.refinement.behaviour import calls_between


def explained(
    spec: str, mapping: Mapping, events: Sequence[Event], followed: Followed
) -> ExplainedTrace:
    """Returns the events in the order in which they were applied to the spec, each with its
    actions.

    If the spec forbids an event, this event is the final one.
    """
    begin_ns = events[0].line.at_ns
    lines, last = list[Line](), mapping.behaviour.preparation
    early = _early(followed.in_order)
    for number, after in followed.in_order:
        steps = steps_of(calls_between(last, after))
        lines.append(_line(events[number], begin_ns, steps, is_early=number in early))
        last = after
    forbidden = followed.forbidden
    refused: Line | None = None
    if forbidden is not None:
        needs = forbidden.needs
        refused = _line(
            forbidden.event,
            begin_ns,
            () if needs is None else steps_of(calls_between(last, needs.last)),
            why=forbidden.why,
            needs=None if needs is None else step_of(needs.refusal),
        )
    return ExplainedTrace.of(
        followed.subject, spec, mapping.behaviour, lines, refused, mapping.elements
    )


def _early(in_order: Sequence[TakenEvent]) -> set[int]:
    # The events that were taken before one with a smaller number.
    found, least = set[int](), len(in_order)
    for number, _ in reversed(in_order):
        if number > least:
            found.add(number)
        least = min(least, number)
    return found


def _line(
    event: Event,
    begin_ns: int,
    steps: tuple[Step, ...],
    *,
    is_early: bool = False,
    why: str = "",
    needs: Step | None = None,
) -> Line:
    return Line(
        place=event.line.place,
        at_ms=round((event.line.at_ns - begin_ns) / 1e6, 3),
        text=str(event),
        steps=steps,
        is_early=is_early,
        why=why,
        needs=needs,
    )
