"""What the history shows of its logs, dealt out once: the places of values, and who sent them.

    RECORD_LOCATIONS  a row for each record that was polled, or sent at a known offset; a block of
                      offsets of a key is in one partition, by key, offset, value and operation
    SENDS             a row for each send; all sends of one value are in one partition, together

Most values are confirmed: they have one place, where their send was acknowledged. The others are
strays: something was polled where no acknowledged send put it, or at an offset nobody knows. A
duplicate, an aborted read, a value that nobody sent, a send that nobody knows of: all of them show
as strays. There are few, so all that is known of them comes to one place (`strays`), and of the
confirmed everything can be decided in their block.

Source: "duplicates need no shuffle by value"; jepsen.tests.kafka version-orders for what counts.
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
_SPREAD: Final = 0x1E3779B97F4A7C15  # odd: how far apart blocks of a key are dealt
_COUNTER: Final = np.int32  # of the rows of a piece: half as wide is counted faster

# what a row is; polls at read_uncommitted have UNCOMMITTED added
SEND_OK: Final = 0  # its operation ended ok
SEND_INFO: Final = 1  # it ended info
SEND_FAIL: Final = 2
POLL_OK: Final = 3  # a poll ended ok
POLL_NOT_OK: Final = 4  # a poll that did not
UNCOMMITTED: Final = 8

_ROW: Final = [
    ("key", pa.int64()),  # fingerprint
    ("offset", pa.int64()),  # UNKNOWN if nobody knows it
    ("value", pa.int64()),  # fingerprint
    ("op", pa.int64()),
    ("role", pa.int8()),
]
RECORD: Final = pa.schema(_ROW)
RECORD_COLUMNS: Final = tuple(RECORD.names)
LOCATION: Final = ("key", "offset", "value")
_DEALT: Final = pa.schema([(SHUFFLE_KEY, pa.int64()), *_ROW])
_READS: Final = ("op", "outcome", "kind", "key", "offset", "value", "isolation")


def shuffle_kernels(declared: Declarations) -> dict[Source, Kernel]:
    """The kernels that deal out a history of which this is declared."""
    places = partial(_places, isolation=declared.isolation)
    sends = partial(_sends, isolation=declared.isolation)
    return {
        Source.RECORD_LOCATIONS: Kernel("places of values", _READS, _DEALT, places, LOCATION),
        Source.SENDS: Kernel("senders of values", _READS, _DEALT, sends, ("value", "key")),
    }


def block(offset: Ints) -> Ints:
    """The block that an offset lies in."""
    return offset >> BLOCK_BITS


def _places(batch: Batch, isolation: Isolation) -> pa.Table:
    """Polls, and sends whose offset is known."""
    wanted = batch.is_in("kind", "poll") | (batch.is_in("kind", "send") & batch.is_valid("offset"))
    return _rows(batch, wanted, _by_block, isolation)


def _sends(batch: Batch, isolation: Isolation) -> pa.Table:
    return _rows(batch, batch.is_in("kind", "send"), _by_value, isolation)


def _by_block(key: Ints, offset: Ints, value: Ints) -> Ints:
    del value
    return key + block(offset) * _SPREAD  # keys are spread already


def _by_value(key: Ints, offset: Ints, value: Ints) -> Ints:
    del key, offset
    return value


def hash_of_pair(first: Ints, second: Ints) -> Ints:
    """One number for two, as good as different for different pairs."""
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
    return pa.table(columns, schema=_DEALT)


def roles(batch: Batch, isolation: Isolation) -> Any:
    """What each send and poll is; at this level are polls that do not say their own."""
    return batch.derived(("roles", isolation), partial(_roles, isolation))


def _roles(isolation: Isolation, batch: Batch) -> Any:
    ok, info = (batch.is_in("outcome", word).view(np.int8) for word in ("ok", "info"))
    sent = SEND_FAIL + (SEND_OK - SEND_FAIL) * ok + (SEND_INFO - SEND_FAIL) * info
    uncommitted = batch.is_in("isolation", "read_uncommitted")
    if isolation == "read_uncommitted":
        uncommitted = uncommitted | ~batch.is_valid("isolation")
    polled = POLL_NOT_OK + (POLL_OK - POLL_NOT_OK) * ok + UNCOMMITTED * uncommitted.view(np.int8)
    return np.where(batch.is_in("kind", "send"), sent, polled)


# ---------------------------------------------------------------- rows that agree


def runs(*columns: Ints) -> tuple[Ints, Ints]:
    """An order in which rows that agree in the columns lie together, and where each run begins.

    Rows that agree in the first column lie together, ascending in the others; rows of a run keep
    their order.
    """
    order = grouping_order(*columns)
    return order, run_starts(*(column[order] for column in columns))


def any_in_run(flags: Mask, starts: Ints) -> Mask:
    """For each run of rows whether one of them is flagged; the first run begins at the first."""
    if not len(starts):
        return flags[:0]
    so_far = np.cumsum(flags, dtype=_COUNTER)[np.r_[starts[1:] - 1, -1]]
    flagged: Mask = np.diff(so_far, prepend=_COUNTER(0)) > 0
    return flagged


def first_in_run(flags: Mask, starts: Ints) -> Ints:
    """The first flagged row of each of these runs, all of which have one."""
    before = np.cumsum(flags, dtype=_COUNTER).take(starts) - flags.take(starts)
    return np.flatnonzero(flags).take(before)


def per_key(key: Ints, of: Callable[[Ints], Ints]) -> Ints:
    """What is known of each key; asked once where rows of a key follow each other."""
    starts = run_starts(key)
    return np.repeat(of(key[starts]), run_lengths(starts, len(key)))


def role_of(batch: Batch) -> Codes:
    """What each row of RECORD_LOCATIONS or SENDS is, as narrow as they are."""
    return batch.derived(("role",), lambda it: it.table["role"].to_numpy())


def first_rows(batch: Batch) -> Ints:
    """The first row of each value at each offset; RECORD_LOCATIONS are in this order."""
    return batch.derived(("heads",), lambda it: run_starts(*map(it.ints, LOCATION)))


def location_of(batch: Batch) -> Ints:
    """Which of the `heads` each row is of."""

    def made(batch: Batch) -> Ints:
        begun = np.zeros(len(batch), dtype=np.bool_)
        begun[first_rows(batch)] = True
        return np.cumsum(begun) - 1

    return batch.derived(("place",), made)


def pairs_in(key: Ints, value: Ints, keys: Ints, values: Ints) -> Mask:
    """Where (key, value) is one of the pairs."""
    return Pairs.of(keys, values).have(key, value)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of numbers, to be asked for many."""

    values: NumberSet
    both: NumberSet  # key and value in one number

    @classmethod
    def of(cls, keys: Ints, values: Ints) -> Pairs:
        """Of these keys with these values."""
        return cls(NumberSet.of(values), NumberSet.of(hash_of_pair(keys, values)))

    def have(self, key: Ints, value: Ints) -> Mask:
        """Where (key, value) is one of them: mostly its value is none of theirs."""
        found = self.values.has(value)
        some = np.flatnonzero(found)
        found[some] = self.both.has(hash_of_pair(key.take(some), value.take(some)))
        return found


def took_effect(batch: Batch, committed: Ints) -> Mask:
    """Which rows are sends that must have taken effect; `committed` ascends."""
    role = role_of(batch)
    took: Mask = role == SEND_OK
    doubted = np.flatnonzero(role == SEND_INFO)
    took[doubted] = member(batch.ints("op")[doubted], committed)
    return took


def proves_location(batch: Batch, committed: Ints) -> Mask:
    """Which rows of RECORD_LOCATIONS show that the value lies at the offset, if they tell one."""
    role = role_of(batch)
    told: Mask = (role >= POLL_OK) | took_effect(batch, committed)
    return told


def polled_ok(batch: Batch) -> Mask:
    """Which rows are polls that ended ok."""
    ended_ok: Mask = (role_of(batch) & ~UNCOMMITTED) == POLL_OK
    return ended_ok


# ---------------------------------------------------------------- strays


@dataclass(frozen=True, slots=True)
class UnconfirmedValues:
    """All that the history shows of values that are not confirmed.

    `places` and `sends` have the columns of ROW; `committed` are the operations that ended info and
    must have taken effect: something that they sent was read by a poll that ended ok. `resent` are
    acknowledged sends of values whose send had also failed: strays or not, of these few it is told.
    """

    observations: Batch
    sends: Batch
    committed: Ints
    keys: Ints  # of the values, pair by pair
    values: Ints
    resent: Batch

    def locations(self) -> Batch:
        """What tells where they lie: no copy of an aborted transaction, if it was sent again."""
        key, value, role = (self.observations.ints(name) for name in ("key", "value", "role"))
        failed = self.sends.where(self.sends.ints("role") == SEND_FAIL)
        in_vain = pairs_in(key, value, failed.ints("key"), failed.ints("value"))
        copies = in_vain & (role >= UNCOMMITTED)
        return self.observations.where(proves_location(self.observations, self.committed) & ~copies)

    @property
    def ops(self) -> Ints:
        """The operations that show or sent them, some several times."""
        ops: Ints = np.r_[self.observations.ints("op"), self.sends.ints("op")]
        return ops

    def among(self, key: Ints, value: Ints) -> Mask:
        """Where (key, value) is a stray."""
        pairs = self.observations.derived(("pairs",), lambda _: Pairs.of(self.keys, self.values))
        return pairs.have(key, value)

    def of(self, batch: Batch) -> Mask:
        """Which rows of RECORD_LOCATIONS are of strays."""

        def made(batch: Batch) -> Mask:
            return np.repeat(self.of_first_rows(batch), run_lengths(first_rows(batch), len(batch)))

        return batch.derived(("strays",), made)

    def of_first_rows(self, batch: Batch) -> Mask:
        """Which of its `heads` are of strays."""

        def made(batch: Batch) -> Mask:
            return self.among(
                *(batch.ints(name).take(first_rows(batch)) for name in ("key", "value"))
            )

        return batch.derived(("heads of strays",), made)


_NOBODY: Final = np.zeros(0, dtype=np.int64)
_NOTHING: Final = Batch(RECORD.empty_table())
NO_UNCONFIRMED_VALUES: Final = UnconfirmedValues(
    _NOTHING, _NOTHING, _NOBODY, _NOBODY, _NOBODY, _NOTHING
)
_PAIR: Final = pa.schema([("key", pa.int64()), ("value", pa.int64())])
_COMMITTED: Final = pa.schema([("op", pa.int64())])


def find_unconfirmed() -> Plan[UnconfirmedValues]:
    """The strays, and which doubtful operations took effect."""
    found = yield from collect(
        Stage(
            Source.RECORD_LOCATIONS,
            Kernel("values without a confirmed place", RECORD_COLUMNS, _PAIR, _stray),
        )
    )
    pairs = Batch(found.group_by(["key", "value"], use_threads=False).aggregate([]))
    keys, values = pairs.ints("key"), pairs.ints("value")
    resent = Stage(Source.SENDS, Kernel("what was sent again", RECORD_COLUMNS, RECORD, _resent))
    if not len(keys):
        return replace(NO_UNCONFIRMED_VALUES, resent=Batch((yield from collect(resent))))
    of_strays = partial(rows_of_pairs, Pairs.of(keys, values))
    places = yield from collect(
        Stage(
            Source.RECORD_LOCATIONS, Kernel("where strays lie", RECORD_COLUMNS, RECORD, of_strays)
        )
    )
    sends = Stage(Source.SENDS, Kernel("who sent the strays", RECORD_COLUMNS, RECORD, of_strays))
    sent, again = yield from in_parallel(collect(sends), collect(resent))
    return _strays(Batch(places), Batch(sent), keys, values, Batch(again))


def _strays(
    seen: Batch, sent: Batch, keys: Ints, values: Ints, resent: Batch = _NOTHING
) -> UnconfirmedValues:
    given = seen.where(seen.ints("role") == POLL_OK)
    doubted = sent.where(sent.ints("role") == SEND_INFO)
    were_read = pairs_in(
        doubted.ints("key"), doubted.ints("value"), given.ints("key"), given.ints("value")
    )
    return UnconfirmedValues(
        seen, sent, np.unique(doubted.ints("op")[were_read]), keys, values, resent
    )


def _stray(batch: Batch) -> pa.Table:
    """Values polled where no operation that ended ok has sent them."""
    key, offset, value = map(batch.ints, LOCATION)
    at = first_rows(batch)
    confirmed = any_in_run(role_of(batch) == SEND_OK, at)
    first = at[~confirmed | (offset[at] == UNKNOWN_OFFSET)]
    return pa.table({"key": key[first], "value": value[first]}, schema=_PAIR)


def _resent(batch: Batch) -> pa.Table:
    """The acknowledged sends among those of a value of which one failed."""
    role = role_of(batch)
    failed = role == SEND_FAIL
    if not failed.any():
        return RECORD.empty_table()
    starts = run_starts(batch.ints("value"), batch.ints("key"))  # SENDS are in that order
    one_failed = np.repeat(any_in_run(failed, starts), run_lengths(starts, len(batch)))
    placed = (role == SEND_OK) & (batch.ints("offset") != UNKNOWN_OFFSET)
    return batch.where(one_failed & placed).table


def rows_of_pairs(pairs: Pairs, batch: Batch) -> pa.Table:
    """The rows of RECORD_LOCATIONS or SENDS whose key and value are one of the pairs."""
    return batch.where(pairs.have(batch.ints("key"), batch.ints("value"))).table


# ---------------------------------------------------------------- strays, with nothing exchanged


def sends_without_offset(isolation: Isolation) -> Stage[pa.Table]:
    """Sends that ended info, or ok without an offset: few, and strays if they were polled."""
    run = partial(_untold, isolation)
    return Stage(Source.OPERATIONS, Kernel("sends without an offset", _READS, RECORD, run))


def find_unconfirmed_sends(isolation: Isolation, sends: Batch) -> Plan[UnconfirmedValues]:
    """Of the strays those that these sends sent."""
    if not len(sends):
        return NO_UNCONFIRMED_VALUES
    keys, values = sends.ints("key"), sends.ints("value")
    run = partial(_polls_of, isolation, Pairs.of(keys, values))
    polls = yield from collect(
        Stage(Source.OPERATIONS, Kernel("where they were polled", _READS, RECORD, run))
    )
    return _strays(Batch(polls), sends, keys, values)


def _untold(isolation: Isolation, batch: Batch) -> pa.Table:
    doubted, ok = batch.is_in("outcome", "info"), batch.is_in("outcome", "ok")
    few = batch.where(batch.is_in("kind", "send") & (doubted | (ok & ~batch.is_valid("offset"))))
    return _rows(few, np.ones(len(few), np.bool_), _by_value, isolation).select(RECORD_COLUMNS)


def _polls_of(isolation: Isolation, pairs: Pairs, batch: Batch) -> pa.Table:
    rows = np.flatnonzero(batch.is_in("kind", "poll"))
    value = fingerprints(
        batch.table["value"].take(pa.array(rows)).combine_chunks(), batch.hash_seed
    )
    few = batch.where(rows[pairs.have(batch.fingerprints("key")[rows], value)])
    return _rows(few, np.ones(len(few), np.bool_), _by_value, isolation).select(RECORD_COLUMNS)
