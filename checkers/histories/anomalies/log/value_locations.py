"""Finds the locations of values: offsets at which the history proves that a value is in the log.

The first two lines prove the location in the table below:

    p1 send k=a -> ok @0      op 0
    c1 poll     -> ok k=a@0   op 1

    key  offset  value  op
    k    0       a      0         op 0 is the first operation that proves this location

For each block of 65,536 offsets, one Spark task finds the locations. The driver finds the locations
of unconfirmed values, which were polled at an offset where no send of the value was acknowledged.

Source: `properties.anomalies.observations`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import (
    any_in_run,
    first_in_run,
    grouping_order,
)
from checkers.histories.facts.record_locations import LOCATION, first_rows, proves_location
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch

COUNT: Final = pa.schema([("count", pa.int64())])
LOCATION_AND_OP: Final = pa.schema(
    [(name, pa.int64()) for name in ("key", "offset", "value", "op")]
)


def shown_locations(committed: Ints, batch: Batch) -> Ints:
    """Returns the numbers of the locations at which the history proves that a value is in the log.

    A location is a group of adjacent rows with the same key (topic partition), offset and value.
    Locations are numbered from 0. `committed` has the operations that took effect although they
    ended `info`.
    """

    def made(batch: Batch) -> Ints:
        at = first_rows(batch)
        is_located = any_in_run(proves_location(batch, committed), at)
        return np.flatnonzero(is_located & (batch.ints("offset").take(at) != UNKNOWN_OFFSET))

    return batch.derived(("shown",), made)


def location_rows(committed: Ints, batch: Batch, shown: Ints) -> pa.Table:
    first = first_rows(batch)[shown]
    op = batch.ints("op")[first_in_run(proves_location(batch, committed), first)]
    return table_from(LOCATION_AND_OP, *(batch.ints(name)[first] for name in LOCATION), op)


def unconfirmed_locations(unconfirmed: UnconfirmedValues) -> Batch:
    """Returns a row for each offset at which an unconfirmed value is certainly in the log.

    An unconfirmed value was polled at an offset where no send of the value was acknowledged. The
    rows are ordered by key (topic partition), offset and value.
    """

    def made(_: Batch) -> Batch:
        observed = unconfirmed.locations()
        batch = observed.where(grouping_order(*map(observed.ints, LOCATION)))
        return Batch(
            location_rows(
                unconfirmed.committed, batch, shown_locations(unconfirmed.committed, batch)
            )
        )

    return unconfirmed.observations.derived(("unconfirmed locations",), made)


def count_table(count: int) -> pa.Table:
    return pa.table({"count": [count]}, schema=COUNT)


def total(counts: pa.Table) -> int:
    return sum(counts["count"].to_pylist())


def grouped_in_lists(table: pa.Table, by: tuple[str, ...], lists: tuple[str, ...]) -> pa.Table:
    """Returns one row for each combination of values in the columns `by`.

    In such a row, each column in `lists` has a list of the values of the combined rows.
    """
    made = table.group_by(list(by), use_threads=False).aggregate([(name, "list") for name in lists])
    return made.rename_columns([*by, *lists])
