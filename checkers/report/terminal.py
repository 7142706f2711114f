"""Events as text for a person: evidence as it comes, one verdict table at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from checkers.verdicts import EXIT_CODES, UNUSABLE_INPUT

if TYPE_CHECKING:
    from typing import TextIO

MARKS = {"holds": "✓", "violated": "✗", "undecided": "?"}
LONGEST_GROUNDS = 90
Decision = PropertyDecided | AnomalyDecided


@dataclass(slots=True)
class Terminal:
    """Prints results to one stream; keeps decisions for the closing table."""

    stream: TextIO
    meaning: Callable[[int], str] = EXIT_CODES.__getitem__  # of an exit code
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
                self._say(f"as expected: {headline}\n             shown in {event.file}")
            case Evidence():
                self._say(f"{event.text}\n")
            case Measured():
                value = f"{event.value:,}" if isinstance(event.value, int) else event.value
                self._say(f"{event.what}: {value} {event.unit}".rstrip())
            case Listed():
                of = f"{event.facts['of']:<21} " if event.facts.get("of") else ""
                self._say(f"{event.item:<28} {of}{event.says}")
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
        if self.folder is not None and (self.decisions or event.exit_code != UNUSABLE_INPUT):
            meaning = self.meaning(event.exit_code)
            self._say(f"run folder {self.folder}; exit code {event.exit_code}: {meaning}")


def table(decisions: Sequence[Decision]) -> str:
    """Under a heading for what was judged together, a line for each claim: verdict and grounds."""
    widest = max(len(_claim(decision)) for decision in decisions)
    wide = max(24, *(len(_verdict(decision)) for decision in decisions))
    lines: list[str] = []
    for heading, group in groupby(decisions, key=_heading):
        lines.append(heading)
        for decision in group:
            claim, verdict = _claim(decision), _verdict(decision)
            grounds = shorten(_grounds(decision), LONGEST_GROUNDS, placeholder=" …")
            line = f"  {MARKS[decision.verdict]} {claim:<{widest}}  {verdict:<{wide}}  {grounds}"
            lines.append(line.rstrip())
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
        many(states, "state") if states else "",
        f"{seconds:.1f} s" if seconds is not None else "",
        ", ".join(k if v is True else f"{k} {v}" for k, v in constants.items()),
    )
    return " · ".join(filter(None, parts))  # never cut: a verdict means no more than its constants


def many(count: int, what: str) -> str:
    """`1 state`, `6,010 states`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


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
                return f"in {many(steps, 'step')}"
            return f"to depth {depth}" if depth is not None else ""
        case AnomalyDecided():
            if not decision.observations:
                return "nothing was observed that could have shown it"
            found = f"{decision.count:,} found; " if decision.count else ""
            return f"{found}{many(decision.observations, 'observation')}"
