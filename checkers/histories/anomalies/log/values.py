"""Inquiry into what became of each value: acknowledged and unseen, aborted and read, or made up.

A confirmed value is decided in its block. An acknowledged send whose offset nobody knows is in no
block unless it was polled: such are found among the sends. All others are strays, and of them
everything is at hand.

Source: `properties.anomalies.log`: unseen, aborted_read, value_nobody_sent.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.anomalies.log.across_keys import across_keys
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import Mask
from checkers.histories.facts.record_locations import (
    LOCATION,
    POLL_NOT_OK,
    POLL_OK,
    RECORD_COLUMNS,
    SEND_FAIL,
    SEND_OK,
    UNCOMMITTED,
    UnconfirmedValues,
    first_in_run,
    first_rows,
    hash_of_pair,
    per_key,
    polled_ok,
    role_of,
    runs,
)
from checkers.histories.facts.retention import LogStarts
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    in_parallel,
    resolve_fingerprints,
)
from properties.anomalies.log import (
    aborted_read,
    duplicate_across_keys,
    unseen,
    value_nobody_sent,
)
from properties.anomalies.log.unseen import SOMEWHERE

NOBODY: Final = 2**63 - 1  # above every operation
_WRITE: Final = pa.schema([(name, pa.int64()) for name in ("key", "value", "op")])
_SEEN: Final = pa.schema(
    [*_WRITE, *((name, pa.int64()) for name in ("polled", "read_clean", "owed"))]
)

# what a row of RECORD_LOCATIONS tells of its value, by role
_SENT, _POLLED, _READ, _READ_CLEAN = 1, 2, 4, 8
_TELLS: Final = np.zeros(16, dtype=np.uint8)
_TELLS[SEND_OK] = _SENT
_TELLS[[POLL_NOT_OK, POLL_NOT_OK + UNCOMMITTED]] = _POLLED
_TELLS[POLL_OK + UNCOMMITTED] = _POLLED | _READ
_TELLS[POLL_OK] = _POLLED | _READ | _READ_CLEAN
_LAST: Final = pa.schema([("op", pa.int64())])


def fates(context: Context) -> Plan[tuple[Finding, ...]]:
    """What became of all values."""
    unconfirmed, kept = context.unconfirmed, context.log_starts
    seen, placeless, last = yield from in_parallel(
        collect(
            Stage(
                Source.RECORD_LOCATIONS,
                Kernel("values seen", RECORD_COLUMNS, _SEEN, partial(_seen, unconfirmed, kept)),
            )
        ),
        collect(
            Stage(
                Source.SENDS,
                Kernel(
                    "values of no place",
                    RECORD_COLUMNS,
                    _WRITE,
                    partial(_placeless, unconfirmed, kept),
                ),
            )
        ),
        collect(Stage(Source.OPERATIONS, Kernel("the last operation", ("op",), _LAST, _last))),
    )
    of_strays = _Fates.of(unconfirmed, kept)
    hidden = seen.filter(pa.array(Batch(seen).ints("op") != NOBODY)).select(_WRITE.names)
    writes = Batch(pa.concat_tables([hidden, placeless, of_strays.hidden()]))
    aborted, made_up = of_strays.aborted(), of_strays.made_up()
    copies = yield from across_keys(unconfirmed, made_up)
    tables = (writes, aborted, made_up)
    key_of = yield from resolve_fingerprints(*(it.ints("key") for it in tables), column="key")
    value_of = yield from resolve_fingerprints(*(it.ints("value") for it in tables))

    def told(of: Batch, row: Hashable, **columns: Any) -> pa.Table:
        texts = {"key": key_of(of.ints("key")), "value": value_of(of.ints("value"))}
        made = {**{name: of.table[name] for name in of.table.schema.names}, **texts, **columns}
        schema: pa.Schema = schema_of(row)
        return pa.table({name: made[name] for name in schema.names}).cast(schema)

    ops = writes.ints("op")
    later = max(last["op"].to_pylist(), default=0) - ops
    counts = (Batch(seen).ints(name) for name in ("polled", "read_clean", "owed"))
    polled, read_clean, owed = (int(count.sum()) for count in counts)
    polled += int(np.count_nonzero(of_strays.polled))
    owed += placeless.num_rows + int(np.count_nonzero(of_strays.owed))
    return (
        Finding(
            id=unseen.ANOMALY.id,
            rows=told(writes, unseen.Unseen, writer_op=ops, later=later),
            observations=owed,
        ),
        Finding(
            id=aborted_read.ANOMALY.id,
            rows=told(aborted, aborted_read.AbortedRead),
            observations=read_clean + int(np.count_nonzero(of_strays.readers)),
        ),
        Finding(
            id=value_nobody_sent.ANOMALY.id,
            rows=told(made_up, value_nobody_sent.ValueNobodySent),
            observations=polled,
        ),
        Finding(id=duplicate_across_keys.ANOMALY.id, rows=copies, observations=polled),
    )


def _last(batch: Batch) -> pa.Table:
    return batch.table.select(["op"]).slice(max(0, len(batch) - 1)).cast(_LAST)


# ---------------------------------------------------------------- confirmed values


def _seen(unconfirmed: UnconfirmedValues, kept: LogStarts, batch: Batch) -> pa.Table:
    """Those that must be there and that no poll ended ok was given; counts of all in a last row."""
    at, confirmed = first_rows(batch), np.flatnonzero(~unconfirmed.of_first_rows(batch))
    if not len(confirmed):
        return _SEEN.empty_table()
    key, offset, value = map(batch.ints, LOCATION)
    role, first = role_of(batch), at.take(confirmed)
    told = np.bitwise_or.reduceat(_TELLS.take(role), at).take(confirmed)
    owed = ((told & _SENT) > 0) & (offset.take(first) >= per_key(key.take(first), kept.of))
    hidden = first[owed & ((told & _READ) == 0)]
    writer = batch.ints("op")[first_in_run(role == SEND_OK, hidden)]
    none = np.zeros(len(hidden), dtype=np.int64)
    counts = [np.count_nonzero(it) for it in (told & _POLLED, told & _READ_CLEAN, owed)]
    columns = [key[hidden], value[hidden], writer, none, none, none]
    ends = [0, 0, NOBODY, *counts]
    return pa.table(
        {
            name: np.r_[column, end]
            for name, column, end in zip(_SEEN.names, columns, ends, strict=True)
        },
        schema=_SEEN,
    )


def _placeless(unconfirmed: UnconfirmedValues, kept: LogStarts, batch: Batch) -> pa.Table:
    """What was acknowledged without an offset and never polled; it may lie anywhere."""
    few = batch.where((role_of(batch) == SEND_OK) & (batch.ints("offset") == UNKNOWN_OFFSET))
    wanted = ~unconfirmed.of(few) & (kept.of(few.ints("key")) <= SOMEWHERE)
    return few.where(wanted).table.select(_WRITE.names)


# ---------------------------------------------------------------- strays


@dataclass(frozen=True, slots=True)
class _Fates:
    """What became of each stray: an entry for each in every column."""

    keys: Ints
    values: Ints
    polled: Ints  # how many times
    poller: Ints  # the first operation that polled it
    readers: Ints  # how many operations ended ok read it at read_committed
    reader: Ints  # the first of these
    read: Mask  # at either level
    sent: Ints  # how many times
    failed: Ints  # how many times in vain
    sender: Ints  # the first operation that sent it
    owed: Mask  # acknowledged, and must be there
    writer: Ints  # the first operation that was acknowledged

    @classmethod
    def of(cls, unconfirmed: UnconfirmedValues, kept: LogStarts) -> Self:
        """From all that is known of them."""
        pairs = hash_of_pair(unconfirmed.keys, unconfirmed.values)
        order = np.argsort(pairs)
        pairs, keys, values = pairs[order], unconfirmed.keys[order], unconfirmed.values[order]

        def entry(batch: Batch) -> Ints:
            return np.searchsorted(pairs, hash_of_pair(batch.ints("key"), batch.ints("value")))

        def count(at: Ints) -> Ints:
            return np.bincount(at, minlength=len(pairs))

        def first(at: Ints, ops: Ints) -> Ints:
            made = np.full(len(pairs), NOBODY)
            np.minimum.at(made, at, ops)
            return made

        places, sends, placed = unconfirmed.observations, unconfirmed.sends, unconfirmed.locations()
        role, op, at = places.ints("role"), places.ints("op"), entry(places)
        polls, clean = role >= POLL_OK, role == POLL_OK
        once, starts = runs(at[clean], op[clean])
        lies = np.full(len(pairs), UNKNOWN_OFFSET)
        np.maximum.at(lies, entry(placed), placed.ints("offset"))
        lies[lies == UNKNOWN_OFFSET] = SOMEWHERE
        by, told = entry(sends), sends.ints("role")
        sent = told == SEND_OK
        return cls(
            keys=keys,
            values=values,
            polled=count(at[polls]),
            poller=first(at[polls], op[polls]),
            readers=count(at[clean][once[starts]]),
            reader=first(at[clean], op[clean]),
            read=count(at[polled_ok(places)]) > 0,
            sent=count(by),
            failed=count(by[told == SEND_FAIL]),
            sender=first(by, sends.ints("op")),
            owed=(count(by[sent]) > 0) & (lies >= kept.of(keys)),
            writer=first(by[sent], sends.ints("op")[sent]),
        )

    def hidden(self) -> pa.Table:
        """What must be there and no poll ended ok was given."""
        return self._rows(self.owed & ~self.read, op=self.writer).table.cast(_WRITE)

    def aborted(self) -> Batch:
        """What was read though every operation that sent it failed."""
        only_failed = (self.readers > 0) & (self.sent > 0) & (self.failed == self.sent)
        return self._rows(
            only_failed, writer_op=self.sender, reader_op=self.reader, readers=self.readers
        )

    def made_up(self) -> Batch:
        """What was polled though nobody tried to send it."""
        return self._rows((self.polled > 0) & (self.sent == 0), op=self.poller, times=self.polled)

    def _rows(self, those: Mask, **columns: Ints) -> Batch:
        every = {"key": self.keys, "value": self.values, **columns}
        return Batch(pa.table({name: column[those] for name, column in every.items()}))


CHECKERS: Final = (
    AnomalyChecker(
        ids=(
            unseen.ANOMALY.id,
            aborted_read.ANOMALY.id,
            value_nobody_sent.ANOMALY.id,
            duplicate_across_keys.ANOMALY.id,
        ),
        plan=fates,
    ),
)
