"""A read of a log's end fell behind what was known before the read began.

At `read_uncommitted` the end is the high watermark, and every fact counts (see `reach`). At
`read_committed` it is the last stable offset: where transactions send to the key, only polls and
ends at that level count, since an open transaction legally holds it back.

A new leader's high watermark lags until its followers have told how far they are. Brokers since 2.2
refuse to tell the end meanwhile (OFFSET_NOT_AVAILABLE, KIP-207): a lower answer is a fault. Older
ones told what they had. An acknowledgement with acks=1 comes before the record is replicated: an
end below it is then no fault of the end, and the record is not safe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import EndOffset, History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.real_time.offset_order_inversion import KNOWN_BY
from properties.anomalies.real_time.reach import By, committed, furthest, reached
from properties.anomalies.rendering import at, told


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class StaleEndOffset:
    """A read of the end that said less than was known before the read began."""

    key: str
    end_offset: int
    op: int
    known_end: int
    known_from: By
    known_op: int

    @property
    def size(self) -> int:
        """By how many offsets the read fell behind."""
        return self.known_end - self.end_offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.known_op, self.op


def _ends(history: History) -> Iterator[tuple[int, EndOffset]]:
    """The reads of an end that ended ok."""
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, EndOffset) and operation.outcome == "ok":
                yield number, micro


def stale_end_offsets(history: History) -> tuple[StaleEndOffset, ...]:
    """One row per stale read, with the highest end known before it began."""
    facts = list(reached(history))
    rows: list[StaleEndOffset] = []
    for op, end in _ends(history):
        began_ns, stable = history[op].invoked_ns, committed(history[op])
        before = [
            fact
            for fact in facts
            if fact.breaks(end.key, end.offset, began_ns) and (fact.stable or not stable)
        ]
        if before:
            known = furthest(before)
            rows.append(
                StaleEndOffset(
                    key=end.key,
                    end_offset=end.offset,
                    op=op,
                    known_end=known.end,
                    known_from=known.by,
                    known_op=known.op,
                )
            )
    return tuple(sorted(rows))


def observed(history: History) -> int:
    """How many reads of an end came back."""
    return sum(1 for _ in _ends(history))


def explain(row: StaleEndOffset, operations: Mapping[int, Operation]) -> str:
    """Why this read is stale, from the two operations."""
    known, read = operations[row.known_op], operations[row.op]
    shown = row.known_end if row.known_from == "end_offset" else row.known_end - 1
    return "\n".join(
        (
            f"key {row.key}: its end had reached {row.known_end} at {at(known.completed_ns)}, when "
            f"{KNOWN_BY[row.known_from]} {shown}; a read that began after that, at "
            f"{at(read.invoked_ns)}, said {row.end_offset}.",
            f"  known  {told(operations, row.known_op, row.key, offset=shown)}",
            f"  read   {told(operations, row.op, row.key, offset=row.end_offset)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="stale-end-offset",
    statement="A read of a log's end sees all that was known of it before the read began.",
    rule=(
        "An end h was read by an operation invoked after the completion of one that was told that "
        "the log of the key reached beyond h; of a read at read_committed, and where transactions "
        "send to the key, by a poll or a read of the end at that level."
    ),
    explanation=(
        "Who asks for the end must be told at least what lies behind each record that was "
        "acknowledged or read before. A lower answer comes from a replica that is behind, from a "
        "log that lost its end, or from a record that was shown before its transaction ended."
    ),
    permits={},
    source="claims: linearizable_offsets; ListOffsets, KIP-207",
    observes="reads of an end offset",
    row=StaleEndOffset,
    find=stale_end_offsets,
    observed=observed,
    explain=explain,
)
