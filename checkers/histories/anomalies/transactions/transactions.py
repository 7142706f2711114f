"""Defines the query plans of transaction anomalies: open reads, torn transactions, fenced writes.

    p1 txn{id=x,end=21} k=a j=b ...
    c1 poll                     -> ok k=a@0      op 0     it ended at 15 ns
    p1 ...                      -> ok @0 @0      op 1
    p2 send j=c                 -> ok @1         op 2
    c1 poll                     -> ok j=c@1      op 3

    open-transaction-read   a of op 1, read by op 0 at 15 ns; the end was requested at 21 ns
    torn-transaction        b of op 1 at offset 0, below 1, read by op 3; op 0 read a

Source: `properties.anomalies.transactions`.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.anomalies.groups.fetched_offsets import (
    ABORTED,
    BACKWARDS,
    MOVED,
    fetched_offsets,
)
from checkers.histories.anomalies.log.keys import failed_values, record_keys
from checkers.histories.anomalies.transactions import zombies
from checkers.histories.anomalies.transactions.atomic_offsets import (
    OFFSET_ALONE,
    OUTPUT_ALONE,
    offsets_without_output,
    outputs_without_offset,
)
from checkers.histories.anomalies.transactions.first_reads import first_reads
from checkers.histories.anomalies.transactions.missing_records import (
    Candidate,
    candidates,
    missing,
    missing_columns,
)
from checkers.histories.anomalies.transactions.operation_details import FAIL, OK, operation_details
from checkers.histories.anomalies.transactions.transaction_reads import (
    TransactionReads,
    transaction_reads,
)
from checkers.histories.anomalies.transactions.unconfirmed_records import unconfirmed_records
from checkers.histories.columnar.arrow import as_ints, int64_schema, table_from
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import Mask, NumberSet, distinct, run_starts
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    in_parallel,
    resolve_fingerprints,
)
from properties.anomalies.transactions import (
    fenced_transaction_read,
    open_transaction_read,
    torn_transaction,
)
from properties.anomalies.transactions.fenced_transaction_read import FENCED

TORN: Final = torn_transaction.ANOMALY.id
OPEN: Final = open_transaction_read.ANOMALY.id
FENCED_READ: Final = fenced_transaction_read.ANOMALY.id
_TOGETHER: Final = (TORN, OPEN, OUTPUT_ALONE, OFFSET_ALONE, BACKWARDS, MOVED, ABORTED)
_OPS: Final = int64_schema("op")


def transactions(context: Context) -> Plan[tuple[Finding, ...]]:
    """Returns the findings of open reads, torn transactions, and anomalies of group offsets.

    An open read polls a record of a transaction before the end of the transaction. A torn
    transaction was polled only in part.
    """
    of, (observed, found) = yield from in_parallel(
        transaction_reads(context), fetched_offsets(context)
    )
    more: tuple[Finding, ...] = yield from in_parallel(
        _torn_transactions(of, context),
        _open_reads(of),
        outputs_without_offset(observed),
        offsets_without_output(of, observed, context),
    )
    return (*more, *found)


# ---------------------------------------------------------------- torn


def _torn_transactions(of: TransactionReads, context: Context) -> Plan[Finding]:
    reads = _unconfirmed_reads(of)
    ops = np.array(sorted(reads), dtype=np.int64)
    found = candidates(of)
    named = np.array([it.op for it in found], dtype=np.int64)
    shows = (of.several.has(named) & of.read_once.has(named)) | np.isin(named, ops)
    some = [it for it, does in zip(found, shows.tolist(), strict=True) if does]
    rows = yield from _torn_rows(of, context, some)
    count = np.array([reads[op] for op in ops.tolist()], dtype=np.int64)
    several = ops[count + of.read_once.has(ops) > 1]
    others = distinct(np.r_[several, as_ints(rows["op"])])
    observations = len(of.read_twice) + int(np.count_nonzero(~of.read_twice.has(others)))
    return Finding(id=TORN, rows=rows, observations=observations)


def _unconfirmed_reads(of: TransactionReads) -> Counter[int]:
    """Counts, for each transaction, its polled unconfirmed values.

    An unconfirmed value was polled at an offset where no send of the value was acknowledged. A
    transaction is included only if it has several sends and did not fail.
    """
    return Counter(
        entry.writer
        for entry in of.records.values()
        if entry.readers and entry.sent_by
        if (observed := of.operations[entry.writer])["transaction"] and observed["outcome"] != FAIL
        if observed["sends"] > 1
    )


def _torn_rows(of: TransactionReads, context: Context, some: list[Candidate]) -> Plan[pa.Table]:
    schema = schema_of(torn_transaction.TornTransaction)
    if not some:
        return schema.empty_table()
    ops = np.unique([it.op for it in some])
    first = yield from first_reads(ops)
    readers = np.array([reader for reader, _ in first.values()], dtype=np.int64)
    when = _by_op((yield from collect(operation_details(np.r_[ops, readers]))))

    def ended_ok(op: int) -> bool:
        return when[op]["outcome"] == OK

    in_log_ns = {
        op: min(when[it]["completed_ns"] for it in (reader, op) if it == reader or ended_ok(op))
        for op, (reader, _) in first.items()
    }
    missing_records = yield from missing(of, some, in_log_ns, context)
    columns = yield from missing_columns(missing_records)
    parts = [first[it.op][1] for it in missing_records]
    keys, values = (np.array([it[n] for it in parts], dtype=np.int64) for n in (0, 1))
    key_of = yield from resolve_fingerprints(keys, column="key")
    value_of = yield from resolve_fingerprints(values)
    return pa.table(
        {
            **columns,
            "shown_key": key_of(keys),
            "shown_value": value_of(values),
            "shown_op": pa.array([first[it.op][0] for it in missing_records], pa.int64()),
        }
    ).cast(schema)


def _by_op(operations: pa.Table) -> dict[int, dict[str, int]]:
    return {row["op"]: row for row in operations.to_pylist()}


# ---------------------------------------------------------------- open


def _open_reads(of: TransactionReads) -> Plan[Finding]:
    schema = schema_of(open_transaction_read.OpenTransactionRead)
    read = [
        (*record, min(entry.readers), entry.writer)
        for record, entry in of.records.items()
        if entry.readers and entry.sent_by and of.operations[entry.writer]["transaction"]
    ]
    columns = [
        np.r_[of.early.ints(name), np.array([it[n] for it in read], dtype=np.int64)]
        for n, name in enumerate(("key", "value", "reader_op", "op"))
    ]
    observations = of.read + len(read)
    if not len(columns[0]):
        return Finding(id=OPEN, rows=schema.empty_table(), observations=observations)
    key, value, reader, op = columns
    when = Batch((yield from collect(operation_details(np.r_[reader, op]))))
    order = np.argsort(when.ints("op"))
    at = when.ints("op")[order]
    read_ns = when.ints("completed_ns")[order[np.searchsorted(at, reader)]]
    end_requested_ns = when.ints("end_requested_ns")[order[np.searchsorted(at, op)]]
    early = np.flatnonzero(read_ns < end_requested_ns)
    key_of = yield from resolve_fingerprints(key[early], column="key")
    value_of = yield from resolve_fingerprints(value[early])
    rows = pa.table(
        {
            "key": key_of(key[early]),
            "value": value_of(value[early]),
            "op": op[early],
            "asked_ns": end_requested_ns[early],
            "reader_op": reader[early],
            "read_ns": read_ns[early],
        }
    ).cast(schema)
    return Finding(id=OPEN, rows=rows, observations=observations)


# ---------------------------------------------------------------- fenced


def fenced(context: Context) -> Plan[tuple[Finding, ...]]:
    """Returns the polled records of fenced transactions, each with the first operation that polled
    it.

    A transaction is fenced if it failed with an error such as `PRODUCER_FENCED`.
    """
    columns = ("op", "f", "outcome", "error")
    observed = yield from collect(
        Stage(Source.OPERATIONS, Kernel("fenced transactions", columns, _OPS, _refused))
    )
    refused = set(observed["op"].to_pylist())
    records = 0
    if refused:
        sent_by = NumberSet.of(Batch(observed).ints("op"))
        readable, of_keys = yield from in_parallel(
            collect(record_keys(context.declared.isolation)),
            collect(failed_values(partial(_sent_by, sent_by))),
        )
        records = readable.values_of_committed(of_keys)
    read = [
        (*record, min(op for op, _ in entry.sent_by), min(entry.readers))
        for record, entry in unconfirmed_records(context.unconfirmed).items()
        if entry.readers and entry.sent_by
        if all(op in refused for op, _ in entry.sent_by)
    ]
    key, value, op, reader = (np.array([it[n] for it in read], dtype=np.int64) for n in range(4))
    key_of = yield from resolve_fingerprints(key, column="key")
    value_of = yield from resolve_fingerprints(value)
    rows = pa.table({"key": key_of(key), "value": value_of(value), "op": op, "reader_op": reader})
    schema = schema_of(fenced_transaction_read.FencedTransactionRead)
    found = Finding(id=FENCED_READ, rows=rows.cast(schema), observations=records)
    return (found,)


def _sent_by(ops: NumberSet, batch: Batch) -> Mask:
    return ops.has(batch.ints("op"))


def _refused(batch: Batch) -> pa.Table:
    numbers, texts = batch.codes("error")
    fences = [number for number, text in enumerate(texts.to_pylist()) if FENCED.search(text)]
    failed = batch.is_in("f", "txn") & batch.is_in("outcome", "fail")
    ops = batch.ints("op")[failed & np.isin(numbers, fences)]
    return table_from(_OPS, ops[run_starts(ops)])


CHECKERS: Final = (
    AnomalyChecker(ids=_TOGETHER, plan=transactions),
    AnomalyChecker(ids=(FENCED_READ,), plan=fenced),
    *zombies.CHECKERS,
)
