"""Finds the offsets that clients observed: offsets of sends and polls, and end offsets of logs.

Only operations that ended ok are considered. An observed offset is a lower bound of the end of its
log. If the poll or the end-offset query was at `read_committed`, the offset is also a lower bound
of the last stable offset. A later send must not have an offset below a log end that was observed
earlier. A later end offset must not be below it, either.

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

# Kinds of checks: of a send; of an end offset; of an end offset read at read_committed, against
# the log end or against the last stable offset.
SEND, END, COMMITTED_END, STABLE_END = range(4)
LOG_OF: Final = np.array([LOG, LOG, LOG, STABLE])


@dataclass(frozen=True, slots=True)
class ObservedOffsets:
    """The sends, polls and end-offset queries of one batch that ended ok with an offset, in the
    order of completion. A batch is a range of the history's operations.
    """

    row: Ints
    kind: Codes  # the position in KINDS
    key: Codes  # the position in `keys`
    keys: Ints  # fingerprints
    offset: Ints
    end: Ints  # a lower bound of the log end, from this row
    invoked_ns: Ints
    completed_ns: Ints
    committed: Mask  # True for a poll or an end offset at read_committed


def observed_offsets(batch: Batch, isolation: Isolation) -> ObservedOffsets:
    """Returns the sends, polls and end-offset queries of this batch of operations that ended ok
    with an offset, in the order of completion.

    If the isolation level of a row is not recorded, the level `isolation` is assumed.
    """
    return batch.derived(("observed offsets", isolation), lambda it: _observed(it, isolation))


def _observed(batch: Batch, isolation: Isolation) -> ObservedOffsets:
    numbers, names = batch.narrow_codes("kind")
    position_of: dict[str | None, int] = {name: at for at, name in enumerate(KINDS)}
    named: list[str | None] = [*names.to_pylist(), None]
    kind = np.array([position_of.get(name, len(KINDS)) for name in named], np.int8)[numbers]
    observed = (
        batch.is_in("outcome", "ok") & batch.is_valid("completed_ns") & batch.is_valid("offset")
    )
    row = np.flatnonzero(observed & (kind < len(KINDS)))
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
    """Returns a mask: True for each row whose isolation level is read_uncommitted.

    If the isolation level of a row is not recorded, the level `isolation` is assumed.
    """
    recorded = batch.is_in("isolation", "read_uncommitted")
    if isolation == "read_uncommitted":
        return recorded | ~batch.is_valid("isolation")
    return recorded


def checked_rows(observed: ObservedOffsets) -> Iterator[tuple[int, Ints]]:
    """Yields each kind of check, such as `STABLE_END`, with the rows to check.

    End offsets that were read at read_committed are yielded for two checks, because this function
    does not know whether transactions send to the topic partition. If transactions send to it, only
    `STABLE_END` is valid. Otherwise, only `COMMITTED_END` is valid. `LogEnds.applicable` selects
    the valid check.
    """
    ends = observed.kind == AN_END
    committed = np.flatnonzero(ends & observed.committed)
    yield SEND, np.flatnonzero(observed.kind == A_SEND)
    yield END, np.flatnonzero(ends & ~observed.committed)
    yield COMMITTED_END, committed
    yield STABLE_END, committed
