"""Inquiry into the order of logs as processes see it: what they skip, and where they go back.

Source: `properties.anomalies.order`.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.cycles.intermediate_reads import intermediate_reads
from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.anomalies.log.log import contested
from checkers.histories.anomalies.order.steps import (
    ASSIGNED,
    AT_WORK,
    BETWEEN,
    COUNTED,
    HEAD,
    POLLS,
    READS,
    SENDS,
    STEPS,
    WITHIN,
    Ground,
    across,
    assignments,
    at_work,
    lasting,
    steps,
)
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.rows import schema_of
from checkers.histories.facts import occupied_offsets
from checkers.histories.facts.occupied_offsets import OccupiedOffsets
from checkers.histories.facts.record_locations import (
    RECORD_COLUMNS,
    UNCOMMITTED,
    Pairs,
    hash_of_pair,
    proves_location,
    role_of,
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

# anomaly -> of which walk, which steps, as what rows
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
_ASSIGNED_READS: Final = ("op", "process", "f", "outcome", "kind", "key")


def in_order(context: Context) -> Plan[tuple[Finding, ...]]:
    """All that steps show."""
    isolation = context.declared.isolation
    words, several, assigned, worked = yield from in_parallel(
        collect(occupied_offsets.occupied_offsets(context.unconfirmed.committed)),
        collect(contested(context.unconfirmed.committed)),
        collect(
            Stage(
                Source.OPERATIONS, Kernel("who reads what", _ASSIGNED_READS, ASSIGNED, assignments)
            )
        ),
        collect(Stage(Source.OPERATIONS, Kernel("who is at work", ("process",), AT_WORK, at_work))),
    )
    outranked = yield from _outranked(Batch(several))
    known_of = OccupiedOffsets.of(words), context.log_starts, lasting(Batch(worked))
    ground = Ground.of(isolation, context.unconfirmed, outranked, *known_of)
    run = partial(steps, ground)
    told = yield from collect(
        Stage(Source.OPERATIONS, Kernel("steps of processes", READS, STEPS, run))
    )
    every = Batch(pa.concat_tables([told, across(ground, assigned, told)]))
    wrong = every.where(every.ints("what") < COUNTED)
    missed = yield from _missed(ground, wrong)
    key_of = yield from resolve_fingerprints(wrong.ints("key"), column="key")
    values = ("first_value", "second_value", "skipped_value")
    value_of = yield from resolve_fingerprints(*(missed.ints(name) for name in values))
    texts = {name: value_of(missed.ints(name)) for name in values}
    rows = missed.table.drop_columns(["key", *values])
    rows = rows.append_column("skipped", rows["times"])
    for name, column in {"key": key_of(wrong.ints("key")), **texts}.items():
        rows = rows.append_column(name, column)
    made: list[Finding] = []
    for name, (walk, what, row) in ANOMALIES.items():
        of_walk = (missed.ints("walk") == walk) & (missed.ints("what") == what)
        here = of_walk & ((missed.ints("times") > 0) == (row is Skip))
        counts = (every.ints("walk") == walk) & (every.ints("what") == COUNTED + what)
        schema = schema_of(row)
        made.append(
            Finding(
                id=name,
                rows=rows.filter(pa.array(here)).select(schema.names).cast(schema),
                observations=int(every.ints("times")[counts].sum()),
            )
        )
    polled = wrong.where((wrong.ints("walk") == POLLS) & (wrong.ints("times") > 0))
    told_of = every.ints("what")
    counted = (every.ints("walk") == POLLS) & (told_of >= COUNTED) & (told_of < HEAD)
    halves = intermediate_reads(context, polled, int(every.ints("times")[counted].sum()))
    return (*made, (yield from halves))


def _outranked(contested: Batch) -> Plan[Batch]:
    """The places at which a value does not rank, because another does."""
    value_of = yield from resolve_fingerprints(contested.ints("value"))
    texts = value_of(contested.ints("value")).to_pylist()
    places = list(
        zip(contested.ints("key").tolist(), contested.ints("offset").tolist(), strict=True)
    )
    values: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for place, text in zip(places, texts, strict=True):
        values[place].append(text)
    first = {place: ranked(some) for place, some in values.items()}
    lower = [first[place] != text for place, text in zip(places, texts, strict=True)]
    return contested.where(np.array(lower, dtype=np.bool_))


def _missed(ground: Ground, wrong: Batch) -> Plan[Batch]:
    """The steps, and of each that skips the first record that it went over and who showed it."""
    key, walk = wrong.ints("key"), wrong.ints("walk")
    everything = (walk == SENDS) | (wrong.ints("role") >= UNCOMMITTED)
    skips = wrong.ints("times") > 0
    columns = {name: np.zeros(len(wrong), dtype=np.int64) for name in _MISSED}
    if skips.any():
        offset = np.zeros(len(wrong), dtype=np.int64)
        for of_walk in (POLLS, SENDS):
            for of_all, log in ((True, ground.log.everything), (False, ground.log.clean)):
                some = np.flatnonzero(skips & (walk == of_walk) & (everything == of_all))
                low = ground.lowest(of_walk, key[some], wrong.ints("first_offset")[some])
                offset[some] = log.next_from(key[some], low)
        run = partial(_shown, ground.committed, Pairs.of(key[skips], offset[skips]))
        shown = yield from collect(
            Stage(
                Source.RECORD_LOCATIONS,
                Kernel("what was skipped", RECORD_COLUMNS, _SHOWN, run),
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


def _shown(committed: Ints, places: Pairs, batch: Batch) -> pa.Table:
    """Who showed what at these places."""
    few = batch.where(places.have(batch.ints("key"), batch.ints("offset")))
    few = few.where(proves_location(few, committed))
    columns = {name: few.ints(name) for name in ("key", "offset", "value", "op")}
    dirty = (role_of(few) >= UNCOMMITTED).astype(np.int64)
    return pa.table({**columns, "dirty": dirty}, schema=_SHOWN)


def _ranked(shown: Batch, texts: pa.Array) -> Batch:
    """By place; of each the first operation first, and of its values the first text."""
    _, rank = np.unique(np.array(texts.to_pylist(), dtype=object), return_inverse=True)
    place = hash_of_pair(shown.ints("key"), shown.ints("offset"))
    return shown.where(np.lexsort([rank, shown.ints("op"), place]))


def _first_at(ranked: Batch, key: Ints, offset: Ints) -> Ints:
    """The first row of each place."""
    places = hash_of_pair(ranked.ints("key"), ranked.ints("offset"))
    return np.searchsorted(places, hash_of_pair(key, offset))


CHECKERS: Final = (AnomalyChecker(ids=(*ANOMALIES, G1B), plan=in_order),)
