"""Defines the query plan of `lost-write`: no poll returned a value, but later values were polled.

    p1 send k=a -> ok @0      op 0
    p1 send k=b -> ok @1      op 1
    c1 poll     -> ok k=b@1   op 2

    bound of k    offset 1, value b, first read by op 2
    lost          a at offset 0: it took effect, is below the bound, and no poll returned it

The bound of a key is the highest offset that any poll of the key returned.

Source: `properties.anomalies.log.lost_write`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.anomalies.log.value_locations import LOCATION_AND_OP, unconfirmed_locations
from checkers.histories.columnar.arrow import compute, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import pairs_in
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import (
    Mask,
    any_in_run,
    concatenated_ranges,
    first_in_run,
    per_key,
    run_lengths,
    run_starts,
    runs,
)
from checkers.histories.facts.record_locations import (
    LOCATION,
    RECORD_COLUMNS,
    first_rows,
    polled_ok,
    took_effect,
)
from checkers.histories.facts.retention import LogStarts
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    resolve_fingerprints,
)
from properties.anomalies.log import lost_write

_OWED: Final = pa.schema(
    [*LOCATION_AND_OP, ("owed", pa.int64())]
)  # the last row has the number of owed values
_READ: Final = pa.schema(
    [(name, pa.int64()) for name in ("key", "offset", "value", "reader_op")]
)  # the read progress of a key: the first location of a value, and its reader


def lost_writes(context: Context) -> Plan[tuple[Finding, ...]]:
    unconfirmed = context.unconfirmed
    some = yield from collect(
        Stage(
            Source.RECORD_LOCATIONS,
            Kernel(
                "read progress of keys", RECORD_COLUMNS, _READ, partial(_highest_reads, unconfirmed)
            ),
        )
    )
    candidates = Batch(pa.concat_tables([some, _unconfirmed_reads(unconfirmed)]))
    tied = yield from resolve_fingerprints(candidates.where(_tied(candidates)).ints("value"))
    bounds = _bounds(candidates, tied, context.log_starts)
    run = partial(_unread_below_bound, unconfirmed, bounds)
    debts = yield from collect(
        Stage(Source.RECORD_LOCATIONS, Kernel("unread values", RECORD_COLUMNS, _OWED, run))
    )
    counted = pa.array(Batch(debts).ints("owed") > 0)
    missing = debts.filter(compute.invert(counted)).select(LOCATION_AND_OP.names)
    owed = sum(debts["owed"].to_pylist())
    owed_unconfirmed, lost_unconfirmed = _unconfirmed_unread_below_bound(unconfirmed, bounds)
    gone = Batch(pa.concat_tables([missing, lost_unconfirmed]))
    key_of = yield from resolve_fingerprints(gone.ints("key"), column="key")
    value_of = yield from resolve_fingerprints(gone.ints("value"), bounds.ints("value"))
    at = _bound_of(bounds, gone.ints("key"))
    bound = bounds.where(at)
    rows = pa.table(
        {
            "key": key_of(gone.ints("key")),
            "value": value_of(gone.ints("value")),
            "offset": gone.table["offset"],
            "writer_op": gone.table["op"],
            "read_offset": bound.table["offset"],
            "read_value": value_of(bound.ints("value")),
            "reader_op": bound.table["reader_op"],
        }
    ).cast(schema_of(lost_write.LostWrite))
    return (Finding(id=lost_write.ANOMALY.id, rows=rows, observations=owed + owed_unconfirmed),)


def _highest_reads(unconfirmed: UnconfirmedValues, batch: Batch) -> pa.Table:
    at = first_rows(batch)
    # A value is confirmed if it was polled only at offsets where a send of it was acknowledged.
    given = np.flatnonzero(any_in_run(polled_ok(batch), at) & ~unconfirmed.of_first_rows(batch))
    key, offset = (batch.ints(name).take(at.take(given)) for name in ("key", "offset"))
    starts = run_starts(key)  # offsets ascend
    highest = offset[np.r_[starts[1:], len(key)][: len(starts)] - 1]
    some = given[offset == np.repeat(highest, run_lengths(starts, len(key)))]
    rows = concatenated_ranges(at[some], run_lengths(at, len(batch))[some])
    rows = rows[polled_ok(batch)[rows]]
    key, op = batch.ints("key")[rows], batch.ints("op")[rows]
    order, _ = runs(key, op)
    first = rows[order[run_starts(key[order])]]
    return table_from(
        _READ, *(batch.ints(name)[first] for name in ("key", "offset", "value", "op"))
    )


def _unconfirmed_reads(unconfirmed: UnconfirmedValues) -> pa.Table:
    places = unconfirmed_locations(unconfirmed)
    order, begins = runs(places.ints("key"), places.ints("value"))
    first = order[begins]  # locations are ordered by offset
    reads = unconfirmed.observations.where(polled_ok(unconfirmed.observations))
    by, starts = runs(reads.ints("key"), reads.ints("value"))
    ops = reads.ints("op")[by]
    reader = np.minimum.reduceat(ops, starts) if len(starts) else ops
    left, right = _matching(places.where(first), reads.where(by[starts]))
    table = places.where(first[left]).table.select(["key", "offset", "value"])
    return table.append_column("reader_op", pa.array(reader[right])).cast(_READ)


def _tied(candidates: Batch) -> Mask:
    alike = [candidates.ints(name) for name in ("key", "offset", "reader_op")]
    order, begins = runs(*alike)
    tied = np.zeros(len(order), dtype=np.bool_)
    counts = run_lengths(begins, len(order))
    tied[order] = np.repeat(counts > 1, counts)
    return tied


def _bounds(candidates: Batch, text_of: Any, kept: LogStarts) -> Batch:
    texts = text_of(candidates.ints("value")).fill_null("")
    _, rank = np.unique(np.array(texts.to_pylist(), dtype=object), return_inverse=True)
    order = np.lexsort(
        [rank, candidates.ints("reader_op"), -candidates.ints("offset"), candidates.ints("key")]
    )
    keys = candidates.ints("key")[order]
    first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else order
    bounds = candidates.where(order[first]).table  # in the order of keys
    return Batch(bounds.append_column("kept", pa.array(kept.of(keys[first]))))


def _bound_of(bounds: Batch, key: Ints) -> Ints:
    keys = bounds.ints("key")
    at = np.searchsorted(keys, key)
    inside = at < len(keys)
    inside[inside] = keys[at[inside]] == key[inside]
    return np.where(inside, at, -1)


def _is_owed(bounds: Batch, key: Ints, offset: Ints) -> Mask:
    at = per_key(key, partial(_bound_of, bounds))
    reach = np.r_[bounds.ints("offset"), UNKNOWN_OFFSET][at]
    start = np.r_[bounds.ints("kept"), UNKNOWN_OFFSET][at]
    due: Mask = (at >= 0) & (start <= offset) & (offset <= reach)
    return due


def _unread_below_bound(unconfirmed: UnconfirmedValues, bounds: Batch, batch: Batch) -> pa.Table:
    """Returns the values in this batch of the history's operations that no poll returned, although
    a poll should have returned them.

    The bound of a key (topic partition) is the highest offset that any poll of the key returned.
    The last row of the result is a total: its column `owed` has the number of values that polls
    should have returned.
    """
    at, writes = first_rows(batch), took_effect(batch, unconfirmed.committed)
    key, offset = (batch.ints(name).take(at) for name in ("key", "offset"))
    # Unconfirmed values are decided by `_unconfirmed_unread_below_bound`. At each location of
    # another value, a send was acknowledged.
    owed = (
        (offset != UNKNOWN_OFFSET)
        & _is_owed(bounds, key, offset)
        & ~unconfirmed.of_first_rows(batch)
    )
    count = int(np.count_nonzero(owed))
    if not count:
        return _OWED.empty_table()
    first = at[owed & ~any_in_run(polled_ok(batch), at)]
    writer = batch.ints("op")[first_in_run(writes, first)]
    columns = [*(batch.ints(name)[first] for name in LOCATION), writer, np.zeros_like(first)]
    ends = [0, 0, 0, 0, count]
    return pa.table(
        {
            name: np.r_[column, end]
            for name, column, end in zip(_OWED.names, columns, ends, strict=True)
        },
        schema=_OWED,
    )


def _unconfirmed_unread_below_bound(
    unconfirmed: UnconfirmedValues, bounds: Batch
) -> tuple[int, pa.Table]:
    places = unconfirmed_locations(unconfirmed)
    order, begins = runs(places.ints("key"), places.ints("value"))
    ends = np.r_[begins[1:], len(order)] - 1 if len(begins) else begins
    last = places.where(order[ends])
    last = last.where(_is_owed(bounds, last.ints("key"), last.ints("offset")))
    sends = unconfirmed.sends.where(took_effect(unconfirmed.sends, unconfirmed.committed))
    by, starts = runs(sends.ints("key"), sends.ints("value"))
    ops = sends.ints("op")[by]
    writer = np.minimum.reduceat(ops, starts) if len(starts) else ops
    left, right = _matching(last, sends.where(by[starts]))
    owed = last.where(left)
    table = owed.table.set_column(
        owed.table.schema.get_field_index("op"), "op", pa.array(writer[right])
    ).cast(LOCATION_AND_OP)
    reads = polled_ok(unconfirmed.observations)
    were_read = pairs_in(
        owed.ints("key"),
        owed.ints("value"),
        unconfirmed.observations.ints("key")[reads],
        unconfirmed.observations.ints("value")[reads],
    )
    return len(owed), table.filter(pa.array(~were_read))


def _matching(left: Batch, right: Batch) -> tuple[Ints, Ints]:
    keys = np.concatenate([left.ints("key"), right.ints("key")])
    values = np.concatenate([left.ints("value"), right.ints("value")])
    order, begins = runs(keys, values)
    pair = np.zeros(len(keys), dtype=np.int64)
    pair[order] = np.repeat(np.arange(len(begins)), run_lengths(begins, len(order)))
    _, rows_left, rows_right = np.intersect1d(
        pair[: len(left)], pair[len(left) :], assume_unique=True, return_indices=True
    )
    return rows_left, rows_right


CHECKERS: Final = (AnomalyChecker(ids=(lost_write.ANOMALY.id,), plan=lost_writes),)
