"""Defines the query plan that finds processes that skip records of a log, or go back in a log.

    p1 send k=a -> ok @0
    p1 send k=b -> ok @1
    c1 poll     -> ok k=a@0 k=b@1
    c1 poll     -> ok k=a@0          a step from offset 1 to offset 0: nonmonotonic-poll

A *step* of a process is two records of a key that the process polled (or sent) one directly after
the other.

Source: `properties.anomalies.order`.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.cycles.intermediate_reads import intermediate_reads
from checkers.histories.anomalies.cycles.transaction_parts import transaction_parts
from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.anomalies.log.inconsistent_offsets import locations_with_several_values
from checkers.histories.anomalies.order.assignments import (
    ASSIGNMENTS,
    PROCESSES,
    assignments,
    in_several_batches,
    processes_of,
)
from checkers.histories.anomalies.order.log_positions import LogPositions
from checkers.histories.anomalies.order.step_rows import (
    BETWEEN,
    COUNTED,
    PARTS,
    POLLS,
    SENDS,
    STEPS,
    WITHIN,
)
from checkers.histories.anomalies.order.steps import READS, steps
from checkers.histories.anomalies.order.steps_across_batches import steps_across_batches
from checkers.histories.anomalies.order.value_offsets import ValueOffsets
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import Pairs, hash_of_pair
from checkers.histories.columnar.rows import schema_of
from checkers.histories.facts import occupied_offsets
from checkers.histories.facts.occupied_offsets import OccupiedOffsets
from checkers.histories.facts.record_locations import (
    RECORD_COLUMNS,
    UNCOMMITTED,
    proves_location,
)
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    in_parallel,
    resolve_fingerprints,
)
from properties.anomalies.cycles.intermediate_read import ID as G1B
from properties.anomalies.order.ranking import ranked
from properties.anomalies.order.skip import Skip
from properties.anomalies.order.steps import Step

# anomaly -> kind of records, type of steps, class of its rows
ANOMALIES: Final = {
    "int-poll-skip": (POLLS, WITHIN, Skip),
    "int-send-skip": (SENDS, WITHIN, Skip),
    "poll-skip": (POLLS, BETWEEN, Skip),
    "int-nonmonotonic-poll": (POLLS, WITHIN, Step),
    "int-nonmonotonic-send": (SENDS, WITHIN, Step),
    "nonmonotonic-poll": (POLLS, BETWEEN, Step),
    "nonmonotonic-send": (SENDS, BETWEEN, Step),
}
_SHOWN: Final = pa.schema([(n, pa.int64()) for n in ("key", "offset", "value", "op", "dirty")])
_MISSED: Final = ("skipped_offset", "skipped_value", "skipped_op")
_ASSIGNMENT_COLUMNS: Final = ("op", "process", "f", "outcome", "kind", "key")


def process_order(context: Context) -> Plan[tuple[Finding, ...]]:
    """Returns the findings about faulty steps, and the finding of the anomaly G1b.

    A step is two records of a topic partition that a process polled (or sent) one directly after
    the other. A faulty step skips records or goes back.

    In the anomaly G1b, a reader polled a part of a transaction, and then a later record of the same
    topic partition. But the reader never polled the last record of the transaction.
    """
    words, outranked, parts, assigned, worked = yield from in_parallel(
        collect(occupied_offsets.occupied_offsets(context.unconfirmed.committed, context.aborted)),
        _outranked(context),
        transaction_parts(context),
        collect(
            Stage(
                Source.OPERATIONS,
                Kernel("assignments", _ASSIGNMENT_COLUMNS, ASSIGNMENTS, assignments),
            )
        ),
        collect(
            Stage(Source.OPERATIONS, Kernel("processes", ("process",), PROCESSES, processes_of))
        ),
    )
    positions = LogPositions(
        isolation=context.declared.isolation,
        committed=context.unconfirmed.committed,
        values=ValueOffsets.only(context.unconfirmed)
        if outranked is None
        else ValueOffsets.last(context.unconfirmed, outranked),
        log=OccupiedOffsets.of(words),
        log_starts=context.log_starts,
        parts=parts,
        in_several_batches=in_several_batches(Batch(worked)),
    )
    run = partial(steps, positions)
    observed = yield from collect(Stage(Source.OPERATIONS, Kernel("steps", READS, STEPS, run)))
    every = Batch(pa.concat_tables([observed, steps_across_batches(positions, assigned, observed)]))
    wrong = every.where(every.ints("row_type") < COUNTED)
    missed = yield from _with_first_skipped(context, positions, wrong)
    key_of = yield from resolve_fingerprints(wrong.ints("key"), column="key")
    values = ("first_value", "second_value", "skipped_value")
    value_of = yield from resolve_fingerprints(*(missed.ints(name) for name in values))
    texts = {name: value_of(missed.ints(name)) for name in values}
    rows = missed.table.drop_columns(["key", *values])
    rows = rows.append_column("skipped", rows["skipped_count"])
    for name, column in {"key": key_of(wrong.ints("key")), **texts}.items():
        rows = rows.append_column(name, column)
    made: list[Finding] = []
    for name, (kind, row_type, row) in ANOMALIES.items():
        of_kind = (missed.ints("kind") == kind) & (missed.ints("row_type") == row_type)
        here = of_kind & ((missed.ints("skipped_count") > 0) == (row is Skip))
        counts = (every.ints("kind") == kind) & (every.ints("row_type") == COUNTED + row_type)
        schema = schema_of(row)
        made.append(
            Finding(
                id=name,
                rows=rows.filter(pa.array(here)).select(schema.names).cast(schema),
                observations=int(every.ints("skipped_count")[counts].sum()),
            )
        )
    polled = wrong.where((wrong.ints("kind") == POLLS) & (wrong.ints("skipped_count") > 0))
    of_parts = every.ints("row_type") == PARTS
    halves = intermediate_reads(context, polled, int(every.ints("skipped_count")[of_parts].sum()))
    return (*made, (yield from halves))


def _outranked(context: Context) -> Plan[Batch | None]:
    """Returns the values that Jepsen ignores, because another value of the same offset ranks
    higher.

    If several values were observed at an offset, Jepsen takes one of them as the record at this
    offset. Returns None if the option `--jepsen` is not set.
    """
    if not context.declared.jepsen:
        return None
    several = Batch(
        (yield from collect(locations_with_several_values(context.unconfirmed.committed)))
    )
    value_of = yield from resolve_fingerprints(several.ints("value"))
    texts = value_of(several.ints("value")).to_pylist()
    places = list(zip(several.ints("key").tolist(), several.ints("offset").tolist(), strict=True))
    values: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for place, text in zip(places, texts, strict=True):
        values[place].append(text)
    # In Jepsen, only the value that ranks first is the record at an offset.
    first = {place: ranked(some) for place, some in values.items()}
    lower = [first[place] != text for place, text in zip(places, texts, strict=True)]
    return several.where(np.array(lower, dtype=np.bool_))


def _with_first_skipped(context: Context, positions: LogPositions, wrong: Batch) -> Plan[Batch]:
    key, kind = wrong.ints("key"), wrong.ints("kind")
    everything = (kind == SENDS) | (wrong.ints("role") >= UNCOMMITTED)
    skips = wrong.ints("skipped_count") > 0
    # 0: the step skips no record
    columns = {name: np.zeros(len(wrong), dtype=np.int64) for name in _MISSED}
    if skips.any():
        offset = np.zeros(len(wrong), dtype=np.int64)
        for of_kind in (POLLS, SENDS):
            for of_all, log in ((True, positions.log.everything), (False, positions.log.clean)):
                some = np.flatnonzero(skips & (kind == of_kind) & (everything == of_all))
                low = positions.first_skippable(
                    of_kind, key[some], wrong.ints("first_offset")[some]
                )
                offset[some] = log.next_from(key[some], low)
        places = Pairs.of(key[skips], offset[skips])
        run = partial(shown_locations, positions.committed, context.aborted, places)
        shown = yield from collect(
            Stage(
                Source.RECORD_LOCATIONS,
                Kernel("skipped records", RECORD_COLUMNS, _SHOWN, run),
                Batch,
            )
        )
        value_of = yield from resolve_fingerprints(shown.ints("value"))
        ranked = _ranked(shown, value_of(shown.ints("value")))
        for of_all in (True, False):
            some = np.flatnonzero(skips & (everything == of_all))
            seen = ranked if of_all else ranked.where(ranked.ints("dirty") == 0)
            row = _first_at(seen, key[some], offset[some])
            columns["skipped_offset"][some] = offset[some]
            columns["skipped_value"][some] = seen.ints("value")[row]
            columns["skipped_op"][some] = seen.ints("op")[row]
    table = wrong.table
    for name, column in columns.items():
        table = table.append_column(name, pa.array(column))
    return Batch(table)


def shown_locations(committed: Ints, aborted: Pairs, places: Pairs, batch: Batch) -> pa.Table:
    few = batch.where(places.have(batch.ints("key"), batch.ints("offset")))
    few = few.where(proves_location(few, committed))
    columns = {name: few.ints(name) for name in ("key", "offset", "value", "op")}
    dirty = occupied_offsets.may_be_skipped(aborted, few).astype(np.int64)
    return pa.table({**columns, "dirty": dirty}, schema=_SHOWN)


def _ranked(shown: Batch, texts: pa.Array) -> Batch:
    _, rank = np.unique(np.array(texts.to_pylist(), dtype=object), return_inverse=True)
    place = hash_of_pair(shown.ints("key"), shown.ints("offset"))
    return shown.where(np.lexsort([rank, shown.ints("op"), place]))


def _first_at(ranked: Batch, key: Ints, offset: Ints) -> Ints:
    places = hash_of_pair(ranked.ints("key"), ranked.ints("offset"))
    return np.searchsorted(places, hash_of_pair(key, offset))


CHECKERS: Final = (AnomalyChecker(ids=(*ANOMALIES, G1B), plan=process_order),)
