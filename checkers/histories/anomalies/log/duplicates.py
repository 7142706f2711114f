"""Defines the query plan of `duplicate`: values that occur at two offsets of a log.

    p1 send k=a -> ok @0           op 0
    c1 poll     -> ok k=a@0 k=a@1  op 1

    key k, value a: offsets 0 and 1, seen by op 0 and op 1

A send is acknowledged at no more than one offset. So a value at two offsets was polled at an offset
where no send of the value was acknowledged: the value is *unconfirmed*. The plan searches only the
unconfirmed values, which are few.

Source: `properties.anomalies.log.duplicate`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.anomalies.log.value_locations import (
    COUNT,
    count_table,
    grouped_in_lists,
    shown_locations,
    total,
    unconfirmed_locations,
)
from checkers.histories.columnar.pairs import pairs_in
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import (
    any_in_run,
    run_lengths,
    runs,
)
from checkers.histories.facts.record_locations import (
    POLL_OK,
    RECORD_COLUMNS,
    first_rows,
    role_of,
)
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    resolve_fingerprints,
)
from properties.anomalies.log import duplicate


def duplicates(context: Context) -> Plan[tuple[Finding, ...]]:
    unconfirmed = context.unconfirmed
    count = partial(_confirmed, unconfirmed)
    seen = yield from collect(
        Stage(Source.RECORD_LOCATIONS, Kernel("located values", RECORD_COLUMNS, COUNT, count))
    )
    places = unconfirmed_locations(unconfirmed)
    order, begins = runs(places.ints("key"), places.ints("value"))
    counts = run_lengths(begins, len(order))
    several = places.where(order[np.repeat(counts > 1, counts)])
    key_of = yield from resolve_fingerprints(several.ints("key"), column="key")
    value_of = yield from resolve_fingerprints(several.ints("value"))
    table = pa.table(
        {
            "key": key_of(several.ints("key")),
            "value": value_of(several.ints("value")),
            "offsets": several.table["offset"],
            "seen_by": several.table["op"],
        }
    ).sort_by([("key", "ascending"), ("value", "ascending"), ("offsets", "ascending")])
    rows = grouped_in_lists(table, ("key", "value"), ("offsets", "seen_by"))
    polls = unconfirmed.observations.where(unconfirmed.observations.ints("role") >= POLL_OK)
    located = places.where(order[begins])
    polled = pairs_in(*(of.ints(n) for of in (located, polls) for n in ("key", "value")))
    observations = total(seen) + int(np.count_nonzero(polled))
    schema = schema_of(duplicate.Duplicate)
    return (Finding(id=duplicate.ANOMALY.id, rows=rows.cast(schema), observations=observations),)


def _confirmed(unconfirmed: UnconfirmedValues, batch: Batch) -> pa.Table:
    shown = shown_locations(unconfirmed.committed, batch)
    polled = any_in_run(role_of(batch) >= POLL_OK, first_rows(batch)).take(shown)
    confirmed = ~unconfirmed.of_first_rows(batch).take(shown)
    return count_table(int(np.count_nonzero(polled & confirmed)))


CHECKERS: Final = (AnomalyChecker(ids=(duplicate.ANOMALY.id,), plan=duplicates),)
