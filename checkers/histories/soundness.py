"""Kernels of the assumptions about operations: whole, forward in time, one open per process.

Pieces of a history mostly follow each other, and an operation's rows lie together. So each piece
says what it spans, and only operations and processes whose spans overlap are regrouped.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.arrow import compute
from checkers.histories.grouping import NEVER_NS, codes, distinct, group_ids, ints

SPANS: Final = pa.schema(
    [("group", pa.int64()), ("low", pa.int64()), ("high", pa.int64())]
)  # what of a group a piece covers
OPERATIONS: Final = pa.schema(
    [
        ("op", pa.int64()),
        ("process", pa.int64()),
        ("invoked_ns", pa.int64()),
        ("completed_ns", pa.int64()),  # NEVER_NS if it never did
    ]
)
ROWS: Final = pa.schema([*OPERATIONS, ("position", pa.int64()), ("told", pa.string())])


def operations(piece: pa.Table) -> pa.Table:
    """Each operation of the piece once; one whose rows contradict each other several times."""
    forever = piece["completed_ns"].fill_null(NEVER_NS)
    place = piece.schema.get_field_index("completed_ns")
    known = piece.set_column(place, "completed_ns", forever).select(OPERATIONS.names)
    return distinct(known.cast(OPERATIONS), tuple(OPERATIONS.names))


def backwards(piece: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of `time-goes-forward`."""
    known = operations(piece)
    return known.filter(compute.less(known["completed_ns"], known["invoked_ns"])).select(
        schema.names
    )


# ---------------------------------------------------------------- whole operations


def operation_span(piece: pa.Table) -> pa.Table:
    """The lowest and the highest number of an operation in the piece."""
    ops = ints(piece["op"])
    if not len(ops):
        return SPANS.empty_table()
    return pa.table({"group": [0], "low": [int(ops.min())], "high": [int(ops.max())]}, SPANS)


def shared(spans: pa.Table) -> list[tuple[int, int]]:
    """The stretches of numbers that two spans both cover, both ends included."""
    order = np.argsort(ints(spans["low"]), kind="stable")
    low, high = ints(spans["low"])[order], ints(spans["high"])[order]
    before = np.maximum.accumulate(high)[:-1]
    return [
        (int(begin), int(min(reached, end)))
        for begin, end, reached in zip(low[1:], high[1:], before, strict=True)
        if begin <= reached
    ]


def _in_stretches(piece: pa.Table, stretches: list[tuple[int, int]]) -> pa.Array:
    ops = ints(piece["op"])
    within = np.zeros(len(ops), dtype=bool)
    for begin, end in stretches:
        within |= (begin <= ops) & (ops <= end)
    return pa.array(within)


def rows_in(piece: pa.Table, stretches: list[tuple[int, int]]) -> pa.Table:
    """What the rows of these operations say of their operation."""
    return _rows(piece.filter(_in_stretches(piece, stretches)))


def _rows(piece: pa.Table) -> pa.Table:
    told = compute.binary_join_element_wise(
        piece["f"], piece["outcome"], piece["error"].fill_null(""), "\0"
    )
    return pa.table(
        {
            "op": piece["op"],
            "process": piece["process"],
            "invoked_ns": piece["invoked_ns"],
            "completed_ns": piece["completed_ns"].fill_null(NEVER_NS),
            "position": piece["position"],
            "told": told,
        }
    ).cast(ROWS)


def mixed_outside(piece: pa.Table, stretches: list[tuple[int, int]], schema: pa.Schema) -> pa.Table:
    """The rows of `whole-operations`, of operations that no other piece can have rows of."""
    outside = compute.invert(_in_stretches(piece, stretches))
    return mixed(_rows(piece.filter(outside)), schema)


def mixed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of `whole-operations`: operations with contradictions or repeated positions."""
    if not rows.num_rows:
        return schema.empty_table()
    op = codes(rows["op"])
    size = np.bincount(op)
    said = ("op", "process", "invoked_ns", "completed_ns", "told")
    whole_ids = group_ids(rows, said)
    versions = np.bincount(op[np.unique(whole_ids, return_index=True)[1]], minlength=len(size))
    by_position = group_ids(rows, ("op", "position"))
    positions = np.bincount(op[np.unique(by_position, return_index=True)[1]], minlength=len(size))
    odd = np.flatnonzero((versions > 1) | (positions < size))
    first = np.unique(op, return_index=True)[1]
    return pa.table({"op": ints(rows["op"])[first[odd]], "rows": size[odd]}).cast(schema)


# ---------------------------------------------------------------- one open operation


def process_spans(piece: pa.Table) -> pa.Table:
    """For each process its first invocation and its last completion in the piece."""
    known = operations(piece)
    closes = compute.max_element_wise(known["invoked_ns"], known["completed_ns"])
    times = pa.table({"group": known["process"], "low": known["invoked_ns"], "high": closes})
    spans = times.group_by("group").aggregate([("low", "min"), ("high", "max")])
    return spans.rename_columns(SPANS.names).cast(SPANS)


def crossing(spans: pa.Table) -> list[int]:
    """The processes of which two pieces span the same time."""
    order = np.lexsort([ints(spans["low"]), ints(spans["group"])])
    group, low, high = (ints(spans[name])[order].tolist() for name in SPANS.names)
    found: set[int] = set()
    reached: dict[int, int] = {}
    for process, begin, end in zip(group, low, high, strict=True):
        if process in reached and begin <= reached[process]:
            found.add(process)
        reached[process] = max(end, reached.get(process, end))
    return sorted(found)


def operations_of(piece: pa.Table, processes: list[int]) -> pa.Table:
    """The operations of these processes."""
    known = operations(piece)
    return known.filter(compute.is_in(known["process"], value_set=pa.array(processes, pa.int64())))


def overlaps_without(piece: pa.Table, processes: list[int], schema: pa.Schema) -> pa.Table:
    """The rows of `one-open-operation`, of all processes but these."""
    known = operations(piece)
    ours = compute.is_in(known["process"], value_set=pa.array(processes, pa.int64()))
    return overlaps(known.filter(compute.invert(ours)), schema)


def overlaps(known: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of `one-open-operation`: invoked while the process had another operation open."""
    if not known.num_rows:
        return schema.empty_table()
    known = distinct(known, tuple(OPERATIONS.names))
    columns: list[Any] = [ints(known[name]) for name in ("op", "invoked_ns", "process")]
    order = np.lexsort(columns)
    op, invoked, process = (column[order] for column in columns)
    closes = ints(known["completed_ns"])[order]
    group = np.cumsum(np.r_[False, process[1:] != process[:-1]])
    instants, rank = np.unique(closes, return_inverse=True)
    reach = np.maximum.accumulate(group * len(instants) + rank)  # groups ascend in this order
    before = np.r_[-1, reach[:-1]]
    open_until = before - group * len(instants)  # negative: nothing of this process came before
    odd = np.flatnonzero((open_until >= 0) & (invoked < instants[open_until.clip(0)]))
    first = np.searchsorted(reach, before[odd])
    return pa.table({"process": process[odd], "second_op": op[odd], "first_op": op[first]}).cast(
        schema
    )
