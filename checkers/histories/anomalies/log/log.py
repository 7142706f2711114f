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

from checkers.histories.anomalies.findings import Family, Found, Known
from checkers.histories.columnar.arrow import columns_of, compute
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import begins, grouped, lengths, stretches
from checkers.histories.facts.record_locations import (
    NAMES,
    PLACE,
    Strays,
    any_of,
    by_key,
    effect,
    first_of,
    heads,
    pairs_in,
    read,
    runs,
    shows,
)
from checkers.histories.facts.retention import Kept
from checkers.histories.plan.batch import UNKNOWN, Mask, Piece
from checkers.histories.plan.batches import Kernel
from checkers.histories.plan.stage import PLACES, Ask, Inquiry, spelled
from properties.anomalies.log import duplicate, inconsistent_offsets, lost_write

_COUNT: Final = pa.schema([("count", pa.int64())])
_PLACE: Final = pa.schema([(name, pa.int64()) for name in ("key", "offset", "value", "op")])
_DEBT: Final = pa.schema([*_PLACE, ("owed", pa.int64())])  # a last row has the count in it


def _shown(committed: Ints, piece: Piece) -> Ints:
    """Which of its heads are places: something shows that their value lies there."""

    def made(piece: Piece) -> Ints:
        at = heads(piece)
        lies = any_of(shows(piece, committed), at)
        return np.flatnonzero(lies & (piece.ints("offset").take(at) != UNKNOWN))

    return piece.derived(("shown",), made)


def _placed(committed: Ints, piece: Piece, shown: Ints) -> pa.Table:
    """Such of its heads, with the first operation that showed the value there.

    A block has its rows in the order of places, and of operations at each; so must the piece.
    """
    first = heads(piece)[shown]
    op = piece.ints("op")[first_of(shows(piece, committed), first)]
    return columns_of(_PLACE, *(piece.ints(name)[first] for name in PLACE), op)


def _stray_places(strays: Strays) -> Piece:
    """The places of strays, of each key in their order."""

    def made(_: Piece) -> Piece:
        told = strays.placings()
        piece = told.where(grouped(*map(told.ints, PLACE)))
        return Piece(_placed(strays.committed, piece, _shown(strays.committed, piece)))

    return strays.places.derived(("stray places",), made)


# ---------------------------------------------------------------- one value an offset


def inconsistent(known: Known) -> Inquiry[tuple[Found, ...]]:
    """Offsets at which two values were seen."""
    committed = known.strays.committed
    shared, seen = yield (
        contested(committed),
        Ask(PLACES, Kernel("offsets seen", NAMES, _COUNT, partial(_offsets, committed))),
    )
    places = Piece(shared)
    key_of = yield from spelled(places.ints("key"), column="key")
    value_of = yield from spelled(places.ints("value"))
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
        Found(id=inconsistent_offsets.ANOMALY.id, rows=rows.cast(schema), observations=_sum(seen)),
    )


def contested(committed: Ints) -> Ask:
    """The places whose offset has several values."""
    return Ask(
        PLACES, Kernel("offsets with two values", NAMES, _PLACE, partial(_contested, committed))
    )


def _contested(committed: Ints, piece: Piece) -> pa.Table:
    shown = _shown(committed, piece)
    counts = lengths(_offsets_of(committed, piece), len(shown))
    if not np.any(counts > 1):
        return _PLACE.empty_table()
    return _placed(committed, piece, shown[np.repeat(counts > 1, counts)])


def _offsets(committed: Ints, piece: Piece) -> pa.Table:
    return _count(len(_offsets_of(committed, piece)))


def _offsets_of(committed: Ints, piece: Piece) -> Ints:
    """Where, among what is shown, each offset of a key begins."""

    def made(piece: Piece) -> Ints:
        first = heads(piece).take(_shown(committed, piece))
        return begins(*(piece.ints(name).take(first) for name in ("key", "offset")))

    return piece.derived(("offsets",), made)


# ---------------------------------------------------------------- one offset a value


def duplicates(known: Known) -> Inquiry[tuple[Found, ...]]:
    """Values that lie at two offsets: strays, since a send is acknowledged at one at most."""
    strays = known.strays
    count = partial(_confirmed, strays)
    seen = yield Ask(PLACES, Kernel("values with a place", NAMES, _COUNT, count))
    places = _stray_places(strays)
    order, begins = runs(places.ints("key"), places.ints("value"))
    counts = lengths(begins, len(order))
    several = places.where(order[np.repeat(counts > 1, counts)])
    key_of = yield from spelled(several.ints("key"), column="key")
    value_of = yield from spelled(several.ints("value"))
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
    return (Found(id=duplicate.ANOMALY.id, rows=rows.cast(schema), observations=observations),)


def _confirmed(strays: Strays, piece: Piece) -> pa.Table:
    shown = _shown(strays.committed, piece)
    return _count(int(np.count_nonzero(~strays.of_heads(piece).take(shown))))


# ---------------------------------------------------------------- nothing is lost


_READ: Final = pa.schema(
    [(name, pa.int64()) for name in ("key", "offset", "value", "reader_op")]
)  # how far a key was read: the first place of a value, and who read the value


def lost(known: Known) -> Inquiry[tuple[Found, ...]]:
    """Values below the bound of their key that nobody was given."""
    strays = known.strays
    some = yield Ask(
        PLACES, Kernel("how far keys were read", NAMES, _READ, partial(_furthest, strays))
    )
    candidates = Piece(pa.concat_tables([some, _stray_reads(strays)]))
    tied = yield from spelled(candidates.where(_tied(candidates)).ints("value"))
    bounds = _bounds(candidates, tied, known.kept)
    run = partial(_debts, strays, bounds)
    debts = yield Ask(PLACES, Kernel("values that nobody read", NAMES, _DEBT, run))
    counted = pa.array(Piece(debts).ints("owed") > 0)
    missing = debts.filter(compute.invert(counted)).select(_PLACE.names)
    owed = sum(debts["owed"].to_pylist())
    owed_strays, lost_strays = _stray_debts(strays, bounds)
    gone = Piece(pa.concat_tables([missing, lost_strays]))
    key_of = yield from spelled(gone.ints("key"), column="key")
    value_of = yield from spelled(gone.ints("value"), bounds.ints("value"))
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
    return (Found(id=lost_write.ANOMALY.id, rows=rows, observations=owed + owed_strays),)


def _furthest(strays: Strays, piece: Piece) -> pa.Table:
    """Of each key the highest place at which a confirmed value was read, and its first reader."""
    at = heads(piece)
    given = np.flatnonzero(any_of(read(piece), at) & ~strays.of_heads(piece))
    key, offset = (piece.ints(name).take(at.take(given)) for name in ("key", "offset"))
    starts = begins(key)  # offsets ascend
    highest = offset[np.r_[starts[1:], len(key)][: len(starts)] - 1]
    some = given[offset == np.repeat(highest, lengths(starts, len(key)))]
    rows = stretches(at[some], lengths(at, len(piece))[some])
    rows = rows[read(piece)[rows]]
    key, op = piece.ints("key")[rows], piece.ints("op")[rows]
    order, _ = runs(key, op)
    first = rows[order[begins(key[order])]]
    return columns_of(
        _READ, *(piece.ints(name)[first] for name in ("key", "offset", "value", "op"))
    )


def _stray_reads(strays: Strays) -> pa.Table:
    """Of each stray that was read its first place and its first reader."""
    places = _stray_places(strays)
    order, begins = runs(places.ints("key"), places.ints("value"))
    first = order[begins]  # places are ordered by offset
    reads = strays.places.where(read(strays.places))
    by, starts = runs(reads.ints("key"), reads.ints("value"))
    ops = reads.ints("op")[by]
    reader = np.minimum.reduceat(ops, starts) if len(starts) else ops
    left, right = _matching(places.where(first), reads.where(by[starts]))
    table = places.where(first[left]).table.select(["key", "offset", "value"])
    return table.append_column("reader_op", pa.array(reader[right])).cast(_READ)


def _tied(candidates: Piece) -> Mask:
    """Which candidates only their value tells from others of their key."""
    alike = [candidates.ints(name) for name in ("key", "offset", "reader_op")]
    order, begins = runs(*alike)
    tied = np.zeros(len(order), dtype=np.bool_)
    counts = lengths(begins, len(order))
    tied[order] = np.repeat(counts > 1, counts)
    return tied


def _bounds(candidates: Piece, text_of: Any, kept: Kept) -> Piece:
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
    return Piece(bounds.append_column("kept", pa.array(kept.of(keys[first]))))


def _bound_of(bounds: Piece, key: Ints) -> Ints:
    """The row of each key's bound; -1 if it has none."""
    keys = bounds.ints("key")
    at = np.searchsorted(keys, key)
    inside = at < len(keys)
    inside[inside] = keys[at[inside]] == key[inside]
    return np.where(inside, at, -1)


def _due(bounds: Piece, key: Ints, offset: Ints) -> Mask:
    at = by_key(key, partial(_bound_of, bounds))
    reach = np.r_[bounds.ints("offset"), UNKNOWN][at]
    start = np.r_[bounds.ints("kept"), UNKNOWN][at]
    due: Mask = (at >= 0) & (start <= offset) & (offset <= reach)
    return due


def _debts(strays: Strays, bounds: Piece, piece: Piece) -> pa.Table:
    """The confirmed values owed that nobody read, with their first writer; how many are owed."""
    at, writes = heads(piece), effect(piece, strays.committed)
    key, offset = (piece.ints(name).take(at) for name in ("key", "offset"))
    owed = (offset != UNKNOWN) & _due(bounds, key, offset) & ~strays.of_heads(piece)
    owed &= any_of(writes, at)
    count = int(np.count_nonzero(owed))
    if not count:
        return _DEBT.empty_table()
    first = at[owed & ~any_of(read(piece), at)]
    writer = piece.ints("op")[first_of(writes, first)]
    columns = [*(piece.ints(name)[first] for name in PLACE), writer, np.zeros_like(first)]
    ends = [0, 0, 0, 0, count]
    return pa.table(
        {
            name: np.r_[column, end]
            for name, column, end in zip(_DEBT.names, columns, ends, strict=True)
        },
        schema=_DEBT,
    )


def _stray_debts(strays: Strays, bounds: Piece) -> tuple[int, pa.Table]:
    """How many strays are owed to readers, and those that nobody read."""
    places = _stray_places(strays)
    order, begins = runs(places.ints("key"), places.ints("value"))
    ends = np.r_[begins[1:], len(order)] - 1 if len(begins) else begins
    last = places.where(order[ends])
    last = last.where(_due(bounds, last.ints("key"), last.ints("offset")))
    sends = strays.sends.where(effect(strays.sends, strays.committed))
    by, starts = runs(sends.ints("key"), sends.ints("value"))
    ops = sends.ints("op")[by]
    writer = np.minimum.reduceat(ops, starts) if len(starts) else ops
    left, right = _matching(last, sends.where(by[starts]))
    owed = last.where(left)
    table = owed.table.set_column(
        owed.table.schema.get_field_index("op"), "op", pa.array(writer[right])
    ).cast(_PLACE)
    reads = read(strays.places)
    were_read = pairs_in(
        owed.ints("key"),
        owed.ints("value"),
        strays.places.ints("key")[reads],
        strays.places.ints("value")[reads],
    )
    return len(owed), table.filter(pa.array(~were_read))


def _matching(left: Piece, right: Piece) -> tuple[Ints, Ints]:
    """The rows on either side that agree in key and value, of which each has any pair once."""
    keys = np.concatenate([left.ints("key"), right.ints("key")])
    values = np.concatenate([left.ints("value"), right.ints("value")])
    order, begins = runs(keys, values)
    pair = np.zeros(len(keys), dtype=np.int64)
    pair[order] = np.repeat(np.arange(len(begins)), lengths(begins, len(order)))
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


FAMILIES: Final = (
    Family(ids=(inconsistent_offsets.ANOMALY.id,), inquiry=inconsistent),
    Family(ids=(duplicate.ANOMALY.id,), inquiry=duplicates),
    Family(ids=(lost_write.ANOMALY.id,), inquiry=lost),
)
