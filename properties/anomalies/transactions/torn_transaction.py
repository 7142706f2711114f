"""A committed transaction is visible only in part: some records were read, others are missing.

A transaction has committed if it ended `ok`. It has also committed if it ended `info` (unknown
outcome) and one of its records was read. The module `missing` defines a missing record.

If no record of a transaction was read, the transaction is not torn: its missing records are a
`lost-write`. In a torn transaction, a missing record with an observed offset is also a
`lost-write`. If a record of a failed transaction was read, this is a G1a.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.rendering import in_ms, render
from properties.anomalies.transactions.missing import Lies, missing_of, passed_of
from properties.anomalies.transactions.visible import TRANSACTION, first_readers, sent_by


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class TornTransaction:
    """A missing record of a transaction, and another record of the same transaction that a reader
    received.
    """

    key: str
    value: str
    op: int  # the transaction
    lies: Lies
    offset: int  # of the record, or the highest offset that it can have
    known_op: int  # the operation that shows this offset
    read_offset: int  # the highest offset that readers polled
    reader_op: int
    shown_key: str  # of the first record of the transaction that was read
    shown_value: str
    shown_op: int

    @property
    def size(self) -> int:
        return self.read_offset - self.offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.op, self.shown_op, self.known_op, self.reader_op


@dataclass(frozen=True, slots=True)
class _Shown:
    op: int
    reader: int
    key: str
    value: str


def _shown(history: History) -> Iterator[_Shown]:
    """Yields one read for each transaction that sent at least two records: the first read of any of
    its records.

    A transaction is not included if it failed, or if no reader received any of its records.
    """
    readers = first_readers(history)
    for number, operation in enumerate(history):
        sent = sent_by(operation)
        if operation.f == TRANSACTION and operation.outcome != "fail" and len(sent) > 1:
            read = [(readers[r], *r) for s in sent if (r := (s.key, s.value)) in readers]
            if read:
                yield _Shown(number, *min(read))


def _in_log_ns(history: History, shown: _Shown) -> int:
    ends = [history[shown.reader].completed_ns]
    if history[shown.op].outcome == "ok":
        ends.append(history[shown.op].completed_ns)
    return min(end for end in ends if end is not None)


def torn_transactions(
    history: History, declared: Declarations = NOTHING_DECLARED
) -> tuple[TornTransaction, ...]:
    missing = missing_of(history, declared)
    return tuple(
        sorted(
            TornTransaction(
                key=record.key,
                value=record.value,
                op=shown.op,
                lies=record.lies,
                offset=record.offset,
                known_op=record.known_op,
                read_offset=record.read_offset,
                reader_op=record.reader_op,
                shown_key=shown.key,
                shown_value=shown.value,
                shown_op=shown.reader,
            )
            for shown in _shown(history)
            for record in missing(shown.op, _in_log_ns(history, shown))
        )
    )


def observed(history: History, declared: Declarations = NOTHING_DECLARED) -> int:
    passed = passed_of(history, declared)
    return sum(passed(it.op, _in_log_ns(history, it)) > 1 for it in _shown(history))


def explain(row: TornTransaction, operations: Mapping[int, Operation]) -> str:
    where = f"at offset {row.offset}"
    if row.lies == "up to":
        since = in_ms(operations[row.known_op].invoked_ns)
        where += f" or below, as operation {row.known_op}, invoked at {since}, shows"
    return "\n".join(
        (
            f"key {row.key}: transaction {row.op}, which ended {operations[row.op].outcome}, sent "
            f"{row.value}, which is {where}. Readers polled up to offset {row.read_offset} and "
            f"never received {row.value}, but they received {row.shown_value} of the same "
            f"transaction from {row.shown_key}.",
            f"  missing  {render(operations, row.op, row.key, value=row.value)}",
            f"  shown    {render(operations, row.shown_op, row.shown_key, value=row.shown_value)}",
            f"  bound    {render(operations, row.known_op, row.key)}",
            f"  beyond   {render(operations, row.reader_op, row.key, offset=row.read_offset)}",
        )
    )


def anomaly(declared: Declarations) -> Anomaly:
    return Anomaly(
        id="torn-transaction",
        statement=(
            "A reader that passes the records of a committed transaction receives all of them."
        ),
        rule=(
            "A poll at read_committed returned a record of a transaction, but another of its "
            "records was never returned, although a reader passed its offset."
        ),
        explanation=(
            "Commit markers reached only some partitions, a late abort hit part of a committed "
            "transaction, or a partition lost the records afterwards."
        ),
        permits={},
        source="claims: atomic_commit; KIP-98; KIP-890",
        observes="transactions of which readers received one record and passed another",
        row=TornTransaction,
        find=partial(torn_transactions, declared=declared),
        observed=partial(observed, declared=declared),
        explain=explain,
    )


ANOMALY: Final = anomaly(NOTHING_DECLARED)
