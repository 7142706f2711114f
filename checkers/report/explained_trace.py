"""Writes and reads an explained trace: the lines of a run, each with the actions of a spec that
explain it.

A *line* is one event of a run: a line of a broker's log, or an event of a simulated broker. A line
has no action if it changes nothing that the spec describes. If the spec forbids a line, the trace
ends with this line, in the field `refused`. In this field, `why` is the reason, and `needs` is the
forbidden action that would explain the line, or null. The format is:

    {"format": "urteil-trace-1", "subject": "orders-0", "spec": "replication-abstract",
     "variant": "with-losses", "constants": {...}, "scope": {"Replica": 3, "Offset": 185, ...},
     "elements": {"Replica": ["broker 1", "broker 2", "broker 3"]}, "start": [0, 0],
     "lines": [{"place": "broker-1.log:71", "at_ms": 12.5, "text": "...",
                "steps": [["fetch_request", [1, 0]]]}, ...],
     "refused": {..., "why": "...", "needs": ["advance_high_watermark", [2, 101]]}}

The scope is the number of elements of each type.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from model.faults import InputFault
from model.specs import variants_of
from properties.refinement.behaviour import Behaviour, Call, Refusal

SUFFIX: Final = ".trace.json"
FORMAT: Final = "urteil-trace-1"


class Step(NamedTuple):
    action: str
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One event of a run, and the actions of the spec that explain it.

    `steps` are the actions that the spec allows. If the spec forbids the event, `why` is the
    reason, and `needs` is the forbidden action that the event requires next, or None if there is no
    such action.
    """

    place: str  # such as `broker-1.log:71`
    at_ms: float  # since the first line
    text: str
    steps: tuple[Step, ...] = ()
    is_early: bool = False  # taken before a line with an earlier time
    why: str = ""
    needs: Step | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedTrace:
    subject: str
    spec: str
    variant: str
    constants: Mapping[str, int | bool]
    scope: Mapping[str, int]
    elements: Mapping[str, Sequence[str]]  # of a sort: its elements in the run
    start: tuple[int, ...]
    lines: tuple[Line, ...]
    refused: Line | None = None

    @classmethod
    def of(
        cls,
        subject: str,
        spec: str,
        behaviour: Behaviour,
        lines: Sequence[Line],
        refused: Line | None = None,
        elements: Mapping[str, Sequence[str]] | None = None,
    ) -> ExplainedTrace:
        """Returns the explained trace of a run. `behaviour` has the spec with its constants, and
        the initial state.
        """
        of_spec = behaviour.spec
        variant = next(one for one in variants_of(spec) if one.cls is type(of_spec))
        ranges = behaviour.stepper.ranges
        return cls(
            subject=subject,
            spec=spec,
            variant=variant.name,
            constants={name: getattr(of_spec, name) for name in of_spec.constants},
            scope={name: len_of(ranges[name]) for name in ranges if name != "Bool"},
            elements=elements or {},
            start=behaviour.start,
            lines=tuple(lines),
            refused=refused,
        )


def len_of(elements: range) -> int:
    """Returns the number of elements of a range. Unlike `len`, it also works for 2^63 elements
    or more.
    """
    return elements.stop - elements.start


def steps_of(calls: Sequence[Call]) -> tuple[Step, ...]:
    return tuple(Step(call.action, tuple(call.arguments)) for call in calls)


def step_of(refusal: Refusal) -> Step:
    return Step(refusal.action.name, tuple(refusal.arguments))


def written(trace: ExplainedTrace) -> str:
    """Returns the explained trace as JSON text. Each event of the run is on a line of its own."""
    head = {
        "format": FORMAT,
        "subject": trace.subject,
        "spec": trace.spec,
        "variant": trace.variant,
        "constants": dict(trace.constants),
        "scope": dict(trace.scope),
        "elements": {sort: [*names] for sort, names in trace.elements.items()},
        "start": [*trace.start],
        "refused": None if trace.refused is None else _as_json(trace.refused),
    }
    lines = ",\n".join(json.dumps(_as_json(line)) for line in trace.lines)
    return f'{json.dumps(head)[:-1]}, "lines": [\n{lines}\n]}}'


def _as_json(line: Line) -> dict[str, Any]:
    found: dict[str, Any] = {
        "place": line.place,
        "at_ms": line.at_ms,
        "text": line.text,
        "steps": [[step.action, [*step.values]] for step in line.steps],
    }
    if line.is_early:
        found["early"] = True
    if line.why:
        found["why"] = line.why
        found["needs"] = None if line.needs is None else [line.needs.action, [*line.needs.values]]
    return found


# ---- reading


def has_refusal(file: Path) -> bool:
    """Returns True if the file is an explained trace with a line that the spec forbids."""
    if not file.name.endswith(SUFFIX):
        return False
    with file.open(encoding="utf-8", errors="replace") as text:
        head = text.readline()  # without the lines of the trace
    return '"refused": {' in head


def is_explained(read: Mapping[str, Any]) -> bool:
    return str(read.get("format", "")).startswith("urteil-trace-")


def read_trace(read: Mapping[str, Any], file: str) -> ExplainedTrace:
    """Returns the explained trace that a JSON object describes. Raises InputFault if a field is
    missing or invalid.
    """
    if read.get("format") != FORMAT:
        raise InputFault(
            f"{file}: the format is {read.get('format')!r}, and this Urteil reads {FORMAT!r}; run"
            " `urteil trace` again"
        )
    try:
        refused = read["refused"]
        return ExplainedTrace(
            subject=str(read["subject"]),
            spec=str(read["spec"]),
            variant=str(read["variant"]),
            constants={str(n): _constant(v) for n, v in read["constants"].items()},
            scope={str(n): int(v) for n, v in read["scope"].items()},
            elements={str(s): [str(x) for x in names] for s, names in read["elements"].items()},
            start=tuple(int(x) for x in read["start"]),
            lines=tuple(map(_line, read["lines"])),
            refused=None if refused is None else _line(refused),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as why:
        raise InputFault(
            f"{file}: a field of the trace is missing or unfit ({type(why).__name__}: {why}); run"
            " `urteil trace` again"
        ) from why


def _line(read: Mapping[str, Any]) -> Line:
    needs = read.get("needs")
    return Line(
        place=str(read["place"]),
        at_ms=float(read["at_ms"]),
        text=str(read["text"]),
        steps=tuple(map(_step, read["steps"])),
        is_early=bool(read.get("early")),
        why=str(read.get("why", "")),
        needs=None if needs is None else _step(needs),
    )


def _step(read: Sequence[Any]) -> Step:
    action, values = read
    return Step(str(action), tuple(int(x) for x in values))


def _constant(value: object) -> int | bool:
    if not isinstance(value, int):
        raise TypeError(f"constant {value!r}")
    return value
