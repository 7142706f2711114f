"""What a piece of a history tells of the steps of pipelines: kernels of `pipelines`.

Source: `properties.anomalies.groups.pipelines`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.groups.group_commits import LONG_AGO
from checkers.histories.columnar.arrow import columns_of, ints
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import begins, member
from checkers.histories.facts.bitmaps import words
from checkers.histories.facts.record_locations import together
from checkers.histories.plan.batch import NEVER_NS, Mask, Piece
from properties.anomalies.groups.offsets import NONE

COLUMNS: Final = (
    "op",
    "f",
    "outcome",
    "invoked_ns",
    "completed_ns",
    "kind",
    "key",
    "offset",
    "group",
)
AT: Final = ints("group", "key", "low", "jumped", "steps")
UNTOLD: Final = ints("group", "invoked_ns")
FAR: Final = ints("group", "key", "committed", "good")


def polled_rows(piece: Piece, rows: Mask) -> Ints:
    """The rows that members of a group polled at a known offset."""
    polled = piece.is_("kind", "poll") & piece.known("offset") & piece.known("group")
    return np.flatnonzero(polled & rows)


def given_words(piece: Piece) -> pa.Table:
    """What groups were given by operations that did not fail."""
    rows = polled_rows(piece, ~piece.is_("outcome", "fail"))
    group, key = piece.fingerprints("group")[rows], piece.fingerprints("key")[rows]
    return words(group, key, piece.ints("offset")[rows], piece.number)


def steps_of(piece: Piece) -> Piece:
    """The highest offset that each committed step committed of each key."""
    return piece.derived(("steps",), _made_steps)


def _made_steps(piece: Piece) -> Piece:
    rows = np.flatnonzero(
        piece.is_("kind", "commit_offset")
        & piece.known("group")
        & piece.is_("f", "txn")
        & piece.is_("outcome", "ok")
    )
    op, offset = piece.ints("op")[rows], piece.ints("offset")[rows]
    key = piece.fingerprints("key")[rows]
    order = np.lexsort([-offset, key, op])
    first = order[begins(op[order], key[order])]
    columns = {
        "op": op[first],
        "key": key[first],
        "committed": offset[first],
        "group": piece.fingerprints("group")[rows[first]],
        "completed_ns": piece.ints("completed_ns", null=NEVER_NS)[rows[first]],
    }
    return Piece(pa.table(columns))


def input_rows(piece: Piece) -> Ints:
    """The rows that are input of a committed step: polled, and below what it committed."""
    return piece.derived(("inputs",), _made_inputs)


def _made_inputs(piece: Piece) -> Ints:
    rows, steps = (
        polled_rows(piece, piece.is_("f", "txn") & piece.is_("outcome", "ok")),
        steps_of(piece),
    )
    of_step = together(steps.ints("op"), steps.ints("key"))
    asked = together(piece.ints("op")[rows], piece.fingerprints("key")[rows])
    some = member(asked, np.sort(of_step))
    rows, asked = rows[some], asked[some]
    by_step = np.argsort(of_step)
    at = by_step[np.searchsorted(of_step, asked, sorter=by_step)]
    return rows[piece.ints("offset")[rows] < steps.ints("committed")[at]]


def consumed_words(piece: Piece) -> pa.Table:
    """What committed steps consumed."""
    rows = input_rows(piece)
    group, key = piece.fingerprints("group")[rows], piece.fingerprints("key")[rows]
    return words(group, key, piece.ints("offset")[rows], piece.number)


def where_groups_were(piece: Piece) -> pa.Table:
    """Of each register the lowest offset that a group was at, and how far it jumped."""
    group, key = piece.fingerprints("group"), piece.fingerprints("key")
    offset = piece.ints("offset", null=NONE)
    commit = piece.is_("kind", "commit_offset") & piece.known("group")
    fetch = piece.is_("kind", "fetch_offset") & piece.known("group") & piece.is_("outcome", "ok")
    fetch &= piece.known("completed_ns") & (offset != NONE)
    jump = commit & ~piece.is_("f", "txn") & ~piece.is_("outcome", "fail")
    step = commit & piece.is_("f", "txn") & piece.is_("outcome", "ok")
    rows = np.r_[
        polled_rows(piece, np.ones(len(piece), dtype=np.bool_)), np.flatnonzero(commit | fetch)
    ]
    jumps = np.where(jump[rows], offset[rows], LONG_AGO)
    low = np.where(offset[rows] != NONE, offset[rows], NEVER_NS)
    told = columns_of(AT, group[rows], key[rows], low, jumps, step[rows].astype(np.int64))
    return of_registers(told)


def of_registers(told: pa.Table) -> pa.Table:
    """What pieces told of each register, as one."""
    made = told.group_by(["group", "key"], use_threads=False).aggregate(
        [("low", "min"), ("jumped", "max"), ("steps", "sum")]
    )
    return made.rename_columns(AT.names)


def untold_steps(piece: Piece) -> pa.Table:
    """Of each group when the first step began that ended nobody knows how, and tells no poll."""
    op = piece.ints("op")
    starts = begins(op)
    if not len(starts):
        return UNTOLD.empty_table()
    polls = np.add.reduceat(piece.is_("kind", "poll").astype(np.int64), starts)
    some = piece.is_("f", "txn") & piece.is_("outcome", "info") & piece.known("group")
    rows = starts[some[starts] & (polls == 0)]
    made = columns_of(UNTOLD, piece.fingerprints("group")[rows], piece.ints("invoked_ns")[rows])
    return (
        made.group_by("group", use_threads=False)
        .aggregate([("invoked_ns", "min")])
        .rename_columns(UNTOLD.names)
    )


def how_far(groups: Ints, untold_ns: Ints, piece: Piece) -> pa.Table:
    """How far each register was committed: whenever that rose, and whether the step is good.

    A step is good if it had ended before anybody began one that tells nothing. Neighbours that
    are alike are one.
    """
    steps = steps_of(piece)
    group, key, committed = (steps.ints(name) for name in ("group", "key", "committed"))
    order = np.lexsort([steps.ints("op"), key, group])
    group, key, committed = group[order], key[order], committed[order]
    limit = np.full(len(order), NEVER_NS)
    known = member(group, groups)
    limit[known] = untold_ns[np.searchsorted(groups, group[known])]
    good = steps.ints("completed_ns")[order] < limit
    rises: list[int] = []
    starts = begins(group, key).tolist()
    for start, end in pairwise([*starts, len(order)]):
        reached = np.maximum.accumulate(committed[start:end])
        up = start + np.flatnonzero(np.diff(reached, prepend=reached[0] - 1) > 0)
        last = np.flatnonzero(np.diff(good[up].astype(np.int8), append=2) != 0)
        rises.extend(up[last].tolist())
    at = np.array(rises, dtype=np.int64)
    return columns_of(FAR, group[at], key[at], committed[at], good[at].astype(np.int64))
