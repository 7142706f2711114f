"""The lines of an explained trace, for the web page of `urteil explore`.

An explained trace has the lines of a broker's run. Each line has the steps of the path that explain
it. In a line, `steps` is the number of its steps, and `end` is the number of all steps up to the
end of the line. With these numbers, the page finds the state after a line, and needs no further
request for it.
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
    """The lines of one explained trace: the lines of a broker's run, each with the actions of a
    spec that explain it. If the spec forbids a line, it is the last line of the trace.
    """

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

        Its field `why` is the reason. Its field `needs` is the action that would explain the line
        but that the spec forbids, or None if there is no such action.
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
    """Returns the call of the action that would explain a forbidden line, and the reason why the
    spec forbids the call.
    """
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
