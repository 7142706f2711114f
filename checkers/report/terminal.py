"""Prints the events of a run as text for a terminal: the evidence as it arrives, and one table
of verdicts at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from textwrap import shorten, wrap
from typing import TYPE_CHECKING

from checkers.events import (
    AnomalyDecided,
    BaselineApplied,
    DeliveryDecided,
    Event,
    Evidence,
    ExplorerReady,
    Listed,
    Measured,
    PropertyDecided,
    Ready,
    ReleaseDecided,
    RowShown,
    RunFinished,
    RunStarted,
    StateShown,
    TraceKept,
    VerdictCompared,
)
from checkers.plan_events import PassExplained, PassMeasured
from checkers.report.decisions import MARKS, Decision, claim, grounds, heading, many, verdict
from checkers.report.query_plan import pass_explained
from checkers.report.release_table import release_table
from checkers.run_files import REPORT
from checkers.verdicts import EXIT_CODES, UNUSABLE_INPUT

if TYPE_CHECKING:
    from typing import TextIO

LONGEST_GROUNDS = 105  # characters
LISTED = 4  # anomalies that hold and still get a line each; more share one
WIDTH = 100


@dataclass(slots=True)
class Terminal:
    stream: TextIO
    meaning: Callable[[int], str] = EXIT_CODES.__getitem__  # of an exit code
    verbose: bool = False
    decisions: list[Decision] = field(default_factory=list)
    of_release: list[ReleaseDecided] = field(default_factory=list)
    folder: str | None = None
    baseline: BaselineApplied | None = None

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.folder = event.folder
            case PropertyDecided() | AnomalyDecided():
                self.decisions.append(event)
            case ReleaseDecided():
                self.of_release.append(event)
            case RowShown() | DeliveryDecided() | PassMeasured() | TraceKept():
                pass  # the evidence has the same as text; the report has the costs of passes
            case Evidence(expected=True):
                headline = " ".join(event.text.splitlines()[0].split())
                self._print(f"as expected: {headline}\n             shown in {event.file}")
            case Evidence():
                self._print(f"{event.text}\n")
            case Measured() | Listed() | Ready() | VerdictCompared():
                self._print(_line(event))
            case ExplorerReady() | StateShown():
                self._print(_line(event))
            case PassExplained():
                self._print(f"{pass_explained(event)}\n")
            case BaselineApplied():
                self.baseline = event
            case RunFinished():
                self._finish(event)
            case _:
                raise AssertionError(f"no text for {event!r}")

    def _print(self, text: str) -> None:
        print(text, file=self.stream, flush=True)

    def _finish(self, event: RunFinished) -> None:
        if self.decisions and (self.verbose or not self.of_release):
            self._print(table(self.decisions, verbose=self.verbose))
        if self.of_release:
            self._print(release_table(self.of_release, verbose=self.verbose))
        if self.baseline is not None:
            for line in baseline_lines(self.baseline):
                self._print(line)
        if self.folder is not None and (self.decisions or event.exit_code != UNUSABLE_INPUT):
            meaning = self.meaning(event.exit_code)
            kept = (
                f"report {self.folder}/{REPORT}" if self.decisions else f"run folder {self.folder}"
            )
            self._print(f"{kept}; exit code {event.exit_code}: {meaning}")


_InOneText = Measured | Listed | Ready | VerdictCompared | ExplorerReady | StateShown


def _line(event: _InOneText) -> str:
    match event:
        case Measured():
            value = f"{event.value:,}" if isinstance(event.value, int) else event.value
            return f"{event.metric}: {value} {event.unit}".rstrip()
        case Listed():
            of = f"{event.facts['of']:<21} " if event.facts.get("of") else ""
            releases = f"{event.releases:<17} " if event.releases else ""
            return f"{event.item:<28} {of}{releases}{event.statement}"
        case Ready():
            control = f", control port {event.control}" if event.control else ""
            processes = [
                f"{pid} ({f'broker {name}' if name.isdecimal() else name})"
                for name, pid in event.pids.items()
            ]
            pids = f", processes {', '.join(processes)}" if processes else ""
            return f"ready: {event.bootstrap_servers}{control}{pids}"
        case VerdictCompared():
            return difference(event)
        case ExplorerReady():
            return f"ready: {event.link}"
        case StateShown():
            return event.text


def baseline_lines(applied: BaselineApplied) -> list[str]:
    """Returns a line with the counts of the baseline (the file of known violations). Further
    lines list its entries that are expired, that had no violation, or that were not checked.
    """
    unmatched = many(len(applied.unmatched), "entry", "entries")
    counts = [f"{len(applied.known):,} known", f"{len(applied.expired):,} expired"]
    lines = [f"baseline {applied.file}: {', '.join(counts)}, {unmatched} without a violation"]
    lines += [f"  expired, fails again  {one}" for one in applied.expired]
    lines += [f"  no violation, remove  {one}" for one in applied.unmatched]
    lines += [f"  not checked here      {one}" for one in applied.not_checked]
    return lines


def difference(one: VerdictCompared) -> str:
    """Returns the text about a claim whose verdict differs between two runs.

    Each violation that only one of the runs has is on a further line, with its fingerprint.
    """
    was, now = (
        f"{word or f'not in the {which} run'}{f' ({count:,} found)' if count else ''}"
        for which, word, count in (
            ("earlier", one.before, one.count_before),
            ("later", one.after, one.count_after),
        )
    )
    lines = [f"{one.change:<8} {one.claim:<24} {was} → {now}   {one.subject}"]
    lines += [f"{'':<8} {print_}  {shape}" for print_, shape in one.fingerprints.items()]
    return "\n".join(lines)


def table(decisions: Sequence[Decision], *, verbose: bool = False) -> str:
    """Returns the verdicts as a table with a heading for each input or spec. The anomalies that are
    not exercised share a line. If `verbose` is false, many anomalies that hold share a line, too.
    """
    lines: list[str] = []
    parts = [
        (title, _Part.of([*group], verbose=verbose))
        for title, group in groupby(decisions, key=heading)
    ]
    single = [one for _, part in parts for one in part.single] or [*decisions]
    widest = max(len(claim(one)) for one in single)
    wide = max(24, *(len(verdict(one)) for one in single))
    for title, part in parts:
        lines.append(title)
        for one in part.single:
            why = shorten(grounds(one), LONGEST_GROUNDS, placeholder=" …")
            line = f"  {MARKS[one.verdict]} {claim(one):<{widest}}  {verdict(one):<{wide}}  {why}"
            lines.append(line.rstrip())
        if part.holding:
            count = len(part.holding)
            lines += _names(f"{MARKS['holds']} {count} do not occur:", part.holding)
        if part.unobserved:
            label = f"{MARKS['not exercised']} {len(part.unobserved)} not exercised"
            lines += _names(f"{label}, as nothing could have shown", part.unobserved)
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Part:
    single: Sequence[Decision]  # each gets a line of its own
    holding: Sequence[Decision]  # they do not occur; they share one line
    unobserved: Sequence[Decision]  # no observation could have shown them; they share one line

    @classmethod
    def of(cls, decisions: Sequence[Decision], *, verbose: bool) -> _Part:
        unobserved = [one for one in decisions if _is_unobserved(one)]
        holding = [one for one in decisions if _holds(one)]
        if verbose or len(holding) <= LISTED:
            holding = []
        shared = {id(one) for one in (*unobserved, *holding)}
        return cls([one for one in decisions if id(one) not in shared], holding, unobserved)


def _holds(decision: Decision) -> bool:
    return isinstance(decision, AnomalyDecided) and verdict(decision) == "holds"


def _is_unobserved(decision: Decision) -> bool:
    return isinstance(decision, AnomalyDecided) and verdict(decision) == "not exercised"


def _names(label: str, decisions: Sequence[Decision]) -> list[str]:
    text = f"  {label} {', '.join(map(claim, decisions))}"
    return wrap(text, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
