"""Defines the query plans that check the assumptions about a history. Every anomaly checker relies
on these assumptions.

All rows of an operation are in one partition of the history, so most assumptions are checked in
each partition alone. Only the check for overlapping operations of a process needs several
partitions, because these operations may be in different partitions.

Source: `properties.anomalies.assumptions`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import Finding
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import grouping_order, run_lengths, run_starts
from checkers.histories.facts.record_locations import RECORD_COLUMNS, SEND_FAIL, role_of
from checkers.histories.plan.batch import NEVER_NS, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    in_parallel,
    resolve_fingerprints,
)
from model.histories import COLUMNS
from properties.anomalies.assumptions import (
    BackwardsOperation,
    MixedOperation,
    OverlappingOperations,
    RepeatedValue,
)

_OF_OPERATION: Final = tuple(
    name for name in COLUMNS if name not in {"op", "position", "kind", "key", "offset", "value"}
)
_TIMES: Final = pa.schema(
    [(name, pa.int64()) for name in ("op", "process", "invoked_ns", "completed_ns")]
)
_SPANS: Final = pa.schema(
    [(name, pa.int64()) for name in ("batch", "process", "invoked_ns", "closes_ns")]
)
_SENT: Final = pa.schema([(name, pa.int64()) for name in ("key", "value", "op")])
_ONE_OPEN: Final = "checking that each process has one open operation"


def whole_operations() -> Plan[Finding]:
    """Finds violations of `whole-operations`: operations whose rows contradict each other."""
    schema = schema_of(MixedOperation)
    run = partial(_mixed, schema)
    columns = ("op", "position", *_OF_OPERATION)
    rows = yield from collect(
        Stage(Source.OPERATIONS, Kernel("checking that operations are whole", columns, schema, run))
    )
    return Finding(id="whole-operations", rows=rows, observations=len(rows))


def _mixed(schema: pa.Schema, batch: Batch) -> pa.Table:
    op = batch.ints("op")
    follows = op[1:] == op[:-1]
    odd = follows & (np.diff(batch.ints("position")) <= 0)
    for name in _OF_OPERATION:
        if COLUMNS[name][0] == "string":
            cells, _ = batch.narrow_codes(name)
        else:
            cells = batch.ints(name, null=NEVER_NS)
        odd |= follows & (cells[1:] != cells[:-1])
    mixed = np.unique(op[1:][np.flatnonzero(odd)])
    first, end = np.searchsorted(op, mixed), np.searchsorted(op, mixed, side="right")
    return pa.table({"op": mixed, "rows": end - first}, schema=schema)


def time_goes_forward() -> Plan[Finding]:
    """Finds violations of `time-goes-forward`: operations that complete before they are invoked."""
    schema = schema_of(BackwardsOperation)
    run = partial(_backwards, schema)
    rows = yield from collect(
        Stage(
            Source.OPERATIONS,
            Kernel("checking that time goes forward", tuple(schema.names), schema, run),
        )
    )
    return Finding(id="time-goes-forward", rows=rows, observations=len(rows))


def _backwards(schema: pa.Schema, batch: Batch) -> pa.Table:
    back = batch.ints("completed_ns", null=NEVER_NS) < batch.ints("invoked_ns")
    rows = batch.where(back & _firsts(batch)).table.select(schema.names)
    return rows.cast(pa.schema([field.with_nullable(nullable=True) for field in schema]))


def _firsts(batch: Batch) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    op = batch.ints("op")
    return np.r_[True, op[1:] != op[:-1]] if len(op) else np.zeros(0, dtype=np.bool_)


# ---------------------------------------------------------------- one open operation


def one_open_operation() -> Plan[Finding]:
    """Finds violations of `one-open-operation`: operations of one process that overlap in time."""
    columns = tuple(_TIMES.names)
    schema = schema_of(OverlappingOperations)
    spans, rows = yield from in_parallel(
        collect(Stage(Source.OPERATIONS, Kernel(_ONE_OPEN, columns, _SPANS, _span))),
        collect(
            Stage(
                Source.OPERATIONS, Kernel(_ONE_OPEN, columns, schema, partial(_overlapping, schema))
            )
        ),
    )
    if len(crossing := _crossing(Batch(spans))):
        theirs = partial(_operations_of, crossing)
        times = yield from collect(
            Stage(Source.OPERATIONS, Kernel(_ONE_OPEN, columns, _TIMES, theirs))
        )
        of_others = ~np.isin(Batch(rows).ints("process"), crossing)
        rows = pa.concat_tables([rows.filter(pa.array(of_others)), _overlaps(Batch(times), schema)])
    return Finding(id="one-open-operation", rows=rows, observations=len(rows))


def _times(batch: Batch) -> Batch:
    return batch.derived(("times",), _made_times)


def _made_times(batch: Batch) -> Batch:
    rows = np.flatnonzero(_firsts(batch))
    columns = {name: batch.ints(name, null=NEVER_NS)[rows] for name in _TIMES.names}
    return Batch(pa.table(columns, schema=_TIMES), batch.number)


def _by_process(times: Batch) -> Batch:
    columns = ("process", "invoked_ns", "op")
    return times.derived(
        ("by process",), lambda it: it.where(grouping_order(*map(it.ints, columns)))
    )


def _span(batch: Batch) -> pa.Table:
    times = _by_process(_times(batch))
    if not len(times):
        return _SPANS.empty_table()
    process, invoked = times.ints("process"), times.ints("invoked_ns")
    starts = run_starts(process)
    return pa.table(
        {
            "batch": np.full(len(starts), batch.number),
            "process": process[starts],
            "invoked_ns": invoked[starts],
            "closes_ns": np.maximum.reduceat(
                np.maximum(invoked, times.ints("completed_ns")), starts
            ),
        },
        schema=_SPANS,
    )


def _crossing(spans: Batch) -> Ints:
    process, begin = spans.ints("process"), spans.ints("invoked_ns")
    order = np.lexsort([spans.ints("batch"), begin, process])
    process, begin, end = process[order], begin[order], spans.ints("closes_ns")[order]
    found: set[int] = set()
    reached: dict[int, int] = {}
    for one, first, last in zip(process.tolist(), begin.tolist(), end.tolist(), strict=True):
        if first <= reached.get(one, first - 1):
            found.add(one)
        reached[one] = max(last, reached.get(one, last))
    return np.array(sorted(found), dtype=np.int64)


def _operations_of(processes: Ints, batch: Batch) -> pa.Table:
    times = _times(batch)
    return times.where(np.isin(times.ints("process"), processes)).table


def _overlapping(schema: pa.Schema, batch: Batch) -> pa.Table:
    return _overlaps(_times(batch), schema)


def _overlaps(times: Batch, schema: pa.Schema) -> pa.Table:
    names = ("op", "invoked_ns", "process", "completed_ns")
    op, invoked, process, closes = map(_by_process(times).ints, names)
    if not np.any((process[1:] == process[:-1]) & (invoked[1:] < closes[:-1])):
        return schema.empty_table()
    group = np.cumsum(np.r_[False, process[1:] != process[:-1]])
    instants, rank = np.unique(closes, return_inverse=True)
    reach = np.maximum.accumulate(group * len(instants) + rank)  # groups ascend in this order
    before = np.r_[-1, reach[:-1]]
    open_until = before - group * len(instants)  # negative: nothing of this process came before
    odd = np.flatnonzero((open_until >= 0) & (invoked < instants[open_until.clip(0)]))
    first = np.searchsorted(reach, before[odd])
    columns = {"process": process[odd], "second_op": op[odd], "first_op": op[first]}
    return pa.table(columns).cast(schema)


# ---------------------------------------------------------------- unique values


def values_are_unique() -> Plan[Finding]:
    """Finds violations of `values-are-unique`: values that were sent more than once to one topic
    partition.

    A failed send does not count as a send.
    """
    found = yield from collect(
        Stage(
            Source.SENDS,
            Kernel("checking that values are unique", RECORD_COLUMNS, _SENT, _repeated),
        )
    )
    sent = Batch(found)
    key_of = yield from resolve_fingerprints(sent.ints("key"), column="key")
    value_of = yield from resolve_fingerprints(sent.ints("value"))
    table = pa.table(
        {
            "key": key_of(sent.ints("key")),
            "value": value_of(sent.ints("value")),
            "sent_by": found["op"],
        }
    ).sort_by([("key", "ascending"), ("value", "ascending"), ("sent_by", "ascending")])
    rows = table.group_by(["key", "value"], use_threads=False).aggregate([("sent_by", "list")])
    rows = rows.rename_columns(["key", "value", "sent_by"]).cast(schema_of(RepeatedValue))
    return Finding(id="values-are-unique", rows=rows, observations=len(rows))


def _repeated(batch: Batch) -> pa.Table:
    rows = np.flatnonzero(role_of(batch) != SEND_FAIL)
    # SENDS are grouped by value and sorted by key
    starts = run_starts(batch.ints("value")[rows], batch.ints("key")[rows])
    counts = run_lengths(starts, len(rows))
    return batch.where(rows[np.repeat(counts > 1, counts)]).table.select(_SENT.names)
