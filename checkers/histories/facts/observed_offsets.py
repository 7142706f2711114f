"""What a piece of a history was told of its logs, and what that asks, as integers.

Every row that tells an offset, in an operation that ended ok, is a fact; sends and ends are
questions too. Facts of readers at `read_committed` are also facts of what is stable of the log.

Source: `properties.anomalies.real_time.reach`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.sorting import Codes, Mask
from checkers.histories.plan.batch import NEVER_NS, UNKNOWN_OFFSET, Batch
from model.histories import Isolation

COLUMNS: Final = (
    "op",
    "outcome",
    "invoked_ns",
    "completed_ns",
    "position",
    "kind",
    "key",
    "offset",
    "isolation",
)
LOG, STABLE = 0, 1
KINDS: Final = ("send", "poll", "end_offset")
A_SEND, A_POLL, AN_END = range(3)

# who asks: a send, an end; an end at read_committed, of the log and of what is stable of it
SEND, END, COMMITTED_END, STABLE_END = range(4)
LOG_OF: Final = np.array([LOG, LOG, LOG, STABLE])


@dataclass(frozen=True, slots=True)
class ObservedOffsets:
    """The rows that tell an offset, in the order in which they completed."""

    row: Ints
    kind: Codes  # the place in KINDS
    key: Codes  # from 0; `keys` are the fingerprints
    keys: Ints
    offset: Ints
    end: Ints  # how far each shows that the log reached
    invoked_ns: Ints
    completed_ns: Ints
    committed: Mask  # by a poll or a read of the end at read_committed


def observed_offsets(batch: Batch, isolation: Isolation) -> ObservedOffsets:
    """What the piece tells, where this level is declared; made once for all kernels."""
    return batch.derived(("told", isolation), lambda it: _told(it, isolation))


def _told(batch: Batch, isolation: Isolation) -> ObservedOffsets:
    numbers, names = batch.narrow_codes("kind")
    places: dict[str | None, int] = {name: place for place, name in enumerate(KINDS)}
    named: list[str | None] = [*names.to_pylist(), None]
    kind = np.array([places.get(name, len(KINDS)) for name in named], np.int8)[numbers]
    answered = (
        batch.is_in("outcome", "ok") & batch.is_valid("completed_ns") & batch.is_valid("offset")
    )
    row = np.flatnonzero(answered & (kind < len(KINDS)))
    completed_ns = batch.ints("completed_ns", null=NEVER_NS)[row]
    if np.any(completed_ns[1:] < completed_ns[:-1]):
        in_time = np.argsort(completed_ns, kind="stable")
        row, completed_ns = row[in_time], completed_ns[in_time]
    kind = kind[row]
    codes, texts = batch.narrow_codes("key")
    offset = batch.ints("offset", null=UNKNOWN_OFFSET)[row]
    return ObservedOffsets(
        row=row,
        kind=kind,
        key=codes[row],
        keys=fingerprints(texts, batch.hash_seed),
        offset=offset,
        end=offset + (kind != AN_END),
        invoked_ns=batch.ints("invoked_ns")[row],
        completed_ns=completed_ns,
        committed=(kind != A_SEND) & ~reads_uncommitted(batch, isolation)[row],
    )


def reads_uncommitted(batch: Batch, isolation: Isolation) -> Mask:
    """Where an operation reads at read_uncommitted, this level being declared."""
    said = batch.is_in("isolation", "read_uncommitted")
    return said | ~batch.is_valid("isolation") if isolation == "read_uncommitted" else said


def checked_rows(of: ObservedOffsets) -> Iterator[tuple[int, Ints]]:
    """Who asks, and in which of what is told. An end at read_committed asks twice: only one of its
    logs will count.
    """
    ends = of.kind == AN_END
    committed = np.flatnonzero(ends & of.committed)
    yield SEND, np.flatnonzero(of.kind == A_SEND)
    yield END, np.flatnonzero(ends & ~of.committed)
    yield COMMITTED_END, committed
    yield STABLE_END, committed
