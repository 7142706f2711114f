"""Kernels of linearizable offsets: no operation is told less than was known before it began.

Facts and questions, of two rules and of each key:

    offset-order-inversion   a send acknowledged at o shows that the log reached o + 1;
                             a send that got o asks whether the log had reached beyond o
    stale-end-offset         a send acknowledged at o shows o + 1, a read of the end h shows h;
                             a read of the end h asks whether the log had reached beyond h

A question is broken by a fact that completed before the question was invoked and reaches further.
In three steps, for any cut of the history:

    summaries   of each piece: the earliest completion and the furthest reach of its facts
    suspects    questions that a fact of their own piece breaks, or the summary of another might
    witnesses   of each piece: for each suspect the furthest fact that breaks it

A summary stands for one fact with the best of both, so no broken question escapes; if the pieces
follow each other in time, few sound ones are suspected. Nothing is sorted across pieces.

Source: the prefix maximum over time chunks; Herlihy and Wing for what is decided.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from checkers.histories.arrow import compute
from checkers.histories.found import Family, Found, Known
from checkers.histories.grouping import codes_together, first_of_each, group_ids, ints
from checkers.histories.inquiry import OPERATIONS, Ask, Inquiry
from checkers.histories.piece import Piece
from checkers.histories.pieces import Kernel
from checkers.histories.recorded import SCHEMA
from checkers.histories.rows import schema_of
from properties.anomalies.real_time import offset_order_inversion, stale_end_offset

if TYPE_CHECKING:
    from checkers.histories.grouping import Ints

INVERSION: Final = offset_order_inversion.ANOMALY.id
STALE: Final = stale_end_offset.ANOMALY.id

FACTS: Final = pa.schema(
    [
        ("rule", pa.string()),
        ("key", pa.string()),
        ("reach", pa.int64()),
        ("completed_ns", pa.int64()),
        ("op", pa.int64()),
        ("position", pa.int64()),
        ("kind", pa.string()),
        ("value", pa.string()),
    ]
)
SUMMARIES: Final = pa.schema(
    [
        ("rule", pa.string()),
        ("key", pa.string()),
        ("reach", pa.int64()),
        ("completed_ns", pa.int64()),
        ("questions", pa.int64()),
    ]
)
SUSPECTS: Final = pa.schema(
    [
        ("rule", pa.string()),
        ("key", pa.string()),
        ("reach", pa.int64()),
        ("invoked_ns", pa.int64()),
        ("op", pa.int64()),
        ("value", pa.string()),
    ]
)
WITNESSES: Final = pa.schema([("suspect", pa.int64()), *FACTS])


def _told(piece: pa.Table) -> pa.Table:
    """The rows that were answered: sends acknowledged at an offset, and reads of an end."""
    answered = compute.and_(
        compute.and_(compute.equal(piece["outcome"], "ok"), piece["completed_ns"].is_valid()),
        compute.and_(
            compute.is_in(piece["kind"], value_set=pa.array(["send", "end_offset"])),
            piece["offset"].is_valid(),
        ),
    )
    return piece.filter(answered)


def _with_rule(told: pa.Table, rule: str, reach: pa.ChunkedArray, names: pa.Schema) -> pa.Table:
    made = told.append_column("rule", pa.repeat(rule, told.num_rows)).append_column("reach", reach)
    return made.select(names.names).cast(names)


def _parts(told: pa.Table) -> tuple[pa.Table, pa.Table]:
    sends = compute.equal(told["kind"], "send")
    return told.filter(sends), told.filter(compute.invert(sends))


def facts(piece: pa.Table) -> pa.Table:
    """What each answer shows, under each rule."""
    sends, ends = _parts(_told(piece))
    behind = compute.add(sends["offset"], 1)
    return pa.concat_tables(
        [
            _with_rule(sends, INVERSION, behind, FACTS),
            _with_rule(sends, STALE, behind, FACTS),
            _with_rule(ends, STALE, ends["offset"], FACTS),
        ]
    )


def questions(piece: pa.Table) -> pa.Table:
    """What each answer asks, under its rule."""
    sends, ends = _parts(_told(piece))
    return pa.concat_tables(
        [
            _with_rule(sends, INVERSION, sends["offset"], SUSPECTS),
            _with_rule(ends, STALE, ends["offset"], SUSPECTS),
        ]
    )


def summaries(piece: pa.Table) -> pa.Table:
    """For each rule and key: how far the facts reach, when the first completed, the questions."""
    asked = questions(piece).group_by(["rule", "key"]).aggregate([("op", "count")])
    shown = (
        facts(piece)
        .group_by(["rule", "key"])
        .aggregate([("reach", "max"), ("completed_ns", "min")])
        .rename_columns(["rule", "key", "reach", "completed_ns"])
    )
    joined = shown.join(asked, ["rule", "key"], join_type="left outer")
    counted = joined["op_count"].fill_null(0)
    return joined.drop_columns(["op_count"]).append_column("questions", counted).cast(SUMMARIES)


def _furthest(known: pa.Table, asked: pa.Table) -> Ints:
    """For each question the row of the furthest fact that breaks it, -1 if none does.

    Of facts that reach equally far the first to complete, then by operation and position.
    """
    rules = codes_together([known["rule"], asked["rule"]])
    keys = codes_together([known["key"], asked["key"]])
    group, asked_group = (2 * key + rule for key, rule in zip(keys, rules, strict=True))
    completed, invoked = ints(known["completed_ns"]), ints(asked["invoked_ns"])
    instants = np.unique(completed)
    width = len(instants) + 1
    at = group * width + np.searchsorted(instants, completed)
    asked_at = asked_group * width + np.searchsorted(instants, invoked)

    tie_break = [ints(known[name]) for name in ("position", "op") if name in known.schema.names]
    order = np.lexsort([*tie_break, at])
    reaches, rank = np.unique(ints(known["reach"]), return_inverse=True)
    # groups follow each other in the order: with its group in front, a rank only grows
    furthest = np.maximum.accumulate(group[order] * (len(reaches) + 1) + rank[order])
    begin = np.searchsorted(at[order], asked_group * width)
    end = np.searchsorted(at[order], asked_at)  # facts before it completed strictly earlier
    found = np.full(asked.num_rows, -1, dtype=np.int64)
    some = np.flatnonzero(end > begin)
    row = order[np.searchsorted(furthest, furthest[end[some] - 1])]
    breaks = ints(known["reach"])[row] > ints(asked["reach"])[some]
    found[some[breaks]] = row[breaks]
    return found


def suspects(piece: pa.Table, all_summaries: pa.Table) -> pa.Table:
    """The questions of the piece that a fact breaks, or that a fact of another piece might."""
    asked = questions(piece)
    broken = np.zeros(asked.num_rows, dtype=bool)
    for known in (facts(piece), _without(all_summaries, summaries(piece))):
        if known.num_rows:
            broken |= _furthest(known, asked) >= 0
    return asked.filter(pa.array(broken))


def _without(everything: pa.Table, own: pa.Table) -> pa.Table:
    """All summaries but the piece's own: of equal rows one is left out."""
    both = pa.concat_tables([own, everything])
    ids = group_ids(both, ("rule", "key", "reach", "completed_ns", "questions"))
    mine, rest = np.split(ids, [own.num_rows])
    order = np.arange(everything.num_rows)
    first = first_of_each(rest, order)
    keep = np.ones(everything.num_rows, dtype=bool)
    keep[first[np.isin(rest[first], mine)]] = False
    return everything.filter(pa.array(keep))


def witnesses(piece: pa.Table, all_suspects: pa.Table) -> pa.Table:
    """For each suspect, by its place, the furthest fact of the piece that breaks it."""
    known = facts(piece)
    if not known.num_rows:
        return WITNESSES.empty_table()
    found = _furthest(known, all_suspects)
    numbers = np.flatnonzero(found >= 0)
    return known.take(found[numbers]).add_column(0, "suspect", pa.array(numbers)).cast(WITNESSES)


def worst_witnesses(all_witnesses: pa.Table) -> pa.Table:
    """Of each suspect the one witness that reaches furthest, by the same ties as in a piece."""
    if not all_witnesses.num_rows:
        return all_witnesses
    order = np.lexsort(
        [
            ints(all_witnesses["position"]),
            ints(all_witnesses["op"]),
            ints(all_witnesses["completed_ns"]),
            -ints(all_witnesses["reach"]),
        ]
    )
    return all_witnesses.take(first_of_each(ints(all_witnesses["suspect"]), order))


def broken(all_suspects: pa.Table, all_witnesses: pa.Table, rule: str) -> pa.Table:
    """Under the rule: the rows of the anomaly, one per question that a fact breaks."""
    fact = worst_witnesses(all_witnesses)
    fact = fact.filter(compute.equal(fact["rule"], rule))
    asked = all_suspects.take(fact["suspect"])
    if rule == INVERSION:
        columns = {
            "key": asked["key"],
            "second_offset": asked["reach"],
            "second_value": asked["value"],
            "second_op": asked["op"],
            "first_offset": compute.subtract(fact["reach"], 1),
            "first_value": fact["value"],
            "first_op": fact["op"],
        }
    else:
        columns = {
            "key": asked["key"],
            "end_offset": asked["reach"],
            "op": asked["op"],
            "known_end": fact["reach"],
            "known_from": fact["kind"],
            "known_op": fact["op"],
        }
    return pa.table(columns)


# ---------------------------------------------------------------- the inquiry

_READS: Final = (
    "op",
    "outcome",
    "invoked_ns",
    "completed_ns",
    "position",
    "kind",
    "key",
    "offset",
    "value",
)


def linearizable_offsets(known: Known) -> Inquiry[tuple[Found, ...]]:
    """Order inversions and stale ends, in three looks at the history at most."""
    del known
    told = yield _ask("how far each log had reached", SUMMARIES, summaries)
    suspect = partial(suspects, all_summaries=told)
    suspected = yield _ask("offsets that look late", SUSPECTS, suspect)
    shown = WITNESSES.empty_table()
    if suspected.num_rows:
        witness = partial(witnesses, all_suspects=suspected)
        shown = yield _ask("what was known before them", WITNESSES, witness)
    totals = told.group_by("rule").aggregate([("questions", "sum")])
    asked = dict(zip(totals["rule"].to_pylist(), totals["questions_sum"].to_pylist(), strict=True))
    return tuple(
        Found(
            id=rule,
            rows=broken(suspected, shown, rule).cast(schema_of(row)),
            observations=asked.get(rule, 0),
        )
        for rule, row in (
            (INVERSION, offset_order_inversion.OffsetOrderInversion),
            (STALE, stale_end_offset.StaleEndOffset),
        )
    )


def _ask(says: str, schema: pa.Schema, run: Callable[[pa.Table], pa.Table]) -> Ask:
    return Ask(OPERATIONS, Kernel(says, _READS, schema, partial(_of_texts, run)))


def _of_texts(run: Callable[[pa.Table], pa.Table], piece: Piece) -> pa.Table:
    texts = pa.schema([SCHEMA.field(name) for name in piece.table.schema.names])
    return run(piece.table.cast(texts))


FAMILIES: Final = (Family(ids=(INVERSION, STALE), inquiry=linearizable_offsets),)
