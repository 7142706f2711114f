"""An operation polled a record of its own transaction before the transaction was committed.

A consumer at `read_committed` receives no record of a transaction before the commit, not even if
the consumer is part of the transaction. Operations at `read_uncommitted` are not checked.

Source: jepsen.tests.kafka precommitted-read-cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation, Poll, Send
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import dirty
from properties.anomalies.rendering import render


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class PrecommittedRead:
    """A value that the same operation both sent and polled."""

    key: str
    value: str
    op: int

    @property
    def size(self) -> int:
        return 1

    @property
    def ops(self) -> tuple[int, ...]:
        return (self.op,)


def _senders_that_poll(history: History) -> Iterator[int]:
    for number, operation in enumerate(history):
        sent = {micro.key for micro in operation.did if isinstance(micro, Send)}
        polled = {micro.key for micro in operation.did if isinstance(micro, Poll)}
        if sent & polled and not dirty(operation):
            yield number


def precommitted_reads(history: History) -> tuple[PrecommittedRead, ...]:
    rows: list[PrecommittedRead] = []
    for number in _senders_that_poll(history):
        did = history[number].did
        sent = {(m.key, m.value) for m in did if isinstance(m, Send)}
        polled = {(m.key, m.value) for m in did if isinstance(m, Poll)}
        rows += [PrecommittedRead(key=k, value=v, op=number) for k, v in sent & polled]
    return tuple(sorted(rows))


def observed(history: History) -> int:
    return len(list(_senders_that_poll(history)))


def explain(row: PrecommittedRead, operations: Mapping[int, Operation]) -> str:
    return "\n".join(
        (
            f"key {row.key}: operation {row.op} sent the value {row.value} and polled it itself, "
            "before its transaction can have been committed.",
            f"  did  {render(operations, row.op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="precommitted-read",
    statement="A transaction at read_committed does not poll a record that it sent itself.",
    rule=(
        "One operation, however it ended, sent a value to a key and polled the same value at "
        "read_committed."
    ),
    explanation=(
        "A reader at read_committed received records of an open transaction: the last stable "
        "offset was above them."
    ),
    permits={},
    source="jepsen.tests.kafka precommitted-read; claims: read_committed_waits",
    observes="operations that sent to a key and polled the same key",
    row=PrecommittedRead,
    find=precommitted_reads,
    observed=observed,
    explain=explain,
)
