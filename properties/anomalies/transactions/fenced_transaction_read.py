"""A reader at read_committed received a record of a transaction that was fenced.

When a newer producer registers the same transactional id, the broker aborts the open transaction of
the older producer. The older producer gets a fencing error, and none of its records may become
visible. Each anomaly of this kind is also a `G1a`.

A transaction is treated as fenced if it ended `fail` with an error that names ProducerFenced or
InvalidProducerEpoch. A transaction that ended `info` is not treated as fenced, because it may have
been committed before the error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import keys_read, senders
from properties.anomalies.rendering import render
from properties.anomalies.transactions.visible import TRANSACTION, first_readers

FENCED: Final = re.compile(
    r"producer[-_ ]?fenced|invalid[-_ ]?producer[-_ ]?epoch|\b_FENCED\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class FencedTransactionRead:
    """A record that a reader received, although only fenced transactions had sent it.

    `op` is the first transaction that sent the record, and `reader_op` is the first operation that
    received the record.
    """

    key: str
    value: str
    op: int
    reader_op: int

    @property
    def size(self) -> int:
        return 1

    @property
    def ops(self) -> tuple[int, ...]:
        return self.op, self.reader_op


def fenced(operation: Operation) -> bool:
    """Returns True if the operation is a transaction that failed because its producer was
    fenced.
    """
    failed = operation.f == TRANSACTION and operation.outcome == "fail"
    return failed and FENCED.search(operation.error or "") is not None


def fenced_transaction_reads(history: History) -> tuple[FencedTransactionRead, ...]:
    readers = first_readers(history)
    return tuple(
        sorted(
            FencedTransactionRead(key=key, value=value, op=ops[0], reader_op=readers[key, value])
            for (key, value), ops in senders(history).items()
            if (key, value) in readers
            if all(fenced(history[op]) for op in ops)
        )
    )


def observed(history: History) -> int:
    read = keys_read(history)
    return sum(
        key in read and all(fenced(history[op]) for op in ops)
        for (key, _), ops in senders(history).items()
    )


def explain(row: FencedTransactionRead, operations: Mapping[int, Operation]) -> str:
    return "\n".join(
        (
            f"key {row.key}: {row.value} was read at read_committed although its transaction "
            f"failed with {operations[row.op].error!r}.",
            f"  sent  {render(operations, row.op, row.key, value=row.value)}",
            f"  read  {render(operations, row.reader_op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="fenced-transaction-read",
    statement=(
        "No reader at read_committed receives a record of a fenced producer's last transaction."
    ),
    rule=(
        "A poll at read_committed that ended ok returned a record although every operation that "
        "sent the record is a transaction that failed with ProducerFenced or InvalidProducerEpoch."
    ),
    explanation=(
        "A zombie's transaction was committed: its records became part of the transaction of the "
        "producer that replaced it, or its commit took effect although it was rejected."
    ),
    permits={},
    source="KIP-98, producer fencing; KIP-890; claims: retry_resumes",
    observes="records that only fenced transactions sent, in keys read at read_committed",
    row=FencedTransactionRead,
    find=fenced_transaction_reads,
    observed=observed,
    explain=explain,
)
