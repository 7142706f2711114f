"""The result of a run, collected from its events: each verdict with its evidence."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checkers.events import (
    AnomalyDecided,
    BaselineApplied,
    DeliveryDecided,
    Event,
    Evidence,
    Measured,
    PropertyDecided,
    ReleaseDecided,
    RowShown,
    RunFinished,
    RunStarted,
    TraceKept,
)
from checkers.plan_events import PassMeasured
from checkers.report.decisions import Decision, is_known, judged, verdict
from checkers.report.release_table import verdict_of_release
from checkers.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A verdict with its evidence.

    `judged` is the verdict that counts for the exit code. For example, it is `holds` if a violation
    is permitted.
    """

    decision: Decision
    judged: Verdict
    rows: tuple[RowShown, ...] = ()
    evidence: tuple[Evidence, ...] = ()

    @property
    def as_expected(self) -> bool:
        """Returns True for a violation that does not fail the run because it is expected or
        permitted. Returns False for a violation that the file of known violations has.
        """
        return self.decision.verdict == "violated" and self.judged == "holds" and not self.is_known

    @property
    def is_known(self) -> bool:
        """Returns True for a violation that is in the file of known violations, and therefore
        does not fail the run.
        """
        return self.judged == "holds" and is_known(self.decision)

    @property
    def replay(self) -> str:
        """The line with the command that shows the anomaly again, or an empty text."""
        replay = self.decision.replay if isinstance(self.decision, AnomalyDecided) else None
        return f"replay  {replay}" if replay else ""

    @property
    def text(self) -> str:
        """The evidence as text: the worst occurrences of an anomaly, or the other evidence of
        the verdict. If there is no evidence, it is the verdict as text.
        """
        shown = [row.text for row in self.rows] or [one.text for one in self.evidence]
        return "\n\n".join(shown) or f"{verdict(self.decision)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    started: RunStarted | None
    findings: tuple[Finding, ...]
    evidence: tuple[Evidence, ...]
    figures: tuple[Measured, ...]
    exit_code: int | None  # None if the run did not finish
    baseline: BaselineApplied | None = None
    passes: tuple[PassMeasured, ...] = ()  # the costs of analyses
    traces: tuple[TraceKept, ...] = ()

    @property
    def by_expectation(self) -> bool:
        return self.started is not None and self.started.judged_by_expectation


def run_result(events: Iterable[Event]) -> RunResult:
    stream = tuple(events)
    started = next((one for one in stream if isinstance(one, RunStarted)), None)
    by_expectation = started is not None and started.judged_by_expectation
    rows: Mapping[tuple[str, str | None], list[RowShown]] = defaultdict(list)
    open_evidence: dict[str, list[Evidence]] = defaultdict(list)
    decisions: list[tuple[Decision, tuple[Evidence, ...]]] = []
    for event in stream:
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
    return RunResult(
        started=started,
        findings=findings,
        evidence=tuple(one for group in open_evidence.values() for one in group),
        figures=tuple(
            _figure(one)
            for one in stream
            if isinstance(one, Measured | DeliveryDecided | ReleaseDecided)
        ),
        exit_code=next((one.exit_code for one in stream if isinstance(one, RunFinished)), None),
        baseline=next((one for one in stream if isinstance(one, BaselineApplied)), None),
        passes=tuple(one for one in stream if isinstance(one, PassMeasured)),
        traces=tuple(one for one in stream if isinstance(one, TraceKept)),
    )


def _figure(event: Measured | DeliveryDecided | ReleaseDecided) -> Measured:
    if isinstance(event, Measured):
        return event
    if isinstance(event, ReleaseDecided):
        metric = " ".join(filter(None, (f"Kafka {event.release}:", event.spec, event.claim)))
        return Measured(metric=metric, value=verdict_of_release(event))
    value = "; ".join((event.semantics, *event.breaks))
    return Measured(metric=f"{event.history}: delivery semantics", value=value)


def _of(
    decision: Decision, rows: Mapping[tuple[str, str | None], list[RowShown]]
) -> tuple[RowShown, ...]:
    if isinstance(decision, PropertyDecided):
        return ()
    return tuple(rows.get((decision.anomaly, decision.history), ()))
