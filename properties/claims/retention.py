"""Executable definition of the claim that a reader may be away for some time and misses no record.

An absence of a reader begins when the reader has read to the end of the log and stops polling. When
the reader returns, it requests the end offset. The absence ends when the reader has read up to this
end offset. If the absence is shorter than the retention time, the reader must receive every record
that was sent during the absence. No two sends have the same value.

Source: docs/sources.md DOC3.
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
    """An absence of a reader. It lasts from the reader's last poll before it leaves until the
    reader has caught up with the log.
    """

    process: int
    left_ns: int
    requested_ns: int  # when it listed the end offset, before it read up to it
    back_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptForReaders:
    """The history of one run on a topic partition, and the times at which its readers were away
    (`absences`).
    """

    history: History
    absences: tuple[Absence, ...]
    promised_ms: int  # a reader that is away for less expects to find every record


def retention_loses(run: KeptForReaders) -> tuple[Breach, ...]:
    """Claim: a reader that is away for less than `promised_ms` misses no acknowledged record."""
    received: defaultdict[int, set[str]] = defaultdict(set)
    for operation in run.history:
        received[operation.process] |= {did.value for did in operation.did if isinstance(did, Poll)}
    return tuple(
        Breach(
            "retention_loses",
            f"a reader that was away for {away_ms} of {run.promised_ms} ms "
            f"did not receive {did.value} at offset {did.offset}",
        )
        for absence in run.absences
        for away_ms in ((absence.back_ns - absence.left_ns) // NS_PER_MS,)
        if away_ms < run.promised_ms
        for operation in run.history
        if operation.outcome == "ok"
        and absence.left_ns <= operation.invoked_ns
        and (operation.completed_ns or absence.requested_ns) < absence.requested_ns
        for did in operation.did
        if isinstance(did, Send) and did.value not in received[absence.process]
    )


ALWAYS: Final[Always] = {"retention_loses": retention_loses}
