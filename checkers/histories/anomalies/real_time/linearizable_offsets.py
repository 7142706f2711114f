"""Defines the query plan that finds offsets below a log end that was observed earlier.

    c1 end_offset k -> ok @5      op 0     observation: the log of k ends at 5 or higher
    p1 send k=a     -> ok @3      op 1     check: 3 is below 5, so it is an offset-order-inversion

If transactions send to a key, an end offset that was read at `read_committed` is the last stable
offset. Then only an observation at `read_committed` can contradict this end offset.

The plan has four steps. The history is processed in batches of operations:

1. Each batch compares its checks with its own observations, and returns a summary
   (`batch_summary`).
2. The driver compares the lowest offset of each key with the log ends of earlier batches
   (`log_ends`). A batch with an offset below an earlier log end is read again.
3. A send without an acknowledged offset gets the lowest offset at which its record was polled.
4. For each contradicted check, the plan finds the highest observation that contradicts it.

Source: Herlihy and Wing, `properties.anomalies.real_time`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.anomalies.real_time import stale_group_offsets
from checkers.histories.anomalies.real_time.batch_summary import (
    CHECKS,
    check_rows,
    offsets_stage,
    summary_stages,
)
from checkers.histories.anomalies.real_time.future_reads import (
    FUTURE_READ,
    NO_POLLS,
    future_reads,
    polls_at,
    times,
)
from checkers.histories.anomalies.real_time.log_ends import (
    FirstObservations,
    LogEnds,
    find_contradictions,
    partition_numbers,
)
from checkers.histories.columnar.arrow import compute, table_from
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.pairs import pairs_in
from checkers.histories.columnar.prefix_max import NOWHERE
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import Mask
from checkers.histories.facts.observed_offsets import (
    COLUMNS,
    KINDS,
    LOG_OF,
    SEND,
    checked_rows,
    observed_offsets,
)
from checkers.histories.facts.record_locations import SEND_INFO, SEND_OK, polled_ok
from checkers.histories.facts.unconfirmed_values import (
    UnconfirmedValues,
    find_unconfirmed_sends,
    sends_without_offset,
)
from checkers.histories.plan.batch import NEVER_NS, UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    collect_all,
    in_parallel,
    resolve_fingerprints,
)
from model.histories import Isolation
from properties.anomalies.real_time import offset_order_inversion, stale_end_offset

INVERSION: Final = offset_order_inversion.ANOMALY.id
STALE: Final = stale_end_offset.ANOMALY.id
_SENDS: Final = pa.schema(
    [*((name, pa.int64()) for name in ("op", "position", "key", "value")), ("text", pa.string())]
)


# ---------------------------------------------------------------- undecided checks


def _checks_below(isolation: Isolation, carried_limits: pa.Table, batch: Batch) -> pa.Table:
    """Returns those checked offsets of this batch of operations that are below a log end of an
    earlier batch.

    The checks in the table `early` of the summary (see `batch_summary`) are not returned.
    """
    of = observed_offsets(batch, isolation)
    own = carried_limits.filter(compute.equal(carried_limits["batch"], batch.number)).to_pylist()
    number_of = {key: number for number, key in enumerate(of.keys.tolist())}
    log_ends = np.full((len(LOG_OF), len(of.keys)), NOWHERE)
    for one in own:
        log_ends[one["check"], number_of[one["key"]]] = one["reach"]
    late = of.invoked_ns > of.completed_ns.min(initial=NEVER_NS)
    made: list[pa.Table] = []
    for check, rows in checked_rows(of):
        below = of.offset[rows] < log_ends[check][of.key[rows]]
        made.append(check_rows(of, check, rows[late[rows] & below], batch))
    return pa.concat_tables(made)


def _unconfirmed_checks(unconfirmed: UnconfirmedValues, before: Batch) -> Batch:
    """Returns a check for each send without an acknowledged offset. The offset of the check is the
    lowest offset at which the value of the send was polled.

    A send has no check if its value was never polled. `before` has the rows of the table
    `without_offset` of all summaries (see `batch_summary`).
    """
    sends, places = unconfirmed.sends, unconfirmed.observations
    role = sends.ints("role")
    unacknowledged = sends.where(
        (role == SEND_INFO) | ((role == SEND_OK) & (sends.ints("offset") == UNKNOWN_OFFSET))
    )
    polled = places.where(polled_ok(places) & (places.ints("offset") != UNKNOWN_OFFSET))
    lowest = polled.table.group_by(["key", "value"], use_threads=False).aggregate(
        [("offset", "min")]
    )
    of_send = unacknowledged.table.select(["key", "value", "op"])
    known = before.table.group_by(before.table.schema.names, use_threads=False).aggregate([])
    found = of_send.join(lowest, ["key", "value"], join_type="inner", use_threads=False)
    found = found.join(known, ["op", "key"], join_type="inner", use_threads=False).rename_columns(
        {"offset_min": "offset"}
    )
    for name, what in (("check", SEND), ("position", UNKNOWN_OFFSET)):
        found = found.append_column(name, pa.array(np.full(found.num_rows, what)))
    return Batch(found)


def _polls_of_unsent(unconfirmed: UnconfirmedValues) -> int:
    polls = unconfirmed.observations.where(polled_ok(unconfirmed.observations))
    sent = pairs_in(*(of.ints(n) for of in (polls, unconfirmed.sends) for n in ("key", "value")))
    return int(np.count_nonzero(~sent))


# ---------------------------------------------------------------- the records of contradicted sends


def _sends_of(ops: Ints, batch: Batch) -> pa.Table:
    rows = batch.rows_of(ops)
    sends = batch.where(rows[batch.is_in("kind", "send")[rows]])
    text = sends.table["value"].combine_chunks()
    columns = (sends.ints("op"), sends.ints("position"), sends.fingerprints("key"))
    return table_from(_SENDS, *columns, fingerprints(text, batch.hash_seed), text)


def _texts(sends: Batch, checks: Batch) -> pa.Array:
    texts: dict[tuple[int, ...], str] = {}
    for one in sends.table.to_pylist():
        texts[one["op"], one["position"], 0] = one["text"]
        texts[one["op"], UNKNOWN_OFFSET, one["key"], one["value"]] = one["text"]
    return pa.array(
        [
            texts[op, position, 0]
            if position != UNKNOWN_OFFSET
            else texts[op, UNKNOWN_OFFSET, key, value]
            for op, position, key, value in zip(
                *(checks.ints(name).tolist() for name in ("op", "position", "key", "value")),
                strict=True,
            )
        ],
        pa.string(),
    )


# ---------------------------------------------------------------- the query plan


def linearizable_offsets(context: Context) -> Plan[tuple[Finding, ...]]:
    """Returns the findings of three anomalies: offset order inversions, stale end offsets, and
    future reads.
    """
    unconfirmed = context.unconfirmed
    isolation = context.declared.isolation
    first, when = yield from in_parallel(
        collect_all(summary_stages(isolation)), collect(times(unconfirmed.ops))
    )
    result = yield from _find_contradictions(isolation, first, unconfirmed, polled=True)
    future = yield from future_reads(unconfirmed, Batch(when), result.polls)
    polls = int(Batch(first[0]).ints("polls").sum()) - _polls_of_unsent(unconfirmed)
    return *result.found, Finding(id=FUTURE_READ, rows=future, observations=polls)


def offsets_without_shuffle(context: Context) -> Plan[tuple[Finding, ...]]:
    """Returns the findings of two anomalies: offset order inversions and stale end offsets.

    The plan does not shuffle the history. Instead, it reads the history twice.
    """
    isolation = context.declared.isolation
    first, sends = yield from in_parallel(
        collect_all(summary_stages(isolation)), collect(sends_without_offset(isolation))
    )
    # This reads the history once more, for the polls of values sent without an acknowledged offset.
    unconfirmed = yield from find_unconfirmed_sends(isolation, Batch(sends))
    result = yield from _find_contradictions(isolation, first, unconfirmed, polled=False)
    return result.found


def _find_contradictions(
    isolation: Isolation, first: Sequence[pa.Table], unconfirmed: UnconfirmedValues, *, polled: bool
) -> Plan[_Contradictions]:
    spans, firsts, unopposed, steps, limits, early, own, before, transactional = first
    of_batches = Batch(spans)
    log_ends = LogEnds.of(of_batches, Batch(steps), np.unique(Batch(transactional).ints("key")))
    of_unconfirmed, of_early = _unconfirmed_checks(unconfirmed, Batch(before)), Batch(early)
    # The polls of records whose send is among the findings may be future reads.
    checks = [
        of_early.where(log_ends.may_be_contradicted(of_early)).table,
        of_unconfirmed.where(log_ends.contradicted(of_unconfirmed)).table.select(CHECKS.names),
    ]
    carried_limits = log_ends.carried_limits(Batch(limits))
    if carried_limits.num_rows:
        run = partial(_checks_below, isolation, carried_limits)
        late = partition_numbers(Batch(carried_limits).ints("batch"))
        checks.append(
            (yield from collect(offsets_stage("offsets below known log ends", CHECKS, run, late)))
        )
    contradicted = Batch(own).where(log_ends.applicable(Batch(own)))
    if log_ends.in_order:
        contradicted = log_ends.with_earlier_observations(contradicted)
    else:
        checks.append(contradicted.table.select(CHECKS.names))
        contradicted = contradicted.where(np.zeros(0, dtype=np.int64))
    distinct_checks = Batch(
        pa.concat_tables(checks).group_by(CHECKS.names, use_threads=False).aggregate([])
    )
    open_ = distinct_checks.where(
        log_ends.applicable(distinct_checks) & ~_already_contradicted(distinct_checks, contradicted)
    )
    found_later = yield from find_contradictions(
        open_, isolation, log_ends.contradicting_partitions(open_)
    )
    inversions, stale, polls = yield from _resolve(
        Batch(pa.concat_tables([contradicted.table, found_later])), polled=polled
    )
    opposed = FirstObservations.of(Batch(firsts))
    alone = Batch(unopposed)
    alone = alone.where(log_ends.applicable(alone) & ~opposed.precede(alone))
    sends_alone = int(np.count_nonzero(alone.ints("check") == SEND))
    sends = int(of_batches.ints("sends").sum()) - sends_alone
    sends += int(np.count_nonzero(opposed.precede(of_unconfirmed)))
    ends = int(of_batches.ints("ends").sum()) - (len(alone) - sends_alone)
    found = (
        Finding(id=INVERSION, rows=inversions, observations=sends),
        Finding(id=STALE, rows=stale, observations=ends),
    )
    return _Contradictions(found, polls)


@dataclass(frozen=True, slots=True)
class _Contradictions:
    found: tuple[Finding, ...]
    polls: Batch


def _already_contradicted(checks: Batch, contradicted: Batch) -> Mask:
    known = (contradicted.ints(name) for name in ("op", "position", "check"))
    known_checks = {*zip(*(column.tolist() for column in known), strict=True)}
    ours = (checks.ints(name).tolist() for name in ("op", "position", "check"))
    return np.array([one in known_checks for one in zip(*ours, strict=True)], dtype=np.bool_)


def _resolve(row: Batch, *, polled: bool) -> Plan[tuple[pa.Table, pa.Table, Batch]]:
    inversion = schema_of(offset_order_inversion.OffsetOrderInversion)
    end = schema_of(stale_end_offset.StaleEndOffset)
    if not len(row):
        return inversion.empty_table(), end.empty_table(), NO_POLLS
    sends = row.where(row.ints("check") == SEND)
    collected_sends, polls = yield from in_parallel(
        collect(Stage(Source.OPERATIONS, _sending(sends))),
        collect_all([polls_at(sends.ints("key"), sends.ints("offset"))] if polled else []),
    )
    key_of = yield from resolve_fingerprints(row.ints("key"), column="key")
    of_send = np.flatnonzero(row.ints("check") == SEND)
    of_end = np.flatnonzero(row.ints("check") != SEND)

    def columns(some: Ints, offset: str) -> dict[str, pa.Array]:
        check = row.where(some)
        return {
            "key": key_of(check.ints("key")),
            offset: pa.array(check.ints("offset")),
            "op": pa.array(check.ints("op")),
            "known_end": pa.array(check.ints("reach")),
            "known_from": pa.array(KINDS).take(pa.array(check.ints("kind"))),
            "known_op": pa.array(check.ints("known_op")),
        }

    value = _texts(Batch(collected_sends), row.where(of_send))
    inversions = pa.table({**columns(of_send, "offset"), "value": value}).select(inversion.names)
    stale = pa.table(columns(of_end, "end_offset"))
    theirs, read_at = Batch(collected_sends), Batch(polls[0]) if polled else NO_POLLS
    of_theirs = pairs_in(*(one.ints(n) for one in (read_at, theirs) for n in ("key", "value")))
    return inversions.cast(inversion), stale.cast(end), read_at.where(of_theirs)


def _sending(checks: Batch) -> Kernel:
    columns = ("op", "position", "kind", "key", "value")
    ops = np.unique(checks.ints("op"))
    return Kernel(
        "records of contradicted sends", columns, _SENDS, partial(_sends_of, ops), ops=ops
    )


CHECKERS: Final = (
    AnomalyChecker(
        ids=(INVERSION, STALE, FUTURE_READ),
        plan=linearizable_offsets,
        cheaper=AnomalyChecker(
            ids=(INVERSION, STALE),
            plan=offsets_without_shuffle,
            assumes=("time-goes-forward",),
            columns=COLUMNS,
            needs_shuffle=False,
        ),
    ),
    *stale_group_offsets.CHECKERS,
)
