"""Finds the unconfirmed values: the few values that no single Spark task can check alone.

Each line of this example has a send of a value, and a poll that returned the value:

    p1 send k=a -> ok @0     c1 poll k=a@0              a is confirmed
    p1 send k=b -> info      c1 poll k=b@1              b is unconfirmed: its send has no offset

A value is *confirmed* if, at each offset where it was polled, one of its sends was acknowledged.
The dataset RECORD_LOCATIONS is partitioned by offset, so a single Spark task can check this.

Any other polled value is *unconfirmed*. Examples are a duplicate, an aborted read, a value that no
operation sent, and a value that was polled without an offset. Every Spark task gets all rows of all
unconfirmed values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.pairs import Pairs, pairs_in
from checkers.histories.columnar.sorting import Mask, any_in_run, run_lengths, run_starts
from checkers.histories.facts.record_locations import (
    LOCATION,
    POLL_OK,
    READS,
    RECORD,
    RECORD_COLUMNS,
    SEND_FAIL,
    SEND_INFO,
    SEND_OK,
    UNCOMMITTED,
    first_rows,
    proves_location,
    records_of,
    role_of,
)
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Plan, Source, Stage, collect, in_parallel
from model.histories import Isolation


@dataclass(frozen=True, slots=True)
class UnconfirmedValues:
    """The values that were polled at an offset where none of their sends was acknowledged.

    - `observations` has the polls of these values, and their sends with an offset.
    - `sends` has all sends of these values.
    - `committed` has the operations that ended `info` but took effect: a poll returned one of
      their values.
    - `resent` has the acknowledged sends, with an offset, of values that also have a failed send.
      Unlike the other fields, `resent` also has sends of confirmed values.
    """

    observations: Batch
    sends: Batch
    committed: Ints
    keys: Ints  # the key of each unconfirmed value
    values: Ints
    resent: Batch

    def locations(self) -> Batch:
        """Returns the polls and the sends that prove an offset of an unconfirmed value. An
        unconfirmed value was polled at an offset where none of its sends was acknowledged.

        A poll at read_uncommitted may return the record of a failed send. So if a send of the value
        failed, the polls of the value at read_uncommitted are not returned.
        """
        key, value, role = (self.observations.ints(name) for name in ("key", "value", "role"))
        failed = self.sends.where(self.sends.ints("role") == SEND_FAIL)
        had_failed = pairs_in(key, value, failed.ints("key"), failed.ints("value"))
        # If a send of a value failed, the polls of this value at read_uncommitted prove nothing:
        # they may have returned the record of the failed send.
        copies = had_failed & (role >= UNCOMMITTED)
        return self.observations.where(proves_location(self.observations, self.committed) & ~copies)

    def aborted(self) -> Pairs:
        """Returns each unconfirmed value whose sends all failed, paired with its key (topic
        partition).
        """
        failed = self.sends.ints("role") == SEND_FAIL
        key, value = self.sends.ints("key"), self.sends.ints("value")
        resent = pairs_in(key, value, key[~failed], value[~failed])
        return Pairs.of(key[failed & ~resent], value[failed & ~resent])

    @property
    def ops(self) -> Ints:
        """The operation numbers of all rows in `observations`, followed by the operation numbers
        of all rows in `sends`.
        """
        ops: Ints = np.r_[self.observations.ints("op"), self.sends.ints("op")]
        return ops

    def among(self, key: Ints, value: Ints) -> Mask:
        pairs = self.observations.derived(("pairs",), lambda _: Pairs.of(self.keys, self.values))
        return pairs.have(key, value)

    def of(self, batch: Batch) -> Mask:
        """Returns a mask: True for each row of `batch` whose value is unconfirmed.

        The rows must be sorted by key (topic partition), offset and value.
        """

        def made(batch: Batch) -> Mask:
            return np.repeat(self.of_first_rows(batch), run_lengths(first_rows(batch), len(batch)))

        return batch.derived(("unconfirmed",), made)

    def of_first_rows(self, batch: Batch) -> Mask:
        """Returns a mask with one entry for each group of rows that have equal keys (topic
        partitions), offsets and values.

        An entry is True if the value of the group is unconfirmed.
        """

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


def find_unconfirmed() -> Plan[UnconfirmedValues]:
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
    """Returns a query-plan stage (one query on a dataset) that collects the sends that may have
    appended a record at an unknown offset.

    These are the sends that ended `info`, and the sends that ended `ok` without an offset.
    """
    title, run = "collecting sends without an offset", partial(_without_offset, isolation)
    return Stage(Source.OPERATIONS, Kernel(title, READS, RECORD, run))


def find_unconfirmed_sends(isolation: Isolation, sends: Batch) -> Plan[UnconfirmedValues]:
    """Returns the values of the sends in `sends`, with the offsets at which these values were
    polled.

    The sends in `sends` must have no acknowledged offset. If `sends` is empty, the result has no
    values.
    """
    if not len(sends):
        return NO_UNCONFIRMED_VALUES
    keys, values = sends.ints("key"), sends.ints("value")
    title = "collecting polls of sends without an offset"
    kernel = Kernel(title, READS, RECORD, partial(_polls_of, isolation, Pairs.of(keys, values)))
    polls = yield from collect(Stage(Source.OPERATIONS, kernel, Batch))
    return _values_of(polls, sends, keys, values)


def _without_offset(isolation: Isolation, batch: Batch) -> pa.Table:
    info, ok = batch.is_in("outcome", "info"), batch.is_in("outcome", "ok")
    few = batch.where(batch.is_in("kind", "send") & (info | (ok & ~batch.is_valid("offset"))))
    return records_of(few, isolation)


def _polls_of(isolation: Isolation, pairs: Pairs, batch: Batch) -> pa.Table:
    rows = np.flatnonzero(batch.is_in("kind", "poll"))
    value = fingerprints(
        batch.table["value"].take(pa.array(rows)).combine_chunks(), batch.hash_seed
    )
    few = batch.where(rows[pairs.have(batch.fingerprints("key")[rows], value)])
    return records_of(few, isolation)
