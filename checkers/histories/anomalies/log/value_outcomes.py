"""Defines the query plan of three anomalies of values: unseen, aborted read, value nobody sent.

    p1 send k=a -> ok @0
    p2 txn k=b  -> fail
    c1 poll     -> ok k=b@1 k=c@2     a is unseen, b an aborted read, c a value nobody sent

The value `a` is *confirmed*: no poll returned it at another offset than the acknowledged offset.
The Spark task that has the records near this offset finds the anomalies of the value. The values
`b` and `c` are *unconfirmed*: a poll returned them at an offset where no send of the value was
acknowledged. Unconfirmed values are few, and the Spark driver finds their anomalies. The plan also
finds duplicates across keys.

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
from checkers.histories.anomalies.log.duplicates_across_keys import duplicates_across_keys
from checkers.histories.anomalies.log.keys import failed_values, record_keys
from checkers.histories.columnar.arrow import table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import (
    Mask,
    first_in_run,
    member,
    per_key,
    run_starts,
    runs,
)
from checkers.histories.facts.record_locations import (
    LOCATION,
    POLL_NOT_OK,
    POLL_OK,
    RECORD_COLUMNS,
    SEND_FAIL,
    SEND_OK,
    UNCOMMITTED,
    first_rows,
    polled_ok,
    role_of,
)
from checkers.histories.facts.retention import LogStarts
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues
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

NO_OPERATION: Final = 2**63 - 1  # above every operation
_WRITE: Final = pa.schema([(name, pa.int64()) for name in ("key", "value", "op")])
_SEEN: Final = pa.schema([*_WRITE, *((name, pa.int64()) for name in ("polled", "owed"))])

# what a row of RECORD_LOCATIONS proves about its value, for each role of the row
_SENT, _POLLED, _READ = 1, 2, 4
_TELLS: Final = np.zeros(16, dtype=np.uint8)
_TELLS[SEND_OK] = _SENT
_TELLS[[POLL_NOT_OK, POLL_NOT_OK + UNCOMMITTED]] = _POLLED
_TELLS[[POLL_OK, POLL_OK + UNCOMMITTED]] = _POLLED | _READ
_LAST: Final = pa.schema([("op", pa.int64())])


def value_outcomes(context: Context) -> Plan[tuple[Finding, ...]]:
    """Returns the findings of four anomalies: `unseen`, G1a (aborted read), `value-nobody-sent`
    and `duplicate-across-keys`.
    """
    unconfirmed, kept = context.unconfirmed, context.log_starts
    seen, without_offset, last, read, failed = yield from in_parallel(
        collect(
            Stage(
                Source.RECORD_LOCATIONS,
                Kernel(
                    "outcomes of values", RECORD_COLUMNS, _SEEN, partial(_unseen, unconfirmed, kept)
                ),
            )
        ),
        collect(
            Stage(
                Source.SENDS,
                Kernel(
                    "values without an offset",
                    RECORD_COLUMNS,
                    _WRITE,
                    partial(_unseen_without_offset, unconfirmed, kept),
                ),
            )
        ),
        collect(Stage(Source.OPERATIONS, Kernel("last operation", ("op",), _LAST, _last))),
        collect(record_keys(context.declared.isolation)),
        collect(failed_values(_send_failed)),
    )
    outcomes = _Outcomes.of(unconfirmed, kept)
    hidden = seen.filter(pa.array(Batch(seen).ints("op") != NO_OPERATION)).select(_WRITE.names)
    writes = Batch(pa.concat_tables([hidden, without_offset, outcomes.hidden()]))
    aborted, never_sent = outcomes.aborted(), outcomes.never_sent()
    copies = yield from duplicates_across_keys(unconfirmed, never_sent)
    tables = (writes, aborted, never_sent)
    key_of = yield from resolve_fingerprints(*(it.ints("key") for it in tables), column="key")
    value_of = yield from resolve_fingerprints(*(it.ints("value") for it in tables))

    def observed(of: Batch, row: Hashable, **columns: Any) -> pa.Table:
        texts = {"key": key_of(of.ints("key")), "value": value_of(of.ints("value"))}
        made = {**{name: of.table[name] for name in of.table.schema.names}, **texts, **columns}
        schema: pa.Schema = schema_of(row)
        return pa.table({name: made[name] for name in schema.names}).cast(schema)

    ops = writes.ints("op")
    later = max(last["op"].to_pylist(), default=0) - ops
    confirmed = Batch(seen)
    owed = int(confirmed.ints("owed").sum())
    polled = np.r_[confirmed.ints("polled"), outcomes.polled > 0]
    elsewhere = member(np.r_[confirmed.ints("key"), outcomes.keys], read.with_siblings)
    owed += without_offset.num_rows + int(np.count_nonzero(outcomes.owed))
    return (
        Finding(
            id=unseen.ANOMALY.id,
            rows=observed(writes, unseen.Unseen, writer_op=ops, later=later),
            observations=owed,
        ),
        Finding(
            id=aborted_read.ANOMALY.id,
            rows=observed(aborted, aborted_read.AbortedRead),
            observations=read.values_of_committed(failed),
        ),
        Finding(
            id=value_nobody_sent.ANOMALY.id,
            rows=observed(never_sent, value_nobody_sent.ValueNobodySent),
            observations=int(polled.sum()),
        ),
        Finding(
            id=duplicate_across_keys.ANOMALY.id,
            rows=copies,
            observations=int(polled[elsewhere].sum()),
        ),
    )


def _last(batch: Batch) -> pa.Table:
    return batch.table.select(["op"]).slice(max(0, len(batch) - 1)).cast(_LAST)


# ---------------------------------------------------------------- confirmed values


def _unseen(unconfirmed: UnconfirmedValues, kept: LogStarts, batch: Batch) -> pa.Table:
    # For each key, a row without a value counts two kinds of confirmed values: those that were
    # polled, and those that had to be polled.
    # A value is confirmed if it was polled only at offsets where a send of it was acknowledged.
    at, confirmed = first_rows(batch), np.flatnonzero(~unconfirmed.of_first_rows(batch))
    if not len(confirmed):
        return _SEEN.empty_table()
    key, offset, value = map(batch.ints, LOCATION)
    role, first = role_of(batch), at.take(confirmed)
    observed = np.bitwise_or.reduceat(_TELLS.take(role), at).take(confirmed)
    owed = ((observed & _SENT) > 0) & (offset.take(first) >= per_key(key.take(first), kept.of))
    hidden = first[owed & ((observed & _READ) == 0)]
    writer = batch.ints("op")[first_in_run(role == SEND_OK, hidden)]
    none = np.zeros(len(hidden), dtype=np.int64)
    begins = run_starts(key.take(first))
    keys = key.take(first[begins])
    counts = [
        np.add.reduceat(it, begins, dtype=np.int64) for it in ((observed & _POLLED) > 0, owed)
    ]
    no_value, no_op = np.zeros(len(keys), dtype=np.int64), np.full(len(keys), NO_OPERATION)
    columns = [key[hidden], value[hidden], writer, none, none]
    ends = [keys, no_value, no_op, *counts]
    return table_from(_SEEN, *(np.r_[it] for it in zip(columns, ends, strict=True)))


def _send_failed(batch: Batch) -> Mask:
    failed: Mask = role_of(batch) == SEND_FAIL
    return failed


def _unseen_without_offset(
    unconfirmed: UnconfirmedValues, kept: LogStarts, batch: Batch
) -> pa.Table:
    few = batch.where((role_of(batch) == SEND_OK) & (batch.ints("offset") == UNKNOWN_OFFSET))
    wanted = ~unconfirmed.of(few) & (kept.of(few.ints("key")) <= SOMEWHERE)
    return few.where(wanted).table.select(_WRITE.names)


# ---------------------------------------------------------------- unconfirmed values


@dataclass(frozen=True, slots=True)
class _Outcomes:
    keys: Ints
    values: Ints
    polled: Ints  # the number of polls
    poller: Ints  # the first operation that polled it
    readers: Ints  # the number of successful operations that read it at read_committed
    reader: Ints  # the first of these operations
    read: Mask  # True if a successful poll returned it, at either isolation level
    sent: Ints  # the number of sends
    failed: Ints  # the number of failed sends
    sender: Ints  # the first operation that sent it
    owed: Mask  # True if its send was acknowledged, so a poll should return it
    writer: Ints  # the first operation that was acknowledged

    @classmethod
    def of(cls, unconfirmed: UnconfirmedValues, kept: LogStarts) -> Self:
        pairs = hash_of_pair(unconfirmed.keys, unconfirmed.values)
        order = np.argsort(pairs)
        pairs, keys, values = pairs[order], unconfirmed.keys[order], unconfirmed.values[order]

        def entry(batch: Batch) -> Ints:
            return np.searchsorted(pairs, hash_of_pair(batch.ints("key"), batch.ints("value")))

        def count(at: Ints) -> Ints:
            return np.bincount(at, minlength=len(pairs))

        def first(at: Ints, ops: Ints) -> Ints:
            made = np.full(len(pairs), NO_OPERATION)
            np.minimum.at(made, at, ops)
            return made

        places, sends, placed = unconfirmed.observations, unconfirmed.sends, unconfirmed.locations()
        role, op, at = places.ints("role"), places.ints("op"), entry(places)
        polls, clean = role >= POLL_OK, role == POLL_OK
        once, starts = runs(at[clean], op[clean])
        last_offset = np.full(len(pairs), UNKNOWN_OFFSET)
        np.maximum.at(last_offset, entry(placed), placed.ints("offset"))
        last_offset[last_offset == UNKNOWN_OFFSET] = SOMEWHERE
        by, observed = entry(sends), sends.ints("role")
        sent = observed == SEND_OK
        return cls(
            keys=keys,
            values=values,
            polled=count(at[polls]),
            poller=first(at[polls], op[polls]),
            readers=count(at[clean][once[starts]]),
            reader=first(at[clean], op[clean]),
            read=count(at[polled_ok(places)]) > 0,
            sent=count(by),
            failed=count(by[observed == SEND_FAIL]),
            sender=first(by, sends.ints("op")),
            owed=(count(by[sent]) > 0) & (last_offset >= kept.of(keys)),
            writer=first(by[sent], sends.ints("op")[sent]),
        )

    def hidden(self) -> pa.Table:
        return self._rows(self.owed & ~self.read, op=self.writer).table.cast(_WRITE)

    def aborted(self) -> Batch:
        only_failed = (self.readers > 0) & (self.sent > 0) & (self.failed == self.sent)
        return self._rows(
            only_failed, writer_op=self.sender, reader_op=self.reader, readers=self.readers
        )

    def never_sent(self) -> Batch:
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
        plan=value_outcomes,
    ),
)
