"""What a piece of a history tells of the steps of pipelines: kernels of `pipelines`.

Source: `properties.anomalies.groups.pipelines`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.groups.group_commits import LONG_AGO
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import Mask, member, run_starts
from checkers.histories.facts.owner_offsets import packed_offsets
from checkers.histories.facts.record_locations import hash_of_pair
from checkers.histories.plan.batch import NEVER_NS, Batch
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
AT: Final = int64_schema("group", "key", "low", "jumped", "steps")
UNTOLD: Final = int64_schema("group", "invoked_ns")
FAR: Final = int64_schema("group", "key", "committed", "good")


def polled_rows(batch: Batch, rows: Mask) -> Ints:
    """The rows that members of a group polled at a known offset."""
    polled = batch.is_in("kind", "poll") & batch.is_valid("offset") & batch.is_valid("group")
    return np.flatnonzero(polled & rows)


def given_words(batch: Batch) -> pa.Table:
    """What groups were given by operations that did not fail."""
    rows = polled_rows(batch, ~batch.is_in("outcome", "fail"))
    group, key = batch.fingerprints("group")[rows], batch.fingerprints("key")[rows]
    return packed_offsets(group, key, batch.ints("offset")[rows], batch.number)


def steps_of(batch: Batch) -> Batch:
    """The highest offset that each committed step committed of each key."""
    return batch.derived(("steps",), _made_steps)


def _made_steps(batch: Batch) -> Batch:
    rows = np.flatnonzero(
        batch.is_in("kind", "commit_offset")
        & batch.is_valid("group")
        & batch.is_in("f", "txn")
        & batch.is_in("outcome", "ok")
    )
    op, offset = batch.ints("op")[rows], batch.ints("offset")[rows]
    key = batch.fingerprints("key")[rows]
    order = np.lexsort([-offset, key, op])
    first = order[run_starts(op[order], key[order])]
    columns = {
        "op": op[first],
        "key": key[first],
        "committed": offset[first],
        "group": batch.fingerprints("group")[rows[first]],
        "completed_ns": batch.ints("completed_ns", null=NEVER_NS)[rows[first]],
    }
    return Batch(pa.table(columns))


def input_rows(batch: Batch) -> Ints:
    """The rows that are input of a committed step: polled, and below what it committed."""
    return batch.derived(("inputs",), _made_inputs)


def _made_inputs(batch: Batch) -> Ints:
    rows, steps = (
        polled_rows(batch, batch.is_in("f", "txn") & batch.is_in("outcome", "ok")),
        steps_of(batch),
    )
    of_step = hash_of_pair(steps.ints("op"), steps.ints("key"))
    asked = hash_of_pair(batch.ints("op")[rows], batch.fingerprints("key")[rows])
    some = member(asked, np.sort(of_step))
    rows, asked = rows[some], asked[some]
    by_step = np.argsort(of_step)
    at = by_step[np.searchsorted(of_step, asked, sorter=by_step)]
    return rows[batch.ints("offset")[rows] < steps.ints("committed")[at]]


def consumed_words(batch: Batch) -> pa.Table:
    """What committed steps consumed."""
    rows = input_rows(batch)
    group, key = batch.fingerprints("group")[rows], batch.fingerprints("key")[rows]
    return packed_offsets(group, key, batch.ints("offset")[rows], batch.number)


def where_groups_were(batch: Batch) -> pa.Table:
    """Of each register the lowest offset that a group was at, and how far it jumped."""
    group, key = batch.fingerprints("group"), batch.fingerprints("key")
    offset = batch.ints("offset", null=NONE)
    commit = batch.is_in("kind", "commit_offset") & batch.is_valid("group")
    fetch = (
        batch.is_in("kind", "fetch_offset") & batch.is_valid("group") & batch.is_in("outcome", "ok")
    )
    fetch &= batch.is_valid("completed_ns") & (offset != NONE)
    jump = commit & ~batch.is_in("f", "txn") & ~batch.is_in("outcome", "fail")
    step = commit & batch.is_in("f", "txn") & batch.is_in("outcome", "ok")
    rows = np.r_[
        polled_rows(batch, np.ones(len(batch), dtype=np.bool_)), np.flatnonzero(commit | fetch)
    ]
    jumps = np.where(jump[rows], offset[rows], LONG_AGO)
    low = np.where(offset[rows] != NONE, offset[rows], NEVER_NS)
    told = table_from(AT, group[rows], key[rows], low, jumps, step[rows].astype(np.int64))
    return of_registers(told)


def of_registers(told: pa.Table) -> pa.Table:
    """What pieces told of each register, as one."""
    made = told.group_by(["group", "key"], use_threads=False).aggregate(
        [("low", "min"), ("jumped", "max"), ("steps", "sum")]
    )
    return made.rename_columns(AT.names)


def untold_steps(batch: Batch) -> pa.Table:
    """Of each group when the first step began that ended nobody knows how, and tells no poll."""
    op = batch.ints("op")
    starts = run_starts(op)
    if not len(starts):
        return UNTOLD.empty_table()
    polls = np.add.reduceat(batch.is_in("kind", "poll").astype(np.int64), starts)
    some = batch.is_in("f", "txn") & batch.is_in("outcome", "info") & batch.is_valid("group")
    rows = starts[some[starts] & (polls == 0)]
    made = table_from(UNTOLD, batch.fingerprints("group")[rows], batch.ints("invoked_ns")[rows])
    return (
        made.group_by("group", use_threads=False)
        .aggregate([("invoked_ns", "min")])
        .rename_columns(UNTOLD.names)
    )


def how_far(groups: Ints, untold_ns: Ints, batch: Batch) -> pa.Table:
    """How far each register was committed: whenever that rose, and whether the step is good.

    A step is good if it had ended before anybody began one that tells nothing. Neighbours that
    are alike are one.
    """
    steps = steps_of(batch)
    group, key, committed = (steps.ints(name) for name in ("group", "key", "committed"))
    order = np.lexsort([steps.ints("op"), key, group])
    group, key, committed = group[order], key[order], committed[order]
    limit = np.full(len(order), NEVER_NS)
    known = member(group, groups)
    limit[known] = untold_ns[np.searchsorted(groups, group[known])]
    good = steps.ints("completed_ns")[order] < limit
    rises: list[int] = []
    starts = run_starts(group, key).tolist()
    for start, end in pairwise([*starts, len(order)]):
        reached = np.maximum.accumulate(committed[start:end])
        up = start + np.flatnonzero(np.diff(reached, prepend=reached[0] - 1) > 0)
        last = np.flatnonzero(np.diff(good[up].astype(np.int8), append=2) != 0)
        rises.extend(up[last].tolist())
    at = np.array(rises, dtype=np.int64)
    return table_from(FAR, group[at], key[at], committed[at], good[at].astype(np.int64))
