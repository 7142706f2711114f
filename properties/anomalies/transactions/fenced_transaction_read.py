"""A reader at read_committed was given a record of a transaction that was fenced.

A newer producer with the same transactional id has the broker abort what an older one left open;
the older one is told that it is fenced, and none of its records may show. It is a G1a of its own:
every row here is one of G1a, and G1a has those of transactions that aborted for other reasons too.

A transaction counts as fenced if it ended `fail` with an error that names ProducerFenced or
InvalidProducerEpoch. One that ended `info` with such an error may have been committed before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.observations import senders
from properties.anomalies.rendering import told
from properties.anomalies.transactions.visible import TRANSACTION, first_readers

FENCED: Final = re.compile(
    r"producer[-_ ]?fenced|invalid[-_ ]?producer[-_ ]?epoch|\b_FENCED\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class FencedTransactionRead:
    """A record that only fenced transactions sent, the first of them, and its first reader."""

    key: str
    value: str
    op: int
    reader_op: int

    @property
    def size(self) -> int:
        """Every one is as bad."""
        return 1

    @property
    def ops(self) -> tuple[int, ...]:
        return self.op, self.reader_op


def fenced(operation: Operation) -> bool:
    """It is a transaction that failed because a newer producer had taken its place."""
    failed = operation.f == TRANSACTION and operation.outcome == "fail"
    return failed and FENCED.search(operation.error or "") is not None


def fenced_transaction_reads(history: History) -> tuple[FencedTransactionRead, ...]:
    """One row per record that was read though every operation that sent it was fenced."""
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
    """How many transactions were fenced."""
    return sum(map(fenced, history))


def explain(row: FencedTransactionRead, operations: Mapping[int, Operation]) -> str:
    """What the fenced producer was told, and who was given its record."""
    return "\n".join(
        (
            f"key {row.key}: {row.value} was read, and its transaction was refused with "
            f"{operations[row.op].error!r}.",
            f"  sent  {told(operations, row.op, row.key, value=row.value)}",
            f"  read  {told(operations, row.reader_op, row.key, value=row.value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="fenced-transaction-read",
    statement="Nothing that a fenced producer sent in its last transaction is ever read.",
    rule=(
        "A poll at read_committed that ended ok was given a record, and every operation that sent "
        "it is a transaction that ended fail with an error that names ProducerFenced or "
        "InvalidProducerEpoch."
    ),
    explanation=(
        "A zombie's transaction was committed: its records joined the transaction of the producer "
        "that replaced it, or its commit was applied although it was refused."
    ),
    permits={},
    source="KIP-98, producer fencing; KIP-890; claims: retry_resumes",
    observes="transactions that were fenced",
    row=FencedTransactionRead,
    find=fenced_transaction_reads,
    observed=observed,
    explain=explain,
)
