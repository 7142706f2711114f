"""The lines of an explained trace, for the web page of `urteil explore`.

`steps` is the number of a line's own steps in the path, and `end` the number up to and including
its own. So the page finds the state after a line without a further request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from checkers.explore.paths import Path
from checkers.explore.walks import Walk
from checkers.report.explained_trace import ExplainedTrace, Line, Step
from model.faults import InputFault


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLines:
    """The lines of one explained trace; a line that the spec forbids is the last one."""

    subject: str
    elements: Mapping[str, Mapping[str, str]]  # of a sort: an element, and its name in the run
    lines: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, trace: ExplainedTrace, path: Path) -> Self:
        return cls(
            subject=trace.subject,
            elements={
                sort: _names(path.walk, sort, names) for sort, names in trace.elements.items()
            },
            lines=tuple(_lines(trace, path)),
        )

    @property
    def refused(self) -> Mapping[str, Any] | None:
        """The line of the trace that the spec forbids, or None.

        Its `why` is the reason; its `needs` is the action that the line requires and the spec
        refuses, or None.
        """
        last = self.lines[-1] if self.lines else {}
        return last if "why" in last else None

    def as_json(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "elements": {sort: dict(names) for sort, names in self.elements.items()},
            "lines": [dict(line) for line in self.lines],
        }


def _names(walk: Walk, sort: str, names: Sequence[str]) -> Mapping[str, str]:
    info = walk.spec.sorts[sort].info
    elements = walk.interpreter.elements(info)
    return {
        walk.writer.value(k, info): name
        for k, name in zip(elements[: len(names)], names, strict=True)
    }


def _lines(trace: ExplainedTrace, path: Path) -> Iterator[dict[str, Any]]:
    end = 0
    for line in trace.lines:
        end += len(line.steps)
        yield {**_line(line), "steps": len(line.steps), "end": end}
    if trace.refused is not None:
        line = trace.refused
        yield {
            **_line(line),
            "steps": len(line.steps),
            "end": end + len(line.steps),
            "why": line.why,
            "needs": None if line.needs is None else _needs(path, line.needs),
        }


def _line(line: Line) -> dict[str, Any]:
    return {
        "place": line.place,
        "at_ms": line.at_ms,
        "text": line.text,
        "early": line.is_early,
    }


def _needs(path: Path, needs: Step) -> dict[str, Any]:
    """Returns the call of the action that a refused log line needs, and why it is refused."""
    walk = path.walk
    action = next((a for a in walk.spec.actions if a.name == needs.action), None)
    if action is None or len(action.params) != len(needs.values):
        raise InputFault(f"{walk.title} has no action {needs.action} of this form")
    call = walk.call(action, needs.values)
    option = walk.option(path.state, call)
    if option.guard is None:  # another variant may permit it
        why = option.undefined or f"{walk.title} permits this action"
        return {"call": call.text, "why": why, "line": None}
    return {
        "call": call.text,
        "why": f"{walk.why_disabled(path.state, option)} is false",
        "line": option.guard.line,
    }
