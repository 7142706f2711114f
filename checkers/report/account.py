"""What a run told, put together from its events: each decision with what shows it.

Every reporter that writes a document at the end of a run reads this, and it is the same whether
the events come from the run or from the file of its folder: a report can be written again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checkers.events import (
    AnomalyDecided,
    DeliveryDecided,
    Event,
    Evidence,
    Measured,
    PropertyDecided,
    RowShown,
    RunFinished,
    RunStarted,
)
from checkers.report.decisions import Decision, judged, verdict
from checkers.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A decision, what it means for the exit code, and what shows it.

    `rows` are the worst of an anomaly; `evidence` is told of one property before its decision.
    """

    decision: Decision
    judged: Verdict
    rows: tuple[RowShown, ...] = ()
    evidence: tuple[Evidence, ...] = ()

    @property
    def as_expected(self) -> bool:
        """Is it a violation that had to be found, or that something permits?"""
        return self.decision.verdict == "violated" and self.judged == "holds"

    @property
    def replay(self) -> str:
        """What to type to decide an anomaly again; of a property its evidence says it."""
        replay = self.decision.replay if isinstance(self.decision, AnomalyDecided) else None
        return f"replay  {replay}" if replay else ""

    @property
    def text(self) -> str:
        """What shows it, in words."""
        shown = [row.text for row in self.rows] or [one.text for one in self.evidence]
        return "\n\n".join(shown) or f"{verdict(self.decision)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A whole run; `evidence` is what is told of no single decision, a history as a whole."""

    started: RunStarted | None
    findings: tuple[Finding, ...]
    evidence: tuple[Evidence, ...]
    figures: tuple[Measured, ...]
    exit_code: int | None  # None: it did not finish

    @property
    def by_expectation(self) -> bool:
        return self.started is not None and self.started.judged_by_expectation


def account(events: Iterable[Event]) -> Account:
    """The account of a run whose events these are, in their order."""
    told = tuple(events)
    started = next((one for one in told if isinstance(one, RunStarted)), None)
    by_expectation = started is not None and started.judged_by_expectation
    rows: Mapping[tuple[str, str | None], list[RowShown]] = defaultdict(list)
    open_evidence: dict[str, list[Evidence]] = defaultdict(list)
    decisions: list[tuple[Decision, tuple[Evidence, ...]]] = []
    for event in told:
        match event:
            case RowShown():
                rows[event.anomaly, event.history].append(event)
            case Evidence():
                open_evidence[event.about].append(event)
            case PropertyDecided():
                decisions.append((event, tuple(open_evidence.pop(event.property, ()))))
            case AnomalyDecided():
                decisions.append((event, ()))
            case _:
                pass
    findings = tuple(
        Finding(
            decision=decision,
            judged=judged(decision, by_expectation=by_expectation),
            rows=_of(decision, rows),
            evidence=evidence,
        )
        for decision, evidence in decisions
    )
    return Account(
        started=started,
        findings=findings,
        evidence=tuple(one for group in open_evidence.values() for one in group),
        figures=tuple(_figure(one) for one in told if isinstance(one, Measured | DeliveryDecided)),
        exit_code=next((one.exit_code for one in told if isinstance(one, RunFinished)), None),
    )


def _figure(event: Measured | DeliveryDecided) -> Measured:
    """A figure; of delivery semantics the strongest, and what breaks those that are stronger."""
    if isinstance(event, Measured):
        return event
    said = "; ".join((event.semantics, *event.breaks))
    return Measured(what=f"{event.history}: delivery semantics", value=said)


def _of(
    decision: Decision, rows: Mapping[tuple[str, str | None], list[RowShown]]
) -> tuple[RowShown, ...]:
    if isinstance(decision, PropertyDecided):
        return ()
    return tuple(rows.get((decision.anomaly, decision.history), ()))
