"""Finds unread records of transactions: no reader polled the record, although a reader polled a
later offset.

    p1 txn{id=x} k=a j=b -> ok @0 @0        op 0
    p2 send j=c          -> ok @1           op 1
    c1 poll              -> ok k=a@0 j=c@1  op 2

    progress   the highest offset that c1 read: 0 in k, 1 in j
    read       op 0 has a record that was read, a; no other record of op 0 was read
    unread     b is at offset 0 of j, below the progress, and no poll has it: torn-transaction

A correct history has no such record.

Source: `properties.anomalies.transactions.missing`, `properties.anomalies.transactions.visible`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import Context
from checkers.histories.anomalies.transactions.operation_details import (
    _SPANS,
    is_in_order,
    operation_details,
    operation_spans,
)
from checkers.histories.anomalies.transactions.read_progress import (
    _FURTHEST,
    LAST,
    merged_progress,
    progress_in,
    progress_of,
)
from checkers.histories.anomalies.transactions.unconfirmed_records import (
    Record,
    UnconfirmedRecord,
    unconfirmed_records,
)
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.bitset import (
    COUNTED,
    WORDS,
    Bitset,
    combined_counts,
    counted,
    packed,
)
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import Mask, per_key, run_lengths, run_starts
from checkers.histories.facts.record_locations import (
    POLL_OK,
    RECORD_COLUMNS,
    SEND_OK,
    UNCOMMITTED,
    first_rows,
    location_of,
    role_of,
)
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Plan, Source, Stage, collect_all

_SENDS: Final = int64_schema("key", "value", "op")
_UNREAD: Final = int64_schema("key", "offset", "value", "op", "known_op", "clean_op")
_EARLY: Final = int64_schema("key", "value", "reader_op", "op")
_COUNT: Final = int64_schema("count")


def _history_stages(context: Context) -> tuple[Stage[pa.Table], ...]:
    isolation, unconfirmed = context.declared.isolation, context.unconfirmed
    transactions = ("op", "f", "outcome", "kind")
    unreported = partial(_unseen_without_offset, unconfirmed)
    polls = ("op", "outcome", "kind", "key", "offset", "isolation")
    return (
        _stage(
            "transactions that send", transactions, WORDS, partial(_transactions_with_records, 1)
        ),
        _stage(
            "transactions that send", transactions, WORDS, partial(_transactions_with_records, 2)
        ),
        _stage("read progress", polls, _FURTHEST, partial(progress_in, isolation)),
        _stage(
            "sends without an offset", (*transactions, "key", "value", "offset"), _SENDS, unreported
        ),
        operation_details(unconfirmed.ops),
        _stage("order of times", ("op", "completed_ns"), _SPANS, operation_spans),
    )


def _stage(
    title: str, columns: tuple[str, ...], schema: pa.Schema, run: partial[pa.Table] | object
) -> Stage[pa.Table]:
    return Stage(Source.OPERATIONS, Kernel(title, columns, schema, run))  # type: ignore[arg-type]


def _transactions_with_records(least: int, batch: Batch) -> pa.Table:
    ops, sends = batch.derived(("transactions that send",), _senders)
    return packed(ops[sends >= least])


def _senders(batch: Batch) -> tuple[Ints, Ints]:
    sends = batch.is_in("f", "txn") & batch.is_in("outcome", "ok") & batch.is_in("kind", "send")
    ops = batch.ints("op").take(np.flatnonzero(sends))
    starts = run_starts(ops)
    return ops[starts], run_lengths(starts, len(ops))


def _unseen_without_offset(unconfirmed: UnconfirmedValues, batch: Batch) -> pa.Table:
    sends = batch.is_in("f", "txn") & batch.is_in("kind", "send") & ~batch.is_valid("offset")
    few = batch.where(sends & ~batch.is_in("outcome", "fail"), ("op", "key", "value"))
    key, value = few.fingerprints("key"), few.fingerprints("value")
    unseen = ~unconfirmed.among(key, value)
    return table_from(_SENDS, key[unseen], value[unseen], few.ints("op")[unseen])


@dataclass(frozen=True, slots=True)
class BlockContext:
    """Facts about the whole history, for a search that looks for unread records in one block of
    65,536 offsets.
    """

    unconfirmed: UnconfirmedValues
    sending: Bitset  # transactions that ended ok and send
    progress: Batch  # of readers; ordered by key
    in_order: bool


@dataclass(frozen=True, slots=True)
class _Block:
    unread: pa.Table
    early: pa.Table
    of_ops: pa.Table
    count: pa.Table


def _location_stages(wanted: BlockContext) -> tuple[Stage[pa.Table], ...]:
    parts = (
        ("unread", _UNREAD, None),
        ("early", _EARLY, None),
        ("of_ops", COUNTED, combined_counts),
        ("count", _COUNT, None),
    )
    kernel = partial(Kernel, "reads of transactions", RECORD_COLUMNS)
    return tuple(
        Stage(
            Source.RECORD_LOCATIONS,
            kernel(schema, partial(_part, wanted, name), combine=combine),
        )
        for name, schema, combine in parts
    )


def _part(wanted: BlockContext, name: str, batch: Batch) -> pa.Table:
    made: pa.Table = getattr(batch.derived(("transactions",), partial(_block, wanted)), name)
    return made


def _block(wanted: BlockContext, batch: Batch) -> _Block:
    key, offset, value = (batch.ints(name) for name in ("key", "offset", "value"))
    op, role = batch.ints("op"), role_of(batch)
    sent = np.flatnonzero((role == SEND_OK) & ~wanted.unconfirmed.of(batch))
    sent = sent[wanted.sending.has(op.take(sent))]
    # `place` has the location of each row.
    place = location_of(batch)

    def first(those: Mask, of: Ints) -> Ints:
        ops, rows = np.full(len(first_rows(batch)), LAST), np.flatnonzero(those)[::-1]
        ops[place.take(rows)] = op.take(rows)  # operations of one location ascend
        return ops.take(place.take(of))

    reader = first(role == POLL_OK, sent)
    read = reader != LAST
    due = offset[sent] <= per_key(key[sent], partial(progress_of, wanted.progress))
    missing = sent[np.flatnonzero(~read & due)]
    there = np.zeros(len(first_rows(batch)), dtype=np.bool_)
    there[place.take(missing)] = True
    shows = there.take(place) & ((role == SEND_OK) | (role >= POLL_OK))
    early = np.flatnonzero(read & ((reader < op[sent]) | (not wanted.in_order)))
    return _Block(
        unread=table_from(
            _UNREAD,
            key[missing],
            offset[missing],
            value[missing],
            op[missing],
            first(shows, missing),
            first(shows & ((role & UNCOMMITTED) == 0), missing),
        ),
        early=table_from(
            _EARLY, key[sent[early]], value[sent[early]], reader[early], op[sent[early]]
        ),
        of_ops=counted(op[sent[np.flatnonzero(read)]]),
        count=table_from(_COUNT, np.array([np.count_nonzero(read)])),
    )


@dataclass(frozen=True, slots=True)
class TransactionReads:
    """The records of transactions that readers at read_committed polled, and the records that they
    skipped.

    A reader skipped a record if the reader did not poll the record, but polled a later record of
    the same log. In the fields, a record is confirmed if it was polled only at offsets where a send
    of the record was acknowledged.
    """

    records: dict[Record, UnconfirmedRecord]
    operations: dict[int, dict[str, int]]  # of unconfirmed values
    progress: Batch  # the progress of readers; ordered by key
    several: Bitset  # transactions that ended ok and sent several records
    read_once: Bitset  # transactions that ended ok, of which a confirmed record was read
    read_twice: Bitset  # those of which several confirmed records were read
    early: Batch  # confirmed records read before their transaction completed
    read: int  # the number of confirmed records of transactions that were read
    unread: Batch  # unread confirmed records below the read progress
    unreported: Batch  # records at an unknown offset that no reader polled


def transaction_reads(context: Context) -> Plan[TransactionReads]:
    sending, several, reached, unreported, operations, spans = yield from collect_all(
        _history_stages(context)
    )
    progress = Batch(reached)
    progress = Batch(
        merged_progress(progress.ints("key"), progress.ints("offset"), progress.ints("op"))
    )
    wanted = BlockContext(
        unconfirmed=context.unconfirmed,
        sending=Bitset.of(sending),
        progress=progress,
        in_order=is_in_order(Batch(spans)),
    )
    missing, early, of_ops, count = yield from collect_all(_location_stages(wanted))
    reads = combined_counts(of_ops)
    return TransactionReads(
        records=unconfirmed_records(context.unconfirmed),
        operations={row["op"]: row for row in operations.to_pylist()},
        progress=progress,
        several=Bitset.of(several),
        read_once=Bitset.of(reads, "once"),
        read_twice=Bitset.of(reads, "twice"),
        early=Batch(early),
        read=sum(count["count"].to_pylist()),
        unread=Batch(missing),
        unreported=Batch(unreported),
    )
