"""A record was polled by an operation that completed before any client began to send the record.

A future read is a violation under all conditions. It is the simplest cycle of the form G1c-realtime
(`cycles`). The outcome of the send does not matter: if the send failed, the poll is also an aborted
read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation, Poll
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import senders
from properties.anomalies.rendering import in_ms, render


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class FutureRead:
    """A value whose first poll completed before any operation began to send the value."""

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
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Poll) and operation.outcome == "ok":
                assert operation.completed_ns is not None
                yield operation.completed_ns, number, micro


def future_reads(history: History) -> tuple[FutureRead, ...]:
    sent = {
        key_value: min((history[op].invoked_ns, op) for op in ops)
        for key_value, ops in senders(history).items()
    }
    first: dict[tuple[str, str], tuple[int, int]] = {}
    for completed_ns, reader, micro in _polled(history):
        earlier = first.get((micro.key, micro.value), (completed_ns, reader))
        first[micro.key, micro.value] = min(earlier, (completed_ns, reader))
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
    sent = senders(history)
    return sum((micro.key, micro.value) in sent for _, _, micro in _polled(history))


def explain(row: FutureRead, operations: Mapping[int, Operation]) -> str:
    reader, sender = operations[row.reader_op], operations[row.sender_op]
    return "\n".join(
        (
            f"key {row.key}: {row.value} had been polled by {in_ms(reader.completed_ns)}; the "
            f"first operation that sent it began after that, at {in_ms(sender.invoked_ns)}.",
            f"  polled  {render(operations, row.reader_op, row.key, value=row.value)}",
            f"  sent    {render(operations, row.sender_op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="future-read",
    statement="No poll returns a record before a client has begun to send it.",
    rule=(
        "A poll that ended ok returned a value and completed before any operation that sent the "
        "value to the key was invoked."
    ),
    explanation=(
        "The log returned a record of another key or of an earlier run, or the clocks of the "
        "recorder's processes differ."
    ),
    permits={},
    source="claims: linearizable_offsets; Elle's future reads, as G1c-realtime",
    observes="polls of records that a client sent",
    row=FutureRead,
    find=future_reads,
    observed=observed,
    explain=explain,
)
