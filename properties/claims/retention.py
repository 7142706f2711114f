"""The claim about readers who are away, in its literal form.

A run is *kept for readers*: the history of its writers and readers, and when each reader was away.
A reader leaves when it has read to the end, and is back when it has again: it asks where the log
ends, and reads up to there. It is told for how long it may be away; while it is, records may be
deleted. Values are unique.

Source: D3 (see properties.claims.catalogue).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from model.histories import History, Poll, Send
from properties.claims.breach import Always, Breach

NS_PER_MS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """From when to when a reader's process had not read to the end that it was told."""

    process: int
    left_ns: int
    requested_ns: int  # when it asked where the log ends, before it read up to there
    back_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptForReaders:
    """One run on a topic partition, after its end."""

    history: History
    absences: tuple[Absence, ...]
    promised_ms: int  # who is away for less is told to find everything


def retention_loses(run: KeptForReaders) -> tuple[Breach, ...]:
    """Who is away for less than it was told is given every record that was sent meanwhile."""
    given: defaultdict[int, set[str]] = defaultdict(set)
    for operation in run.history:
        given[operation.process] |= {did.value for did in operation.did if isinstance(did, Poll)}
    return tuple(
        Breach(
            "retention_loses",
            f"who was away for {away_ms} of {run.promised_ms} ms "
            f"was not given {did.value} at offset {did.offset}",
        )
        for absence in run.absences
        for away_ms in ((absence.back_ns - absence.left_ns) // NS_PER_MS,)
        if away_ms < run.promised_ms
        for operation in run.history
        if operation.outcome == "ok"
        and absence.left_ns <= operation.invoked_ns
        and (operation.completed_ns or absence.requested_ns) < absence.requested_ns
        for did in operation.did
        if isinstance(did, Send) and did.value not in given[absence.process]
    )


ALWAYS: Final[Always] = {"retention_loses": retention_loses}
