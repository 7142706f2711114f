"""A run in the store of runs: its command, its settings and its verdicts.

The store is a copy of facts in the run folders. If the run folder and the store differ, the run
folder is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from checkers.events import (
    AnomalyDecided,
    Event,
    Measured,
    PropertyDecided,
    RunFinished,
    RunStarted,
)
from checkers.report.decisions import Decision, claim, is_known, judged, subject
from checkers.report.saved_run import description, lines_of
from checkers.run_files import DESCRIPTION, EVENTS
from checkers.saved_events import UnreadableEvents, from_json
from checkers.verdicts import MEANINGS, Verdict

SYSTEM: Final = "system"  # the metric by which a recording names its system
_RUN: Final = re.compile(r"\d{4}-\d\d-\d\dT\d{4}-[0-9a-f]{4}")
_SKIPPED: Final = tuple(f'"event": "{name}"' for name in ("row_shown", "evidence"))
_HEAD: Final = 60  # characters of a line that contain the event's name
WORST: Final = {verdict: rank for rank, verdict in enumerate(MEANINGS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptVerdict:
    """A verdict on one claim or anomaly.

    `verdict` is the result of the check. `judged` is the verdict that counts for the exit code: it
    is `holds` for a known violation. `subject` is the spec with its constants and engine, or the
    history. In the path of a history, the name of a run folder is replaced by `*`.
    """

    claim: str
    kind: str  # `claim` or `anomaly`
    subject: str
    spec: str | None
    variant: str | None
    verdict: Verdict
    judged: Verdict
    known: bool
    count: int | None
    seconds: float | None
    system: str | None
    fingerprints: Mapping[str, str]

    @property
    def word(self) -> str:
        """The verdict as text. It is `known` if the file of known violations has every violation.
        It is `permitted` if a violation does not fail the run although it is not in this file.
        """
        if self.known:
            return "known"
        return "permitted" if self.verdict == "violated" != self.judged else self.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRun:
    """A run, with its verdicts. `exit_code` is None if the run did not end."""

    id: str
    folder: str
    started: str  # ISO 8601, UTC
    command: str
    command_line: str
    seed: int
    urteil: str
    commit: str | None
    uncommitted: bool
    system: str | None
    seconds: float | None
    exit_code: int | None
    events_bytes: int  # size of events.ndjson: a run that goes on is read again
    verdicts: tuple[KeptVerdict, ...] = field(default=())

    def counts(self) -> str:
        """Returns the number of verdicts of each kind as text. The worst kind comes first.
        Returns `no verdicts` if there are none.
        """
        words = [one.word for one in self.verdicts]
        order = ("violated", "known", "permitted", *MEANINGS)
        each = (f"{words.count(word)} {word}" for word in dict.fromkeys(order) if word in words)
        return ", ".join(each) or "no verdicts"


def run_folders(base: Path) -> Iterator[Path]:
    """Yields the run folders in the folder `base`, in the order of their names. Yields nothing
    if `base` does not exist.
    """
    if base.is_dir():
        yield from sorted(one.parent for one in base.glob(f"*/{DESCRIPTION}"))


def read_run(folder: Path) -> KeptRun:
    """Returns the run that is stored in the folder. Raises NoRun if it is not a run folder, and
    UnreadableEvents if an event cannot be read.
    """
    described = description(folder)
    path = folder / EVENTS
    size = path.stat().st_size if path.exists() else 0
    return kept_run(folder, described, _events(folder) if size else (), size)


def _events(folder: Path) -> Iterator[Event]:
    for number, line in lines_of(folder / EVENTS):
        if not any(name in line[:_HEAD] for name in _SKIPPED):  # long, and not needed here
            try:
                yield from_json(line)
            except UnreadableEvents as fault:
                raise UnreadableEvents(f"{folder / EVENTS}, line {number}: {fault}") from fault


def kept_run(
    folder: Path, described: Mapping[str, Any], events: Iterable[Event], size: int
) -> KeptRun:
    stream = tuple(events)
    started = next((one for one in stream if isinstance(one, RunStarted)), None)
    ended = next((one for one in stream if isinstance(one, RunFinished)), None)
    by_expectation = started is not None and started.judged_by_expectation
    decisions = [one for one in stream if isinstance(one, PropertyDecided | AnomalyDecided)]
    measured = (
        str(one.value) for one in stream if isinstance(one, Measured) and one.metric == SYSTEM
    )
    systems = dict.fromkeys([*measured, *(one.system for one in decisions if one.system)])
    words = described.get("command") or []
    line = started.command_line if started is not None else " ".join(map(str, words))
    return KeptRun(
        id=folder.resolve().name,
        folder=str(folder),
        started=str(described.get("started", "")),
        command=started.command if started is not None else str((*words, "", "")[1]),
        command_line=line,
        seed=int(described.get("seed", 0)),
        urteil=str(described.get("urteil", "")),
        commit=described.get("commit"),
        uncommitted=bool(described.get("uncommitted", False)),
        system=", ".join(systems) or None,
        seconds=ended.seconds if ended is not None else None,
        exit_code=ended.exit_code if ended is not None else None,
        events_bytes=size,
        verdicts=tuple(_verdict(one, by_expectation=by_expectation) for one in decisions),
    )


def _verdict(decision: Decision, *, by_expectation: bool) -> KeptVerdict:
    of_claim = decision if isinstance(decision, PropertyDecided) else None
    return KeptVerdict(
        claim=claim(decision),
        kind="claim" if of_claim else "anomaly",
        subject=_RUN.sub("*", subject(decision)),
        spec=of_claim.spec if of_claim else None,
        variant=of_claim.variant if of_claim else None,
        verdict=decision.verdict,
        judged=judged(decision, by_expectation=by_expectation),
        known=is_known(decision),
        count=decision.count if isinstance(decision, AnomalyDecided) else None,
        seconds=of_claim.seconds if of_claim else None,
        system=decision.system,
        fingerprints=dict(decision.fingerprints),
    )


def worst(verdicts: Iterable[KeptVerdict]) -> KeptVerdict:
    """Returns the worst of the verdicts of a run on one claim, with the fingerprints of the
    violations in all these verdicts.
    """
    from dataclasses import replace

    ordered = sorted(verdicts, key=lambda one: (one.known, WORST[one.judged], WORST[one.verdict]))
    every = {print_: shape for one in ordered for print_, shape in one.fingerprints.items()}
    return replace(ordered[0], fingerprints=every)
