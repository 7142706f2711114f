"""Steps of processes through logs, found in each piece and joined across pieces.

In a piece the polls of each process and key lie together in order, and so do its sends; neighbours
of one operation are a step, and where an operation begins, the step comes from the last one before
it that moved the process on. An assignment that leaves the key out parts them: two operations are
connected if of the assignments of their process as many left the key out before the one as before
the other.

What has no predecessor in its piece is a `HEAD`; the last that moved its process in a piece is a
`TAIL`. Of these the steps across pieces are made, in one place. Both are told only of processes
that several pieces have: whoever ends an operation `info` goes on as another process, and where
faults are many most live in one piece.

Source: `properties.anomalies.order.steps`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import NULL, Ints
from checkers.histories.columnar.sorting import (
    Mask,
    NumberSet,
    codes,
    distinct,
    member,
    run_starts,
    stable_order,
)
from checkers.histories.facts.occupied_offsets import OccupiedOffsets
from checkers.histories.facts.record_locations import (
    POLL_OK,
    SEND_FAIL,
    SEND_INFO,
    SEND_OK,
    UNCOMMITTED,
    UnconfirmedValues,
    hash_of_pair,
    roles,
    runs,
)
from checkers.histories.facts.retention import LogStarts
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from model.histories import Isolation
from properties.anomalies.order.steps import ASSIGNING

READS: Final = (
    "op",
    "process",
    "f",
    "outcome",
    "position",
    "kind",
    "key",
    "offset",
    "value",
    "isolation",
)
POLLS: Final = 0
SENDS: Final = 1
_KINDS: Final = {POLLS: "poll", SENDS: "send"}

# what a row is
WITHIN: Final = 0  # a step inside an operation that skips something or goes back
BETWEEN: Final = 1  # the same from an operation to the next
COUNTED: Final = 2  # how many steps there are, in `times`: COUNTED + WITHIN, COUNTED + BETWEEN
HEAD: Final = 4
TAIL: Final = 5

STEPS: Final = pa.schema(
    [("walk", pa.int8()), ("what", pa.int8())]
    + [
        (name, pa.int64())
        for name in (
            *("process", "key", "role", "times"),  # times: how many records it goes over
            *("second_op", "second_position", "second_value", "second_offset"),
            *("first_op", "first_position", "first_value", "first_offset"),
        )
    ]
)
AT_WORK: Final = int64_schema("process")
ASSIGNED: Final = pa.schema([("process", pa.int64()), ("op", pa.int64()), ("key", pa.int64())])


@dataclass(frozen=True, slots=True)
class Ground:
    """What steps go over: where values lie, and what is between."""

    isolation: Isolation
    committed: Ints  # operations ended info that took effect
    unconfirmed: NumberSet  # key and value in one number
    values: NumberSet  # of strays
    lie: Ints  # the last place at which each ranks; UNKNOWN if nobody knows it
    log: OccupiedOffsets
    kept: LogStarts
    lasting: NumberSet  # processes that several pieces have

    @classmethod
    def of(
        cls,
        isolation: Isolation,
        unconfirmed: UnconfirmedValues,
        outranked: Batch,
        log: OccupiedOffsets,
        kept: LogStarts,
        lasting: NumberSet,
    ) -> Self:
        """From what is known of the history; `outranked` are places at which a value has no rank.

        A value that has such a place counts as a stray, and one that was sent again: a send that
        failed ranks where its value was acknowledged later.
        """
        lower, resent = _placed(outranked), _placed(unconfirmed.resent)
        pairs = NumberSet.of(
            np.r_[hash_of_pair(unconfirmed.keys, unconfirmed.values), lower[0], resent[0]]
        )
        lie = np.full(len(pairs), UNKNOWN_OFFSET)
        pair, offset = map(
            np.concatenate, zip(_placed(unconfirmed.locations()), resent, strict=True)
        )
        ranks = ~member(hash_of_pair(pair, offset), np.sort(hash_of_pair(*lower)))
        np.maximum.at(lie, np.searchsorted(pairs.ascending, pair[ranks]), offset[ranks])
        others = outranked.ints("value"), unconfirmed.resent.ints("value")
        values = NumberSet.of(np.concatenate([unconfirmed.values, *others]))
        return cls(isolation, unconfirmed.committed, pairs, values, lie, log, kept, lasting)

    def places(self, batch: Batch, rows: Ints, role: Ints, offset: Ints) -> Ints:
        """Where the records of these rows lie, from what was told of them; UNKNOWN: nowhere known.

        Role and offset are of the records.
        """
        key, value = batch.fingerprints("key"), batch.fingerprints("value")
        took = np.flatnonzero(role == SEND_INFO)
        took = took[member(batch.ints("op")[rows[took]], self.committed)]
        place = np.where((role == SEND_OK) | (role >= POLL_OK), offset, UNKNOWN_OFFSET)
        place[took] = offset[took]
        odd = batch.derived(("values of strays",), lambda _: self.values.has(value))
        maybe = np.flatnonzero(odd.take(rows))
        pairs = hash_of_pair(key[rows[maybe]], value[rows[maybe]])
        stray = self.unconfirmed.has(pairs)
        at = np.searchsorted(self.unconfirmed.ascending, pairs[stray])
        place[maybe[stray]] = self.lie[at]
        return place

    def lowest(self, walk: int, key: Ints, first: Ints) -> Ints:
        """The first offset behind a step's beginning at which a record is missed."""
        return first + 1 if walk == SENDS else np.maximum(first + 1, self.kept.of(key))

    def skipped(self, walk: int, key: Ints, first: Ints, second: Ints, dirty: Mask) -> Ints:
        """How many records a step from the first offset to the second goes over."""
        low, everything = self.lowest(walk, key, first), self.log.everything
        all_of_them = everything.between(key, low, second)
        if walk == SENDS or self.log.clean is everything:
            return all_of_them
        return np.where(dirty, all_of_them, self.log.clean.between(key, low, second))


def _placed(places: Batch) -> tuple[Ints, Ints]:
    """Key and value of each place in one number, and its offset."""
    return hash_of_pair(places.ints("key"), places.ints("value")), places.ints("offset")


# ---------------------------------------------------------------- assignments


def assignments(batch: Batch) -> pa.Table:
    """Each assignment that did not fail: with no key, and once more with each that it leaves."""
    rows = np.flatnonzero(batch.is_in("f", *ASSIGNING) & ~batch.is_in("outcome", "fail"))
    process, op = batch.ints("process")[rows], batch.ints("op")[rows]
    key = np.where(batch.is_in("kind", "none")[rows], NULL, batch.fingerprints("key")[rows])
    once = np.concatenate([key, np.full(len(rows), NULL)])
    columns = {"process": np.r_[process, process], "op": np.r_[op, op], "key": once}
    return (
        pa.table(columns, schema=ASSIGNED)
        .group_by(ASSIGNED.names, use_threads=False)
        .aggregate([])
        .cast(ASSIGNED)
    )


def left_out(assigned: Batch, process: Ints, key: Ints, op: Ints) -> Ints:
    """How many assignments of the process before the operation left the key out."""
    if not len(assigned):
        return np.zeros(len(op), dtype=np.int64)
    of_process, of_op, of_key = (assigned.ints(name) for name in ("process", "op", "key"))
    plain = of_key == NULL
    every = _before(process, op, of_process[plain], of_op[plain])
    owner = hash_of_pair(of_process[~plain], of_key[~plain])
    return every - _before(hash_of_pair(process, key), op, owner, of_op[~plain])


def _before(group: Ints, at: Ints, of_group: Ints, of_at: Ints) -> Ints:
    """How many of the given ones have the group and come before."""
    groups, number = np.unique(of_group, return_inverse=True)
    instants, instant = np.unique(of_at, return_inverse=True)
    width = len(instants) + 1
    told = np.sort(number * width + instant)
    own = np.searchsorted(groups, group) * width
    found = np.searchsorted(told, own + np.searchsorted(instants, at)) - np.searchsorted(told, own)
    counts: Ints = np.where(member(group, groups), found, 0)
    return counts


def at_work(batch: Batch) -> pa.Table:
    """The processes of the piece."""
    return table_from(AT_WORK, distinct(batch.ints("process")))


def lasting(told: Batch) -> NumberSet:
    """Those that several pieces told of."""
    process, pieces = np.unique(told.ints("process"), return_counts=True)
    return NumberSet(process[pieces > 1])


# ---------------------------------------------------------------- in a piece


@dataclass(frozen=True, slots=True)
class Seen:
    """Records that processes polled, or sent: rows of columns, and of each its place and role."""

    row: Ints
    process: Ints
    key: Ints
    op: Ints
    position: Ints
    value: Ints
    place: Ints
    role: Ints

    def where(self, records: Ints) -> dict[str, Ints]:
        """What STEPS tell of these records."""
        row, names = self.row[records], ("op", "position", "value")
        return {name: getattr(self, name)[row] for name in names} | {"offset": self.place[records]}


def steps(ground: Ground, batch: Batch) -> pa.Table:
    """The steps of a piece that are wrong, how many there are, and its heads and tails."""
    assigned = Batch(assignments(batch))
    walks = [_walk(walk, ground, assigned, batch) for walk in (POLLS, SENDS)]
    return pa.concat_tables([STEPS.empty_table(), *(table for tables in walks for table in tables)])


def _walk(walk: int, ground: Ground, assigned: Batch, batch: Batch) -> list[pa.Table]:
    rows = np.flatnonzero(batch.is_in("kind", _KINDS[walk]))
    if not len(rows):
        return []
    rows, group = _by_process_and_key(batch, rows)
    seen = _seen(ground, batch, rows)
    starts = run_starts(group, seen.op.take(rows))
    ends = np.r_[starts[1:], len(rows)] - 1
    first_row, of_op = rows.take(starts), group.take(starts)

    follows = np.ones(len(rows), dtype=np.bool_)
    follows[starts] = False
    if walk == POLLS:
        follows &= ~_rebalanced(batch, seen)
    second = np.flatnonzero(follows)
    made = judged(walk, WITHIN, ground, seen, second - 1, second)

    role = seen.role.take(starts)
    happened = (role & ~UNCOMMITTED) == POLL_OK if walk == POLLS else role != SEND_FAIL
    asked = np.ones(len(starts), dtype=np.bool_) if walk == POLLS else happened
    moved = np.maximum.accumulate(np.where(happened, np.arange(len(starts)), -1))
    before = np.r_[-1, moved[:-1]]
    known = (before >= 0) & (of_op.take(before) == of_op)
    linked = asked & known
    if len(assigned):
        columns = (seen.process, seen.key, seen.op)
        out = left_out(assigned, *(column[first_row] for column in columns))
        linked &= out[before] == out
    begun = np.flatnonzero(linked)
    first, second = ends.take(before.take(begun)), starts.take(begun)
    made += judged(walk, BETWEEN, ground, seen, first, second)

    last = np.flatnonzero(np.diff(of_op, append=-1))
    some = (moved[last] >= 0) & (of_op[moved[last]] == of_op[last])
    for what, at in ((HEAD, starts[asked & ~known]), (TAIL, ends[moved[last[some]]])):
        open_end = at[ground.lasting.has(seen.process[seen.row[at]])]
        made.append(_told(walk, what, seen, None, open_end, None))
    return made


def _by_process_and_key(batch: Batch, rows: Ints) -> tuple[Ints, Ints]:
    """The rows of each process and key in order, and a number for the two of each row."""
    process, processes = codes(batch.ints("process").take(rows))
    key, texts = batch.narrow_codes("key")
    group = process * len(texts) + key.take(rows)
    order = stable_order(group, processes * len(texts))
    return rows.take(order), group.take(order)


def _seen(ground: Ground, batch: Batch, rows: Ints) -> Seen:
    role = roles(batch, ground.isolation).take(rows)
    offset = batch.ints("offset", null=UNKNOWN_OFFSET).take(rows)
    return Seen(
        row=rows,
        process=batch.ints("process"),
        key=batch.fingerprints("key"),
        op=batch.ints("op"),
        position=batch.ints("position"),
        value=batch.fingerprints("value"),
        place=ground.places(batch, rows, role, offset),
        role=role,
    )


def _rebalanced(batch: Batch, seen: Seen) -> Mask:
    """Which polls are of a key that a rebalance touched during their operation."""
    rows = np.flatnonzero(batch.is_in("kind", "rebalanced"))
    if not len(rows):
        return np.zeros(len(seen.row), dtype=np.bool_)
    touched = hash_of_pair(batch.ints("op")[rows], batch.fingerprints("key")[rows])
    made = np.zeros(len(seen.row), dtype=np.bool_)
    some = np.flatnonzero(member(seen.op[seen.row], np.unique(batch.ints("op")[rows])))
    row = seen.row[some]
    made[some] = member(hash_of_pair(seen.op[row], seen.key[row]), np.sort(touched))
    return made


# ---------------------------------------------------------------- across pieces


def across(ground: Ground, assigned: pa.Table, told: pa.Table) -> pa.Table:
    """The same for the steps from the tail of a piece to the head of a later one."""
    made = [STEPS.empty_table()]
    of_told = Batch(told)
    for walk in (POLLS, SENDS):
        walked = of_told.ints("walk") == walk
        rows = np.flatnonzero(walked & (of_told.ints("what") >= HEAD))
        ends = of_told.where(rows)
        order, _ = runs(
            hash_of_pair(ends.ints("process"), ends.ints("key")), ends.ints("second_op")
        )
        ends = ends.where(order)
        seen = Seen(
            np.arange(len(ends)),
            ends.ints("process"),
            ends.ints("key"),
            ends.ints("second_op"),
            ends.ints("second_position"),
            ends.ints("second_value"),
            ends.ints("second_offset"),
            ends.ints("role"),
        )
        made += _joined(walk, ground, Batch(assigned), seen, ends.ints("what"))
    return pa.concat_tables(made)


def _joined(walk: int, ground: Ground, assigned: Batch, seen: Seen, what: Ints) -> list[pa.Table]:
    """The steps between ends that are in the order of process, key and operation."""
    if not len(what):
        return []
    group = np.cumsum(np.diff(hash_of_pair(seen.process, seen.key), prepend=0) != 0)
    tail = np.maximum.accumulate(np.where(what == TAIL, np.arange(len(what)), -1))
    before = np.r_[-1, tail[:-1]]
    out = left_out(assigned, seen.process, seen.key, seen.op)
    linked = (what == HEAD) & (before >= 0) & (group[before] == group) & (out[before] == out)
    second = np.flatnonzero(linked)
    return judged(walk, BETWEEN, ground, seen, before[second], second)


# ---------------------------------------------------------------- judging


def judged(
    walk: int, what: int, ground: Ground, seen: Seen, first: Ints, second: Ints
) -> list[pa.Table]:
    """The steps of which something is wrong, and how many have known places."""
    begin, end = seen.place.take(first), seen.place.take(second)
    known = (begin != UNKNOWN_OFFSET) & (end != UNKNOWN_OFFSET)
    wrong = [np.flatnonzero(known & (end <= begin))]
    times = [np.zeros(len(wrong[0]), dtype=np.int64)]
    if walk == POLLS or what == WITHIN:
        far = np.flatnonzero(known & (end > begin + 1))
        rows = second.take(far)
        dirty = seen.role.take(rows) >= UNCOMMITTED
        key = seen.key.take(seen.row.take(rows))
        over = ground.skipped(walk, key, begin.take(far), end.take(far), dirty)
        wrong.append(far[over > 0])
        times.append(over[over > 0])
    some = np.concatenate(wrong)
    return [
        _told(walk, what, seen, first[some], second[some], np.concatenate(times)),
        _counted(walk, what, int(np.count_nonzero(known))),
    ]


def _told(
    walk: int, what: int, seen: Seen, first: Ints | None, second: Ints, times: Ints | None
) -> pa.Table:
    none, row = np.zeros(len(second), dtype=np.int64), seen.row[second]
    columns = {
        "walk": np.full(len(second), walk),
        "what": np.full(len(second), what),
        "process": seen.process[row],
        "key": seen.key[row],
        "role": seen.role[second],
        "times": none if times is None else times,
    }
    for end, records in (("second", second), ("first", first)):
        for name in ("op", "position", "value", "offset"):
            columns[f"{end}_{name}"] = none
        if records is not None:
            columns |= {f"{end}_{name}": told for name, told in seen.where(records).items()}
    return pa.table(columns).cast(STEPS)


def _counted(walk: int, what: int, count: int) -> pa.Table:
    row = dict.fromkeys(STEPS.names, 0)
    row |= {"walk": walk, "what": COUNTED + what, "times": count}
    return pa.Table.from_pylist([row], schema=STEPS)
