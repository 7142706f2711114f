"""Defines the kernels that find the inputs that pipeline transactions consumed.

A kernel is a function on one batch of the history's rows. A pipeline transaction polls inputs,
sends outputs and commits the offsets of its inputs. For example, this transaction reads from the
key i and writes to the key o:

    p2 txn{id=x,group=g} o=a +i@1 -> ok @0 i=m@0
       o=a, @0     it sent the value a to o; the record has offset 0
       i=m@0       it polled the value m at offset 0 of i
       +i@1        it committed offset 1 of i for group g: m is consumed

A *step* is the part of such a transaction that concerns one input key. Only transactions that ended
ok are considered.

Source: `properties.anomalies.groups.pipelines`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.groups.committed_offsets import LONG_AGO
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.sorting import Mask, member, run_starts
from checkers.histories.facts.owner_offsets import packed_offsets
from checkers.histories.plan.batch import NEVER_NS, Batch
from properties.anomalies.groups.offsets import NONE

AT: Final = int64_schema("group", "key", "low", "jumped", "steps")
UNREPORTED: Final = int64_schema("group", "invoked_ns")
PROGRESS: Final = int64_schema("group", "key", "committed", "good")


def polled_rows(batch: Batch, rows: Mask) -> Ints:
    """Returns the row numbers of the records that group members polled at a recorded offset. Only
    rows in the mask `rows` are searched.
    """
    polled = batch.is_in("kind", "poll") & batch.is_valid("offset") & batch.is_valid("group")
    return np.flatnonzero(polled & rows)


def delivered_words(batch: Batch) -> pa.Table:
    """Returns the offsets that each group polled from each topic partition, as a table of bitsets.

    Failed polls are not considered.
    """
    rows = polled_rows(batch, ~batch.is_in("outcome", "fail"))
    group, key = batch.fingerprints("group")[rows], batch.fingerprints("key")[rows]
    # One row for each group, key and 64-bit word; bit i of word n stands for the offset 64n + i.
    return packed_offsets(group, key, batch.ints("offset")[rows], batch.number)


def steps_of(batch: Batch) -> Batch:
    """Returns, for each transaction and topic partition, the highest offset of the topic
    partition that the transaction committed.
    """
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
    """Returns the row numbers of the inputs: records that a transaction polled below an offset
    that it committed.
    """
    return batch.derived(("inputs",), _made_inputs)


def _made_inputs(batch: Batch) -> Ints:
    rows, steps = (
        polled_rows(batch, batch.is_in("f", "txn") & batch.is_in("outcome", "ok")),
        steps_of(batch),
    )
    of_step = hash_of_pair(steps.ints("op"), steps.ints("key"))
    queries = hash_of_pair(batch.ints("op")[rows], batch.fingerprints("key")[rows])
    some = member(queries, np.sort(of_step))
    rows, queries = rows[some], queries[some]
    by_step = np.argsort(of_step)
    at = by_step[np.searchsorted(of_step, queries, sorter=by_step)]
    return rows[batch.ints("offset")[rows] < steps.ints("committed")[at]]


def consumed_words(batch: Batch) -> pa.Table:
    """Returns the offsets that each group consumed from each topic partition, as a table of
    bitsets.
    """
    rows = input_rows(batch)
    group, key = batch.fingerprints("group")[rows], batch.fingerprints("key")[rows]
    return packed_offsets(group, key, batch.ints("offset")[rows], batch.number)


def group_positions(batch: Batch) -> pa.Table:
    """Returns three numbers for each group and topic partition:

    - `low` is the lowest of all polled offsets, committed offsets, and offsets that a fetch of the
      group's committed offset (OffsetFetch) returned.
    - `jumped` is the highest offset that the group committed outside a transaction.
    - `steps` is the number of the group's transactions that committed an offset and ended ok.
    """
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
    observed = table_from(AT, group[rows], key[rows], low, jumps, step[rows].astype(np.int64))
    return per_register(observed)


def per_register(observed: pa.Table) -> pa.Table:
    made = observed.group_by(["group", "key"], use_threads=False).aggregate(
        [("low", "min"), ("jumped", "max"), ("steps", "sum")]
    )
    return made.rename_columns(AT.names)


def unreported_steps(batch: Batch) -> pa.Table:
    """Returns, for each group, the start time of its first unreported transaction.

    A transaction is unreported if it ended `info` and has no recorded poll.
    """
    op = batch.ints("op")
    starts = run_starts(op)
    if not len(starts):
        return UNREPORTED.empty_table()
    polls = np.add.reduceat(batch.is_in("kind", "poll").astype(np.int64), starts)
    some = batch.is_in("f", "txn") & batch.is_in("outcome", "info") & batch.is_valid("group")
    rows = starts[some[starts] & (polls == 0)]
    made = table_from(UNREPORTED, batch.fingerprints("group")[rows], batch.ints("invoked_ns")[rows])
    return (
        made.group_by("group", use_threads=False)
        .aggregate([("invoked_ns", "min")])
        .rename_columns(UNREPORTED.names)
    )


def commit_progress(groups: Ints, unreported_ns: Ints, batch: Batch) -> pa.Table:
    """Returns the transactional commits that raise a group's committed offset of a topic partition.

    `unreported_ns[i]` is the start time of the first unreported transaction of the group
    `groups[i]`. An unreported transaction ended `info` and has no recorded poll. A commit that
    ended before `unreported_ns[i]` proves skipped inputs, and its column `good` is 1. For any other
    commit, `good` is 0. If consecutive commits have the same value of `good`, only the highest of
    them is returned.
    """
    steps = steps_of(batch)
    group, key, committed = (steps.ints(name) for name in ("group", "key", "committed"))
    order = np.lexsort([steps.ints("op"), key, group])
    group, key, committed = group[order], key[order], committed[order]
    limit = np.full(len(order), NEVER_NS)
    known = member(group, groups)
    limit[known] = unreported_ns[np.searchsorted(groups, group[known])]
    good = steps.ints("completed_ns")[order] < limit
    rises: list[int] = []
    starts = run_starts(group, key).tolist()
    for start, end in pairwise([*starts, len(order)]):
        reached = np.maximum.accumulate(committed[start:end])
        up = start + np.flatnonzero(np.diff(reached, prepend=reached[0] - 1) > 0)
        last = np.flatnonzero(np.diff(good[up].astype(np.int8), append=2) != 0)
        rises.extend(up[last].tolist())
    at = np.array(rises, dtype=np.int64)
    return table_from(PROGRESS, group[at], key[at], committed[at], good[at].astype(np.int64))
