"""Collects the assignments of keys to processes, and counts the assignments that lack a key.

A key is a topic partition. An assignment is an operation that assigns keys to a process. A step
connects two operations of a process that poll (or send) the same key. If an assignment between the
two operations lacks the key, there is no step between them.

    c1 assign k   -> ok
    c1 poll       -> ok k=a@0     no assignment before this poll lacks k
    c1 assign j   -> ok           this assignment lacks k
    c1 assign k j -> ok
    c1 poll       -> ok k=c@2     one assignment before this poll lacks k: no step from a to c

So the two operations of a step have the same number of earlier assignments that lack the key.

Source: `properties.anomalies.order.steps`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import NULL, Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.sorting import (
    NumberSet,
    distinct,
    member,
)
from checkers.histories.plan.batch import Batch
from properties.anomalies.order.steps import ASSIGNING

PROCESSES: Final = int64_schema("process")
ASSIGNMENTS: Final = pa.schema([("process", pa.int64()), ("op", pa.int64()), ("key", pa.int64())])


def assignments(batch: Batch) -> pa.Table:
    """Returns two kinds of rows for each assignment that did not fail.

    There is one row for each key (topic partition) that it assigns, and one row with the key NULL.
    """
    rows = np.flatnonzero(batch.is_in("f", *ASSIGNING) & ~batch.is_in("outcome", "fail"))
    process, op = batch.ints("process")[rows], batch.ints("op")[rows]
    key = np.where(batch.is_in("kind", "none")[rows], NULL, batch.fingerprints("key")[rows])
    once = np.concatenate([key, np.full(len(rows), NULL)])
    columns = {"process": np.r_[process, process], "op": np.r_[op, op], "key": once}
    return (
        pa.table(columns, schema=ASSIGNMENTS)
        .group_by(ASSIGNMENTS.names, use_threads=False)
        .aggregate([])
        .cast(ASSIGNMENTS)
    )


def assignments_without(assigned: Batch, process: Ints, key: Ints, op: Ints) -> Ints:
    """Returns a number for each operation: how many earlier assignments of the operation's process
    lack the operation's key (topic partition).

    Operation i has the process `process[i]`, the key `key[i]` and the number `op[i]`.
    """
    if not len(assigned):
        return np.zeros(len(op), dtype=np.int64)
    of_process, of_op, of_key = (assigned.ints(name) for name in ("process", "op", "key"))
    plain = of_key == NULL
    every = _count_before(process, op, of_process[plain], of_op[plain])
    owner = hash_of_pair(of_process[~plain], of_key[~plain])
    return every - _count_before(hash_of_pair(process, key), op, owner, of_op[~plain])


def _count_before(group: Ints, at: Ints, of_group: Ints, of_at: Ints) -> Ints:
    groups, number = np.unique(of_group, return_inverse=True)
    instants, instant = np.unique(of_at, return_inverse=True)
    width = len(instants)
    observed = np.sort(number * width + instant)
    own = np.searchsorted(groups, group) * width
    found = np.searchsorted(observed, own + np.searchsorted(instants, at)) - np.searchsorted(
        observed, own
    )
    counts: Ints = np.where(member(group, groups), found, 0)
    return counts


def processes_of(batch: Batch) -> pa.Table:
    return table_from(PROCESSES, distinct(batch.ints("process")))


def in_several_batches(observed: Batch) -> NumberSet:
    """Returns the processes that have operations in more than one batch of the history's
    operations.
    """
    process, batches = np.unique(observed.ints("process"), return_counts=True)
    return NumberSet(process[batches > 1])
