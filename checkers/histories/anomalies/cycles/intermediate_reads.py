"""Inquiry into half-read transactions, among the steps of readers that go over something.

Such steps are few. Who sent the value that a step begins at, what else that transaction sent to the
key, and whether the process ever polled the last of it, is looked up for these alone.

Source: `properties.anomalies.cycles.intermediate_read`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.cycles.record_dependencies import NOBODY, Senders
from checkers.histories.anomalies.findings import Found, Known
from checkers.histories.columnar.arrow import columns_of, ints
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import member
from checkers.histories.facts.record_locations import NAMES, Pairs, effect, together
from checkers.histories.plan.batch import UNKNOWN, Piece
from checkers.histories.plan.batches import Kernel
from checkers.histories.plan.stage import OPERATIONS, PLACES, Ask, Inquiry, spelled
from properties.anomalies.cycles.intermediate_read import ID, IntermediateRead
from properties.anomalies.transactions.visible import TRANSACTION

_SENDERS: Final = ints("key", "offset", "value", "op")
_SENT: Final = pa.schema([*ints("op", "key", "value", "offset"), ("text", pa.string())])
_POLLED: Final = ints("process", "key", "value")


def intermediate_reads(known: Known, steps: Piece, observations: int) -> Inquiry[Found]:
    """Those of the steps, which all go over something, that leave a transaction before its end."""
    strays, schema = known.strays, schema_of(IntermediateRead)
    nothing = Found(id=ID, rows=schema.empty_table(), observations=observations)
    if not len(steps):
        return nothing
    key, value, offset = (steps.ints(f"{name}") for name in ("key", "first_value", "first_offset"))
    run = partial(_senders, strays.committed, Pairs.of(key, offset))
    says = "who sent what readers went on from"
    found = Piece((yield Ask(PLACES, Kernel(says, NAMES, _SENDERS, run))))
    senders = Senders.of(strays)
    writer = _looked_up(found, senders, key, offset, value)
    writers = np.unique(writer)
    run = partial(_sent, strays.committed, writers)
    reads = ("op", "f", "outcome", "kind", "key", "offset", "value")
    says = "what else they sent"
    sent = Piece((yield Ask(OPERATIONS, Kernel(says, reads, _SENT, run, ops=writers))))
    last = _last_of_each(sent, senders)
    at = [last.get((op, k), -1) for op, k in zip(writer.tolist(), key.tolist(), strict=True)]
    row = np.array(at, dtype=np.int64)
    place, last_value = _places(sent, senders)[row], sent.ints("value")[row] if len(sent) else row
    behind = (row >= 0) & (offset < place) & (place < steps.ints("second_offset"))
    behind &= place >= known.kept.of(key)
    process = steps.ints("process")
    rest = Pairs.of(key[behind], last_value[behind])
    run = partial(_polled, np.unique(process[behind]), rest)
    names = ("process", "kind", "key", "value")
    polled = Piece((yield Ask(OPERATIONS, Kernel("who polled the rest", names, _POLLED, run))))
    theirs = np.sort(together(polled.ints("process"), _pair(polled)))
    seen = member(together(process, together(key, last_value)), theirs)
    some = np.flatnonzero(behind & ~seen)
    last_sent = sent.where(row[some])
    return (yield from _told(steps.where(some), writer[some], last_sent, place[some], nothing))


def _pair(piece: Piece) -> Ints:
    return together(piece.ints("key"), piece.ints("value"))


def _senders(committed: Ints, places: Pairs, piece: Piece) -> pa.Table:
    few = piece.where(places.have(piece.ints("key"), piece.ints("offset")))
    return few.where(effect(few, committed)).table.select(_SENDERS.names)


def _looked_up(found: Piece, senders: Senders, key: Ints, offset: Ints, value: Ints) -> Ints:
    """Who sent each of the values; NOBODY."""
    ops = np.full(len(key), NOBODY)
    places = together(_pair(found), found.ints("offset"))
    order = np.argsort(places)
    wanted = together(together(key, value), offset)
    some = np.flatnonzero(member(wanted, places[order]))
    at = order[np.searchsorted(places, wanted[some], sorter=order)]
    ops[some] = found.ints("op")[at]
    pairs = together(key, value)
    stray = np.flatnonzero(member(pairs, senders.pairs))
    ops[stray] = senders.ops[np.searchsorted(senders.pairs, pairs[stray])]
    return ops


def _sent(committed: Ints, ops: Ints, piece: Piece) -> pa.Table:
    """What transactions among these operations sent, and the offsets that they were told."""
    few = piece.where(piece.rows_of(ops))
    wanted = few.is_("kind", "send") & few.is_("f", TRANSACTION) & ~few.is_("outcome", "fail")
    sends = few.where(wanted)
    text = sends.table["value"].combine_chunks()
    took = sends.is_("outcome", "ok") | member(sends.ints("op"), committed)
    return columns_of(
        _SENT,
        sends.ints("op"),
        sends.fingerprints("key"),
        fingerprints(text, piece.salt),
        np.where(took, sends.ints("offset", null=UNKNOWN), UNKNOWN),
        text,
    )


def _places(sent: Piece, senders: Senders) -> Ints:
    """Where each value that was sent lies, at last; UNKNOWN."""
    places, pairs = sent.ints("offset").copy(), _pair(sent)
    stray = np.flatnonzero(member(pairs, senders.pairs))
    places[stray] = senders.last[np.searchsorted(senders.pairs, pairs[stray])]
    at_last: Ints = np.r_[places, UNKNOWN]
    return at_last


def _last_of_each(sent: Piece, senders: Senders) -> dict[tuple[int, int], int]:
    """Of each operation and key the row of the last value that lies somewhere."""
    places = _places(sent, senders).tolist()
    last: dict[tuple[int, int], tuple[int, str, int]] = {}
    columns: Any = zip(
        sent.ints("op").tolist(),
        sent.ints("key").tolist(),
        sent.table["text"].to_pylist(),
        range(len(sent)),
        strict=True,
    )
    for op, key, text, row in columns:
        if places[row] != UNKNOWN:
            here = places[row], text, row
            last[op, key] = max(here, last.get((op, key), here))
    return {of: row for of, (_, _, row) in last.items()}


def _polled(processes: Ints, rest: Pairs, piece: Piece) -> pa.Table:
    few = piece.where(member(piece.ints("process"), processes))
    polls = few.where(few.is_("kind", "poll"))
    key, value = polls.fingerprints("key"), polls.fingerprints("value")
    some = rest.have(key, value)
    return columns_of(_POLLED, polls.ints("process")[some], key[some], value[some])


def _told(steps: Piece, writer: Ints, last: Piece, place: Ints, nothing: Found) -> Inquiry[Found]:
    if not len(steps):
        return nothing
    key_of = yield from spelled(steps.ints("key"), column="key")
    value_of = yield from spelled(steps.ints("first_value"), steps.ints("second_value"))
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
    return Found(id=ID, rows=made, observations=nothing.observations)
