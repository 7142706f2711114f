"""Defines the table STEPS: how processes moved through logs in one batch of operations.

    p1 txn k=a k=b k=c -> ok @0 @1 @2
    c1 poll            -> ok k=a@0            op 1
    c1 poll            -> ok k=c@2 k=b@1      op 2     the last operation of the batch
    c1 poll            -> ok k=c@2            op 3     in the next batch

    HEAD               op 1 offset 0
    BETWEEN            op 1 offset 0, op 2 offset 2, skipped 1
    WITHIN             op 2 offset 2, op 2 offset 1, skipped 0
    COUNTED + BETWEEN  1
    COUNTED + WITHIN   1
    PARTS              1                      the step from a, which is a part of the transaction
    TAIL               op 2 offset 1

A step is two records of one key that a process polled (or sent) one directly after the other. Each
row of the table has one of these types:

- `WITHIN`: a faulty step (one that skips records or goes back) inside one operation.
- `BETWEEN`: a faulty step from one operation to the next operation.
- `COUNTED` + `WITHIN`: the number of all steps inside one operation, including correct steps.
- `COUNTED` + `BETWEEN`: the number of all steps from one operation to the next operation.
- `PARTS`: the number of polled steps that begin at an intermediate record. The transaction that
  sent this record sent a later record to the same key (anomaly G1b).
- `HEAD` and `TAIL`: the first and the last record of a process and key in the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints

POLLS: Final = 0
SENDS: Final = 1
# values of `row_type`
WITHIN: Final = 0  # a step inside an operation that skips records or goes back
BETWEEN: Final = 1  # a step from one operation to the next that skips records or goes back
COUNTED: Final = 2  # plus WITHIN or BETWEEN: `skipped_count` is the number of all such steps
PARTS: Final = 4  # `skipped_count` is the number of steps that begin at a part of a transaction
HEAD: Final = 5
TAIL: Final = 6
STEPS: Final = pa.schema(
    [("kind", pa.int8()), ("row_type", pa.int8())]
    + [
        (name, pa.int64())
        for name in (
            *(
                "process",
                "key",
                "role",
                "skipped_count",
            ),
            *("second_op", "second_position", "second_value", "second_offset"),
            *("first_op", "first_position", "first_value", "first_offset"),
        )
    ]
)


@dataclass(frozen=True, slots=True)
class Records:
    """The polled records of one batch of the history's operations, or its sent records.

    `row`, `offset` and `role` have one entry for each record. The other arrays have one entry for
    each row of the batch.
    """

    row: Ints  # in the batch
    process: Ints
    key: Ints
    op: Ints
    position: Ints
    value: Ints
    offset: Ints
    role: Ints  # send or poll, with its outcome

    def where(self, some: Ints) -> dict[str, Ints]:
        row, names = self.row[some], ("op", "position", "value")
        return {name: getattr(self, name)[row] for name in names} | {"offset": self.offset[some]}


def step_table(
    kind: int,
    row_type: int,
    records: Records,
    first: Ints | None,
    second: Ints,
    skipped_count: Ints | None,
) -> pa.Table:
    none, row = np.zeros(len(second), dtype=np.int64), records.row[second]
    columns = {
        "kind": np.full(len(second), kind),
        "row_type": np.full(len(second), row_type),
        "process": records.process[row],
        "key": records.key[row],
        "role": records.role[second],
        "skipped_count": none if skipped_count is None else skipped_count,
    }
    for end, some in (("second", second), ("first", first)):
        for name in ("op", "position", "value", "offset"):
            columns[f"{end}_{name}"] = none
        if some is not None:
            columns |= {f"{end}_{name}": cells for name, cells in records.where(some).items()}
    return pa.table(columns).cast(STEPS)


def count_row(kind: int, row_type: int, count: int) -> pa.Table:
    row = dict.fromkeys(STEPS.names, 0)
    row |= {"kind": kind, "row_type": row_type, "skipped_count": count}
    return pa.Table.from_pylist([row], schema=STEPS)
