"""Finds, for each application, the first record that was delivered twice, with both deliveries.

    batch 0   c1 poll -> ok k=a@0      op 0   delivers offset 0
    batch 1   c1 poll -> ok k=a@0      op 1   delivers offset 0 a second time

The history is processed in batches of operations. The second delivery is in the first batch that
repeats an offset of the application. The first delivery of the offset may be in any batch.

Source: `properties.delivery`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.delivery import delivery_kernels
from checkers.histories.anomalies.delivery.applications import (
    Application,
    DeliveredAt,
    Repeated,
    rows_by_owner,
)
from checkers.histories.anomalies.delivery.delivery_kernels import (
    FIRST,
    IN_FULL,
    POLLED,
)
from checkers.histories.columnar.sorting import member
from checkers.histories.facts.owner_offsets import OwnerOffsets
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
)


def find_repetitions(
    applications: dict[int, Application], ok: pa.Table, delivered: OwnerOffsets
) -> Plan[None]:
    """Stores in `applications` the first record that each application received twice.

    `delivered` has the delivered offsets of the whole history, and `ok` has the delivered offsets
    of each batch of operations.
    """
    again = delivered.where(delivered.repeated != 0)
    where = {
        owner: int(again.repeated_in[some].min()) for owner, some in rows_by_owner(again.owner)
    }
    if not where:
        return
    owners = np.array(sorted(where), dtype=np.int64)
    batches = np.array([where[owner] for owner in owners.tolist()], dtype=np.int64)
    at = replace(again, repeated_in=batches[np.searchsorted(owners, again.owner)])
    run, title = partial(delivery_kernels.repeated_deliveries, at), "repeated deliveries"
    some = frozenset(where.values())
    rows = yield from collect(
        Stage(Source.OPERATIONS, Kernel(title, IN_FULL, POLLED, run, partitions=some), Batch)
    )
    shown = Batch(ok)
    shown = shown.where(member(shown.ints("owner"), owners))
    earlier = shown.ints("batch") < batches[np.searchsorted(owners, shown.ints("owner"))]
    for owner, it in _first_repetitions(rows, OwnerOffsets.of(shown.where(earlier).table)).items():
        applications[owner].keep_earliest(it)
    incomplete = [
        (owner, it.repetition)
        for owner, it in applications.items()
        if it.repetition is not None and it.repetition.first is None
    ]
    key = np.array([it.key for _, it in incomplete], dtype=np.int64)
    offset = np.array([it.second[2] for _, it in incomplete], dtype=np.int64)
    first = partial(
        delivery_kernels.first_deliveries,
        np.array([it[0] for it in incomplete], np.int64),
        key,
        offset,
    )
    found = yield from collect(
        Stage(Source.OPERATIONS, Kernel("first deliveries", IN_FULL, FIRST, first))
    )
    earliest: dict[int, DeliveredAt] = {}
    for row in found.to_pylist():
        delivery = row["op"], row["position"], int(offset[row["query"]])
        earliest[row["query"]] = min(delivery, earliest.get(row["query"], delivery))
    for number, (owner, it) in enumerate(incomplete):
        applications[owner].repetition = replace(it, first=earliest[number])


def _first_repetitions(rows: Batch, before: OwnerOffsets) -> dict[int, Repeated]:
    names = ("owner", "key", "value", "offset", "op", "position")
    columns = [rows.ints(name) for name in names]
    had = before.has(columns[0], columns[1], columns[3])
    order = np.lexsort([columns[5], columns[4]])
    seen: set[tuple[int, int, int]] = set()
    found: dict[int, Repeated] = {}
    ordered = (column[order].tolist() for column in (*columns, had))
    for owner, key, value, offset, op, position, earlier in zip(*ordered, strict=True):
        if owner not in found and (earlier or (owner, key, offset) in seen):
            found[owner] = Repeated((op, position, offset), None, key, value)
        seen.add((owner, key, offset))
    return found
