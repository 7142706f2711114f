"""Finds how processes move through logs, step by step, inside one batch of the history's
operations.

    p1 send k=a -> ok @0
    p1 send k=b -> ok @1
    p1 send k=c -> ok @2
    c1 poll     -> ok k=a@0            op 3
    c1 poll     -> ok k=c@2 k=b@1      op 4

    BETWEEN   op 3 to op 4, offset 0 to 2: it skips one record, b          poll-skip
    WITHIN    op 4, offset 2 to 1: it goes back                            int-nonmonotonic-poll

A step is two records of one key that a process polled (or sent) one directly after the other. If
the two records belong to two operations, the first operation is a poll that ended ok, or a send
that did not fail. There is no step between two operations if, between them, the process got an
assignment that lacks the key.

Source: `properties.anomalies.order.steps`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.order.assignments import assignments, assignments_without
from checkers.histories.anomalies.order.log_positions import LogPositions
from checkers.histories.anomalies.order.step_rows import (
    BETWEEN,
    COUNTED,
    HEAD,
    PARTS,
    POLLS,
    SENDS,
    STEPS,
    TAIL,
    WITHIN,
    Records,
    count_row,
    step_table,
)
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.sorting import (
    Mask,
    codes,
    member,
    run_starts,
    stably_sorted,
)
from checkers.histories.facts.record_locations import POLL_OK, SEND_FAIL, UNCOMMITTED, roles
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch

READS: Final = (
    "op",
    "process",
    "f",
    "outcome",
    "position",
    "kind",
    "key",
    "offset",
    "value",
    "isolation",
)
_KINDS: Final = {POLLS: "poll", SENDS: "send"}


def steps(positions: LogPositions, batch: Batch) -> pa.Table:
    """Returns the steps that skip records or go back in the log, and the number of all steps, in
    one batch of the history's operations.

    If a process occurs also in other batches, the result has the first and the last record of each
    topic partition that the process polled or sent (`HEAD`, `TAIL`).
    """
    assigned = Batch(assignments(batch))
    tables_of_kinds = [_steps_of_kind(kind, positions, assigned, batch) for kind in (POLLS, SENDS)]
    return pa.concat_tables(
        [STEPS.empty_table(), *(table for tables in tables_of_kinds for table in tables)]
    )


def _steps_of_kind(
    kind: int, positions: LogPositions, assigned: Batch, batch: Batch
) -> list[pa.Table]:
    rows = np.flatnonzero(batch.is_in("kind", _KINDS[kind]))
    if not len(rows):
        return []
    rows, group = _by_process_and_key(batch, rows)
    records = _records(positions, batch, rows)
    starts = run_starts(group, records.op.take(rows))
    ends = np.r_[starts[1:], len(rows)] - 1
    first_row, of_op = rows.take(starts), group.take(starts)

    follows = np.ones(len(rows), dtype=np.bool_)
    follows[starts] = False
    if kind == POLLS:
        follows &= ~_rebalanced(batch, records)
    second = np.flatnonzero(follows)
    made = wrong_steps(kind, WITHIN, positions, records, second - 1, second)

    role = records.role.take(starts)
    happened = (role & ~UNCOMMITTED) == POLL_OK if kind == POLLS else role != SEND_FAIL
    checked = np.ones(len(starts), dtype=np.bool_) if kind == POLLS else happened
    moved = np.maximum.accumulate(np.where(happened, np.arange(len(starts)), -1))
    before = np.r_[-1, moved[:-1]]
    known = (before >= 0) & (of_op.take(before) == of_op)
    linked = checked & known
    if len(assigned):
        columns = (records.process, records.key, records.op)
        out = assignments_without(assigned, *(column[first_row] for column in columns))
        linked &= out[before] == out
    begun = np.flatnonzero(linked)
    first, second = ends.take(before.take(begun)), starts.take(begun)
    made += wrong_steps(kind, BETWEEN, positions, records, first, second)

    last = np.r_[run_starts(of_op)[1:], len(of_op)] - 1
    some = (moved[last] >= 0) & (of_op[moved[last]] == of_op[last])
    for row_type, at in ((HEAD, starts[checked & ~known]), (TAIL, ends[moved[last[some]]])):
        open_end = at[positions.in_several_batches.has(records.process[records.row[at]])]
        made.append(step_table(kind, row_type, records, None, open_end, None))
    return made


def _by_process_and_key(batch: Batch, rows: Ints) -> tuple[Ints, Ints]:
    process, processes = codes(batch.ints("process").take(rows))
    key, texts = batch.narrow_codes("key")
    group = process * len(texts) + key.take(rows)
    order, ordered = stably_sorted(group, processes * len(texts))
    return rows.take(order), ordered


def _records(positions: LogPositions, batch: Batch, rows: Ints) -> Records:
    role = roles(batch, positions.isolation).take(rows)
    offset = batch.ints("offset", null=UNKNOWN_OFFSET).take(rows)
    return Records(
        row=rows,
        process=batch.ints("process"),
        key=batch.fingerprints("key"),
        op=batch.ints("op"),
        position=batch.ints("position"),
        value=batch.fingerprints("value"),
        offset=positions.offsets_of(batch, rows, role, offset),
        role=role,
    )


def _rebalanced(batch: Batch, records: Records) -> Mask:
    rows = np.flatnonzero(batch.is_in("kind", "rebalanced"))
    if not len(rows):
        return np.zeros(len(records.row), dtype=np.bool_)
    touched = hash_of_pair(batch.ints("op")[rows], batch.fingerprints("key")[rows])
    made = np.zeros(len(records.row), dtype=np.bool_)
    some = np.flatnonzero(member(records.op[records.row], np.unique(batch.ints("op")[rows])))
    row = records.row[some]
    made[some] = member(hash_of_pair(records.op[row], records.key[row]), np.sort(touched))
    return made


def wrong_steps(
    kind: int, row_type: int, positions: LogPositions, records: Records, first: Ints, second: Ints
) -> list[pa.Table]:
    """Returns a table of the wrong steps, and tables that count all steps.

    A step is wrong in two cases:

    - Its second offset is not higher than its first offset.
    - It skips records. Two sends of different operations are an exception: records of other
      producers may be between them.

    A step with an unknown offset is ignored.
    """
    begin, end = records.offset.take(first), records.offset.take(second)
    known = (begin != UNKNOWN_OFFSET) & (end != UNKNOWN_OFFSET)
    wrong = [np.flatnonzero(known & (end <= begin))]
    skipped_count = [np.zeros(len(wrong[0]), dtype=np.int64)]
    if kind == POLLS or row_type == WITHIN:
        far = np.flatnonzero(known & (end > begin + 1))
        rows = second.take(far)
        dirty = records.role.take(rows) >= UNCOMMITTED
        key = records.key.take(records.row.take(rows))
        over = positions.skipped_count(kind, key, begin.take(far), end.take(far), dirty)
        wrong.append(far[over > 0])
        skipped_count.append(over[over > 0])
    some = np.concatenate(wrong)
    return [
        step_table(
            kind, row_type, records, first[some], second[some], np.concatenate(skipped_count)
        ),
        count_row(kind, COUNTED + row_type, int(np.count_nonzero(known))),
        *_count_of_parts(kind, positions, records, first[known], begin[known]),
    ]


def _count_of_parts(
    kind: int, positions: LogPositions, records: Records, first: Ints, begin: Ints
) -> list[pa.Table]:
    if kind != POLLS or not len(positions.parts):
        return []
    key = records.key.take(records.row.take(first))
    return [count_row(kind, PARTS, int(np.count_nonzero(positions.parts.has(key, begin))))]
