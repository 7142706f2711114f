"""Defines the query plan of `future-read`: records that were polled before their send was invoked.

    c1 poll     -> ok k=a@0       op 0     the log of k ends at 1 or higher
    p1 send k=a -> ok @0          op 1     invoked after op 0 completed; 0 is below this end

The plan examines each send whose offset is below a log end that was observed before the send was
invoked. The plan also examines all polls of unconfirmed values. A value is unconfirmed if it was
polled at an offset where no send of the value was acknowledged.

Source: `properties.anomalies.real_time.future_read`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.pairs import Pairs
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import distinct, run_starts, runs
from checkers.histories.facts.record_locations import RECORD, RECORD_COLUMNS, polled_ok
from checkers.histories.facts.unconfirmed_values import UnconfirmedValues, rows_of_pairs
from checkers.histories.plan.batch import NEVER_NS, UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Plan, Source, Stage, collect, resolve_fingerprints
from properties.anomalies.real_time import future_read

FUTURE_READ: Final = future_read.ANOMALY.id
TIMES: Final = pa.schema([(name, pa.int64()) for name in ("op", "invoked_ns", "completed_ns")])
_POLLED: Final = pa.schema([(name, pa.int64()) for name in ("key", "value", "op", "completed_ns")])

NO_POLLS: Final = Batch(_POLLED.empty_table())


def times(ops: Ints) -> Stage[pa.Table]:
    """Returns a query-plan stage (one query on a dataset) that collects the start and end times
    of the operations `ops`.
    """
    some = distinct(ops)
    run = partial(_times, some)
    return Stage(
        Source.OPERATIONS, Kernel("times of operations", tuple(TIMES.names), TIMES, run, ops=some)
    )


def _times(ops: Ints, batch: Batch) -> pa.Table:
    op, rows = batch.ints("op"), batch.rows_of(ops)
    rows = rows[run_starts(op[rows])]
    columns = (
        op[rows],
        batch.ints("invoked_ns")[rows],
        batch.ints("completed_ns", null=NEVER_NS)[rows],
    )
    return pa.table(dict(zip(TIMES.names, columns, strict=True)), schema=TIMES)


def polls_at(keys: Ints, offsets: Ints) -> Stage[pa.Table]:
    """Returns a query-plan stage (one query on a dataset) that collects the successful polls at
    the offset `offsets[i]` of the topic partition `keys[i]`, for each i.
    """
    columns = ("op", "outcome", "completed_ns", "kind", "key", "offset", "value")
    run = partial(_polls_at, Pairs.of(keys, offsets))
    return Stage(Source.OPERATIONS, Kernel("polls of late sends", columns, _POLLED, run))


def _polls_at(places: Pairs, batch: Batch) -> pa.Table:
    ok = batch.is_in("outcome", "ok") & batch.is_in("kind", "poll") & batch.is_valid("completed_ns")
    rows = np.flatnonzero(ok)
    key, offset = batch.fingerprints("key")[rows], batch.ints("offset", null=UNKNOWN_OFFSET)[rows]
    some = places.have(key, offset)
    rows, key = rows[some], key[some]
    columns = (
        key,
        fingerprints(batch.table["value"].take(pa.array(rows)).combine_chunks(), batch.hash_seed),
        batch.ints("op")[rows],
        batch.ints("completed_ns")[rows],
    )
    return pa.table(dict(zip(_POLLED.names, columns, strict=True)), schema=_POLLED)


def future_reads(
    unconfirmed: UnconfirmedValues, unconfirmed_times: Batch, polls: Batch
) -> Plan[pa.Table]:
    """Returns the polls that returned a record before the send of the record was invoked.

    The plan examines the polls in `polls`, and all polls of unconfirmed values. An unconfirmed
    value was polled at an offset where no send of the value was acknowledged.
    """
    confirmed = polls.where(~unconfirmed.among(polls.ints("key"), polls.ints("value")))
    keys, values = confirmed.ints("key"), confirmed.ints("value")
    sends, sent_times = Batch(RECORD.empty_table()), Batch(TIMES.empty_table())
    if len(confirmed):
        run = partial(rows_of_pairs, Pairs.of(keys, values))
        sends = yield from collect(
            Stage(
                Source.SENDS, Kernel("senders of late records", RECORD_COLUMNS, RECORD, run), Batch
            )
        )
        sent_times = Batch((yield from collect(times(sends.ints("op")))))
    of_unconfirmed = unconfirmed.observations.where(polled_ok(unconfirmed.observations))
    polled = _earliest(
        np.r_[keys, of_unconfirmed.ints("key")],
        np.r_[values, of_unconfirmed.ints("value")],
        np.r_[
            confirmed.ints("completed_ns"),
            column_of(unconfirmed_times, of_unconfirmed.ints("op"), "completed_ns"),
        ],
        np.r_[confirmed.ints("op"), of_unconfirmed.ints("op")],
    )
    sent = _earliest(
        np.r_[sends.ints("key"), unconfirmed.sends.ints("key")],
        np.r_[sends.ints("value"), unconfirmed.sends.ints("value")],
        np.r_[
            column_of(sent_times, sends.ints("op"), "invoked_ns"),
            column_of(unconfirmed_times, unconfirmed.sends.ints("op"), "invoked_ns"),
        ],
        np.r_[sends.ints("op"), unconfirmed.sends.ints("op")],
    )
    both = polled.table.join(
        sent.table, ["key", "value"], join_type="inner", right_suffix="_sent", use_threads=False
    )
    pairs = Batch(both)
    early = pairs.where(pairs.ints("at_ns") < pairs.ints("at_ns_sent"))
    key_of = yield from resolve_fingerprints(early.ints("key"), column="key")
    value_of = yield from resolve_fingerprints(early.ints("value"))
    return pa.table(
        {
            "key": key_of(early.ints("key")),
            "value": value_of(early.ints("value")),
            "reader_op": early.ints("op"),
            "sender_op": early.ints("op_sent"),
            "early_ns": early.ints("at_ns_sent") - early.ints("at_ns"),
        }
    ).cast(schema_of(future_read.FutureRead))


def column_of(known: Batch, ops: Ints, column: str) -> Ints:
    order = np.argsort(known.ints("op"))
    return known.ints(column)[order[np.searchsorted(known.ints("op"), ops, sorter=order)]]


def _earliest(key: Ints, value: Ints, at_ns: Ints, op: Ints) -> Batch:
    by_time = np.lexsort([op, at_ns])
    order, begins = runs(key[by_time], value[by_time])
    first = by_time[order[begins]]
    columns = {"key": key[first], "value": value[first], "at_ns": at_ns[first], "op": op[first]}
    return Batch(pa.table(columns))
