"""A send that began once the log was known to reach further got an offset below its end.

Offsets given to sends must agree with real time: the log is one object, and its end only moves on.
What was known may come from other processes, and from sends, polls or reads of the end. What
overlaps in time may get its offsets in any order.

The offset of a send is what its acknowledgement told. Of one that was not acknowledged, or whose
acknowledgement did not tell, it is the lowest at which a poll that ended ok was given its value;
unless it failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation, Poll, Send
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.real_time.reach import By, furthest, reached
from properties.anomalies.rendering import at, told

KNOWN_BY: Final[Mapping[By, str]] = {
    "send": "a send was acknowledged at",
    "poll": "a poll was given the record at",
    "end_offset": "the end was read as",
}


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OffsetOrderInversion:
    """The send got an offset below what the log had reached before the send was invoked."""

    key: str
    offset: int
    value: str
    op: int
    known_end: int
    known_from: By
    known_op: int

    @property
    def size(self) -> int:
        """How far behind the last record that was known the offset lies."""
        return self.known_end - 1 - self.offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.known_op, self.op


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    key: str
    value: str
    offset: int
    op: int


def _placed(history: History) -> Iterator[_Placed]:
    """The sends that got an offset, each as often as its operation sends."""
    polled: dict[tuple[str, str], int] = {}
    for operation in history:
        for micro in operation.did:
            if isinstance(micro, Poll) and operation.outcome == "ok" and micro.offset is not None:
                lowest = polled.get((micro.key, micro.value), micro.offset)
                polled[micro.key, micro.value] = min(lowest, micro.offset)
    for number, operation in enumerate(history):
        for micro in operation.did:
            if not isinstance(micro, Send) or operation.outcome == "fail":
                continue
            offset = micro.offset if operation.outcome == "ok" else None
            if offset is None:
                offset = polled.get((micro.key, micro.value))
            if offset is not None:
                yield _Placed(key=micro.key, value=micro.value, offset=offset, op=number)


def inversions(history: History) -> tuple[OffsetOrderInversion, ...]:
    """One row per send, with the furthest that the log was known to reach before it began."""
    facts = list(reached(history))
    rows: list[OffsetOrderInversion] = []
    for send in _placed(history):
        began_ns = history[send.op].invoked_ns
        before = [fact for fact in facts if fact.breaks(send.key, send.offset, began_ns)]
        if before:
            known = furthest(before)
            rows.append(
                OffsetOrderInversion(
                    key=send.key,
                    offset=send.offset,
                    value=send.value,
                    op=send.op,
                    known_end=known.end,
                    known_from=known.by,
                    known_op=known.op,
                )
            )
    return tuple(sorted(rows))


def observed(history: History) -> int:
    """How many sends got an offset."""
    return sum(1 for _ in _placed(history))


def explain(row: OffsetOrderInversion, operations: Mapping[int, Operation]) -> str:
    """Why this is an inversion, from the two operations."""
    known, send = operations[row.known_op], operations[row.op]
    shown = row.known_end if row.known_from == "end_offset" else row.known_end - 1
    return "\n".join(
        (
            f"key {row.key}: {KNOWN_BY[row.known_from]} {shown} by {at(known.completed_ns)}; a "
            f"send that began after that, at {at(send.invoked_ns)}, got offset {row.offset}, which "
            "is not behind it.",
            f"  known  {told(operations, row.known_op, row.key, offset=shown)}",
            f"  send   {told(operations, row.op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="offset-order-inversion",
    statement="Offsets given to sends agree with real time.",
    rule=(
        "A send got offset o and was invoked after the completion of an operation that was told "
        "that the log of the key reached beyond o: by a send acknowledged or a record polled at o "
        "or above, or an end above o."
    ),
    explanation=(
        "Appends of a partition log are ordered, and what was acknowledged or read is in it. What "
        "begins later comes behind it. A lower offset means that the log lost its end, or that "
        "two leaders gave out offsets."
    ),
    permits={},
    source="claims: linearizable_offsets; Herlihy and Wing, linearizability",
    observes="sends that got an offset",
    row=OffsetOrderInversion,
    find=inversions,
    observed=observed,
    explain=explain,
)
