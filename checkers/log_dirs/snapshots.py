"""Checks that the newest producer-state snapshot of a log agrees with the log. The checks use NumPy
arrays.

Source: `properties.log_audit.producer_snapshots`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from checkers.log_dirs.columns import Log, as_table
from checkers.log_dirs.one_log import Found
from checkers.log_dirs.records import Ints
from properties.log_audit.check import Location
from properties.log_audit.log import SEQUENCE_NUMBERS, ProducerState
from properties.log_audit.producer_snapshots import UNKNOWN, SnapshotFault, facts

CHECK: Final = "producer-snapshot"


def producer_snapshot(log: Log) -> Found:
    """Returns one row for each field of a producer's state in which the snapshot differs from
    the log. The log is only read below the offset of the snapshot.
    """
    faults: list[SnapshotFault] = []
    snapshot, rows = log.metadata.snapshot, _below(log)
    rows = log.by_producer(rows)
    ids = log.of["producer_id"][rows]
    observed = 0
    for kept in snapshot.producers if snapshot and len(rows) else ():
        first, last = np.searchsorted(ids, [kept.producer_id, kept.producer_id + 1])
        if first == last:
            continue
        observed += 1
        state = _state(log, rows[first:last])
        for of, in_log, in_snapshot in facts(state, kept):
            if in_log not in (UNKNOWN, in_snapshot):
                (place,) = log.rows(Location, rows[last - 1 : last]).to_pylist()
                faults.append(
                    SnapshotFault(
                        **place,
                        snapshot_offset=snapshot.offset if snapshot else -1,
                        producer_id=kept.producer_id,
                        of=of,
                        in_log=in_log,
                        in_snapshot=in_snapshot,
                    )
                )
    return Found(check=CHECK, observations=observed, rows=as_table(faults, SnapshotFault))


def _below(log: Log) -> Ints:
    """Returns the range that ends just below the offset of the producer snapshot. A range is
    adjacent batches without a fault, and without a missing offset between them. The result is empty
    if no range ends there.
    """
    offset = -1 if log.metadata.snapshot is None else log.metadata.snapshot.offset
    rows: Ints = log.sound
    ends = rows[log.last[rows] + 1 == offset]
    rows = rows[rows <= ends[0]] if len(ends) else rows[:0]
    below: Ints = rows[log.range_number[rows] == log.range_number[rows[-1:]]]
    return below


def _state(log: Log, rows: Ints) -> ProducerState:
    of, last = log.of, rows[-1]
    data, markers = rows[~log.is_control[rows]], rows[log.is_marker[rows]]
    since_marker = rows[rows > markers[-1]] if len(markers) else rows
    open_data = since_marker[log.is_data[since_marker]]
    sequence, offset = -1, -1
    if len(data) and of["producer_epoch"][data[-1]] == of["producer_epoch"][last]:
        newest = data[-1]
        base, records = of["base_sequence"][newest], log.last[newest] - log.base[newest]
        sequence = int((base + records) % SEQUENCE_NUMBERS) if base >= 0 else -1
        offset = int(log.last[newest])
    elif not len(data):
        sequence = offset = UNKNOWN
    first = int(log.base[open_data[0]]) if len(open_data) else -1
    is_complete = len(markers) or log.range_base[last] == 0
    coordinator_epoch = of["coordinator_epoch"][markers[-1]] if len(markers) else UNKNOWN
    return ProducerState(
        producer_id=int(of["producer_id"][last]),
        producer_epoch=int(of["producer_epoch"][last]),
        last_sequence=sequence,
        last_offset=offset,
        coordinator_epoch=int(coordinator_epoch),
        first_offset=first if is_complete else UNKNOWN,
    )
