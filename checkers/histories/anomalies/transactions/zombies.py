"""Defines the query plan of `zombie-write`: writes of producers that had been replaced.

    p1 init_producer{id=x} -> ok
    p2 init_producer{id=x} -> ok          replaces the producer of p1
    p1 txn{id=x} k=a       -> ok @0       a zombie write

There are two kinds of zombie writes. One is a send outside a transaction that is invoked after the
replacement. The other is a transaction whose commit or abort is requested after the replacement. A
zombie write is reported only if its operation ended ok, or if one of its records was read.

Source: `properties.anomalies.transactions.zombie_write`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.anomalies.transactions.operation_details import (
    FAIL,
    INFO,
    OK,
    end_requested_ns,
)
from checkers.histories.anomalies.transactions.unconfirmed_records import (
    Record,
    UnconfirmedRecord,
    unconfirmed_records,
)
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import (
    distinct,
    grouping_order,
    member,
    run_lengths,
    run_starts,
)
from checkers.histories.plan.batch import NEVER_NS, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    in_parallel,
    resolve_fingerprints,
)
from properties.anomalies.transactions import zombie_write

ZOMBIE: Final = zombie_write.ANOMALY.id
_MADE: Final = int64_schema("id", "process", "op", "outcome", "invoked_ns", "completed_ns")
_LATE: Final = int64_schema("id", "op", "older_op", "newer_op", "late_ns", "outcome")
_WORKING_TIMES: Final = int64_schema("id", "process", "invoked_ns", "end_requested_ns")
_OF_OPERATION: Final = ("op", "process", "f", "outcome", "invoked_ns", "completed_ns")
_MAKING: Final = (*_OF_OPERATION, "transactional_id")
_WORKING: Final = (*_MAKING, "end_asked_ns")
_WROTE: Final = (*_WORKING, "kind")


def zombies(context: Context) -> Plan[tuple[Finding, ...]]:
    observed, worked = yield from in_parallel(
        collect(Stage(Source.OPERATIONS, Kernel("initialised producers", _MAKING, _MADE, _made))),
        collect(
            Stage(
                Source.OPERATIONS,
                Kernel("working times of producers", _WORKING, _WORKING_TIMES, _working_times),
            )
        ),
    )
    inits, working_times = Batch(observed), Batch(worked)
    own = _producer_instances(
        inits, *(working_times.ints(name) for name in ("id", "process", "invoked_ns"))
    )
    known = working_times.where(own >= 0)
    newer = _replaced_by(inits, known.ints("id"), own[own >= 0], known.ints("end_requested_ns"))
    suspects = np.unique(known.ints("id")[newer >= 0])
    late = Batch(_LATE.empty_table())
    if len(suspects):
        run = partial(
            _writes_after_replacement, inits.where(member(inits.ints("id"), suspects)), suspects
        )
        title = "writes of replaced producers"
        late = yield from collect(
            Stage(Source.OPERATIONS, Kernel(title, _WROTE, _LATE, run), Batch)
        )
    shown = _first_readers(unconfirmed_records(context.unconfirmed))
    ok = late.ints("outcome") == OK
    readers = [shown.get(op) for op in late.ints("op").tolist()]
    took_effect = late.where(ok | np.array([it is not None for it in readers], dtype=np.bool_))
    id_of = yield from resolve_fingerprints(took_effect.ints("id"), column="transactional_id")
    rows = pa.table(
        {
            "transactional_id": id_of(took_effect.ints("id")),
            **{name: took_effect.table[name] for name in _LATE.names[1:5]},
            "shown_by": pa.array(
                [
                    [] if outcome == OK else [shown[op]]
                    for op, outcome in zip(
                        *(took_effect.ints(name).tolist() for name in ("op", "outcome")),
                        strict=True,
                    )
                ],
                pa.list_(pa.int64()),
            ),
        }
    ).cast(schema_of(zombie_write.ZombieWrite))
    return (Finding(id=ZOMBIE, rows=rows, observations=len(late)),)


def _first_readers(records: dict[Record, UnconfirmedRecord]) -> dict[int, int]:
    first: dict[int, int] = {}
    for entry in records.values():
        if entry.readers and entry.sent_by:
            reader = min(entry.readers)
            first[entry.writer] = min(reader, first.get(entry.writer, reader))
    return first


# ---------------------------------------------------------------- kernels


def _first_rows(batch: Batch) -> Ints:
    def inits(batch: Batch) -> Ints:
        rows = np.flatnonzero(batch.is_valid("transactional_id"))
        return rows[run_starts(batch.ints("op").take(rows))]

    return batch.derived(("producers at work",), inits)


def _outcomes(batch: Batch) -> Ints:
    outcome = np.where(batch.is_in("outcome", "ok"), OK, INFO)
    outcome[batch.is_in("outcome", "fail")] = FAIL
    return outcome


def _made(batch: Batch) -> pa.Table:
    rows = _first_rows(batch)
    inits = batch.where(rows[batch.is_in("f", zombie_write.INIT)[rows]], _MAKING)
    return table_from(
        _MADE,
        inits.fingerprints("transactional_id"),
        inits.ints("process"),
        inits.ints("op"),
        _outcomes(inits),
        inits.ints("invoked_ns"),
        inits.ints("completed_ns", null=NEVER_NS),
    )


def _working_times(batch: Batch) -> pa.Table:
    # The span ends when the last commit, abort or plain send was requested.
    inits, working = Batch(_made(batch)), _working(batch)
    ids, process = working.fingerprints("transactional_id"), working.ints("process")
    invoked, queries = working.ints("invoked_ns"), end_requested_ns(working)
    # A new producer begins with each `init_producer` operation of a process.
    own = _last_init(inits, ids, process, invoked)
    order = np.lexsort([own, process, ids])
    starts = run_starts(ids[order], process[order], own[order])
    if not len(starts):
        return _WORKING_TIMES.empty_table()
    first = order[starts]
    return table_from(
        _WORKING_TIMES,
        ids[first],
        process[first],
        np.minimum.reduceat(invoked[order], starts),
        np.maximum.reduceat(queries[order], starts),
    )


def _working(batch: Batch) -> Batch:
    rows = _first_rows(batch)
    return batch.where(rows[~batch.is_in("f", zombie_write.INIT)[rows]], _WORKING)


def _last_init(inits: Batch, ids: Ints, process: Ints, invoked: Ints) -> Ints:
    group, queries = _codes([inits.ints("id"), inits.ints("process")], [ids, process])
    by_time = np.lexsort([inits.ints("op"), inits.ints("invoked_ns")])
    return _last_earlier(group, inits.ints("invoked_ns"), by_time, queries, invoked)


def _producer_instances(inits: Batch, ids: Ints, process: Ints, invoked: Ints) -> Ints:
    own = _last_init(inits, ids, process, invoked)
    known = own >= 0
    known[known] = inits.ints("outcome")[own[known]] == OK
    return np.where(known, own, -1)


def _replaced_by(inits: Batch, ids: Ints, own: Ints, queries: Ints) -> Ints:
    group, of_id = _codes([inits.ints("id")], [ids])
    usable = np.flatnonzero(
        (inits.ints("outcome") == OK) & (inits.ints("completed_ns") != NEVER_NS)
    )
    newer = _first_completed_after(inits, group, usable, of_id, inits.ints("completed_ns")[own])
    late = newer >= 0
    late[late] = inits.ints("completed_ns")[newer[late]] < queries[late]
    return np.where(late, newer, -1)


def _codes(inits: list[Ints], queries: list[Ints]) -> tuple[Ints, Ints]:
    columns = [np.r_[ours, theirs] for ours, theirs in zip(inits, queries, strict=True)]
    order = grouping_order(*columns)
    starts = run_starts(*(column[order] for column in columns))
    code = np.zeros(len(order), dtype=np.int64)
    code[order] = np.repeat(np.arange(len(starts)), run_lengths(starts, len(order)))
    return code[: len(inits[0])], code[len(inits[0]) :]


def _last_earlier(group: Ints, at_ns: Ints, by_time: Ints, queries: Ints, before_ns: Ints) -> Ints:
    if not len(group):
        return np.full(len(queries), -1, dtype=np.int64)
    instants = distinct(at_ns)
    width = len(instants) + 1
    order = by_time[np.argsort(group[by_time], kind="stable")]
    places = group[order] * width + np.searchsorted(instants, at_ns[order])
    wanted = queries * width + np.searchsorted(instants, before_ns)
    found = np.searchsorted(places, wanted) - 1
    none = (found < 0) | (group[order[found]] != queries)
    return np.where(none, -1, order[found])


def _first_completed_after(
    inits: Batch, of_id: Ints, usable: Ints, ids: Ints, after_ns: Ints
) -> Ints:
    if not len(usable):
        return np.full(len(ids), -1, dtype=np.int64)
    invoked, group = inits.ints("invoked_ns")[usable], of_id[usable]
    rank = np.empty(len(usable), dtype=np.int64)
    done = np.lexsort([inits.ints("op")[usable], inits.ints("completed_ns")[usable]])
    rank[done] = np.arange(len(usable))
    instants = distinct(invoked)
    width = len(instants) + 1
    order = np.lexsort([invoked, group])
    places = group[order] * width + np.searchsorted(instants, invoked[order])
    # the later producer that completes first, by one scan from the last row to the first
    packed = group[order] * len(usable) + rank[order]
    best = np.minimum.accumulate(packed[::-1])[::-1] % len(usable)
    at = np.searchsorted(places, ids * width + np.searchsorted(instants, after_ns, side="right"))
    none = at == len(order)
    at[none] = 0
    none |= group[order[at]] != ids
    return np.where(none, -1, usable[done[best[at]]])


def _writes_after_replacement(inits: Batch, suspects: Ints, batch: Batch) -> pa.Table:
    of = _working(batch)
    of = of.where(member(of.fingerprints("transactional_id"), suspects))
    theirs = batch.where(batch.rows_of(of.ints("op")), ("op", "kind"))
    writes = theirs.ints("op")[theirs.is_in("kind", "send", "commit_offset")]
    of = of.where(member(of.ints("op"), writes))
    ids = of.fingerprints("transactional_id")
    own = _producer_instances(inits, ids, of.ints("process"), of.ints("invoked_ns"))
    of, ids, own = of.where(own >= 0), ids[own >= 0], own[own >= 0]
    newer = _replaced_by(inits, ids, own, end_requested_ns(of))
    some = newer >= 0
    of, own, newer = of.where(some), own[some], newer[some]
    return table_from(
        _LATE,
        ids[some],
        of.ints("op"),
        inits.ints("op")[own],
        inits.ints("op")[newer],
        end_requested_ns(of) - inits.ints("completed_ns")[newer],
        _outcomes(of),
    )


CHECKERS: Final = (AnomalyChecker(ids=(ZOMBIE,), plan=zombies),)
