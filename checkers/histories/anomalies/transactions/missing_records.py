"""Defines the query plan of missing records, which a transaction committed but readers skipped.

    p1 txn{id=x} k=a j=b -> ok @0 @?      op 0     the offset of b was not acknowledged
    p2 send j=c          -> ok @4         op 1
    c1 poll              -> ok k=a@0 j=c@4         read above b: b is missing

If the offset of a record is unknown, the plan looks up an upper bound of this offset. The plan
searches two kinds of offsets: offsets of acknowledged sends that began later, and log ends that
were read later. The lowest of these offsets gives the bound.

Source: `properties.anomalies.transactions.missing`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import Context
from checkers.histories.anomalies.transactions.operation_details import FAIL
from checkers.histories.anomalies.transactions.transaction_reads import TransactionReads
from checkers.histories.anomalies.transactions.unconfirmed_records import Record
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.pairs import Pairs
from checkers.histories.columnar.sorting import run_starts
from checkers.histories.facts.observed_offsets import reads_uncommitted
from checkers.histories.facts.record_locations import RECORD_COLUMNS, SEND_FAIL, role_of
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
from model.histories import Isolation

_PAIRS: Final = int64_schema("key", "value")
_BOUNDS: Final = int64_schema("query", "offset", "op")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A record of a transaction that no reader at read_committed received, and that may be
    missing.
    """

    op: int
    record: Record
    place: tuple[int, int] | None  # its last offset, and the first operation that proves it
    clean_op: int  # the first that does so without an uncommitted read


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingRecord:
    """A record that no reader received, although a reader received a record at the same or a higher
    offset.

    If `lies` is "at", `offset` is the offset of the record. If `lies` is "up to", `offset` is an
    upper bound of the offset of the record.
    """

    op: int
    key: int
    value: int
    lies: str
    offset: int
    known_op: int
    read_offset: int
    reader_op: int


def candidates(of: TransactionReads, wanted: Collection[int] | None = None) -> list[Candidate]:
    """Returns the records of the transactions in `wanted` that no reader polled. If `wanted` is
    None, all transactions are searched.
    """
    found: list[Candidate] = []
    far = set(of.progress.ints("key").tolist())
    rows = (of.unread.ints(name).tolist() for name in of.unread.table.column_names)
    for key, offset, value, op, known_op, clean_op in zip(*rows, strict=True):
        found.append(
            Candidate(op=op, record=(key, value), place=(offset, known_op), clean_op=clean_op)
        )
    unreported = (of.unreported.ints(name).tolist() for name in of.unreported.table.column_names)
    for key, value, op in zip(*unreported, strict=True):
        found.append(Candidate(op=op, record=(key, value), place=None, clean_op=-1))
    for record, entry in of.records.items():
        if entry.sent_by and not entry.readers:
            observed = of.operations[entry.writer]
            if observed["transaction"] and observed["outcome"] != FAIL:
                place = entry.place()
                clean_op = place[1] if place else -1
                found.append(
                    Candidate(op=entry.writer, record=record, place=place, clean_op=clean_op)
                )
    return [it for it in found if it.record[0] in far and (wanted is None or it.op in wanted)]


def missing(
    of: TransactionReads, some: list[Candidate], in_log_ns: Mapping[int, int], context: Context
) -> Plan[list[MissingRecord]]:
    """Returns the records in `some` that no reader received, although a reader received another
    record at the same offset, or a record at a higher offset.

    A record that retention may have deleted is not returned. `in_log_ns` has, for each transaction,
    a time at which its records were certainly in the log. Only later polls show a missing record.
    """
    if not some:
        return []
    keys, values = (np.array([it.record[n] for it in some], dtype=np.int64) for n in (0, 1))
    vague = [it for it in some if it.place is None]
    run = partial(_failed, Pairs.of(keys, values))
    failed, observed = yield from in_parallel(
        collect(Stage(Source.SENDS, Kernel("failed sends", RECORD_COLUMNS, _PAIRS, run))),
        collect(_bounds(vague, in_log_ns, context.declared.isolation)),
    )
    in_vain = set(zip(*(Batch(failed).ints(name).tolist() for name in _PAIRS.names), strict=True))
    bounds: dict[int, tuple[int, int]] = {}
    for row in observed.to_pylist():
        lowest = row["offset"], row["op"]
        bounds[row["query"]] = min(lowest, bounds.get(row["query"], lowest))
    bound_of = {it.record: bounds.get(number) for number, it in enumerate(vague)}
    starts = context.log_starts.of(keys).tolist()
    far = {
        key: (offset, op)
        for key, offset, op in zip(
            *(of.progress.ints(name).tolist() for name in ("key", "offset", "op")), strict=True
        )
    }
    gone: list[MissingRecord] = []
    for it, start in zip(some, starts, strict=True):
        bound = it.place or bound_of[it.record]
        read_offset, reader = far[it.record[0]]
        if bound is None or bound[0] > read_offset:
            continue
        if start > (it.place[0] if it.place else 0):
            continue
        gone.append(
            MissingRecord(
                op=it.op,
                key=it.record[0],
                value=it.record[1],
                lies="at" if it.place else "up to",
                offset=bound[0],
                known_op=it.clean_op if it.place and it.record in in_vain else bound[1],
                read_offset=read_offset,
                reader_op=reader,
            )
        )
    return gone


def missing_columns(gone: list[MissingRecord]) -> Plan[dict[str, pa.Array]]:
    """Returns the missing records as a dict from column names to columns."""
    keys, values = (
        np.array([getattr(it, name) for it in gone], dtype=np.int64) for name in ("key", "value")
    )
    key_of = yield from resolve_fingerprints(keys, column="key")
    value_of = yield from resolve_fingerprints(values)
    observed = {
        name: pa.array([getattr(it, name) for it in gone], pa.int64())
        for name in ("op", "offset", "known_op", "read_offset", "reader_op")
    }
    lies = pa.array([it.lies for it in gone], pa.string())
    order = ("key", "value", "op", "lies", "offset", "known_op", "read_offset", "reader_op")
    columns = {"key": key_of(keys), "value": value_of(values), "lies": lies, **observed}
    return {name: columns[name] for name in order}


def _failed(records: Pairs, batch: Batch) -> pa.Table:
    rows = np.flatnonzero(records.have(batch.ints("key"), batch.ints("value")))
    rows = rows[role_of(batch)[rows] == SEND_FAIL]
    return table_from(_PAIRS, batch.ints("key")[rows], batch.ints("value")[rows])


# ---------------------------------------------------------------- upper bounds of unknown offsets


def _bounds(
    vague: list[Candidate], in_log_ns: Mapping[int, int], isolation: Isolation
) -> Stage[pa.Table]:
    keys = np.array([it.record[0] for it in vague], dtype=np.int64)
    since = np.array([in_log_ns[it.op] for it in vague], dtype=np.int64)
    columns = ("op", "outcome", "invoked_ns", "kind", "key", "offset", "isolation")
    run = partial(_lowest, isolation, keys, since)
    return Stage(Source.OPERATIONS, Kernel("offsets of later records", columns, _BOUNDS, run))


def _lowest(isolation: Isolation, keys: Ints, since_ns: Ints, batch: Batch) -> pa.Table:
    if not len(keys):
        return _BOUNDS.empty_table()
    ends = batch.is_in("kind", "end_offset") & reads_uncommitted(batch, isolation)
    observed = (
        batch.is_in("outcome", "ok")
        & batch.is_valid("offset")
        & (batch.is_in("kind", "send") | ends)
    )
    numbers, texts = batch.narrow_codes("key")
    asked_of = np.r_[np.isin(fingerprints(texts, batch.hash_seed), keys), False]
    facts = batch.where(observed & asked_of.take(numbers), ("op", "invoked_ns", "key", "offset"))
    if not len(facts):
        return _BOUNDS.empty_table()
    # the lowest offset from each row on; rows are ordered by key, then by invocation
    facts = facts.where(np.lexsort([facts.ints("invoked_ns"), facts.fingerprints("key")]))
    key, offset, op = facts.fingerprints("key"), facts.ints("offset"), facts.ints("op")
    rank = np.empty(len(facts), dtype=np.int64)
    rank[np.lexsort([op, offset])] = np.arange(len(facts))
    _, group = np.unique(key, return_inverse=True)
    packed = group * len(facts) + rank  # in reverse order each key is below all later ones
    best = np.minimum.accumulate(packed[::-1])[::-1] - group * len(facts)
    row_of = np.argsort(rank)
    # the first row of its key that was invoked later
    firsts, code = run_starts(key), np.searchsorted(key[run_starts(key)], keys)
    known = code < len(firsts)
    known[known] = key[firsts][code[known]] == keys[known]
    at = np.zeros(len(keys), dtype=np.int64)
    ends_of = np.r_[firsts[1:], len(facts)]
    invoked = facts.ints("invoked_ns")
    for number in np.flatnonzero(known).tolist():
        first, end = firsts[code[number]], ends_of[code[number]]
        at[number] = first + np.searchsorted(invoked[first:end], since_ns[number], side="right")
        known[number] = at[number] < end
    queries = np.flatnonzero(known)
    fact = row_of[best[at[queries]]]
    return table_from(_BOUNDS, queries, offset[fact] - 1, op[fact])
