"""A read of a log's end returned a lower end than was observed before the read began.

At `read_uncommitted` the end of a log is the high watermark. So every earlier observation of the
end (`reach`) is compared with the read. At `read_committed` the end is the last stable offset,
which an open transaction legally holds back. So if transactions write to the log, only earlier
observations at `read_committed` are compared with the read.

The high watermark of a new leader lags until its followers have reported. During this time, brokers
since 2.2 refuse to return the end (OFFSET_NOT_AVAILABLE, KIP-207). Older brokers returned the
lagging value.

With acks=1, a leader acknowledges a record before the record is replicated. If a new leader does
not have the record, the lower end is no fault of Kafka. The read is reported nevertheless, because
the acknowledged record may be lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import EndOffset, History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.real_time.offset_order_inversion import KNOWN_BY
from properties.anomalies.real_time.reach import By, furthest, is_known, reached, reads_committed
from properties.anomalies.rendering import in_ms, render


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class StaleEndOffset:
    """A read of a log's end that returned a lower end than was observed before the read began."""

    key: str
    end_offset: int
    op: int
    known_end: int
    known_from: By
    known_op: int

    @property
    def size(self) -> int:
        return self.known_end - self.end_offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.known_op, self.op


def _ends(history: History) -> Iterator[tuple[int, EndOffset]]:
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, EndOffset) and operation.outcome == "ok":
                yield number, micro


def stale_end_offsets(history: History) -> tuple[StaleEndOffset, ...]:
    facts = list(reached(history))
    rows: list[StaleEndOffset] = []
    for op, end in _ends(history):
        began_ns, stable = history[op].invoked_ns, reads_committed(history[op])
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
    facts = list(reached(history))
    return sum(
        is_known(facts, end.key, history[op].invoked_ns, stable=reads_committed(history[op]))
        for op, end in _ends(history)
    )


def explain(row: StaleEndOffset, operations: Mapping[int, Operation]) -> str:
    known, read = operations[row.known_op], operations[row.op]
    shown = row.known_end if row.known_from == "end_offset" else row.known_end - 1
    return "\n".join(
        (
            f"key {row.key}: the log end was at least {row.known_end} by "
            f"{in_ms(known.completed_ns)}, when {KNOWN_BY[row.known_from]} offset {shown}; a read "
            f"of the end that began later, at {in_ms(read.invoked_ns)}, returned "
            f"{row.end_offset}.",
            f"  before  {render(operations, row.known_op, row.key, offset=shown)}",
            f"  read    {render(operations, row.op, row.key, offset=row.end_offset)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="stale-end-offset",
    statement="A read of a log's end returns at least every end observed before the read began.",
    rule=(
        "A read of the end returned h although an operation that completed before the read began "
        "had shown a log end above h (for a read at read_committed of a key with transactions, "
        "only polls and reads of the end at that level count)."
    ),
    explanation=(
        "The end came from a lagging replica, the log was truncated, or a record was returned "
        "before its transaction ended."
    ),
    permits={},
    source="claims: linearizable_offsets; ListOffsets, KIP-207",
    observes="reads of a log's end after an end of this log was known",
    row=StaleEndOffset,
    find=stale_end_offsets,
    observed=observed,
    explain=explain,
)
