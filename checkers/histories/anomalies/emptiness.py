"""Checks whether a history is empty. By the rules of Jepsen, a history without operations is
invalid.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.columnar.rows import schema_of
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Plan, Source, Stage, collect
from properties.anomalies.empty_history import ANOMALY, EmptyHistory

_OPERATION_NUMBERS: Final = pa.schema([("op", pa.int64())])


def empty_history(context: Context) -> Plan[tuple[Finding, ...]]:
    del context
    some = yield from collect(
        Stage(
            Source.OPERATIONS,
            Kernel("checking that the history has operations", ("op",), _OPERATION_NUMBERS, _first),
        )
    )
    rows = [] if some.num_rows else [{"operations": 0}]
    table = pa.Table.from_pylist(rows, schema=schema_of(EmptyHistory))
    return (Finding(id=ANOMALY.id, rows=table, observations=1),)


def _first(batch: Batch) -> pa.Table:
    return batch.table.select(["op"]).slice(0, 1).cast(_OPERATION_NUMBERS)


CHECKERS: Final = (
    AnomalyChecker(
        ids=(ANOMALY.id,), plan=empty_history, assumes=(), columns=("op",), needs_shuffle=False
    ),
)
