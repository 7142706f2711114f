"""Kernels of the logs that a history shows: which value was seen at which offset of which key.

First it is settled which operations ended `info` and must have taken effect: something that they
sent was read. Then the history is regrouped by key and value (`appearances`), which decides
`duplicate` and, with the bound of each key, `lost-write`; and what has a place once more by key
and offset (`located`), which decides `inconsistent-offsets`.

Source: `properties.anomalies.sightings` and the anomalies that stand on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.arrow import compute
from checkers.histories.grouping import distinct, first_of_each, group_ids, ints

if TYPE_CHECKING:
    from checkers.histories.grouping import Ints

_PLACE: Final = [("key", pa.string()), ("value", pa.string()), ("offset", pa.int64())]
IN_DOUBT: Final = pa.schema([("op", pa.int64()), ("key", pa.string()), ("value", pa.string())])
OPERATIONS: Final = pa.schema([("op", pa.int64())])
APPEARANCES: Final = pa.schema(
    [
        *_PLACE,  # the offset is null where nobody knows it or the send proves nothing
        ("op", pa.int64()),
        ("role", pa.string()),  # failed, sent, committed (must have taken effect), read, seen
    ]
)
LOCATED: Final = pa.schema([*_PLACE, ("op", pa.int64())])
BOUNDS: Final = pa.schema([*_PLACE, ("reader_op", pa.int64())])
COUNT: Final = pa.schema([("count", pa.int64())])
KEY_VALUE: Final = ("key", "value")
KEY_OFFSET: Final = ("key", "offset")


def in_doubt(piece: pa.Table) -> pa.Table:
    """What was sent by operations that ended `info`."""
    sent = compute.and_(
        compute.equal(piece["kind"], "send"), compute.equal(piece["outcome"], "info")
    )
    return piece.filter(sent).select(IN_DOUBT.names)


def read_after_all(piece: pa.Table, doubts: pa.Table) -> pa.Table:
    """Of the operations in doubt those of which this piece shows a value read."""
    read = piece.filter(_and_ok(piece, "poll")).select(list(KEY_VALUE))
    ids = group_ids(pa.concat_tables([doubts.select(list(KEY_VALUE)), read]), KEY_VALUE)
    doubted, seen = np.split(ids, [doubts.num_rows])
    ops = np.unique(ints(doubts["op"])[np.isin(doubted, seen)])
    return pa.table({"op": ops})


def _and_ok(piece: pa.Table, kind: str) -> pa.ChunkedArray:
    return compute.and_(compute.equal(piece["kind"], kind), compute.equal(piece["outcome"], "ok"))


def appearances(piece: pa.Table, committed_info: pa.Table) -> pa.Table:
    """Every send, and each place where a value was polled once, with what it proves."""
    relevant = piece.filter(compute.is_in(piece["kind"], value_set=pa.array(["send", "poll"])))
    is_send = compute.equal(relevant["kind"], "send")
    is_ok = compute.equal(relevant["outcome"], "ok")
    effect = compute.or_(
        is_ok,
        compute.and_(
            compute.equal(relevant["outcome"], "info"),
            compute.is_in(relevant["op"], value_set=committed_info["op"].combine_chunks()),
        ),
    )
    role = compute.if_else(
        is_send,
        compute.if_else(
            effect,
            "committed",
            compute.if_else(compute.equal(relevant["outcome"], "fail"), "failed", "sent"),
        ),
        compute.if_else(is_ok, "read", "seen"),
    )
    believed = compute.or_(compute.invert(is_send), effect)
    offset = compute.if_else(believed, relevant["offset"], pa.scalar(None, pa.int64()))
    made = pa.table(
        {
            "key": relevant["key"],
            "value": relevant["value"],
            "offset": offset,
            "op": relevant["op"],
            "role": role,
        }
    ).cast(APPEARANCES)
    sends = made.filter(is_send)
    polls = made.filter(compute.invert(is_send))
    return pa.concat_tables([sends, distinct(polls, ("key", "value", "offset", "role"), "op")])


def _placed(piece: pa.Table) -> pa.Table:
    """Each place of a value once, with the first operation that showed it there."""
    return distinct(piece.filter(piece["offset"].is_valid()), ("key", "value", "offset"), "op")


def located(piece: pa.Table) -> pa.Table:
    """Each place of a value once: what decides which values share an offset."""
    return _placed(piece).select(LOCATED.names)


def count_groups(piece: pa.Table, by: tuple[str, ...]) -> pa.Table:
    """How many different values of these columns have a known place; pieces do not share any."""
    ids = group_ids(piece.filter(piece["offset"].is_valid()), by)
    return pa.table({"count": pa.array([int(ids.max(initial=-1)) + 1])})


def _gathered(table: pa.Table, by: tuple[str, ...], *, least: int) -> list[list[dict[str, Any]]]:
    """The rows of each group that has at least so many."""
    if not table.num_rows:
        return []
    ids = group_ids(table, by)
    large = np.flatnonzero(np.bincount(ids)[ids] >= least)
    groups: dict[int, list[dict[str, Any]]] = {}
    for group, row in zip(ids[large].tolist(), table.take(large).to_pylist(), strict=True):
        groups.setdefault(group, []).append(row)
    return list(groups.values())


def duplicates(piece: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of `duplicate`: values at two or more offsets of a key."""
    rows: list[dict[str, Any]] = []
    for places in _gathered(_placed(piece), KEY_VALUE, least=2):
        places.sort(key=lambda place: place["offset"])
        rows.append(
            {
                "key": places[0]["key"],
                "value": places[0]["value"],
                "offsets": [place["offset"] for place in places],
                "seen_by": [place["op"] for place in places],
            }
        )
    return pa.Table.from_pylist(rows, schema=schema)


def inconsistent_offsets(piece: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of `inconsistent-offsets`: offsets with two or more values."""
    rows: list[dict[str, Any]] = []
    for values in _gathered(piece, KEY_OFFSET, least=2):
        values.sort(key=lambda place: place["value"])
        rows.append(
            {
                "key": values[0]["key"],
                "offset": values[0]["offset"],
                "values": [place["value"] for place in values],
                "seen_by": [place["op"] for place in values],
            }
        )
    return pa.Table.from_pylist(rows, schema=schema)


def repeated_values(piece: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of `values-are-unique`: what was sent to a key more than once."""
    sends = piece.filter(compute.is_in(piece["role"], value_set=pa.array(["sent", "committed"])))
    rows: list[dict[str, Any]] = [
        {
            "key": rows[0]["key"],
            "value": rows[0]["value"],
            "sent_by": sorted(row["op"] for row in rows),
        }
        for rows in _gathered(sends, KEY_VALUE, least=2)
    ]
    return pa.Table.from_pylist(rows, schema=schema)


# ---------------------------------------------------------------- lost writes


def bounds(piece: pa.Table) -> pa.Table:
    """For each key the highest first place of a value that was read, and who read that value."""
    places = _placed(piece)
    if not places.num_rows:
        return BOUNDS.empty_table()
    reads = distinct(_of_role(piece, "read"), KEY_VALUE, "op")
    first = distinct(places, KEY_VALUE, "offset")
    found, read = _matching(first, reads)
    return highest(
        first.take(found)
        .select(["key", "value", "offset"])
        .append_column("reader_op", reads["op"].take(pa.array(read)))
        .cast(BOUNDS)
    )


def highest(some_bounds: pa.Table) -> pa.Table:
    """Of each key the one bound that is highest; of equals the first reader's, then by value."""
    values = some_bounds["value"].combine_chunks()
    rank = compute.rank(values, sort_keys="ascending", tiebreaker="dense")
    order = np.lexsort(
        [
            rank.cast(pa.int64()).to_numpy(zero_copy_only=False),
            ints(some_bounds["reader_op"]),
            -ints(some_bounds["offset"]),
        ]
    )
    return some_bounds.take(first_of_each(group_ids(some_bounds, ("key",)), order))


def _of_role(piece: pa.Table, role: str) -> pa.Table:
    return piece.filter(compute.equal(piece["role"], role))


def _matching(left: pa.Table, right: pa.Table) -> tuple[Ints, Ints]:
    """The rows on either side that agree in key and value, of which each has any pair once."""
    both = [side.select(list(KEY_VALUE)) for side in (left, right)]
    ids_left, ids_right = np.split(group_ids(pa.concat_tables(both), KEY_VALUE), [left.num_rows])
    _, rows_left, rows_right = np.intersect1d(
        ids_left, ids_right, assume_unique=True, return_indices=True
    )
    return rows_left, rows_right


def owed(piece: pa.Table, all_bounds: pa.Table) -> pa.Table:
    """Each value that somebody must have read: its last place, its writer, its key's bound."""
    places = _placed(piece)
    last = places.take(_last_of_each(places))
    sends = distinct(_of_role(piece, "committed"), KEY_VALUE, "op")
    placed, sent = _matching(last, sends)
    known = last.take(placed).append_column("writer_op", sends["op"].take(pa.array(sent)))
    names = pa.concat_tables([known.select(["key"]), all_bounds.select(["key"])])
    keys, bound_keys = np.split(group_ids(names, ("key",)), [known.num_rows])
    sorter = np.argsort(bound_keys)
    slot = np.searchsorted(bound_keys, keys, sorter=sorter)
    inside = slot < len(sorter)
    row = sorter[np.where(inside, slot, 0)] if len(sorter) else np.zeros_like(keys)
    inside &= bound_keys[row] == keys if len(sorter) else False
    bound = all_bounds.take(row[inside])
    known = known.filter(pa.array(inside))
    due = ints(known["offset"]) <= ints(bound["offset"])
    return (
        known.select(["key", "value", "offset", "writer_op"])
        .append_column("read_offset", bound["offset"])
        .append_column("read_value", bound["value"])
        .append_column("reader_op", bound["reader_op"])
        .filter(pa.array(due))
    )


def _last_of_each(places: pa.Table) -> Ints:
    order = np.argsort(-ints(places["offset"]), kind="stable")
    return first_of_each(group_ids(places, KEY_VALUE), order)


def count_owed(piece: pa.Table, all_bounds: pa.Table) -> pa.Table:
    """How many values somebody must have read."""
    return pa.table({"count": pa.array([owed(piece, all_bounds).num_rows])})


def lost_writes(piece: pa.Table, all_bounds: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of `lost-write`: owed, and never read."""
    due = owed(piece, all_bounds)
    reads = distinct(_of_role(piece, "read"), KEY_VALUE)
    found, _ = _matching(due, reads)
    return due.take(np.setdiff1d(np.arange(due.num_rows), found)).select(schema.names)
