"""Kernels of the dependencies through records: who sent what somebody polled, or sent next.

A block of offsets has every send and every poll of its records, so it knows the dependencies of
confirmed values, and the neighbours in the log but for those across its ends. Those of strays, and
across the ends, are put together where everything that is left comes to one place.

An operation that ended ok has its number as its time. Of the others only those count that sent
something which was polled (`Others`); their time is when they were invoked. Then time itself only
ever leads forward, and a cycle needs a dependency through a record that leads back.

Source: `properties.anomalies.cycles.dependencies`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.bitset import Bitset, packed
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.sorting import (
    Mask,
    NumberSet,
    distinct,
    member,
    run_lengths,
    run_starts,
)
from checkers.histories.facts.record_locations import (
    LOCATION,
    POLL_OK,
    RECORD_COLUMNS,
    SEND_FAIL,
    UNCOMMITTED,
    Pairs,
    UnconfirmedValues,
    any_in_run,
    block,
    first_rows,
    hash_of_pair,
    location_of,
    proves_location,
    role_of,
    runs,
    took_effect,
)
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Source, Stage

NOBODY: Final = -1
WW, WR, RW = 0, 1, 2

EDGES: Final = int64_schema("first", "second", "kind")
LABELS: Final = int64_schema("first", "second", "kind", "key", "value", "next_value")
ENDS: Final = int64_schema("key", "block", "offset", "value", "sender", "last")
COUNT: Final = int64_schema("ww", "wr")


@dataclass(frozen=True, slots=True)
class Others:
    """Operations that did not end ok and sent what was polled, and the time of each.

    The time of an operation that ended ok is twice its number; of one of these it is odd: behind
    the last that had completed when it was invoked.
    """

    ops: NumberSet
    times: Ints

    def time(self, ops: Ints) -> Ints:
        """When each of these operations counts; no other ones are asked."""
        times = 2 * ops
        some = np.flatnonzero(self.ops.has(ops))
        times[some] = self.times[np.searchsorted(self.ops.ascending, ops[some])]
        return times


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches of time, none of which touches another; a cycle lies in one of them."""

    begin: Ints
    end: Ints
    covered: Bitset  # the operations of which one of the two times lies in a stretch

    @classmethod
    def of(cls, back: Batch, others: Others) -> Stretches:
        """What dependencies that lead back span, put together."""
        begin, end = others.time(back.ints("second")), others.time(back.ints("first"))
        order = np.argsort(begin)
        begin, end = begin[order], np.maximum.accumulate(end[order])
        starts = np.ones(len(begin), dtype=np.bool_)
        starts[1:] = begin[1:] > end[:-1]
        ends = np.roll(starts, -1)  # the last stretch ends where the first begins again
        begin, end = begin[starts], end[ends]
        covered = packed(_every(begin >> 1, (end >> 1) + 1))
        return cls(begin, end, Bitset.of(covered))

    def have(self, first: Ints, second: Ints) -> Ints:
        """Which dependencies between these times lie in one stretch."""
        some = np.flatnonzero(self.covered.has(first >> 1))
        first, second = first.take(some), second.take(some)
        at = np.searchsorted(self.begin, first, side="right") - 1
        within = (at >= 0) & (self.begin[at] <= second)
        return some[within & (np.maximum(first, second) <= self.end[at])]


def _every(first: Ints, end: Ints) -> Ints:
    """All numbers from each of the first up to but without its end."""
    many = end - first
    return np.arange(int(many.sum())) + np.repeat(end - np.cumsum(many), many)


@dataclass(frozen=True, slots=True)
class Senders:
    """Of each stray its sender, and the last offset at which it lies; what failed was in vain."""

    pairs: Ints  # key and value in one number, ascending
    ops: Ints  # NOBODY: nobody is known to have sent it
    last: Ints  # UNKNOWN: nowhere
    failed: Ints  # pairs whose send failed once, ascending

    @classmethod
    def of(cls, unconfirmed: UnconfirmedValues) -> Senders:
        pairs = np.sort(hash_of_pair(unconfirmed.keys, unconfirmed.values))
        ops, last = np.full(len(pairs), NOBODY), np.full(len(pairs), UNKNOWN_OFFSET)
        sends, places = unconfirmed.sends, unconfirmed.locations()
        failed = sends.ints("role") == SEND_FAIL
        sent = hash_of_pair(sends.ints("key"), sends.ints("value"))
        order = np.lexsort([sends.ints("op"), ~failed])  # one that did not fail comes last
        ops[np.searchsorted(pairs, sent[order])] = sends.ints("op")[order]
        lie = hash_of_pair(places.ints("key"), places.ints("value"))
        np.maximum.at(last, np.searchsorted(pairs, lie), places.ints("offset"))
        return cls(pairs, ops, last, distinct(sent[failed]))


@dataclass(frozen=True, slots=True)
class Dependents:
    """Who comes before whom in a block: who was polled by whom, then who was followed by whom."""

    first: Ints
    second: Ints
    counts: Mask  # the second ended ok, or is one of the others: it may lead somewhere
    polls: Ints  # rows of the piece
    log: Log
    before: Ints  # places in the log
    after: Ints

    def edges(self, some: Ints) -> pa.Table:
        """Each pair of operations once."""
        first, second = self.first.take(some), self.second.take(some)
        kind = np.where(some < len(self.polls), WR, WW)
        order, starts = runs(hash_of_pair(first, second), kind)
        once = order[starts]
        return table_from(EDGES, first[once], second[once], kind[once])

    def labels(self, batch: Batch, some: Ints) -> pa.Table:
        """The records of these, which ascend."""
        polled = some[some < len(self.polls)]
        row, followed = self.polls[polled], some[len(polled) :] - len(self.polls)
        before, after = self.before[followed], self.after[followed]
        return table_from(
            LABELS,
            self.first[some],
            self.second[some],
            np.repeat([WR, WW], [len(row), len(before)]),
            np.r_[batch.ints("key")[row], self.log.key[before]],
            np.r_[batch.ints("value")[row], self.log.value[before]],
            np.r_[np.zeros(len(row), dtype=np.int64), self.log.value[after]],
        )


@dataclass(frozen=True, slots=True)
class Log:
    """Where values lie, each place once: keys together, and ascending in a key."""

    key: Ints
    offset: Ints
    value: Ints
    sender: Ints  # NOBODY: it is not known
    last: Mask  # the value lies nowhere behind

    def groups(self) -> tuple[Ints, Ints]:
        """Where each offset begins, and how many values it has."""
        starts = run_starts(self.key, self.offset)
        return starts, run_lengths(starts, len(self.key))


@dataclass(frozen=True, slots=True)
class Looked:
    """What kernels of dependencies must know of the whole history; `of`: who asks."""

    of: str
    unconfirmed: UnconfirmedValues
    senders: Senders
    others: Others
    ww_deps: bool


def asks(title: str, schema: pa.Schema, run: partial[pa.Table]) -> Stage[pa.Table]:
    """A look at the places of values."""
    return Stage(Source.RECORD_LOCATIONS, Kernel(title, RECORD_COLUMNS, schema, run))


def dependents(looked: Looked, batch: Batch) -> Dependents:
    """The dependencies of the block; made once for all kernels."""
    return batch.derived(("dependents", looked.of), lambda it: _dependents(looked, it))


def _dependents(looked: Looked, batch: Batch) -> Dependents:
    op, role = batch.ints("op"), role_of(batch)
    of_place = _sent_at(looked, batch)
    sender = of_place.take(location_of(batch))
    polls = (role >= POLL_OK) & (sender != NOBODY) & (sender != op)
    polls = np.flatnonzero(polls & ~looked.unconfirmed.of(batch))
    sound = (role.take(polls) & ~UNCOMMITTED) == POLL_OK
    counts, others = sound.copy(), np.flatnonzero(~sound)
    counts[others] = looked.others.ops.has(op[polls[others]])
    if not looked.ww_deps:
        nothing = np.zeros(len(polls), dtype=np.int64)
        log = Log(nothing[:0], nothing[:0], nothing[:0], nothing[:0], sound[:0])
    else:
        log = log_of(looked, batch)
    before, after = _neighbours(log)
    return Dependents(
        first=np.r_[sender.take(polls), log.sender[before]],
        second=np.r_[op.take(polls), log.sender[after]],
        counts=np.r_[counts, np.ones(len(before), dtype=np.bool_)],
        polls=polls,
        log=log,
        before=before,
        after=after,
    )


def _sent_at(looked: Looked, batch: Batch) -> Ints:
    """Of each value at each offset who sent it there."""
    return batch.derived(("sent at",), partial(_senders, looked.unconfirmed.committed))


def _senders(committed: Ints, batch: Batch) -> Ints:
    """Of several the last: operations of one place ascend."""
    senders, sent = (
        np.full(len(first_rows(batch)), NOBODY),
        np.flatnonzero(took_effect(batch, committed)),
    )
    senders[location_of(batch).take(sent)] = batch.ints("op").take(sent)
    return senders


def log_of(looked: Looked, batch: Batch) -> Log:
    """Where values lie in the blocks of a piece."""
    senders, stray = looked.senders, looked.unconfirmed.of(batch)
    at, of_place = first_rows(batch), _sent_at(looked, batch)
    key, offset, value = map(batch.ints, LOCATION)
    lies = proves_location(batch, looked.unconfirmed.committed) & (offset != UNKNOWN_OFFSET)
    copies = np.flatnonzero(lies & stray & (role_of(batch) >= UNCOMMITTED))
    lies[copies] = ~member(hash_of_pair(key[copies], value[copies]), senders.failed)
    there = np.flatnonzero(any_in_run(lies, at))
    row, sender = at[there], of_place[there]
    last = np.ones(len(row), dtype=np.bool_)
    some = np.flatnonzero(stray[row])
    pair = np.searchsorted(senders.pairs, hash_of_pair(key[row[some]], value[row[some]]))
    sender[some], last[some] = senders.ops[pair], senders.last[pair] == offset[row[some]]
    return Log(key[row], offset[row], value[row], sender, last)


def _neighbours(log: Log) -> tuple[Ints, Ints]:
    """The places of values and of their next values, sent by different known operations."""
    at, sizes = log.groups()
    key, of_block = log.key[at], block(log.offset[at])
    first = np.flatnonzero((key[:-1] == key[1:]) & (of_block[:-1] == of_block[1:]))
    return _linked(log, first, first + 1, at, sizes)


def _linked(log: Log, first: Ints, second: Ints, starts: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Every value of each first offset with every value of the second that lies nowhere behind."""
    many = sizes[first] * sizes[second]
    before, after = starts[first], starts[second]
    if len(many) and many.max() > 1:
        of_pair = np.repeat(np.arange(len(first)), many)
        number = np.arange(len(of_pair)) - np.repeat(np.cumsum(many) - many, many)
        width = sizes[second][of_pair]
        before, after = before[of_pair] + number // width, after[of_pair] + number % width
    sender, following = log.sender[before], log.sender[after]
    linked = log.last[after] & (sender != NOBODY) & (following != NOBODY) & (sender != following)
    return before[linked], after[linked]


# ---------------------------------------------------------------- what is asked of blocks


def counted(looked: Looked, batch: Batch) -> pa.Table:
    """How many dependencies there are, of each kind."""
    made = dependents(looked, batch)
    return table_from(COUNT, *(np.array([len(ends)]) for ends in (made.before, made.polls)))


def leading_back(looked: Looked, batch: Batch) -> pa.Table:
    """The dependencies that lead back in time."""
    made, others = dependents(looked, batch), looked.others
    some = np.flatnonzero(made.counts)
    back = others.time(made.first.take(some)) >= others.time(made.second.take(some))
    return made.edges(some[np.flatnonzero(back)])


def inside(looked: Looked, stretches: Stretches, batch: Batch) -> pa.Table:
    """The dependencies between operations of one stretch of time."""
    made, others = dependents(looked, batch), looked.others
    some = np.flatnonzero(made.counts)
    first, second = (others.time(ops.take(some)) for ops in (made.first, made.second))
    return made.edges(some[stretches.have(first, second)])


def labelled(looked: Looked, pairs: Pairs, batch: Batch) -> pa.Table:
    """The records of these pairs of operations."""
    if not looked.ww_deps:
        batch = _polled_by(pairs.values, batch)
    made = dependents(looked, batch)
    return made.labels(batch, np.flatnonzero(pairs.have(made.first, made.second)))


def _polled_by(ops: NumberSet, batch: Batch) -> Batch:
    """All that was shown where one of these operations polled: no other place tells who it read."""
    key, offset = batch.ints("key"), batch.ints("offset")
    rows = np.flatnonzero(ops.has(batch.ints("op")))
    rows = rows[role_of(batch)[rows] >= POLL_OK]
    return batch.where(Pairs.of(key[rows], offset[rows]).have(key, offset))


def block_ends(looked: Looked, batch: Batch) -> pa.Table:
    """The values at the first and at the last offset of each block."""
    log = log_of(looked, batch)
    at, sizes = log.groups()
    first = run_starts(log.key[at], block(log.offset[at]))
    ends = np.unique(np.r_[first, np.r_[first[1:], len(at)][: len(first)] - 1])
    outer = np.zeros(len(at), dtype=np.bool_)
    outer[ends] = True
    row = np.flatnonzero(np.repeat(outer, sizes))
    columns = (log.key, block(log.offset), log.offset, log.value, log.sender)
    return table_from(ENDS, *(column[row] for column in columns), log.last[row].astype(np.int64))


def across_blocks(ends: Batch) -> pa.Table:
    """The ww dependencies from the end of one block to the begin of the next that has a record."""
    log = log_of_ends(ends)
    starts, sizes = log.groups()
    if not len(starts):
        return LABELS.empty_table()
    first, second = np.arange(len(starts) - 1), np.arange(1, len(starts))
    key, offset = log.key[starts], log.offset[starts]
    across = (block(offset[first]) != block(offset[second])) & (key[first] == key[second])
    before, after = _linked(log, first[across], second[across], starts, sizes)
    kind = np.full(len(before), WW)
    columns = (log.sender[before], log.sender[after], kind, log.key[before])
    return table_from(LABELS, *columns, log.value[before], log.value[after])


def log_of_ends(ends: Batch) -> Log:
    """Where values lie at the ends of blocks."""
    order, _ = runs(ends.ints("key"), ends.ints("offset"), ends.ints("value"))
    key, offset, value, sender, last = (
        ends.ints(name)[order] for name in ("key", "offset", "value", "sender", "last")
    )
    return Log(key, offset, value, sender, last == 1)


def of_strays(looked: Looked, unconfirmed: UnconfirmedValues) -> tuple[pa.Table, Mask]:
    """The wr dependencies of strays, and which of them may lead somewhere."""
    senders, polls = (
        looked.senders,
        unconfirmed.observations.where(unconfirmed.observations.ints("role") >= POLL_OK),
    )
    key, value, op = (polls.ints(name) for name in ("key", "value", "op"))
    sender = senders.ops[np.searchsorted(senders.pairs, hash_of_pair(key, value))]
    row = np.flatnonzero((sender != NOBODY) & (sender != op))
    sound = (polls.ints("role")[row] & ~UNCOMMITTED) == POLL_OK
    nothing, kind = np.zeros(len(row), dtype=np.int64), np.full(len(row), WR)
    table = table_from(LABELS, sender[row], op[row], kind, key[row], value[row], nothing)
    return table, sound | looked.others.ops.has(op[row])


def every(looked: Looked, batch: Batch) -> pa.Table:
    """All dependencies, wherever they lead."""
    made = dependents(looked, batch)
    return made.edges(np.arange(len(made.first)))
