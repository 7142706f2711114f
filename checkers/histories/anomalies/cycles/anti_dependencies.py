"""Inquiry into cycles with anti-dependencies: who missed what came next, and yet knew of more.

A block of offsets tells the last record of the key that each reader polled in it; of its blocks the
highest counts. What comes next in the log is asked of the block again, and behind its end of the
next. All dependencies come to one place: readers that are behind lead back over long stretches of
time, so that nothing can be left out beforehand.

Source: `properties.anomalies.cycles`.
Simplified: it is done on request, and must then fit in memory: some 100 bytes for each operation
and key that it polled, and 50 for each two operations that depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.cycles.cycle_search import strong
from checkers.histories.anomalies.cycles.cycles import (
    Step,
    cycle_of,
    named_steps,
    neighbours,
    rows_of,
)
from checkers.histories.anomalies.cycles.record_dependencies import (
    EDGES,
    ENDS,
    LABELS,
    NOBODY,
    RW,
    Log,
    Looked,
    Others,
    Senders,
    across_blocks,
    asks,
    block_ends,
    every,
    labelled,
    log_of,
    log_of_ends,
    of_strays,
)
from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import NumberSet, distinct, member, run_lengths, run_starts
from checkers.histories.facts.record_locations import (
    POLL_OK,
    UnconfirmedValues,
    block,
    hash_of_pair,
    role_of,
    runs,
)
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.stage import Plan, collect, in_parallel
from properties.anomalies.cycles.components import SEARCHED
from properties.anomalies.cycles.cycle import G2, G_SINGLE, Cycle, of_anti_dependencies

ACROSS: Final = -2  # what comes next lies behind the end of the block
_LAST: Final = int64_schema("reader", "key", "offset", "value")
_NEXT: Final = int64_schema("key", "offset", "sender", "next_value")
_NO_OPS: Final = np.zeros(0, dtype=np.int64)


# ---------------------------------------------------------------- what was missed


def _last_polled(looked: Looked, batch: Batch) -> pa.Table:
    """Of each operation and key the last confirmed record that it polled in the blocks here."""
    key, offset, value = (batch.ints(name) for name in ("key", "offset", "value"))
    stray = member(hash_of_pair(key, value), looked.senders.pairs)
    rows = np.flatnonzero((role_of(batch) >= POLL_OK) & ~stray & (offset != UNKNOWN_OFFSET))
    return _furthest(batch.ints("op")[rows], key[rows], offset[rows], value[rows])


def _furthest(reader: Ints, key: Ints, offset: Ints, value: Ints) -> pa.Table:
    """Of each reader and key what lies furthest, each value once."""
    which = hash_of_pair(reader, key)
    order, starts = runs(which, offset, value)
    once = order[starts]
    groups = run_starts(which[once])
    ends = np.r_[groups[1:], len(once)][: len(groups)] - 1
    furthest = np.repeat(offset[once[ends]], run_lengths(groups, len(once)))
    row = once[offset[once] == furthest]
    return table_from(_LAST, reader[row], key[row], offset[row], value[row])


def _following(looked: Looked, keys: Ints, offsets: Ints, batch: Batch) -> pa.Table:
    """What comes next behind these places, as far as blocks can tell."""
    return _next(log_of(looked, batch), keys, offsets, behind=False)


def _next(log: Log, keys: Ints, offsets: Ints, *, behind: bool) -> pa.Table:
    """The next values behind some places, in their block or behind it, of known senders."""
    starts, sizes = log.groups()
    key, offset = log.key[starts], log.offset[starts]
    at = np.flatnonzero(member(hash_of_pair(key, offset), np.sort(hash_of_pair(keys, offsets))))
    after = np.minimum(at + 1, len(starts) - 1)
    same = (at + 1 < len(starts)) & (key[after] == key[at])
    if not behind:
        same &= block(offset[after]) == block(offset[at])
    many = sizes[after[same]]
    of_place = np.repeat(at[same], many)
    first = np.repeat(starts[after[same]], many)
    place = first + np.arange(len(first)) - np.repeat(np.cumsum(many) - many, many)
    linked = log.last[place] & (log.sender[place] != NOBODY)
    of_place, place = of_place[linked], place[linked]
    open_still = at[~same] if not behind else _NO_OPS
    nothing = np.zeros(len(open_still), dtype=np.int64)
    return table_from(
        _NEXT,
        key[np.r_[of_place, open_still]],
        offset[np.r_[of_place, open_still]],
        np.r_[log.sender[place], np.full(len(open_still), ACROSS)],
        np.r_[log.value[place], nothing],
    )


def _stray_reads(looked: Looked, unconfirmed: UnconfirmedValues) -> pa.Table:
    """The strays that were polled, where they lie at last."""
    polls = unconfirmed.observations.where(unconfirmed.observations.ints("role") >= POLL_OK)
    key, value = polls.ints("key"), polls.ints("value")
    last = looked.senders.last[np.searchsorted(looked.senders.pairs, hash_of_pair(key, value))]
    some = last != UNKNOWN_OFFSET
    return table_from(_LAST, polls.ints("op")[some], key[some], last[some], value[some])


def _missed(
    looked: Looked, unconfirmed: UnconfirmedValues, told: pa.Table, ends: Batch
) -> Plan[pa.Table]:
    """The rw dependencies."""
    seen = Batch(pa.concat_tables([told, _stray_reads(looked, unconfirmed)]))
    reads = Batch(_furthest(*(seen.ints(name) for name in _LAST.names)))
    key, offset = reads.ints("key"), reads.ints("offset")
    run = partial(_following, looked, key, offset)
    near = Batch((yield from collect(asks("what came next", _NEXT, run))))
    across = near.where(near.ints("sender") == ACROSS)
    far = _next(log_of_ends(ends), across.ints("key"), across.ints("offset"), behind=True)
    here = near.where(near.ints("sender") != ACROSS).table
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


# ---------------------------------------------------------------- what is searched


def _searched(flow: Batch, missed: Batch) -> Iterator[tuple[str, tuple[int, ...], int]]:
    """The form, the operations and the size of the component of each cycle."""
    ends = [side.ints(name) for side in (flow, missed) for name in ("first", "second")]
    ops = distinct(np.concatenate(ends))
    first, second, reader, sender = (np.searchsorted(ops, end) for end in ends)
    label = strong([(first, second), (reader, sender)], len(ops))
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
    if large.any():  # of a large component only direct answers matter
        asked = np.sort(hash_of_pair(reader[inside_missed], sender[inside_missed]))
        direct = member(hash_of_pair(second[inside], first[inside]), asked)
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
        told = of_anti_dependencies(tuple(component), graph, pairs)
        if told:
            yield *told, len(component)


def _by_label(label: Ints, ops: Ints, of: Ints) -> dict[int, list[int]]:
    """The operations of each component."""
    order = np.argsort(label[of], kind="stable")
    starts = run_starts(label[of[order]])
    parts = np.split(ops[order], starts[1:]) if len(starts) else []
    numbers = label[of[order[starts]]].tolist()
    return {number: part.tolist() for number, part in zip(numbers, parts, strict=True)}


def _row(
    form: str, ops: tuple[int, ...], size: int, named: Mapping[tuple[int, int], list[Step]]
) -> Cycle:
    told: list[Step] = []
    for pair in pairwise([*ops, ops[0]]):
        kinds = {"ww", "wr", "rw"}
        if form == G_SINGLE:
            kinds = {"ww", "wr"} if told else {"rw"}
        told.append(next(step for step in named[pair] if step[0] in kinds))
    return cycle_of(ops, size, told)


# ---------------------------------------------------------------- the inquiry


def anti_dependency_cycles(context: Context) -> Plan[tuple[Finding, ...]]:
    """The cycles with anti-dependencies, where they are asked for."""
    if not context.declared.rw_deps:
        none = schema_of(Cycle).empty_table()
        return tuple(Finding(id=form, rows=none, observations=0) for form in (G_SINGLE, G2))
    unconfirmed, ww_deps = context.unconfirmed, context.declared.ww_deps
    others = Others(NumberSet(_NO_OPS), _NO_OPS)
    looked = Looked("anti-dependencies", unconfirmed, Senders.of(unconfirmed), others, ww_deps)
    told, ends, edges = yield from in_parallel(
        collect(asks("how far readers got", _LAST, partial(_last_polled, looked))),
        collect(asks("how far readers got", ENDS, partial(block_ends, looked))),
        collect(asks("what came before what", EDGES, partial(every, looked))),
    )
    of_stray, _ = of_strays(looked, unconfirmed)
    across = across_blocks(Batch(ends)) if ww_deps else LABELS.empty_table()
    loose = pa.concat_tables([of_stray, across])
    missed = Batch((yield from _missed(looked, unconfirmed, told, Batch(ends))))
    flow = Batch(pa.concat_tables([edges, loose.select(EDGES.names)]))
    found = list(_searched(flow, missed))
    pairs = neighbours([np.array(ops) for _, ops, _ in found])
    labels = LABELS.empty_table()
    if found:
        labels = yield from collect(
            asks("through which records", LABELS, partial(labelled, looked, pairs))
        )
    known_here = Batch(pa.concat_tables([loose, missed.table]))
    of_pairs = pairs.have(known_here.ints("first"), known_here.ints("second"))
    records = pa.concat_tables([labels, known_here.where(of_pairs).table])
    named = yield from named_steps(Batch(records))
    return tuple(
        Finding(
            id=form,
            rows=rows_of([_row(form, ops, size, named) for of, ops, size in found if of == form]),
            observations=len(missed),
        )
        for form in (G_SINGLE, G2)
    )


CHECKERS: Final = (AnomalyChecker(ids=(G_SINGLE, G2), plan=anti_dependency_cycles),)
