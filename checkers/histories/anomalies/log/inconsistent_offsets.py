"""Defines the query plan of `inconsistent-offsets`: offsets at which two values were observed.

    c1 poll -> ok k=a@0      op 0
    c2 poll -> ok k=b@0      op 1

    key k, offset 0: values a and b, seen by op 0 and op 1

Source: `properties.anomalies.log.inconsistent_offsets`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.anomalies.log.value_locations import (
    COUNT,
    LOCATION_AND_OP,
    count_table,
    grouped_in_lists,
    location_rows,
    shown_locations,
    total,
)
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import (
    run_lengths,
    run_starts,
)
from checkers.histories.facts.record_locations import (
    RECORD_COLUMNS,
    first_rows,
    proves_location,
)
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    in_parallel,
    resolve_fingerprints,
)
from properties.anomalies.log import inconsistent_offsets


def offsets_with_two_values(context: Context) -> Plan[tuple[Finding, ...]]:
    committed = context.unconfirmed.committed
    shared, seen = yield from in_parallel(
        collect(locations_with_several_values(committed)),
        collect(
            Stage(
                Source.RECORD_LOCATIONS,
                Kernel(
                    "offsets observed twice", RECORD_COLUMNS, COUNT, partial(_offsets, committed)
                ),
            )
        ),
    )
    places = Batch(shared)
    key_of = yield from resolve_fingerprints(places.ints("key"), column="key")
    value_of = yield from resolve_fingerprints(places.ints("value"))
    table = pa.table(
        {
            "key": key_of(places.ints("key")),
            "offset": shared["offset"],
            "values": value_of(places.ints("value")),
            "seen_by": shared["op"],
        }
    ).sort_by([("key", "ascending"), ("offset", "ascending"), ("values", "ascending")])
    rows = grouped_in_lists(table, ("key", "offset"), ("values", "seen_by"))
    schema = schema_of(inconsistent_offsets.InconsistentOffset)
    return (
        Finding(
            id=inconsistent_offsets.ANOMALY.id, rows=rows.cast(schema), observations=total(seen)
        ),
    )


def locations_with_several_values(committed: Ints) -> Stage[pa.Table]:
    """Returns a query-plan stage (one query on a dataset) that collects all values at offsets with
    several observed values.

    `committed` has the operations that ended `info` but took effect.
    """
    return Stage(
        Source.RECORD_LOCATIONS,
        Kernel(
            "offsets with two values",
            RECORD_COLUMNS,
            LOCATION_AND_OP,
            partial(_several_values, committed),
        ),
    )


def _several_values(committed: Ints, batch: Batch) -> pa.Table:
    shown = shown_locations(committed, batch)
    counts = run_lengths(_first_values_by_offset(committed, batch), len(shown))
    if not np.any(counts > 1):
        return LOCATION_AND_OP.empty_table()
    return location_rows(committed, batch, shown[np.repeat(counts > 1, counts)])


def _offsets(committed: Ints, batch: Batch) -> pa.Table:
    """Returns one row: how many offsets were observed at least twice in this batch. A batch is a
    part of the history's operations.

    An offset is observed by a poll, and by a send that took effect.
    """
    proofs = proves_location(batch, committed) & (batch.ints("offset") != UNKNOWN_OFFSET)
    starts = run_starts(*map(batch.ints, ("key", "offset")))
    if not len(starts):
        return count_table(0)
    times = np.add.reduceat(proofs, starts, dtype=np.int64)
    return count_table(int(np.count_nonzero(times > 1)))


def _first_values_by_offset(committed: Ints, batch: Batch) -> Ints:
    def made(batch: Batch) -> Ints:
        first = first_rows(batch).take(shown_locations(committed, batch))
        return run_starts(*(batch.ints(name).take(first) for name in ("key", "offset")))

    return batch.derived(("offsets",), made)


CHECKERS: Final = (
    AnomalyChecker(ids=(inconsistent_offsets.ANOMALY.id,), plan=offsets_with_two_values),
)
