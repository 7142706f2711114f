"""Decides a case of a reproduction: its history is analyzed by the code of `urteil analyze`.

A case shows the defect if its history has all anomalies that the reproduction names. An anomaly
counts even if a client's settings permit it. For example, acks=1 permits lost records. The case is
undecided if a step did not happen, or if an assumption about the history is broken.

Some defects are not visible in a history. They are visible in the log directories, which are
audited, or in the response to the last step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from checkers.histories.analysis import analyze
from checkers.histories.io.assumptions import assumptions_of
from checkers.log_dirs.audit import audit
from checkers.report import log_audit
from checkers.report.anomalies import explained
from checkers.reproduce.conducting import HISTORY, Taken
from checkers.reproduce.reproduction import Case, Reproduction
from checkers.verdicts import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdict on a case, its reason, and a text about the anomalies that were found."""

    verdict: Verdict
    reason: str
    evidence: str = ""


def verdict(
    reproduction: Reproduction,
    case: Case,
    taken: Sequence[Taken],
    folder: Path,
    log_dirs: Sequence[Path],
) -> Judged:
    """Returns the verdict on a case. `folder` contains the history of the case.

    `log_dirs` are the brokers' log directories. They are audited if the defect is visible only
    there.
    """
    last = taken[-1]
    if not last.seen.reached:
        reason = f"step {len(taken)} did not happen ({last.step.text}): {last.seen.text}"
        return Judged(verdict="undecided", reason=reason)
    if case.breaks is not None:
        return Judged(
            verdict="violated" if case.breaks else "holds",
            reason=f"{last.step.text}: {last.seen.text}",
        )
    if reproduction.log_anomalies:
        return audited(reproduction, log_dirs)
    return judged(reproduction, folder / HISTORY)


def judged(reproduction: Reproduction, history: Path) -> Judged:
    analysis = analyze(history, declared=assumptions_of(history))
    evidence = explained(analysis)
    if analysis.broken:
        broken = ", ".join(one.assumption.id for one in analysis.broken)
        reason = f"broken assumption: {broken}"
        return Judged(verdict="undecided", reason=reason, evidence=evidence)
    found = {one.anomaly.id: one for one in analysis.decisions}
    named = [found[name] for name in reproduction.anomalies]
    counted = ", ".join(f"{one.anomaly.id} {one.count}" for one in named)
    # `violated`: every anomaly that the reproduction names occurs. `holds`: none of them occurs,
    # and each could have been observed. Else `undecided`.
    ends = _together([one.verdict if one.observations else "undecided" for one in named])
    return Judged(verdict=ends, reason=f"found: {counted}", evidence=evidence)


def audited(reproduction: Reproduction, log_dirs: Sequence[Path]) -> Judged:
    found = audit(log_dirs, checks=reproduction.log_anomalies)
    counted = ", ".join(f"{one.check.id} {one.count}" for one in found.decisions)
    return Judged(
        # `violated`: every check that the reproduction names finds a violation. `holds`: none of
        # them does. Else `undecided`.
        verdict=_together([one.verdict for one in found.decisions]),
        reason=f"found in the log directories: {counted}",
        evidence=log_audit.explained(found, ", ".join(map(str, log_dirs))),
    )


def _together(verdicts: Sequence[Verdict]) -> Verdict:
    first = verdicts[0]
    return first if all(one == first for one in verdicts) else "undecided"
