"""Events as text for a person: evidence as it comes, one verdict table at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from textwrap import shorten, wrap
from typing import TYPE_CHECKING

from checkers.events import (
    AnomalyDecided,
    DeliveryDecided,
    Event,
    Evidence,
    Listed,
    Measured,
    PropertyDecided,
    Ready,
    RowShown,
    RunFinished,
    RunStarted,
)
from checkers.report.decisions import MARKS, Decision, claim, grounds, heading, verdict
from checkers.report.folder import REPORT
from checkers.verdicts import EXIT_CODES, UNUSABLE_INPUT

if TYPE_CHECKING:
    from typing import TextIO

LONGEST_GROUNDS = 90
WIDTH = 100


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
            case RowShown() | DeliveryDecided():
                pass  # the evidence says the same in text
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
            kept = (
                f"report {self.folder}/{REPORT}" if self.decisions else f"run folder {self.folder}"
            )
            self._say(f"{kept}; exit code {event.exit_code}: {meaning}")


def vacuous(decision: Decision) -> bool:
    """It holds because nothing was observed that could have shown it."""
    return (
        isinstance(decision, AnomalyDecided)
        and decision.verdict == "holds"
        and not decision.observations
    )


def unobserved(names: Sequence[str]) -> list[str]:
    """The anomalies that nothing could have shown, in as many lines as they need."""
    told = f"  · nothing was observed that could show {', '.join(names)}"
    return wrap(told, WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def table(decisions: Sequence[Decision]) -> str:
    """Under a heading for what was judged together, a line for each claim: verdict and grounds.

    Anomalies that nothing could have shown share the last line.
    """
    told = [decision for decision in decisions if not vacuous(decision)] or [*decisions]
    widest = max(len(claim(decision)) for decision in told)
    wide = max(24, *(len(verdict(decision)) for decision in told))
    lines: list[str] = []
    for title, group in groupby(decisions, key=heading):
        lines.append(title)
        judged = [*group]
        silent = [claim(one) for one in judged if vacuous(one)]
        for one in (one for one in judged if not vacuous(one)):
            why = shorten(grounds(one), LONGEST_GROUNDS, placeholder=" …")
            line = f"  {MARKS[one.verdict]} {claim(one):<{widest}}  {verdict(one):<{wide}}  {why}"
            lines.append(line.rstrip())
        if silent:
            lines += unobserved(silent)
    return "\n".join(lines)
