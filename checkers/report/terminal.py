"""Events as text for a person: evidence as it comes, one verdict table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checkers.events import (
    AnomalyDecided,
    Event,
    Evidence,
    Listed,
    Measured,
    PropertyDecided,
    Ready,
    RunFinished,
    RunStarted,
)
from checkers.verdicts import EXIT_CODES

if TYPE_CHECKING:
    from typing import TextIO

MARKS = {"holds": "✓", "violated": "✗", "undecided": "?"}
Decision = PropertyDecided | AnomalyDecided


@dataclass(slots=True)
class Terminal:
    """Prints results to one stream; keeps decisions for the closing table."""

    stream: TextIO
    decisions: list[Decision] = field(default_factory=list)
    folder: str | None = None

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.folder = event.folder
            case PropertyDecided() | AnomalyDecided():
                self.decisions.append(event)
            case Evidence():
                self._say(f"{event.text}\n")
            case Measured():
                self._say(f"{event.what}: {event.value} {event.unit}".rstrip())
            case Listed():
                self._say(f"{event.item:<28} {event.facts.get('of', ''):<13} {event.says}")
            case Ready():
                self._say(f"ready: {event.bootstrap_servers}")
            case RunFinished():
                self._finish(event)
            case _:
                raise AssertionError(f"no words for {event!r}")

    def _say(self, text: str) -> None:
        print(text, file=self.stream, flush=True)

    def _finish(self, event: RunFinished) -> None:
        if self.decisions:
            self._say(table(self.decisions))
        if self.folder is not None:
            meaning = EXIT_CODES[event.exit_code]
            self._say(f"run folder {self.folder}; exit code {event.exit_code}: {meaning}")


def table(decisions: Sequence[Decision]) -> str:
    """One line a decision: what was claimed, the verdict, where, on how much, how long."""
    rows = [("claim", "verdict", "of", "by", "rests on", "seconds"), *map(_row, decisions)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "─" * max(map(len, lines)), *lines[1:]])


def _row(decision: Decision) -> tuple[str, ...]:
    match decision:
        case PropertyDecided():
            of = " ".join(filter(None, (decision.spec, decision.variant)))
            rests = _states(decision)
            seconds = "" if decision.seconds is None else f"{decision.seconds:.1f}"
            return (decision.property, _verdict(decision), of, decision.engine, rests, seconds)
        case AnomalyDecided():
            rests = (
                "" if decision.observations is None else f"{decision.observations:,} observations"
            )
            found = f"{decision.count:,} found; " if decision.count else ""
            return (
                decision.anomaly,
                _verdict(decision),
                decision.history or "",
                "history",
                found + rests,
                "",
            )


def _verdict(decision: Decision) -> str:
    text = f"{MARKS[decision.verdict]} {decision.verdict}"
    if decision.expected is not None:
        text += (
            ", as it must be"
            if decision.expected == decision.verdict
            else f", not {decision.expected}"
        )
    if (
        isinstance(decision, AnomalyDecided)
        and decision.permitted
        and decision.verdict == "violated"
    ):
        text += ", permitted"
    return text


def _states(decision: PropertyDecided) -> str:
    if decision.reason is not None:
        return decision.reason
    parts = []
    if decision.trace_length is not None:
        parts.append(f"{decision.trace_length} steps")
    if decision.distinct_states is not None:
        parts.append(f"{decision.distinct_states:,} states, depth {decision.depth}")
    return ", ".join(parts)
