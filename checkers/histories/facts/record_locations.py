"""The records of a history by offset, and the sends by value: two sources made by shuffling.

    RECORD_LOCATIONS  a row for each record that was polled, or sent at a known offset. A partition
                      has whole blocks of offsets of a key, sorted by key, offset, value, operation
    SENDS             a row for each send; all sends of a value are in one partition, adjacent

A location is a key, an offset and a value. A value is confirmed if it was polled only at locations
where an acknowledged send of the value put it. The partition of that block alone then decides
everything about the value. Any other value is unconfirmed: a poll returned it at a location that no
acknowledged send confirms, or without an offset. Duplicates, aborted reads and values that were
never sent are unconfirmed. Such values are few, so the driver collects all rows that mention them,
and gives these rows to every task (`UnconfirmedValues`).

    p1 send k=a -> ok @0     c1 poll k=a@0              a is confirmed
    p1 send k=b -> info      c1 poll k=b@1              b is unconfirmed: its send has no offset

Source: jepsen.tests.kafka version-orders for the rows that count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints, fingerprints, mixed
from checkers.histories.columnar.sorting import (
    Codes,
    Mask,
    NumberSet,
    grouping_order,
    member,
    run_lengths,
    run_starts,
)
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.shuffle import SHUFFLE_KEY
from checkers.histories.plan.stage import Plan, Source, Stage, collect, in_parallel
from model.histories import Isolation
from properties.anomalies.declarations import Declarations

BLOCK_BITS: Final = 16  # 65,536 offsets
_SPREAD: Final = 0x1E3779B97F4A7C15  # odd; the step between shuffle keys of adjacent blocks
_COUNTER: Final = np.int32  # counts rows of a batch; half the width is counted faster

# the role of a row: send or poll, and the outcome; polls at read_uncommitted add UNCOMMITTED
SEND_OK: Final = 0
SEND_INFO: Final = 1
SEND_FAIL: Final = 2
POLL_OK: Final = 3
POLL_NOT_OK: Final = 4
UNCOMMITTED: Final = 8

_ROW: Final = [
    ("key", pa.int64()),  # fingerprint
    ("offset", pa.int64()),  # UNKNOWN_OFFSET if the row has none
    ("value", pa.int64()),  # fingerprint
    ("op", pa.int64()),
    ("role", pa.int8()),
]
RECORD: Final = pa.schema(_ROW)
RECORD_COLUMNS: Final = tuple(RECORD.names)
LOCATION: Final = ("key", "offset", "value")
_SHUFFLED: Final = pa.schema([(SHUFFLE_KEY, pa.int64()), *_ROW])
_READS: Final = ("op", "outcome", "kind", "key", "offset", "value", "isolation")


def shuffle_kernels(declared: Declarations) -> dict[Source, Kernel]:
    """Returns the kernels that shuffle the history into RECORD_LOCATIONS and SENDS."""
    locations = partial(_locations, isolation=declared.isolation)
    sends = partial(_sends, isolation=declared.isolation)
    return {
        Source.RECORD_LOCATIONS: Kernel(
            "shuffling by location", _READS, _SHUFFLED, locations, LOCATION
        ),
        Source.SENDS: Kernel("shuffling by value", _READS, _SHUFFLED, sends, ("value", "key")),
    }


def block(offset: Ints) -> Ints:
    """Returns the number of each offset's block; a block is a range of 65,536 offsets."""
    return offset >> BLOCK_BITS


def _locations(batch: Batch, isolation: Isolation) -> pa.Table:
    wanted = batch.is_in("kind", "poll") | (batch.is_in("kind", "send") & batch.is_valid("offset"))
    return _rows(batch, wanted, _by_block, isolation)


def _sends(batch: Batch, isolation: Isolation) -> pa.Table:
    return _rows(batch, batch.is_in("kind", "send"), _by_value, isolation)


def _by_block(key: Ints, offset: Ints, value: Ints) -> Ints:
    del value
    return key + block(offset) * _SPREAD  # fingerprints of keys are spread already


def _by_value(key: Ints, offset: Ints, value: Ints) -> Ints:
    del key, offset
    return value


def hash_of_pair(first: Ints, second: Ints) -> Ints:
    """Returns a hash of each pair of numbers; two pairs collide with a probability of 2**-64."""
    return mixed(first.view(np.uint64) ^ mixed(second.view(np.uint64))).view(np.int64)


def _rows(batch: Batch, wanted: Mask, group: Any, isolation: Isolation) -> pa.Table:
    rows = np.flatnonzero(wanted)
    key, value = batch.fingerprints("key")[rows], batch.fingerprints("value")[rows]
    offset = batch.ints("offset", null=UNKNOWN_OFFSET)[rows]
    columns = {
        SHUFFLE_KEY: group(key, offset, value),
        "key": key,
        "offset": offset,
        "value": value,
        "op": batch.ints("op")[rows],
        "role": roles(batch, isolation)[rows],
    }
    return pa.table(columns, schema=_SHUFFLED)


def roles(batch: Batch, isolation: Isolation) -> Any:
    """Returns the role of each row: send or poll, with the outcome, such as `SEND_OK`.

    `isolation` is the isolation level of readers for which the history has none.
    """
    return batch.derived(("roles", isolation), partial(_roles, isolation))


def _roles(isolation: Isolation, batch: Batch) -> Any:
    ok, info = (batch.is_in("outcome", word).view(np.int8) for word in ("ok", "info"))
    sent = SEND_FAIL + (SEND_OK - SEND_FAIL) * ok + (SEND_INFO - SEND_FAIL) * info
    uncommitted = batch.is_in("isolation", "read_uncommitted")
    if isolation == "read_uncommitted":
        uncommitted = uncommitted | ~batch.is_valid("isolation")
    polled = POLL_NOT_OK + (POLL_OK - POLL_NOT_OK) * ok + UNCOMMITTED * uncommitted.view(np.int8)
    return np.where(batch.is_in("kind", "send"), sent, polled)


# ---------------------------------------------------------------- runs of rows


def runs(*columns: Ints) -> tuple[Ints, Ints]:
    """Returns an order that makes equal rows adjacent, and the first row of each such group.

    Rows are grouped by the first column and sorted by the others; the order is stable.
    """
    order = grouping_order(*columns)
    return order, run_starts(*(column[order] for column in columns))


def any_in_run(flags: Mask, starts: Ints) -> Mask:
    """Returns a mask: True for each range of rows that has a flagged row.

    `starts` has the first row of each range; the first range begins at row 0.
    """
    if not len(starts):
        return flags[:0]
    so_far = np.cumsum(flags, dtype=_COUNTER)[np.r_[starts[1:] - 1, -1]]
    flagged: Mask = np.diff(so_far, prepend=_COUNTER(0)) > 0
    return flagged


def first_in_run(flags: Mask, starts: Ints) -> Ints:
    """Returns the first flagged row of each range of rows; every range must have one.

    `starts` are the first rows of the ranges.
    """
    before = np.cumsum(flags, dtype=_COUNTER).take(starts) - flags.take(starts)
    return np.flatnonzero(flags).take(before)


def per_key(key: Ints, of: Callable[[Ints], Ints]) -> Ints:
    """Returns the result of the function `of` for the key of each row.

    The function is called only once for consecutive rows with the same key.
    """
    starts = run_starts(key)
    return np.repeat(of(key[starts]), run_lengths(starts, len(key)))


def role_of(batch: Batch) -> Codes:
    return batch.derived(("role",), lambda it: it.table["role"].to_numpy())


def first_rows(batch: Batch) -> Ints:
    """Returns the first row of each key, offset and value, by which the batch is sorted."""
    return batch.derived(("first rows",), lambda it: run_starts(*map(it.ints, LOCATION)))


def location_of(batch: Batch) -> Ints:
    """Returns the index of each row's key, offset and value in `first_rows`."""

    def made(batch: Batch) -> Ints:
        begun = np.zeros(len(batch), dtype=np.bool_)
        begun[first_rows(batch)] = True
        return np.cumsum(begun) - 1

    return batch.derived(("location of",), made)


def pairs_in(key: Ints, value: Ints, keys: Ints, values: Ints) -> Mask:
    return Pairs.of(keys, values).have(key, value)


@dataclass(frozen=True, slots=True)
class Pairs:
    """A set of pairs of two numbers, such as key and value, for many lookups."""

    values: NumberSet
    both: NumberSet  # hashes of key and value

    @classmethod
    def of(cls, keys: Ints, values: Ints) -> Pairs:
        return cls(NumberSet.of(values), NumberSet.of(hash_of_pair(keys, values)))

    def have(self, key: Ints, value: Ints) -> Mask:
        found = self.values.has(value)
        some = np.flatnonzero(found)
        found[some] = self.both.has(hash_of_pair(key.take(some), value.take(some)))
        return found


def took_effect(batch: Batch, committed: Ints) -> Mask:
    """Returns a mask: True for each row that is a send that must have taken effect.

    These are the acknowledged sends, and the sends of the operations in `committed`. Those
    operations ended `info`, but a poll proves that they took effect.
    """
    role = role_of(batch)
    took: Mask = role == SEND_OK
    info = np.flatnonzero(role == SEND_INFO)
    took[info] = member(batch.ints("op")[info], committed)
    return took


def proves_location(batch: Batch, committed: Ints) -> Mask:
    """Returns a mask: True for each row that proves that the log has its value.

    Polls prove this, and sends that must have taken effect.
    """
    role = role_of(batch)
    proof: Mask = (role >= POLL_OK) | took_effect(batch, committed)
    return proof


def polled_ok(batch: Batch) -> Mask:
    ended_ok: Mask = (role_of(batch) & ~UNCOMMITTED) == POLL_OK
    return ended_ok


# ---------------------------------------------------------------- unconfirmed values


@dataclass(frozen=True, slots=True)
class UnconfirmedValues:
    """All rows about values that a poll returned at an offset that no acknowledged send has.

    `committed` are operations that ended `info` and took effect, since a poll returned their value.
    `resent` are acknowledged sends of a value for which another send failed.
    """

    observations: Batch
    sends: Batch
    committed: Ints
    keys: Ints  # of each unconfirmed value its key
    values: Ints
    resent: Batch

    def locations(self) -> Batch:
        """Returns the rows that prove the offset of a value in the log.

        Dirty reads of a value with a failed send do not count: they may have returned an aborted
        copy.
        """
        key, value, role = (self.observations.ints(name) for name in ("key", "value", "role"))
        failed = self.sends.where(self.sends.ints("role") == SEND_FAIL)
        had_failed = pairs_in(key, value, failed.ints("key"), failed.ints("value"))
        copies = had_failed & (role >= UNCOMMITTED)
        return self.observations.where(proves_location(self.observations, self.committed) & ~copies)

    @property
    def ops(self) -> Ints:
        """Returns the operation numbers of `observations` and `sends`, which may repeat."""
        ops: Ints = np.r_[self.observations.ints("op"), self.sends.ints("op")]
        return ops

    def among(self, key: Ints, value: Ints) -> Mask:
        pairs = self.observations.derived(("pairs",), lambda _: Pairs.of(self.keys, self.values))
        return pairs.have(key, value)

    def of(self, batch: Batch) -> Mask:
        """Returns a mask: True for each row of the batch whose value is unconfirmed.

        The batch must be one of RECORD_LOCATIONS.
        """

        def made(batch: Batch) -> Mask:
            return np.repeat(self.of_first_rows(batch), run_lengths(first_rows(batch), len(batch)))

        return batch.derived(("unconfirmed",), made)

    def of_first_rows(self, batch: Batch) -> Mask:
        """Returns a mask: True for each row of `first_rows(batch)` with an unconfirmed value."""

        def made(batch: Batch) -> Mask:
            return self.among(
                *(batch.ints(name).take(first_rows(batch)) for name in ("key", "value"))
            )

        return batch.derived(("unconfirmed first rows",), made)


_NO_NUMBERS: Final = np.zeros(0, dtype=np.int64)
_NO_ROWS: Final = Batch(RECORD.empty_table())
NO_UNCONFIRMED_VALUES: Final = UnconfirmedValues(
    _NO_ROWS, _NO_ROWS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_ROWS
)
_PAIR: Final = pa.schema([("key", pa.int64()), ("value", pa.int64())])
_COMMITTED: Final = pa.schema([("op", pa.int64())])


def find_unconfirmed() -> Plan[UnconfirmedValues]:
    """Returns all rows about unconfirmed values.

    A value is unconfirmed if a poll returned it at an offset that no acknowledged send of it has.
    """

    def records(source: Source, title: str, run: Callable[[Batch], pa.Table]) -> Stage[Batch]:
        return Stage(source, Kernel(title, RECORD_COLUMNS, RECORD, run), Batch)

    title = "finding unconfirmed values"
    kernel = Kernel(title, RECORD_COLUMNS, _PAIR, _unconfirmed)
    found = yield from collect(Stage(Source.RECORD_LOCATIONS, kernel))
    pairs = Batch(found.group_by(["key", "value"], use_threads=False).aggregate([]))
    keys, values = pairs.ints("key"), pairs.ints("value")
    resent = records(Source.SENDS, "collecting sends after failed sends", _resent)
    if not len(keys):
        return replace(NO_UNCONFIRMED_VALUES, resent=(yield from collect(resent)))
    rows = partial(rows_of_pairs, Pairs.of(keys, values))
    title = "collecting observations of unconfirmed values"
    observations = yield from collect(records(Source.RECORD_LOCATIONS, title, rows))
    title = "collecting sends of unconfirmed values"
    sends, again = yield from in_parallel(
        collect(records(Source.SENDS, title, rows)), collect(resent)
    )
    return _values_of(observations, sends, keys, values, again)


def _values_of(
    observations: Batch, sends: Batch, keys: Ints, values: Ints, resent: Batch = _NO_ROWS
) -> UnconfirmedValues:
    polled = observations.where(observations.ints("role") == POLL_OK)
    open_ = sends.where(sends.ints("role") == SEND_INFO)
    were_polled = pairs_in(
        open_.ints("key"), open_.ints("value"), polled.ints("key"), polled.ints("value")
    )
    committed = np.unique(open_.ints("op")[were_polled])
    return UnconfirmedValues(observations, sends, committed, keys, values, resent)


def _unconfirmed(batch: Batch) -> pa.Table:
    key, offset, value = map(batch.ints, LOCATION)
    at = first_rows(batch)
    confirmed = any_in_run(role_of(batch) == SEND_OK, at)
    first = at[~confirmed | (offset[at] == UNKNOWN_OFFSET)]
    return pa.table({"key": key[first], "value": value[first]}, schema=_PAIR)


def _resent(batch: Batch) -> pa.Table:
    role = role_of(batch)
    failed = role == SEND_FAIL
    if not failed.any():
        return RECORD.empty_table()
    starts = run_starts(batch.ints("value"), batch.ints("key"))  # SENDS are in that order
    one_failed = np.repeat(any_in_run(failed, starts), run_lengths(starts, len(batch)))
    placed = (role == SEND_OK) & (batch.ints("offset") != UNKNOWN_OFFSET)
    return batch.where(one_failed & placed).table


def rows_of_pairs(pairs: Pairs, batch: Batch) -> pa.Table:
    return batch.where(pairs.have(batch.ints("key"), batch.ints("value"))).table


# ---------------------------------------------------------------- without a shuffle


def sends_without_offset(isolation: Isolation) -> Stage[pa.Table]:
    """Returns a stage that collects the sends without an acknowledged offset.

    These sends ended `info`, or ended ok without an offset.
    """
    title, run = "collecting sends without an offset", partial(_without_offset, isolation)
    return Stage(Source.OPERATIONS, Kernel(title, _READS, RECORD, run))


def find_unconfirmed_sends(isolation: Isolation, sends: Batch) -> Plan[UnconfirmedValues]:
    """Returns all rows about the values of `sends`, which have no acknowledged offset."""
    if not len(sends):
        return NO_UNCONFIRMED_VALUES
    keys, values = sends.ints("key"), sends.ints("value")
    title = "collecting polls of sends without an offset"
    kernel = Kernel(title, _READS, RECORD, partial(_polls_of, isolation, Pairs.of(keys, values)))
    polls = yield from collect(Stage(Source.OPERATIONS, kernel, Batch))
    return _values_of(polls, sends, keys, values)


def _without_offset(isolation: Isolation, batch: Batch) -> pa.Table:
    info, ok = batch.is_in("outcome", "info"), batch.is_in("outcome", "ok")
    few = batch.where(batch.is_in("kind", "send") & (info | (ok & ~batch.is_valid("offset"))))
    return _rows(few, np.ones(len(few), np.bool_), _by_value, isolation).select(RECORD_COLUMNS)


def _polls_of(isolation: Isolation, pairs: Pairs, batch: Batch) -> pa.Table:
    rows = np.flatnonzero(batch.is_in("kind", "poll"))
    value = fingerprints(
        batch.table["value"].take(pa.array(rows)).combine_chunks(), batch.hash_seed
    )
    few = batch.where(rows[pairs.have(batch.fingerprints("key")[rows], value)])
    return _rows(few, np.ones(len(few), np.bool_), _by_value, isolation).select(RECORD_COLUMNS)
