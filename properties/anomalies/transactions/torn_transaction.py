"""A transaction shows only in part: readers were given some of its records and passed the others.

The transaction ended `ok`, or `info` and then what was read of it tells that it committed. All that
it sent was in the log when it ended `ok`, or when the first reader had a part of it; so whoever
passes one of its records (`missing`) must be given it.

A transaction of which nothing was read is not torn: what is missing of it is a `lost-write`. What
is torn at a known place is both. What was read of one that failed is a G1a.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from model.histories import History, Operation
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations
from properties.anomalies.rendering import at, told
from properties.anomalies.transactions.missing import Lies, missing_of
from properties.anomalies.transactions.visible import TRANSACTION, first_readers, sent_by


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class TornTransaction:
    """A record of a transaction that readers passed, and another that one was given."""

    key: str
    value: str
    op: int  # the transaction
    lies: Lies
    offset: int  # where the record lies, or the highest at which it can
    known_op: int  # who told
    read_offset: int  # how far readers came
    reader_op: int
    shown_key: str  # of what was read the first
    shown_value: str
    shown_op: int

    @property
    def size(self) -> int:
        """How far readers went beyond the record."""
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
    """Transactions of several records of which a reader was given one: the earliest such."""
    readers = first_readers(history)
    for number, operation in enumerate(history):
        sent = sent_by(operation)
        if operation.f == TRANSACTION and operation.outcome != "fail" and len(sent) > 1:
            read = [(readers[r], *r) for s in sent if (r := (s.key, s.value)) in readers]
            if read:
                yield _Shown(number, *min(read))


def _in_log_ns(history: History, shown: _Shown) -> int:
    """When all that the transaction sent was in the log, at the latest."""
    ends = [history[shown.reader].completed_ns]
    if history[shown.op].outcome == "ok":
        ends.append(history[shown.op].completed_ns)
    return min(end for end in ends if end is not None)


def torn_transactions(
    history: History, declared: Declarations = NOTHING_DECLARED
) -> tuple[TornTransaction, ...]:
    """One row per record that is missing of a transaction that shows."""
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


def observed(history: History) -> int:
    """How many transactions of several records were read."""
    return len(list(_shown(history)))


def explain(row: TornTransaction, operations: Mapping[int, Operation]) -> str:
    """What was read of the transaction, where the missing record lies, and who passed it."""
    lies = f"at offset {row.offset}"
    if row.lies == "up to":
        since = at(operations[row.known_op].invoked_ns)
        lies += f" or below, for what operation {row.known_op} was told began at {since}"
    return "\n".join(
        (
            f"key {row.key}: transaction {row.op}, which ended {operations[row.op].outcome}, sent "
            f"{row.value}; it lies {lies}. Readers came to offset {row.read_offset} and were never "
            f"given it, but of {row.shown_key} they were given {row.shown_value} of the same "
            "transaction.",
            f"  missing  {told(operations, row.op, row.key, value=row.value)}",
            f"  shown    {told(operations, row.shown_op, row.shown_key, value=row.shown_value)}",
            f"  known    {told(operations, row.known_op, row.key)}",
            f"  beyond   {told(operations, row.reader_op, row.key, offset=row.read_offset)}",
        )
    )


def anomaly(declared: Declarations) -> Anomaly:
    """The row of the catalogue."""
    return Anomaly(
        id="torn-transaction",
        statement="A transaction shows as a whole: who passes its records is given all of them.",
        rule=(
            "A transaction did not fail and a poll at read_committed ended ok with a record of it; "
            "another record of it was given to none, though one was given the offset where it "
            "lies or a higher one. If nobody knows where: the lowest offset acknowledged to a "
            "send, or told as a high watermark, by an operation invoked after the transaction had "
            "ended ok or was read; and not of a log that may have dropped it."
        ),
        explanation=(
            "Commit markers reached some partitions and not others, or an abort that came late hit "
            "a part of a transaction that another part of the cluster had committed, or a "
            "partition lost its records afterwards."
        ),
        permits={},
        source="claims: atomic_commit; KIP-98; KIP-890",
        observes="transactions of several records of which something was read",
        row=TornTransaction,
        find=partial(torn_transactions, declared=declared),
        observed=observed,
        explain=explain,
    )


ANOMALY: Final = anomaly(NOTHING_DECLARED)
