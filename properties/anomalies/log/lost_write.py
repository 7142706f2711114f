"""A write that must have taken effect was read by nobody, though a later record was read.

For each key the bound is the highest offset that somebody surely read past: of every value that a
poll ended `ok` was given, the first offset at which the log shows it; and of those the highest. A
value whose last place in the log is not above the bound, and whose send must have taken effect,
must have been given to some poll that ended `ok`. Nothing is said of the tail above the bound, nor
of a value whose place nobody knows, nor of what may be gone (`retention`).

Source: jepsen.tests.kafka lost-write-cases.
Simplified: Jepsen gives up on a value that nobody is known to have sent; it is no lost write.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.observations import committed_sends, places, read_values
from properties.anomalies.rendering import at, told
from properties.anomalies.retention import kept_from


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class LostWrite:
    """A value below what was read of its key, that no poll ended `ok` was given."""

    key: str
    value: str
    offset: int  # the last at which the log shows it
    writer_op: int
    read_offset: int  # the bound
    read_value: str
    reader_op: int

    @property
    def size(self) -> int:
        """How far below the highest read the value lies."""
        return self.read_offset - self.offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.writer_op, self.reader_op


def highest_reads(history: History) -> dict[str, tuple[int, str, int]]:
    """For each key the bound, a value first seen there, and an operation that read it."""
    lies, readers = places(history), read_values(history)
    highest: dict[str, tuple[int, int, str]] = {}
    for (key, value), ops in readers.items():
        if (key, value) in lies:
            candidate = (-lies[key, value][0], min(ops), value)
            highest[key] = min(highest.get(key, candidate), candidate)
    return {key: (-offset, value, op) for key, (offset, op, value) in highest.items()}


def _owed(history: History, declared: Declarations) -> dict[tuple[str, str], int]:
    """For each key and value that must have been read, its last offset."""
    highest, sent = highest_reads(history), committed_sends(history)
    kept = kept_from(history, declared)
    return {
        (key, value): offsets[-1]
        for (key, value), offsets in places(history).items()
        if key in highest and kept(key) <= offsets[-1] <= highest[key][0]
        if (key, value) in sent
    }


def lost_writes(
    history: History, declared: Declarations = NOTHING_DECLARED
) -> tuple[LostWrite, ...]:
    """One row per value that must have been read and was not."""
    highest, sent, read = highest_reads(history), committed_sends(history), read_values(history)
    rows: list[LostWrite] = []
    for (key, value), offset in _owed(history, declared).items():
        if (key, value) not in read:
            read_offset, read_value, reader = highest[key]
            rows.append(
                LostWrite(
                    key=key,
                    value=value,
                    offset=offset,
                    writer_op=sent[key, value],
                    read_offset=read_offset,
                    read_value=read_value,
                    reader_op=reader,
                )
            )
    return tuple(sorted(rows))


def observed(history: History, declared: Declarations = NOTHING_DECLARED) -> int:
    """How many values had to be read."""
    return len(_owed(history, declared))


def explain(row: LostWrite, operations: Mapping[int, Operation]) -> str:
    """Why the write must have been read, from its send and from the read beyond it."""
    writer, reader = operations[row.writer_op], operations[row.reader_op]
    return "\n".join(
        (
            f"key {row.key}: the value {row.value} lies at offset {row.offset}; its send ended "
            f"{writer.outcome} at {at(writer.completed_ns)}. The value {row.read_value}, at offset "
            f"{row.read_offset}, was read by {at(reader.completed_ns)}; nobody ever read "
            f"{row.value}.",
            f"  sent    {told(operations, row.writer_op, row.key, value=row.value)}",
            f"  beyond  {told(operations, row.reader_op, row.key, value=row.read_value)}",
        )
    )


def anomaly(declared: Declarations) -> Anomaly:
    """The row of the catalogue."""
    return Anomaly(
        id="lost-write",
        statement="A write that took effect is read by someone once a later record was read.",
        rule=(
            "A value's send must have taken effect, its last place in the log is not above the "
            "highest place that a poll ended ok has read, nor below the start of the log, and no "
            "poll ended ok was given it."
        ),
        explanation=(
            "Readers went past the place and were never given the record: it was acknowledged and "
            "is gone, or is hidden from them."
        ),
        permits={},
        source="jepsen.tests.kafka lost-write; claims: committed_survives",
        observes="values that had to be read",
        row=LostWrite,
        find=partial(lost_writes, declared=declared),
        observed=partial(observed, declared=declared),
        explain=explain,
    )


ANOMALY: Final = anomaly(NOTHING_DECLARED)
