"""A record was polled by an operation that had completed before anybody began to send the record.

It is the plainest of the G1c-realtime cycles (see `cycles`), and like none of them permitted: what
nobody had sent cannot be given to anybody. A value that was polled and never sent is another
anomaly; so is one whose only send failed, unless that too came later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation, Poll
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import senders
from properties.anomalies.rendering import at, told


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class FutureRead:
    """The first poll that was given the value, and the first operation that sent it, later."""

    key: str
    value: str
    reader_op: int
    sender_op: int
    early_ns: int  # from the completion of the poll to the invocation of the send

    @property
    def size(self) -> int:
        return self.early_ns

    @property
    def ops(self) -> tuple[int, ...]:
        return self.reader_op, self.sender_op


def _polled(history: History) -> Iterator[tuple[int, int, Poll]]:
    """Completion, operation and record of each poll that ended ok."""
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Poll) and operation.outcome == "ok":
                assert operation.completed_ns is not None
                yield operation.completed_ns, number, micro


def future_reads(history: History) -> tuple[FutureRead, ...]:
    """One row per value that was polled before its time."""
    sent = {
        key_value: min((history[op].invoked_ns, op) for op in ops)
        for key_value, ops in senders(history).items()
    }
    first: dict[tuple[str, str], tuple[int, int]] = {}
    for completed_ns, reader, micro in _polled(history):
        known = first.get((micro.key, micro.value), (completed_ns, reader))
        first[micro.key, micro.value] = min(known, (completed_ns, reader))
    rows = [
        FutureRead(
            key=key,
            value=value,
            reader_op=reader,
            sender_op=sent[key, value][1],
            early_ns=sent[key, value][0] - completed_ns,
        )
        for (key, value), (completed_ns, reader) in first.items()
        if (key, value) in sent and completed_ns < sent[key, value][0]
    ]
    return tuple(sorted(rows))


def observed(history: History) -> int:
    """How many records were polled."""
    return sum(1 for _ in _polled(history))


def explain(row: FutureRead, operations: Mapping[int, Operation]) -> str:
    """When the record was polled, and when it was sent."""
    reader, sender = operations[row.reader_op], operations[row.sender_op]
    return "\n".join(
        (
            f"key {row.key}: {row.value} had been polled by {at(reader.completed_ns)}; the first "
            f"operation that sent it began after that, at {at(sender.invoked_ns)}.",
            f"  polled  {told(operations, row.reader_op, row.key, value=row.value)}",
            f"  sent    {told(operations, row.sender_op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="future-read",
    statement="Nobody is given a record before somebody began to send it.",
    rule=(
        "A poll that was given a value, and ended ok, completed before any operation that sent the "
        "value to the key was invoked."
    ),
    explanation=(
        "The log gave out a record of another key or another life: offsets were mixed up, or "
        "the clocks of the recorder's processes differ."
    ),
    permits={},
    source="claims: linearizable_offsets; Elle's future reads, as G1c-realtime",
    observes="records that were polled",
    row=FutureRead,
    find=future_reads,
    observed=observed,
    explain=explain,
)
