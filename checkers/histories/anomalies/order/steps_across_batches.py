"""Finds the steps of processes from one batch of the history's operations to a later batch.

    batch 0   c1 poll -> ok k=a@0      TAIL: the last record of c1 and k is at offset 0
    batch 1   c2 poll -> ok j=x@5
    batch 2   c1 poll -> ok k=c@2      HEAD: the first record of c1 and k is at offset 2

    BETWEEN   the step from this TAIL to this HEAD, offset 0 to offset 2

Source: `properties.anomalies.order.steps`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.order.assignments import assignments_without
from checkers.histories.anomalies.order.log_positions import LogPositions
from checkers.histories.anomalies.order.step_rows import (
    BETWEEN,
    HEAD,
    POLLS,
    SENDS,
    STEPS,
    TAIL,
    Records,
)
from checkers.histories.anomalies.order.steps import wrong_steps
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.sorting import runs
from checkers.histories.plan.batch import Batch


def steps_across_batches(
    positions: LogPositions, assigned: pa.Table, observed: pa.Table
) -> pa.Table:
    """Returns the steps between batches that skip records or go back in the log, and the number of
    all steps between batches.

    A step between batches leads from the last record of a process in one batch to the first record
    of the process in a later batch. Both records are of the same topic partition. `observed` has
    the rows `HEAD` and `TAIL` of each batch.
    """
    made = [STEPS.empty_table()]
    step_rows = Batch(observed)
    for kind in (POLLS, SENDS):
        of_this_kind = step_rows.ints("kind") == kind
        rows = np.flatnonzero(of_this_kind & (step_rows.ints("row_type") >= HEAD))
        ends = step_rows.where(rows)
        order, _ = runs(
            hash_of_pair(ends.ints("process"), ends.ints("key")), ends.ints("second_op")
        )
        ends = ends.where(order)
        records = Records(
            np.arange(len(ends)),
            ends.ints("process"),
            ends.ints("key"),
            ends.ints("second_op"),
            ends.ints("second_position"),
            ends.ints("second_value"),
            ends.ints("second_offset"),
            ends.ints("role"),
        )
        made += _between_batches(kind, positions, Batch(assigned), records, ends.ints("row_type"))
    return pa.concat_tables(made)


def _between_batches(
    kind: int, positions: LogPositions, assigned: Batch, records: Records, row_type: Ints
) -> list[pa.Table]:
    if not len(row_type):
        return []
    group = np.cumsum(np.diff(hash_of_pair(records.process, records.key), prepend=0) != 0)
    tail = np.maximum.accumulate(np.where(row_type == TAIL, np.arange(len(row_type)), -1))
    before = np.r_[-1, tail[:-1]]
    out = assignments_without(assigned, records.process, records.key, records.op)
    linked = (row_type == HEAD) & (before >= 0) & (group[before] == group) & (out[before] == out)
    second = np.flatnonzero(linked)
    return wrong_steps(kind, BETWEEN, positions, records, before[second], second)
