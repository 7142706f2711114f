"""G1a: a poll that ended `ok` returned a value whose sends had all failed.

A reader at `read_committed` must not receive records of an aborted transaction. A poll at
`read_uncommitted` may receive such records, so these polls are not checked.

Source: Adya, Weak Consistency, G1a; jepsen.tests.kafka g1a-cases.
Simplified: a client may send a value a second time after a failed send. If the second send did not
fail, a poll may have returned the record of the second send, so the value is not reported. Jepsen
never sends a value twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation, Poll
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import KeyValue, aborted_values, dirty, keys_read, senders
from properties.anomalies.rendering import render


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class AbortedRead:
    """A value that was read although all its sends failed.

    `writer_op` is the first operation that sent the value, and `reader_op` is the first operation
    that read it.
    """

    key: str
    value: str
    writer_op: int
    reader_op: int
    readers: int

    @property
    def size(self) -> int:
        return self.readers

    @property
    def ops(self) -> tuple[int, ...]:
        return self.writer_op, self.reader_op


def _readers(history: History) -> dict[KeyValue, list[int]]:
    readers: dict[KeyValue, list[int]] = {}
    for number, operation in enumerate(history):
        if operation.outcome == "ok" and not dirty(operation):
            for it in {(m.key, m.value) for m in operation.did if isinstance(m, Poll)}:
                readers.setdefault(it, []).append(number)
    return readers


def aborted_reads(history: History) -> tuple[AbortedRead, ...]:
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
    read = keys_read(history)
    return sum(key in read for key, _ in aborted_values(history))


def explain(row: AbortedRead, operations: Mapping[int, Operation]) -> str:
    readers = "1 operation polled" if row.readers == 1 else f"{row.readers:,} operations polled"
    return "\n".join(
        (
            f"key {row.key}: every send of the value {row.value} failed, and {readers} it at "
            "read_committed.",
            f"  sent  {render(operations, row.writer_op, row.key, value=row.value)}",
            f"  read  {render(operations, row.reader_op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="G1a",
    statement="A reader at read_committed never receives a record of a failed or aborted write.",
    rule=(
        "A poll at read_committed that ended ok returned a value although every operation that "
        "sent the value failed."
    ),
    explanation=(
        "The last stable offset was too high, the list of aborted transactions was incomplete, or "
        "a transaction was committed although its client saw it abort."
    ),
    permits={},
    source="Adya G1a; jepsen.tests.kafka G1a; claims: read_committed_waits",
    observes="values of which every send failed, in keys read at read_committed",
    row=AbortedRead,
    find=aborted_reads,
    observed=observed,
    explain=explain,
)
