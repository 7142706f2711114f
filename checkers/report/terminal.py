"""Events as text for a person: evidence as it comes, one verdict table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from textwrap import shorten
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
WIDTH = 110
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
            case Evidence(expected=True):
                headline = " ".join(event.text.splitlines()[0].split())
                self._say(f"as expected: {headline}\n  all of it in {event.file}")
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
    """Under a heading for what was judged together, a line for each claim: verdict and grounds."""
    widest = max(len(_claim(decision)) for decision in decisions)
    lines: list[str] = []
    for heading, group in groupby(decisions, key=_heading):
        lines.append(heading)
        for decision in group:
            claim, verdict = _claim(decision), _verdict(decision)
            grounds = shorten(_grounds(decision), WIDTH - widest - 30, placeholder=" …")
            lines.append(
                f"  {MARKS[decision.verdict]} {claim:<{widest}}  {verdict:<24}  {grounds}".rstrip()
            )
    return "\n".join(lines)


def _claim(decision: Decision) -> str:
    return decision.property if isinstance(decision, PropertyDecided) else decision.anomaly


def _heading(decision: Decision) -> str:
    """What was judged, by which engine, on how much, in how long, at which constants."""
    if isinstance(decision, AnomalyDecided):
        return f"{decision.history} · history"
    states, seconds = decision.distinct_states, decision.seconds
    constants = {k: v for k, v in (decision.constants or {}).items() if v is not False}
    parts = (
        " ".join(filter(None, (decision.spec, decision.variant))),
        decision.engine,
        f"{states:,} states" if states else "",
        f"{seconds:.1f} s" if seconds is not None else "",
        ", ".join(k if v is True else f"{k} {v}" for k, v in constants.items()),
    )
    return shorten(" · ".join(filter(None, parts)), WIDTH, placeholder=" …")


def _verdict(decision: Decision) -> str:
    """The verdict, and what the reader should think of it."""
    if decision.expected is not None and decision.verdict != decision.expected:
        return f"{decision.verdict}, expected {decision.expected}"
    if isinstance(decision, AnomalyDecided) and decision.permitted and decision.count:
        return f"{decision.verdict}, permitted"
    known = decision.expected is not None and decision.verdict == "violated"
    return f"{decision.verdict}, as expected" if known else decision.verdict


def _grounds(decision: Decision) -> str:
    """Why: how far the shortest trace goes, how many were found, what the verdict rests on."""
    if decision.reason is not None:
        return decision.reason
    match decision:
        case PropertyDecided():
            steps, depth = decision.trace_length, decision.depth
            if steps is not None:
                return f"in {steps} steps"
            return f"to depth {depth}" if depth is not None else ""
        case AnomalyDecided():
            found = f"{decision.count:,} found; " if decision.count else ""
            return f"{found}{decision.observations or 0:,} observations"
