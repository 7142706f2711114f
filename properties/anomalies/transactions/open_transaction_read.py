"""A reader at read_committed was given a record of a transaction that was still open.

What a transaction sent waits behind the last stable offset until its end was asked for: a poll that
had completed before that was given it too early, whatever became of the transaction. Of a
transaction whose `end_asked_ns` nobody knows its invocation counts. So of one that never ended, and
of which nobody knows whether its end was asked for, only what was read before it began is told: a
commit that was asked for and never answered may have taken effect.

A record that was sent again by an operation that did not fail is of that operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.rendering import at, told
from properties.anomalies.transactions.visible import (
    TRANSACTION,
    asked_ns,
    first_readers,
    writers,
)


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OpenTransactionRead:
    """A record, its transaction, and the first reader that was given it."""

    key: str
    value: str
    op: int
    asked_ns: int  # when its end was asked for at the earliest
    reader_op: int
    read_ns: int  # when the reader had it

    @property
    def size(self) -> int:
        """How much too early it was read, ns."""
        return self.asked_ns - self.read_ns

    @property
    def ops(self) -> tuple[int, ...]:
        return self.op, self.reader_op


def _read(history: History) -> Iterator[OpenTransactionRead]:
    """Every record of a transaction that a reader was given, too early or not."""
    wrote = writers(history)
    for (key, value), reader in first_readers(history).items():
        writer, read_ns = wrote.get((key, value)), history[reader].completed_ns
        if writer is None or read_ns is None or history[writer].f != TRANSACTION:
            continue
        yield OpenTransactionRead(
            key=key,
            value=value,
            op=writer,
            asked_ns=asked_ns(history[writer]),
            reader_op=reader,
            read_ns=read_ns,
        )


def open_transaction_reads(history: History) -> tuple[OpenTransactionRead, ...]:
    """One row per record that a reader had before the end of its transaction was asked for."""
    return tuple(sorted(row for row in _read(history) if row.read_ns < row.asked_ns))


def observed(history: History) -> int:
    """How many records of transactions were read."""
    return len(list(_read(history)))


def explain(row: OpenTransactionRead, operations: Mapping[int, Operation]) -> str:
    """When it was read, and when the end of its transaction was asked for."""
    writer = operations[row.op]
    known = "was invoked" if writer.end_asked_ns is None else "was asked to end"
    return "\n".join(
        (
            f"key {row.key}: {row.value} was read by {at(operations[row.reader_op].completed_ns)}; "
            f"its transaction {known} at {at(asked_ns(writer))} and ended {writer.outcome}.",
            f"  sent  {told(operations, row.op, row.key, value=row.value)}",
            f"  read  {told(operations, row.reader_op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="open-transaction-read",
    statement="No reader at read_committed is given a record of a transaction that is open.",
    rule=(
        "A poll at read_committed that ended ok was given a record, and completed before the end "
        "of the transaction that sent it was asked for; if nobody knows when, before it was "
        "invoked."
    ),
    explanation=(
        "The last stable offset was above the first record of an open transaction: it was taken "
        "from a replica that does not know the transaction, or is off by one."
    ),
    permits={},
    source="claims: read_committed_waits; KIP-98, the last stable offset",
    observes="records of transactions that were read at read_committed",
    row=OpenTransactionRead,
    find=open_transaction_reads,
    observed=observed,
    explain=explain,
)
