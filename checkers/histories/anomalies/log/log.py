"""Inquiries into the log that a history shows: one value an offset, one offset a value, none lost.

In its block a confirmed value is decided alone; of the strays everything is at hand. So each rule
is asked twice, of the blocks without strays and of the strays, and says the same in both.

Source: `properties.anomalies.log`, `properties.anomalies.observations`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.columnar.arrow import compute, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import (
    Mask,
    concatenated_ranges,
    grouping_order,
    run_lengths,
    run_starts,
)
from checkers.histories.facts.record_locations import (
    LOCATION,
    RECORD_COLUMNS,
    UnconfirmedValues,
    any_in_run,
    first_in_run,
    first_rows,
    pairs_in,
    per_key,
    polled_ok,
    proves_location,
    runs,
    took_effect,
)
from checkers.histories.facts.retention import LogStarts
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    in_parallel,
    resolve_fingerprints,
)
from properties.anomalies.log import duplicate, inconsistent_offsets, lost_write

_COUNT: Final = pa.schema([("count", pa.int64())])
_PLACE: Final = pa.schema([(name, pa.int64()) for name in ("key", "offset", "value", "op")])
_DEBT: Final = pa.schema([*_PLACE, ("owed", pa.int64())])  # a last row has the count in it


def _shown(committed: Ints, batch: Batch) -> Ints:
    """Which of its heads are places: something shows that their value lies there."""

    def made(batch: Batch) -> Ints:
        at = first_rows(batch)
        lies = any_in_run(proves_location(batch, committed), at)
        return np.flatnonzero(lies & (batch.ints("offset").take(at) != UNKNOWN_OFFSET))

    return batch.derived(("shown",), made)


def _placed(committed: Ints, batch: Batch, shown: Ints) -> pa.Table:
    """Such of its heads, with the first operation that showed the value there.

    A block has its rows in the order of places, and of operations at each; so must the piece.
    """
    first = first_rows(batch)[shown]
    op = batch.ints("op")[first_in_run(proves_location(batch, committed), first)]
    return table_from(_PLACE, *(batch.ints(name)[first] for name in LOCATION), op)


def _stray_places(unconfirmed: UnconfirmedValues) -> Batch:
    """The places of strays, of each key in their order."""

    def made(_: Batch) -> Batch:
        told = unconfirmed.locations()
        batch = told.where(grouping_order(*map(told.ints, LOCATION)))
        return Batch(_placed(unconfirmed.committed, batch, _shown(unconfirmed.committed, batch)))

    return unconfirmed.observations.derived(("stray places",), made)


# ---------------------------------------------------------------- one value an offset


def inconsistent(context: Context) -> Plan[tuple[Finding, ...]]:
    """Offsets at which two values were seen."""
    committed = context.unconfirmed.committed
    shared, seen = yield from in_parallel(
        collect(contested(committed)),
        collect(
            Stage(
                Source.RECORD_LOCATIONS,
                Kernel("offsets seen", RECORD_COLUMNS, _COUNT, partial(_offsets, committed)),
            )
        ),
    )
    places = Batch(shared)
    key_of = yield from resolve_fingerprints(places.ints("key"), column="key")
    value_of = yield from resolve_fingerprints(places.ints("value"))
    table = pa.table(
        {
            "key": key_of(places.ints("key")),
            "offset": shared["offset"],
            "values": value_of(places.ints("value")),
            "seen_by": shared["op"],
        }
    ).sort_by([("key", "ascending"), ("offset", "ascending"), ("values", "ascending")])
    rows = _listed(table, ("key", "offset"), ("values", "seen_by"))
    schema = schema_of(inconsistent_offsets.InconsistentOffset)
    return (
        Finding(
            id=inconsistent_offsets.ANOMALY.id, rows=rows.cast(schema), observations=_sum(seen)
        ),
    )


def contested(committed: Ints) -> Stage[pa.Table]:
    """The places whose offset has several values."""
    return Stage(
        Source.RECORD_LOCATIONS,
        Kernel("offsets with two values", RECORD_COLUMNS, _PLACE, partial(_contested, committed)),
    )


def _contested(committed: Ints, batch: Batch) -> pa.Table:
    shown = _shown(committed, batch)
    counts = run_lengths(_offsets_of(committed, batch), len(shown))
    if not np.any(counts > 1):
        return _PLACE.empty_table()
    return _placed(committed, batch, shown[np.repeat(counts > 1, counts)])


def _offsets(committed: Ints, batch: Batch) -> pa.Table:
    return _count(len(_offsets_of(committed, batch)))


def _offsets_of(committed: Ints, batch: Batch) -> Ints:
    """Where, among what is shown, each offset of a key begins."""

    def made(batch: Batch) -> Ints:
        first = first_rows(batch).take(_shown(committed, batch))
        return run_starts(*(batch.ints(name).take(first) for name in ("key", "offset")))

    return batch.derived(("offsets",), made)


# ---------------------------------------------------------------- one offset a value


def duplicates(context: Context) -> Plan[tuple[Finding, ...]]:
    """Values that lie at two offsets: strays, since a send is acknowledged at one at most."""
    unconfirmed = context.unconfirmed
    count = partial(_confirmed, unconfirmed)
    seen = yield from collect(
        Stage(Source.RECORD_LOCATIONS, Kernel("values with a place", RECORD_COLUMNS, _COUNT, count))
    )
    places = _stray_places(unconfirmed)
    order, begins = runs(places.ints("key"), places.ints("value"))
    counts = run_lengths(begins, len(order))
    several = places.where(order[np.repeat(counts > 1, counts)])
    key_of = yield from resolve_fingerprints(several.ints("key"), column="key")
    value_of = yield from resolve_fingerprints(several.ints("value"))
    table = pa.table(
        {
            "key": key_of(several.ints("key")),
            "value": value_of(several.ints("value")),
            "offsets": several.table["offset"],
            "seen_by": several.table["op"],
        }
    ).sort_by([("key", "ascending"), ("value", "ascending"), ("offsets", "ascending")])
    rows = _listed(table, ("key", "value"), ("offsets", "seen_by"))
    observations = _sum(seen) + len(begins)
    schema = schema_of(duplicate.Duplicate)
    return (Finding(id=duplicate.ANOMALY.id, rows=rows.cast(schema), observations=observations),)


def _confirmed(unconfirmed: UnconfirmedValues, batch: Batch) -> pa.Table:
    shown = _shown(unconfirmed.committed, batch)
    return _count(int(np.count_nonzero(~unconfirmed.of_first_rows(batch).take(shown))))


# ---------------------------------------------------------------- nothing is lost


_READ: Final = pa.schema(
    [(name, pa.int64()) for name in ("key", "offset", "value", "reader_op")]
)  # how far a key was read: the first place of a value, and who read the value


def lost(context: Context) -> Plan[tuple[Finding, ...]]:
    """Values below the bound of their key that nobody was given."""
    unconfirmed = context.unconfirmed
    some = yield from collect(
        Stage(
            Source.RECORD_LOCATIONS,
            Kernel(
                "how far keys were read", RECORD_COLUMNS, _READ, partial(_furthest, unconfirmed)
            ),
        )
    )
    candidates = Batch(pa.concat_tables([some, _stray_reads(unconfirmed)]))
    tied = yield from resolve_fingerprints(candidates.where(_tied(candidates)).ints("value"))
    bounds = _bounds(candidates, tied, context.log_starts)
    run = partial(_debts, unconfirmed, bounds)
    debts = yield from collect(
        Stage(
            Source.RECORD_LOCATIONS, Kernel("values that nobody read", RECORD_COLUMNS, _DEBT, run)
        )
    )
    counted = pa.array(Batch(debts).ints("owed") > 0)
    missing = debts.filter(compute.invert(counted)).select(_PLACE.names)
    owed = sum(debts["owed"].to_pylist())
    owed_strays, lost_strays = _stray_debts(unconfirmed, bounds)
    gone = Batch(pa.concat_tables([missing, lost_strays]))
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
    return (Finding(id=lost_write.ANOMALY.id, rows=rows, observations=owed + owed_strays),)


def _furthest(unconfirmed: UnconfirmedValues, batch: Batch) -> pa.Table:
    """Of each key the highest place at which a confirmed value was read, and its first reader."""
    at = first_rows(batch)
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


def _stray_reads(unconfirmed: UnconfirmedValues) -> pa.Table:
    """Of each stray that was read its first place and its first reader."""
    places = _stray_places(unconfirmed)
    order, begins = runs(places.ints("key"), places.ints("value"))
    first = order[begins]  # places are ordered by offset
    reads = unconfirmed.observations.where(polled_ok(unconfirmed.observations))
    by, starts = runs(reads.ints("key"), reads.ints("value"))
    ops = reads.ints("op")[by]
    reader = np.minimum.reduceat(ops, starts) if len(starts) else ops
    left, right = _matching(places.where(first), reads.where(by[starts]))
    table = places.where(first[left]).table.select(["key", "offset", "value"])
    return table.append_column("reader_op", pa.array(reader[right])).cast(_READ)


def _tied(candidates: Batch) -> Mask:
    """Which candidates only their value tells from others of their key."""
    alike = [candidates.ints(name) for name in ("key", "offset", "reader_op")]
    order, begins = runs(*alike)
    tied = np.zeros(len(order), dtype=np.bool_)
    counts = run_lengths(begins, len(order))
    tied[order] = np.repeat(counts > 1, counts)
    return tied


def _bounds(candidates: Batch, text_of: Any, kept: LogStarts) -> Batch:
    """Of each key the highest, and from where on the log is kept.

    Of equals the first reader's, then by the value's text if tied.
    """
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
    """The row of each key's bound; -1 if it has none."""
    keys = bounds.ints("key")
    at = np.searchsorted(keys, key)
    inside = at < len(keys)
    inside[inside] = keys[at[inside]] == key[inside]
    return np.where(inside, at, -1)


def _due(bounds: Batch, key: Ints, offset: Ints) -> Mask:
    at = per_key(key, partial(_bound_of, bounds))
    reach = np.r_[bounds.ints("offset"), UNKNOWN_OFFSET][at]
    start = np.r_[bounds.ints("kept"), UNKNOWN_OFFSET][at]
    due: Mask = (at >= 0) & (start <= offset) & (offset <= reach)
    return due


def _debts(unconfirmed: UnconfirmedValues, bounds: Batch, batch: Batch) -> pa.Table:
    """The confirmed values owed that nobody read, with their first writer; how many are owed."""
    at, writes = first_rows(batch), took_effect(batch, unconfirmed.committed)
    key, offset = (batch.ints(name).take(at) for name in ("key", "offset"))
    owed = (
        (offset != UNKNOWN_OFFSET) & _due(bounds, key, offset) & ~unconfirmed.of_first_rows(batch)
    )
    owed &= any_in_run(writes, at)
    count = int(np.count_nonzero(owed))
    if not count:
        return _DEBT.empty_table()
    first = at[owed & ~any_in_run(polled_ok(batch), at)]
    writer = batch.ints("op")[first_in_run(writes, first)]
    columns = [*(batch.ints(name)[first] for name in LOCATION), writer, np.zeros_like(first)]
    ends = [0, 0, 0, 0, count]
    return pa.table(
        {
            name: np.r_[column, end]
            for name, column, end in zip(_DEBT.names, columns, ends, strict=True)
        },
        schema=_DEBT,
    )


def _stray_debts(unconfirmed: UnconfirmedValues, bounds: Batch) -> tuple[int, pa.Table]:
    """How many strays are owed to readers, and those that nobody read."""
    places = _stray_places(unconfirmed)
    order, begins = runs(places.ints("key"), places.ints("value"))
    ends = np.r_[begins[1:], len(order)] - 1 if len(begins) else begins
    last = places.where(order[ends])
    last = last.where(_due(bounds, last.ints("key"), last.ints("offset")))
    sends = unconfirmed.sends.where(took_effect(unconfirmed.sends, unconfirmed.committed))
    by, starts = runs(sends.ints("key"), sends.ints("value"))
    ops = sends.ints("op")[by]
    writer = np.minimum.reduceat(ops, starts) if len(starts) else ops
    left, right = _matching(last, sends.where(by[starts]))
    owed = last.where(left)
    table = owed.table.set_column(
        owed.table.schema.get_field_index("op"), "op", pa.array(writer[right])
    ).cast(_PLACE)
    reads = polled_ok(unconfirmed.observations)
    were_read = pairs_in(
        owed.ints("key"),
        owed.ints("value"),
        unconfirmed.observations.ints("key")[reads],
        unconfirmed.observations.ints("value")[reads],
    )
    return len(owed), table.filter(pa.array(~were_read))


def _matching(left: Batch, right: Batch) -> tuple[Ints, Ints]:
    """The rows on either side that agree in key and value, of which each has any pair once."""
    keys = np.concatenate([left.ints("key"), right.ints("key")])
    values = np.concatenate([left.ints("value"), right.ints("value")])
    order, begins = runs(keys, values)
    pair = np.zeros(len(keys), dtype=np.int64)
    pair[order] = np.repeat(np.arange(len(begins)), run_lengths(begins, len(order)))
    _, rows_left, rows_right = np.intersect1d(
        pair[: len(left)], pair[len(left) :], assume_unique=True, return_indices=True
    )
    return rows_left, rows_right


# ---------------------------------------------------------------- rows


def _count(count: int) -> pa.Table:
    return pa.table({"count": [count]}, schema=_COUNT)


def _sum(counts: pa.Table) -> int:
    return sum(counts["count"].to_pylist())


def _listed(table: pa.Table, by: tuple[str, ...], lists: tuple[str, ...]) -> pa.Table:
    """A row for each of the columns `by`, the others as lists; equal rows of `by` lie together."""
    made = table.group_by(list(by), use_threads=False).aggregate([(name, "list") for name in lists])
    return made.rename_columns([*by, *lists])


CHECKERS: Final = (
    AnomalyChecker(ids=(inconsistent_offsets.ANOMALY.id,), plan=inconsistent),
    AnomalyChecker(ids=(duplicate.ANOMALY.id,), plan=duplicates),
    AnomalyChecker(ids=(lost_write.ANOMALY.id,), plan=lost),
)
