"""Finds flaky verdicts: a claim holds in one run, and is violated in another run.

Only runs with the same command, subject, system, git commit and release of Urteil are compared.
Runs with uncommitted changes are ignored, because their code is unknown. All runs outside a git
repository count as runs of one commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from checkers.over_time.kept_run import KeptRun, KeptVerdict, worst

# claim, subject, command, commit, release of Urteil, system
_Conditions = tuple[str, str, str, str | None, str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaky:
    command: str
    claim: str
    subject: str
    commit: str | None
    violated: tuple[str, ...]  # ids of runs
    runs: int

    def __str__(self) -> str:
        at = f" at commit {self.commit[:8]}" if self.commit else ""
        return f"flaky: violated in {len(self.violated)} of {self.runs} runs{at}"


def decided(run: KeptRun) -> dict[tuple[str, str, str | None], KeptVerdict]:
    """Returns the worst verdict of the run on each claim, subject and system: `holds` or
    `violated`.

    A subject is a spec with its constants, or a history. A claim that is undecided or not exercised
    is omitted.
    """
    groups: dict[tuple[str, str, str | None], list[KeptVerdict]] = {}
    for one in run.verdicts:
        if one.verdict in ("holds", "violated"):
            groups.setdefault((one.claim, one.subject, one.system), []).append(one)
    return {key: worst(group) for key, group in groups.items()}


def flaky(runs: Iterable[KeptRun]) -> tuple[Flaky, ...]:
    """Returns the flaky claims of these runs, sorted by claim and subject."""
    seen: dict[_Conditions, dict[str, str]] = {}
    for run in runs:
        if run.uncommitted:
            continue
        for (claim, subject, system), one in decided(run).items():
            key = (claim, subject, run.command, run.commit, run.urteil, system)
            seen.setdefault(key, {})[run.id] = one.verdict
    found: list[Flaky] = []
    for (claim, subject, command, commit, *_), verdicts in seen.items():
        violated = tuple(run for run, verdict in verdicts.items() if verdict == "violated")
        if 0 < len(violated) < len(verdicts):
            found.append(
                Flaky(
                    command=command,
                    claim=claim,
                    subject=subject,
                    commit=commit,
                    violated=violated,
                    runs=len(verdicts),
                )
            )
    return tuple(sorted(found, key=lambda one: (one.claim, one.subject)))
