"""Finds ww dependencies from the last record of a block of offsets to the first record of the next.

The operation op 1 has a ww dependency on op 0 if a record of op 1 directly follows a record of
op 0:

    block 0   k: .. a at 65535       last record of its block, sent by op 0
    block 1   k: b at 65536 ..       first record of its block, sent by op 1

    ww  op 0 -> op 1                 between blocks: a search of one block cannot find it

Source: `properties.anomalies.cycles.dependencies`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.cycles.dependency_context import DependencyContext
from checkers.histories.anomalies.cycles.log_records import LogRecords, log_records, ww_pairs
from checkers.histories.anomalies.cycles.record_dependencies import LABELS, WW
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.sorting import (
    run_starts,
    runs,
)
from checkers.histories.facts.record_locations import block
from checkers.histories.plan.batch import Batch

ENDS: Final = int64_schema("key", "block", "offset", "value", "sender", "last")


def block_ends(dependencies: DependencyContext, batch: Batch) -> pa.Table:
    """Returns the records at the first and the last occupied offset of each block of 65,536
    offsets.
    """
    log = log_records(dependencies, batch)
    at, sizes = log.groups()
    first = run_starts(log.key[at], block(log.offset[at]))
    ends = np.unique(np.r_[first, np.r_[first[1:], len(at)][: len(first)] - 1])
    outer = np.zeros(len(at), dtype=np.bool_)
    outer[ends] = True
    row = np.flatnonzero(np.repeat(outer, sizes))
    columns = (log.key, block(log.offset), log.offset, log.value, log.sender)
    return table_from(ENDS, *(column[row] for column in columns), log.last[row].astype(np.int64))


def ww_between_blocks(ends: Batch) -> pa.Table:
    log = log_records_of_ends(ends)
    starts, sizes = log.groups()
    if not len(starts):
        return LABELS.empty_table()
    first, second = np.arange(len(starts) - 1), np.arange(1, len(starts))
    key, offset = log.key[starts], log.offset[starts]
    across = (block(offset[first]) != block(offset[second])) & (key[first] == key[second])
    before, after = ww_pairs(log, first[across], second[across], starts, sizes)
    kind = np.full(len(before), WW)
    columns = (log.sender[before], log.sender[after], kind, log.key[before])
    return table_from(LABELS, *columns, log.value[before], log.value[after])


def log_records_of_ends(ends: Batch) -> LogRecords:
    order, _ = runs(ends.ints("key"), ends.ints("offset"), ends.ints("value"))
    key, offset, value, sender, last = (
        ends.ints(name)[order] for name in ("key", "offset", "value", "sender", "last")
    )
    return LogRecords(key, offset, value, sender, last == 1)
