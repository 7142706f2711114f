"""A reader at read_committed received a record of a transaction that was still open.

The client of a transaction requests the commit or the abort at some time (`end_asked_ns`). If a
poll completed before this time, it must not return a record of the transaction, even if the
transaction committed later. If the time of the request is unknown, only a poll that completed
before the transaction began is reported.

If several operations sent the same value, the first operation that did not fail is treated as its
sender.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.rendering import in_ms, render
from properties.anomalies.transactions.visible import (
    TRANSACTION,
    end_requested_ns,
    first_readers,
    writers,
)


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OpenTransactionRead:
    """A record that was read while its transaction was open, and the first reader that received
    it.
    """

    key: str
    value: str
    op: int
    asked_ns: int  # the earliest time at which the transaction's end was requested
    reader_op: int
    read_ns: int  # when the poll that returned it completed

    @property
    def size(self) -> int:
        return self.asked_ns - self.read_ns

    @property
    def ops(self) -> tuple[int, ...]:
        return self.op, self.reader_op


def _read(history: History) -> Iterator[OpenTransactionRead]:
    wrote = writers(history)
    for (key, value), reader in first_readers(history).items():
        writer, read_ns = wrote.get((key, value)), history[reader].completed_ns
        if writer is None or read_ns is None or history[writer].f != TRANSACTION:
            continue
        # the transaction may have ended before the read
        yield OpenTransactionRead(
            key=key,
            value=value,
            op=writer,
            asked_ns=end_requested_ns(history[writer]),
            reader_op=reader,
            read_ns=read_ns,
        )


def open_transaction_reads(history: History) -> tuple[OpenTransactionRead, ...]:
    return tuple(sorted(row for row in _read(history) if row.read_ns < row.asked_ns))


def observed(history: History) -> int:
    return len(list(_read(history)))


def explain(row: OpenTransactionRead, operations: Mapping[int, Operation]) -> str:
    writer = operations[row.op]
    requested = "was invoked" if writer.end_asked_ns is None else "requested its end"
    return "\n".join(
        (
            f"key {row.key}: {row.value} was read by "
            f"{in_ms(operations[row.reader_op].completed_ns)}; its transaction {requested} only at "
            f"{in_ms(end_requested_ns(writer))} and ended {writer.outcome}.",
            f"  sent  {render(operations, row.op, row.key, value=row.value)}",
            f"  read  {render(operations, row.reader_op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="open-transaction-read",
    statement="No reader at read_committed receives a record of an open transaction.",
    rule=(
        "A poll at read_committed returned a record and completed before the end of the record's "
        "transaction was requested (or, if that time is unknown, before the transaction was "
        "invoked)."
    ),
    explanation=(
        "The last stable offset was above the first record of an open transaction: it came from a "
        "replica that had not seen the transaction, or was off by one."
    ),
    permits={},
    source="claims: read_committed_waits; KIP-98, the last stable offset",
    observes="records of transactions that were read at read_committed",
    row=OpenTransactionRead,
    find=open_transaction_reads,
    observed=observed,
    explain=explain,
)
