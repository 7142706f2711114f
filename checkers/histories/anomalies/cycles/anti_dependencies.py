"""Defines the query plan that finds cycles with anti-dependencies.

An operation has an anti-dependency (`rw`) if it polled a record, but missed the next record:

    p1 send k=a -> ok @0      op 0
    p2 send k=b -> ok @1      op 1
    c1 poll     -> ok k=a@0   op 2     rw  op 2 -> op 1: op 2 read a but not the next record, b

The module `cycles` collects only the dependencies inside some ranges of time. This plan collects
all dependencies, because the dependencies of a lagging reader go far back in time.

Source: `properties.anomalies.cycles`.
Simplified: this check runs only with the option `--rw-deps`, and its data must fit in memory. The
data needs about 100 bytes for each pair of an operation and a key that the operation polled, and
about 50 bytes for each pair of dependent operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.cycles.block_ends import (
    ENDS,
    block_ends,
    log_records_of_ends,
    ww_between_blocks,
)
from checkers.histories.anomalies.cycles.cycle_search import strong_components
from checkers.histories.anomalies.cycles.cycles import (
    Step,
    cycle_of,
    labelled_dependencies,
    neighbours,
    rows_of,
)
from checkers.histories.anomalies.cycles.dependency_context import (
    UNKNOWN_SENDER,
    DependencyContext,
    UnconfirmedSenders,
    locations_stage,
)
from checkers.histories.anomalies.cycles.log_records import LogRecords, log_records
from checkers.histories.anomalies.cycles.record_dependencies import (
    EDGES,
    LABELS,
    RW,
    all_dependencies,
    unconfirmed_wr,
    with_records,
)
from checkers.histories.anomalies.cycles.time_ranges import InfoSenders
from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import (
    NumberSet,
    distinct,
    member,
    run_lengths,
    run_starts,
    runs,
)
from checkers.histories.facts.record_locations import POLL_OK, block, role_of
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.stage import Plan, collect, in_parallel
from properties.anomalies.cycles.components import SEARCHED
from properties.anomalies.cycles.cycle import G2, G_SINGLE, Cycle, of_anti_dependencies

NEXT_BLOCK: Final = -2  # the next record is in a later block
_LAST: Final = int64_schema("reader", "key", "offset", "value")
_NEXT: Final = int64_schema("key", "offset", "sender", "next_value")
_NO_OPS: Final = np.zeros(0, dtype=np.int64)


# ---------------------------------------------------------------- the next record of each reader


def _last_polled(dependencies: DependencyContext, batch: Batch) -> pa.Table:
    key, offset, value = (batch.ints(name) for name in ("key", "offset", "value"))
    # A record is confirmed if it was polled only at offsets where a send of it was acknowledged.
    is_unconfirmed = member(hash_of_pair(key, value), dependencies.senders.pairs)
    rows = np.flatnonzero(
        (role_of(batch) >= POLL_OK) & ~is_unconfirmed & (offset != UNKNOWN_OFFSET)
    )
    return _last_per_reader(batch.ints("op")[rows], key[rows], offset[rows], value[rows])


def _last_per_reader(reader: Ints, key: Ints, offset: Ints, value: Ints) -> pa.Table:
    which = hash_of_pair(reader, key)
    order, starts = runs(which, offset, value)
    once = order[starts]
    groups = run_starts(which[once])
    ends = np.r_[groups[1:], len(once)][: len(groups)] - 1
    furthest = np.repeat(offset[once[ends]], run_lengths(groups, len(once)))
    row = once[offset[once] == furthest]
    return table_from(_LAST, reader[row], key[row], offset[row], value[row])


def _next_in_block(
    dependencies: DependencyContext, keys: Ints, offsets: Ints, batch: Batch
) -> pa.Table:
    return _next(log_records(dependencies, batch), keys, offsets, in_later_block=False)


def _next(log: LogRecords, keys: Ints, offsets: Ints, *, in_later_block: bool) -> pa.Table:
    """Returns, for each offset `offsets[i]` of the log `keys[i]`, the values at the next offset
    with a record, and their senders.

    If `in_later_block` is False, the next offset must be in the same block of 65,536 offsets. An
    offset without a later record in its block gets one row, whose `sender` is NEXT_BLOCK.
    """
    starts, sizes = log.groups()
    key, offset = log.key[starts], log.offset[starts]
    at = np.flatnonzero(member(hash_of_pair(key, offset), np.sort(hash_of_pair(keys, offsets))))
    after = np.minimum(at + 1, len(starts) - 1)
    same = (at + 1 < len(starts)) & (key[after] == key[at])
    if not in_later_block:
        same &= block(offset[after]) == block(offset[at])
    many = sizes[after[same]]
    of_place = np.repeat(at[same], many)
    first = np.repeat(starts[after[same]], many)
    place = first + np.arange(len(first)) - np.repeat(np.cumsum(many) - many, many)
    linked = log.last[place] & (log.sender[place] != UNKNOWN_SENDER)
    of_place, place = of_place[linked], place[linked]
    open_still = at[~same] if not in_later_block else _NO_OPS
    nothing = np.zeros(len(open_still), dtype=np.int64)
    return table_from(
        _NEXT,
        key[np.r_[of_place, open_still]],
        offset[np.r_[of_place, open_still]],
        np.r_[log.sender[place], np.full(len(open_still), NEXT_BLOCK)],
        np.r_[log.value[place], nothing],
    )


def _unconfirmed_reads(dependencies: DependencyContext, unconfirmed: UnconfirmedValues) -> pa.Table:
    polls = unconfirmed.observations.where(unconfirmed.observations.ints("role") >= POLL_OK)
    key, value = polls.ints("key"), polls.ints("value")
    last = dependencies.senders.last[
        np.searchsorted(dependencies.senders.pairs, hash_of_pair(key, value))
    ]
    some = last != UNKNOWN_OFFSET
    return table_from(_LAST, polls.ints("op")[some], key[some], last[some], value[some])


def _rw_dependencies(
    dependencies: DependencyContext, unconfirmed: UnconfirmedValues, observed: pa.Table, ends: Batch
) -> Plan[pa.Table]:
    seen = Batch(pa.concat_tables([observed, _unconfirmed_reads(dependencies, unconfirmed)]))
    reads = Batch(_last_per_reader(*(seen.ints(name) for name in _LAST.names)))
    key, offset = reads.ints("key"), reads.ints("offset")
    run = partial(_next_in_block, dependencies, key, offset)
    near = Batch((yield from collect(locations_stage("next records", _NEXT, run))))
    across = near.where(near.ints("sender") == NEXT_BLOCK)
    far = _next(
        log_records_of_ends(ends), across.ints("key"), across.ints("offset"), in_later_block=True
    )
    here = near.where(near.ints("sender") != NEXT_BLOCK).table
    following = Batch(pa.concat_tables([here, far]))
    places = hash_of_pair(following.ints("key"), following.ints("offset"))
    order = np.argsort(places, kind="stable")
    wanted = hash_of_pair(key, offset)
    low, high = (np.searchsorted(places[order], wanted, side=side) for side in ("left", "right"))
    many = high - low
    read = np.repeat(np.arange(len(reads)), many)
    place = np.repeat(low, many) + np.arange(len(read)) - np.repeat(np.cumsum(many) - many, many)
    after = order[place]
    sender = following.ints("sender")[after]
    some = sender != reads.ints("reader")[read]
    read, after = read[some], after[some]
    return table_from(
        LABELS,
        reads.ints("reader")[read],
        sender[some],
        np.full(len(read), RW),
        key[read],
        reads.ints("value")[read],
        following.ints("next_value")[after],
    )


# ---------------------------------------------------------------- the search for cycles


def _searched(flow: Batch, missed: Batch) -> Iterator[tuple[str, tuple[int, ...], int]]:
    ends = [side.ints(name) for side in (flow, missed) for name in ("first", "second")]
    ops = distinct(np.concatenate(ends))
    first, second, reader, sender = (np.searchsorted(ops, end) for end in ends)
    label = strong_components([(first, second), (reader, sender)], len(ops))
    sizes = np.bincount(label, minlength=1)
    inside = np.flatnonzero(label[first] == label[second])
    inside_missed = np.flatnonzero(label[reader] == label[sender])
    large = sizes[label] > SEARCHED
    answered = np.sort(hash_of_pair(second[inside], first[inside]))
    at_once = member(hash_of_pair(reader[inside_missed], sender[inside_missed]), answered)
    inside_missed = inside_missed[at_once | ~large[reader[inside_missed]]]
    shown = np.zeros(len(sizes), dtype=np.bool_)
    shown[label[reader[inside_missed]]] = True
    members = np.flatnonzero(shown[label])
    inside = inside[shown[label[first[inside]]]]
    if large.any():  # in a large component only cycles of two operations are searched
        queries = np.sort(hash_of_pair(reader[inside_missed], sender[inside_missed]))
        direct = member(hash_of_pair(second[inside], first[inside]), queries)
        inside = inside[direct | ~large[first[inside]]]
    parts = (
        _by_label(label, ops[members], members),
        _by_label(label, ops[first[inside]], first[inside]),
        _by_label(label, ops[second[inside]], first[inside]),
        _by_label(label, ops[reader[inside_missed]], reader[inside_missed]),
        _by_label(label, ops[sender[inside_missed]], reader[inside_missed]),
    )
    for number, component in parts[0].items():
        of_first, of_second, readers, senders = (part.get(number, []) for part in parts[1:])
        graph: dict[int, set[int]] = {op: set() for op in component}
        for before, after in zip(of_first, of_second, strict=True):
            graph[before].add(after)
        pairs = sorted(set(zip(readers, senders, strict=True)))
        observed = of_anti_dependencies(tuple(component), graph, pairs)
        if observed:
            yield *observed, len(component)


def _by_label(label: Ints, ops: Ints, of: Ints) -> dict[int, list[int]]:
    order = np.argsort(label[of], kind="stable")
    starts = run_starts(label[of[order]])
    parts = np.split(ops[order], starts[1:]) if len(starts) else []
    numbers = label[of[order[starts]]].tolist()
    return {number: part.tolist() for number, part in zip(numbers, parts, strict=True)}


def _row(
    form: str, ops: tuple[int, ...], size: int, named: Mapping[tuple[int, int], list[Step]]
) -> Cycle:
    observed: list[Step] = []
    for pair in pairwise([*ops, ops[0]]):
        kinds = {"ww", "wr", "rw"}
        if form == G_SINGLE:
            kinds = {"ww", "wr"} if observed else {"rw"}
        observed.append(next(step for step in named[pair] if step[0] in kinds))
    return cycle_of(ops, size, observed)


# ---------------------------------------------------------------- the query plan


def anti_dependency_cycles(context: Context) -> Plan[tuple[Finding, ...]]:
    """Returns one `Finding` for each form of cycle with anti-dependencies.

    Without the option `--rw-deps`, no cycle is searched for, and no `Finding` has rows.
    """
    if not context.declared.rw_deps:
        none = schema_of(Cycle).empty_table()
        return tuple(Finding(id=form, rows=none, observations=0) for form in (G_SINGLE, G2))
    unconfirmed, ww_deps = context.unconfirmed, context.declared.ww_deps
    info_senders = InfoSenders(NumberSet(_NO_OPS), _NO_OPS)
    dependencies = DependencyContext(
        "anti-dependencies", unconfirmed, UnconfirmedSenders.of(unconfirmed), info_senders, ww_deps
    )
    observed, ends, edges = yield from in_parallel(
        collect(locations_stage("last records polled", _LAST, partial(_last_polled, dependencies))),
        collect(locations_stage("last records polled", ENDS, partial(block_ends, dependencies))),
        collect(locations_stage("dependencies", EDGES, partial(all_dependencies, dependencies))),
    )
    of_unconfirmed, _ = unconfirmed_wr(dependencies, unconfirmed)
    across = ww_between_blocks(Batch(ends)) if ww_deps else LABELS.empty_table()
    loose = pa.concat_tables([of_unconfirmed, across])
    missed = Batch((yield from _rw_dependencies(dependencies, unconfirmed, observed, Batch(ends))))
    flow = Batch(pa.concat_tables([edges, loose.select(EDGES.names)]))
    found = list(_searched(flow, missed))
    pairs = neighbours([np.array(ops) for _, ops, _ in found])
    labels = LABELS.empty_table()
    if found:
        labels = yield from collect(
            locations_stage("records of cycles", LABELS, partial(with_records, dependencies, pairs))
        )
    known_here = Batch(pa.concat_tables([loose, missed.table]))
    of_pairs = pairs.have(known_here.ints("first"), known_here.ints("second"))
    records = pa.concat_tables([labels, known_here.where(of_pairs).table])
    named = yield from labelled_dependencies(Batch(records))
    return tuple(
        Finding(
            id=form,
            rows=rows_of([_row(form, ops, size, named) for of, ops, size in found if of == form]),
            observations=len(missed),
        )
        for form in (G_SINGLE, G2)
    )


CHECKERS: Final = (AnomalyChecker(ids=(G_SINGLE, G2), plan=anti_dependency_cycles),)
