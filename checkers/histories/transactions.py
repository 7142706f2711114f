"""Inquiry into transactions: torn, read while open, read though fenced, and of zombies.

Source: `properties.anomalies.transactions`.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories import zombies
from checkers.histories.fingerprints import Ints
from checkers.histories.found import Family, Found, Known
from checkers.histories.inquiry import OPERATIONS, PLACES, Ask, Inquiry, spelled
from checkers.histories.missing import Candidate, Gone, candidates, missing
from checkers.histories.order import begins, member
from checkers.histories.piece import Piece
from checkers.histories.pieces import Kernel
from checkers.histories.places import NAMES, READ, pairs_in
from checkers.histories.rows import schema_of
from checkers.histories.unread import (
    FAIL,
    OK,
    Record,
    Unread,
    described,
    ints,
    stray_records,
    table,
    unread,
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
_OPS: Final = ints("op")
_SENT: Final = ints("op", "key", "value")
_READERS: Final = ints("key", "value", "op")


def transactions(known: Known) -> Inquiry[tuple[Found, ...]]:
    """What was not read of them with the rest, and what was read too early."""
    of = yield from unread(known)
    torn = yield from _torn(of, known)
    opened = yield from _opened(of)
    return torn, opened


# ---------------------------------------------------------------- torn


def _torn(of: Unread, known: Known) -> Inquiry[Found]:
    of_strays = _shown_by_strays(of)
    ops = np.array(sorted(of_strays), dtype=np.int64)
    shown = len(of.shown) + int(np.count_nonzero(~of.shown.has(ops)))
    found = candidates(of)
    named = np.array([it.op for it in found], dtype=np.int64)
    shows = of.shown.has(named) | np.isin(named, ops)
    some = [it for it, does in zip(found, shows.tolist(), strict=True) if does]
    rows = yield from _torn_rows(of, known, some)
    return Found(id=TORN, rows=rows, observations=shown)


def _shown_by_strays(of: Unread) -> set[int]:
    """Transactions of several records of which a stray was read."""
    return {
        stray.writer
        for stray in of.records.values()
        if stray.readers and stray.sent_by
        if (told := of.operations[stray.writer])["transaction"] and told["outcome"] != FAIL
        if told["sends"] > 1
    }


def _torn_rows(of: Unread, known: Known, some: list[Candidate]) -> Inquiry[pa.Table]:
    schema = schema_of(torn_transaction.TornTransaction)
    if not some:
        return schema.empty_table()
    ops = np.unique([it.op for it in some])
    first = yield from _first_shown(of, ops)
    readers = np.array([reader for reader, _ in first.values()], dtype=np.int64)
    when = _by_op((yield described(np.r_[ops, readers])))

    def ended_ok(op: int) -> bool:
        return when[op]["outcome"] == OK

    in_log_ns = {
        op: min(when[it]["completed_ns"] for it in (reader, op) if it == reader or ended_ok(op))
        for op, (reader, _) in first.items()
    }
    gone = yield from missing(of, some, in_log_ns, known)
    parts = [first[it.op][1] for it in gone]
    shown_by = [first[it.op][0] for it in gone]
    key_of = yield from spelled(
        *(np.array([one[0] for one in some], dtype=np.int64) for some in (_records(gone), parts)),
        column="key",
    )
    value_of = yield from spelled(
        *(np.array([one[1] for one in some], dtype=np.int64) for some in (_records(gone), parts))
    )
    return pa.table(
        {
            **gone_columns(gone, key_of, value_of),
            "shown_key": key_of(np.array([key for key, _ in parts], dtype=np.int64)),
            "shown_value": value_of(np.array([value for _, value in parts], dtype=np.int64)),
            "shown_op": pa.array(shown_by, pa.int64()),
        }
    ).cast(schema)


def _records(gone: list[Gone]) -> list[Record]:
    return [(it.key, it.value) for it in gone]


def gone_columns(gone: list[Gone], key_of: object, value_of: object) -> dict[str, pa.Array]:
    """The columns that rows of missing records begin with."""
    keys, values = (np.array([it[n] for it in _records(gone)], dtype=np.int64) for n in (0, 1))
    return {
        "key": key_of(keys),  # type: ignore[operator]
        "value": value_of(values),  # type: ignore[operator]
        "op": pa.array([it.op for it in gone], pa.int64()),
        "lies": pa.array([it.lies for it in gone], pa.string()),
        "offset": pa.array([it.offset for it in gone], pa.int64()),
        "known_op": pa.array([it.known_op for it in gone], pa.int64()),
        "read_offset": pa.array([it.read_offset for it in gone], pa.int64()),
        "reader_op": pa.array([it.reader_op for it in gone], pa.int64()),
    }


def _by_op(operations: pa.Table) -> dict[int, dict[str, int]]:
    return {row["op"]: row for row in operations.to_pylist()}


def _first_shown(of: Unread, ops: Ints) -> Inquiry[dict[int, tuple[int, Record]]]:
    """For each of the transactions the first reader of a part, and the part."""
    columns = ("op", "kind", "key", "value")
    run = partial(_sent, ops)
    sent = Piece((yield Ask(OPERATIONS, Kernel("what they sent", columns, _SENT, run))))
    keys, values = sent.ints("key"), sent.ints("value")
    readers = partial(_readers, keys, values)
    read = yield Ask(PLACES, Kernel("who read of them", NAMES, _READERS, readers))
    first: dict[Record, int] = {}
    for row in read.to_pylist():
        record = row["key"], row["value"]
        first[record] = min(row["op"], first.get(record, row["op"]))
    parts: defaultdict[int, list[tuple[int, Record]]] = defaultdict(list)
    for op, key, value in zip(*(sent.ints(name).tolist() for name in _SENT.names), strict=True):
        if (key, value) in first:
            parts[op].append((first[key, value], (key, value)))
    earliest = {op: [it for it in some if it[0] == min(some)[0]] for op, some in parts.items()}
    tied = np.array([part for some in earliest.values() for _, part in some], dtype=np.int64)
    tied = tied.reshape(-1, 2)
    key_of = yield from spelled(tied[:, 0], column="key")
    value_of = yield from spelled(tied[:, 1])
    texts = zip(key_of(tied[:, 0]).to_pylist(), value_of(tied[:, 1]).to_pylist(), strict=True)
    text_of = dict(zip(map(tuple, tied.tolist()), texts, strict=True))
    return {op: min(some, key=lambda it: text_of[it[1]]) for op, some in earliest.items()}


def _sent(ops: Ints, piece: Piece) -> pa.Table:
    rows = np.flatnonzero(piece.is_("kind", "send") & member(piece.ints("op"), ops))
    return table(
        _SENT,
        piece.ints("op")[rows],
        piece.fingerprints("key")[rows],
        piece.fingerprints("value")[rows],
    )


def _readers(keys: Ints, values: Ints, piece: Piece) -> pa.Table:
    """Of each of these records the first reader in the block."""
    rows = np.flatnonzero(piece.ints("role") == READ)
    key, value, op = (piece.ints(name)[rows] for name in ("key", "value", "op"))
    some = pairs_in(key, value, keys, values)
    key, value, op = key[some], value[some], op[some]
    order = np.lexsort([op, value, key])
    first = order[begins(key[order], value[order])]
    return table(_READERS, key[first], value[first], op[first])


# ---------------------------------------------------------------- open


def _opened(of: Unread) -> Inquiry[Found]:
    schema = schema_of(open_transaction_read.OpenTransactionRead)
    read = [
        (*record, min(stray.readers), stray.writer)
        for record, stray in of.records.items()
        if stray.readers and stray.sent_by and of.operations[stray.writer]["transaction"]
    ]
    columns = [
        np.r_[of.early.ints(name), np.array([it[n] for it in read], dtype=np.int64)]
        for n, name in enumerate(("key", "value", "reader_op", "op"))
    ]
    observations = of.read + len(read)
    if not len(columns[0]):
        return Found(id=OPEN, rows=schema.empty_table(), observations=observations)
    key, value, reader, op = columns
    when = Piece((yield described(np.r_[reader, op])))
    order = np.argsort(when.ints("op"))
    at = when.ints("op")[order]
    read_ns = when.ints("completed_ns")[order[np.searchsorted(at, reader)]]
    asked_ns = when.ints("asked_ns")[order[np.searchsorted(at, op)]]
    early = np.flatnonzero(read_ns < asked_ns)
    key_of = yield from spelled(key[early], column="key")
    value_of = yield from spelled(value[early])
    rows = pa.table(
        {
            "key": key_of(key[early]),
            "value": value_of(value[early]),
            "op": op[early],
            "asked_ns": asked_ns[early],
            "reader_op": reader[early],
            "read_ns": read_ns[early],
        }
    ).cast(schema)
    return Found(id=OPEN, rows=rows, observations=observations)


# ---------------------------------------------------------------- fenced


def fenced(known: Known) -> Inquiry[tuple[Found, ...]]:
    """What was read of fenced transactions: records that nobody else sent are strays."""
    columns = ("op", "f", "outcome", "error")
    told = yield Ask(OPERATIONS, Kernel("fenced transactions", columns, _OPS, _refused))
    refused = set(told["op"].to_pylist())
    read = [
        (*record, min(op for op, _ in stray.sent_by), min(stray.readers))
        for record, stray in stray_records(known.strays).items()
        if stray.readers and stray.sent_by
        if all(op in refused for op, _ in stray.sent_by)
    ]
    key, value, op, reader = (np.array([it[n] for it in read], dtype=np.int64) for n in range(4))
    key_of = yield from spelled(key, column="key")
    value_of = yield from spelled(value)
    rows = pa.table({"key": key_of(key), "value": value_of(value), "op": op, "reader_op": reader})
    schema = schema_of(fenced_transaction_read.FencedTransactionRead)
    found = Found(id=FENCED_READ, rows=rows.cast(schema), observations=len(refused))
    return (found,)


def _refused(piece: Piece) -> pa.Table:
    """Transactions that failed because a newer producer had taken their place."""
    numbers, texts = piece.codes("error")
    fences = [number for number, text in enumerate(texts.to_pylist()) if FENCED.search(text)]
    failed = piece.is_("f", "txn") & piece.is_("outcome", "fail")
    ops = piece.ints("op")[failed & np.isin(numbers, fences)]
    return table(_OPS, ops[begins(ops)])


FAMILIES: Final = (
    Family(ids=(TORN, OPEN), inquiry=transactions),
    Family(ids=(FENCED_READ,), inquiry=fenced),
    *zombies.FAMILIES,
)
