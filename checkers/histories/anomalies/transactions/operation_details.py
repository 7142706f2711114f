"""Looks up operations by their numbers: the outcome, the times, and the number of sent records.

    p1 txn{id=x,end=30} k=a j=b -> ok @0 @0       op 0: ended ok, 2 records

In this example, the client requested the commit or the abort at 30 ns (`end=30`).
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import distinct, run_starts
from checkers.histories.plan.batch import NEVER_NS, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Source, Stage

OK, INFO, FAIL = range(3)
_OPERATIONS: Final = int64_schema(
    "op", "transaction", "outcome", "invoked_ns", "completed_ns", "end_requested_ns", "sends"
)
_DESCRIBED: Final = (
    *("op", "f", "outcome", "kind"),
    *("invoked_ns", "completed_ns", "end_asked_ns"),
)
_SPANS: Final = int64_schema("first_ns", "last_ns", "ascending")


def operation_details(ops: Ints) -> Stage[pa.Table]:
    """Returns a query-plan stage (one query on a dataset) that collects the details of the
    operations `ops`.

    The details are the outcome, the times, and the number of sends.
    """
    ops = distinct(ops)
    run = partial(_details, ops)
    return Stage(
        Source.OPERATIONS, Kernel("details of operations", _DESCRIBED, _OPERATIONS, run, ops=ops)
    )


def _details(ops: Ints, batch: Batch) -> pa.Table:
    few = batch.where(batch.rows_of(ops), _DESCRIBED)
    rows = run_starts(few.ints("op"))
    firsts = few.where(rows)
    outcome = np.where(firsts.is_in("outcome", "ok"), OK, INFO)
    outcome[firsts.is_in("outcome", "fail")] = FAIL
    return table_from(
        _OPERATIONS,
        firsts.ints("op"),
        firsts.is_in("f", "txn").astype(np.int64),
        outcome,
        firsts.ints("invoked_ns"),
        firsts.ints("completed_ns", null=NEVER_NS),
        end_requested_ns(firsts),
        np.add.reduceat(few.is_in("kind", "send").astype(np.int64), rows),
    )


def end_requested_ns(of: Batch) -> Ints:
    """Returns, for each operation, the time at which its client requested a commit or an abort.

    If this time is not recorded, the result is the time of the operation's invocation.
    """
    ends = (of.ints(name, null=NEVER_NS) for name in ("completed_ns", "end_asked_ns"))
    return np.where(of.is_valid("end_asked_ns"), np.minimum(*ends), of.ints("invoked_ns"))


def operation_spans(batch: Batch) -> pa.Table:
    completed = batch.ints("completed_ns", null=NEVER_NS)
    if not len(completed):
        return _SPANS.empty_table()
    ascending = int(np.all(completed[1:] >= completed[:-1]))
    bounds = (completed.min(), completed.max(), ascending)
    return table_from(_SPANS, *(np.array([bound]) for bound in bounds))


def is_in_order(spans: Batch) -> bool:
    """Returns True if the operations are numbered in the order of their completion.

    `spans` has a row for each batch of operations.
    """
    first, last = spans.ints("first_ns"), spans.ints("last_ns")
    return bool(np.all(spans.ints("ascending")) and np.all(first[1:] >= last[:-1]))
