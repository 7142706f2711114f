"""Defines the query plan of `G1b`: a reader polled only a part of a transaction.

    p1 txn k=a k=b -> ok @0 @1     op 0
    p2 send k=c    -> ok @2        op 1
    c1 poll        -> ok k=a@0     op 2
    c1 poll        -> ok k=c@2     op 3     c1 went from a to c and never polled b, the last of op 0

Source: `properties.anomalies.cycles.intermediate_read`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.cycles.dependency_context import (
    UNKNOWN_SENDER,
    UnconfirmedSenders,
)
from checkers.histories.anomalies.cycles.sent_records import last_offsets, records_sent_by
from checkers.histories.anomalies.findings import Context, Finding
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import Pairs, hash_of_pair
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import member
from checkers.histories.facts.record_locations import RECORD_COLUMNS, took_effect
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Plan, Source, Stage, collect, resolve_fingerprints
from properties.anomalies.cycles.intermediate_read import ID, IntermediateRead

_SENDERS: Final = int64_schema("key", "offset", "value", "op")
_POLLED: Final = int64_schema("process", "key", "value")


def intermediate_reads(context: Context, steps: Batch, observations: int) -> Plan[Finding]:
    """Returns the processes that polled a part of a transaction, but never the transaction's last
    record.

    A step of a process is two records that the process polled one directly after the other. `steps`
    has only the steps that skip records. `observations` is the number of all steps, correct ones
    included, that begin at a record of a transaction but not at its last one.
    """
    unconfirmed, schema = context.unconfirmed, schema_of(IntermediateRead)
    nothing = Finding(id=ID, rows=schema.empty_table(), observations=observations)
    if not len(steps):
        return nothing
    key, value, offset = (steps.ints(f"{name}") for name in ("key", "first_value", "first_offset"))
    run = partial(_find_senders, unconfirmed.committed, Pairs.of(key, offset))
    title = "senders of skipped records"
    found = yield from collect(
        Stage(Source.RECORD_LOCATIONS, Kernel(title, RECORD_COLUMNS, _SENDERS, run), Batch)
    )
    senders = UnconfirmedSenders.of(unconfirmed)
    writer = _senders_of_values(found, senders, key, offset, value)
    writers = np.unique(writer)
    sent = yield from records_sent_by(unconfirmed.committed, writers)
    last = _rows_of_last_records(sent, senders)
    at = [last.get((op, k), -1) for op, k in zip(writer.tolist(), key.tolist(), strict=True)]
    row = np.array(at, dtype=np.int64)
    place, last_value = (
        np.r_[last_offsets(sent, senders), UNKNOWN_OFFSET][row],
        sent.ints("value")[row] if len(sent) else row,
    )
    left_early = (row >= 0) & (offset < place) & (place < steps.ints("second_offset"))
    left_early &= place >= context.log_starts.of(key)
    process = steps.ints("process")
    rest = Pairs.of(key[left_early], last_value[left_early])
    run = partial(_polled, np.unique(process[left_early]), rest)
    names = ("process", "kind", "key", "value")
    polled = yield from collect(
        Stage(Source.OPERATIONS, Kernel("polls of last records", names, _POLLED, run), Batch)
    )
    theirs = np.sort(hash_of_pair(polled.ints("process"), _pair(polled)))
    seen = member(hash_of_pair(process, hash_of_pair(key, last_value)), theirs)
    some = np.flatnonzero(left_early & ~seen)
    last_sent = sent.where(row[some])
    return (yield from _as_rows(steps.where(some), writer[some], last_sent, place[some], nothing))


def _pair(batch: Batch) -> Ints:
    return hash_of_pair(batch.ints("key"), batch.ints("value"))


def _find_senders(committed: Ints, places: Pairs, batch: Batch) -> pa.Table:
    few = batch.where(places.have(batch.ints("key"), batch.ints("offset")))
    return few.where(took_effect(few, committed)).table.select(_SENDERS.names)


def _senders_of_values(
    found: Batch, senders: UnconfirmedSenders, key: Ints, offset: Ints, value: Ints
) -> Ints:
    ops = np.full(len(key), UNKNOWN_SENDER)
    places = hash_of_pair(_pair(found), found.ints("offset"))
    order = np.argsort(places)
    wanted = hash_of_pair(hash_of_pair(key, value), offset)
    some = np.flatnonzero(member(wanted, places[order]))
    at = order[np.searchsorted(places, wanted[some], sorter=order)]
    ops[some] = found.ints("op")[at]
    pairs = hash_of_pair(key, value)
    is_unconfirmed = np.flatnonzero(member(pairs, senders.pairs))
    ops[is_unconfirmed] = senders.ops[np.searchsorted(senders.pairs, pairs[is_unconfirmed])]
    return ops


def _rows_of_last_records(sent: Batch, senders: UnconfirmedSenders) -> dict[tuple[int, int], int]:
    places = last_offsets(sent, senders).tolist()
    last: dict[tuple[int, int], tuple[int, str, int]] = {}
    columns: Any = zip(
        sent.ints("op").tolist(),
        sent.ints("key").tolist(),
        sent.table["text"].to_pylist(),
        range(len(sent)),
        strict=True,
    )
    for op, key, text, row in columns:
        if places[row] != UNKNOWN_OFFSET:
            here = places[row], text, row
            last[op, key] = max(here, last.get((op, key), here))
    return {of: row for of, (_, _, row) in last.items()}


def _polled(processes: Ints, rest: Pairs, batch: Batch) -> pa.Table:
    few = batch.where(member(batch.ints("process"), processes))
    polls = few.where(few.is_in("kind", "poll"))
    key, value = polls.fingerprints("key"), polls.fingerprints("value")
    some = rest.have(key, value)
    return table_from(_POLLED, polls.ints("process")[some], key[some], value[some])


def _as_rows(
    steps: Batch, writer: Ints, last: Batch, place: Ints, nothing: Finding
) -> Plan[Finding]:
    if not len(steps):
        return nothing
    key_of = yield from resolve_fingerprints(steps.ints("key"), column="key")
    value_of = yield from resolve_fingerprints(
        steps.ints("first_value"), steps.ints("second_value")
    )
    rows = pa.table(
        {
            "key": key_of(steps.ints("key")),
            "reader_op": steps.ints("first_op"),
            "value": value_of(steps.ints("first_value")),
            "offset": steps.ints("first_offset"),
            "next_op": steps.ints("second_op"),
            "next_value": value_of(steps.ints("second_value")),
            "next_offset": steps.ints("second_offset"),
            "writer_op": writer,
            "last_value": last.table["text"],
            "last_offset": place,
        }
    )
    schema = schema_of(IntermediateRead)
    made = rows.select(schema.names).cast(schema)
    return Finding(id=ID, rows=made, observations=nothing.observations)
