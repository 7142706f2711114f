"""G1a: a poll that ended `ok` was given a value whose send had failed.

A send that failed did not happen, and the records of an aborted transaction are not shown to a
reader at `read_committed`. At `read_uncommitted` they are; such polls are not judged.

Source: Adya, Weak Consistency, G1a; jepsen.tests.kafka g1a-cases.
Simplified: a value that was sent again after it had failed may have been read from the second
send; Jepsen, whose values are never sent again, does not make that difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation, Poll
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import KeyValue, dirty, senders
from properties.anomalies.rendering import told


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class AbortedRead:
    """A value that only failed operations sent, the first that did and the first that read it."""

    key: str
    value: str
    writer_op: int
    reader_op: int
    readers: int

    @property
    def size(self) -> int:
        """How many operations read it."""
        return self.readers

    @property
    def ops(self) -> tuple[int, ...]:
        return self.writer_op, self.reader_op


def _readers(history: History) -> dict[KeyValue, list[int]]:
    """For each value that a poll at read_committed ended `ok` was given, who polled it."""
    readers: dict[KeyValue, list[int]] = {}
    for number, operation in enumerate(history):
        if operation.outcome == "ok" and not dirty(operation):
            for it in {(m.key, m.value) for m in operation.did if isinstance(m, Poll)}:
                readers.setdefault(it, []).append(number)
    return readers


def aborted_reads(history: History) -> tuple[AbortedRead, ...]:
    """One row per value that was read though every operation that sent it failed."""
    sent = senders(history)
    return tuple(
        sorted(
            AbortedRead(
                key=key,
                value=value,
                writer_op=sent[key, value][0],
                reader_op=readers[0],
                readers=len(readers),
            )
            for (key, value), readers in _readers(history).items()
            if (key, value) in sent
            if all(history[op].outcome == "fail" for op in sent[key, value])
        )
    )


def observed(history: History) -> int:
    """How many values were read at read_committed."""
    return len(_readers(history))


def explain(row: AbortedRead, operations: Mapping[int, Operation]) -> str:
    """Who sent the value in vain, and who was given it."""
    return "\n".join(
        (
            f"key {row.key}: the value {row.value} was sent in vain, and {row.readers:,} "
            "operations were given it.",
            f"  sent  {told(operations, row.writer_op, row.key, value=row.value)}",
            f"  read  {told(operations, row.reader_op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="G1a",
    statement="What failed is never read: no reader at read_committed sees an aborted write.",
    rule=(
        "A poll at read_committed that ended ok was given a value, and every operation that sent "
        "the value failed."
    ),
    explanation=(
        "The last stable offset was too high, the list of aborted transactions lacked one, or a "
        "transaction that a client saw abort was committed after all."
    ),
    permits={},
    source="Adya G1a; jepsen.tests.kafka G1a; claims: read_committed_waits",
    observes="values read at read_committed",
    row=AbortedRead,
    find=aborted_reads,
    observed=observed,
    explain=explain,
)
