"""Defines the query plan that finds inputs that a group consumed twice, and inputs that it skipped.

    p1 send i=m                   -> ok @0
    p2 txn{id=x,group=g} o=a +i@1 -> ok @0 i=m@0      op 1
    p3 txn{id=y,group=g} o=b +i@1 -> ok @2 i=m@0      op 2     m was consumed by op 1 and op 2

A pipeline transaction polls inputs, sends outputs and commits the offsets of its inputs. An input
is skipped if a transaction committed a higher offset, but no member of the group polled the input.

A transaction is *unreported* if it ended `info` and has no recorded poll. An unreported transaction
may have consumed any input of its group. So a commit proves a skipped input only if the commit
ended before the group's first unreported transaction began.

Source: `properties.anomalies.groups.pipelines`, `input_processed_twice`, `input_skipped`.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.anomalies.groups.committed_offsets import COLUMNS, FAIL, LONG_AGO, commits
from checkers.histories.anomalies.groups.pipeline_consumption import (
    AT,
    PROGRESS,
    UNREPORTED,
    commit_progress,
    consumed_words,
    delivered_words,
    group_positions,
    input_rows,
    per_register,
    polled_rows,
    steps_of,
    unreported_steps,
)
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.bitset import count, members
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import Pairs, hash_of_pair
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import member
from checkers.histories.facts import occupied_offsets
from checkers.histories.facts.owner_offsets import OWNER_WORDS, OwnerOffsets
from checkers.histories.facts.record_locations import (
    RECORD_COLUMNS,
    proves_location,
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
from properties.anomalies.groups import input_processed_twice, input_skipped

TWICE: Final = input_processed_twice.ANOMALY.id
SKIPPED: Final = input_skipped.ANOMALY.id
_CONSUMED: Final = int64_schema("group", "key", "offset", "op", "invoked_ns", "completed_ns")
_COMBINED: Final = int64_schema("pair", "offset")
_PASSED: Final = int64_schema("query", "op", "committed")
_TRIED: Final = int64_schema("query", "op", "failed")
_SHOWN: Final = int64_schema("key", "offset", "value", "op")


def pipelines(context: Context) -> Plan[tuple[Finding, ...]]:
    title = "consumed offsets"
    at, consumed, unreported = yield from in_parallel(
        collect(Stage(Source.OPERATIONS, Kernel(title, COLUMNS, AT, group_positions))),
        collect(Stage(Source.OPERATIONS, Kernel(title, COLUMNS, OWNER_WORDS, consumed_words))),
        collect(Stage(Source.OPERATIONS, Kernel(title, COLUMNS, UNREPORTED, unreported_steps))),
    )
    registers = Batch(per_register(at))
    registers = registers.where(registers.ints("steps") > 0)
    inputs = OwnerOffsets.of(consumed)
    found: tuple[Finding, ...] = yield from in_parallel(
        _inputs_consumed_twice(inputs), _skipped_inputs(context, registers, _earliest(unreported))
    )
    return found


def _earliest(unreported: pa.Table) -> Batch:
    made = (
        unreported.group_by("group", use_threads=False)
        .aggregate([("invoked_ns", "min")])
        .sort_by("group")
    )
    return Batch(made.rename_columns(UNREPORTED.names))


# ---------------------------------------------------------------- twice


def _inputs_consumed_twice(inputs: OwnerOffsets) -> Plan[Finding]:
    # No finding if a commit moved the group back between the two transactions.
    schema = schema_of(input_processed_twice.InputProcessedTwice)
    several = inputs.where(inputs.repeated != 0)
    if not len(several):
        return Finding(id=TWICE, rows=schema.empty_table(), observations=count(inputs.bits))
    run = partial(_consumers, OwnerOffsets(*_fields_of_repeated(several)))
    observed = yield from collect(
        Stage(Source.OPERATIONS, Kernel("consumers of repeated inputs", COLUMNS, _CONSUMED, run))
    )
    rows = Batch(observed.group_by(_CONSUMED.names, use_threads=False).aggregate([]))
    group, key, offset, op = (rows.ints(name) for name in ("group", "key", "offset", "op"))
    order = np.lexsort([op, offset, key, group])
    same = np.ones(max(0, len(order) - 1), dtype=np.bool_)
    for column in (group, key, offset):
        same &= column[order][1:] == column[order][:-1]
    first, second = order[:-1][same], order[1:][same]
    columns = np.stack([group[first], key[first], op[first], op[second]], axis=1)
    pairs, of_pair = np.unique(columns, axis=0, return_inverse=True)
    began, ended = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
    began[of_pair.ravel()] = rows.ints("invoked_ns")[first]
    ended[of_pair.ravel()] = rows.ints("completed_ns")[second]
    rewind = partial(_rewinds, pairs, began, ended)
    back = yield from collect(
        Stage(Source.OPERATIONS, Kernel("commits between two steps", COLUMNS, _COMBINED, rewind))
    )
    lowest = np.full(len(pairs), NEVER_NS)
    np.minimum.at(lowest, Batch(back).ints("pair"), Batch(back).ints("offset"))
    wrong = lowest[of_pair.ravel()] > offset[first]
    first, second = first[wrong], second[wrong]
    group_of = yield from resolve_fingerprints(group[first], column="group")
    key_of = yield from resolve_fingerprints(key[first], column="key")
    found = pa.table(
        {
            "group": group_of(group[first]),
            "key": key_of(key[first]),
            "offset": offset[first],
            "first_op": op[first],
            "second_op": op[second],
        }
    ).cast(schema)
    return Finding(id=TWICE, rows=found, observations=count(inputs.bits))


def _fields_of_repeated(several: OwnerOffsets) -> tuple[Any, ...]:
    return (
        several.owner,
        several.key,
        several.word,
        several.repeated,
        several.repeated,
        several.repeated_in,
    )


def _consumers(several: OwnerOffsets, batch: Batch) -> pa.Table:
    rows = input_rows(batch)
    group, key = batch.fingerprints("group")[rows], batch.fingerprints("key")[rows]
    offset = batch.ints("offset")[rows]
    some = several.has(group, key, offset)
    rows = rows[some]
    return table_from(
        _CONSUMED,
        group[some],
        key[some],
        offset[some],
        batch.ints("op")[rows],
        batch.ints("invoked_ns")[rows],
        batch.ints("completed_ns", null=NEVER_NS)[rows],
    )


def _rewinds(pairs: Ints, began_ns: Ints, ended_ns: Ints, batch: Batch) -> pa.Table:
    """Returns, for each pair of transactions, the lowest offset that another operation committed at
    about the same time.

    The two transactions of a pair are of the same group, and consumed the same input. The other
    operation commits an offset of the same group and topic partition. Its time overlaps the time
    from the start of the first transaction to the end of the second transaction.
    """
    of = commits(batch)
    of = of.where(of.ints("outcome") != FAIL)
    register = hash_of_pair(pairs[:, 0], pairs[:, 1])
    some = np.flatnonzero(member(register, np.unique(of.ints("register"))))
    order = np.argsort(of.ints("register"), kind="stable")
    registers = of.ints("register")[order]
    found: list[tuple[int, int]] = []
    for pair in some.tolist():
        first, last = np.searchsorted(registers, [register[pair], register[pair] + 1])
        rows = order[first:last]
        rows = rows[of.ints("ended_ns")[rows] >= began_ns[pair]]
        rows = rows[of.ints("invoked_ns")[rows] <= ended_ns[pair]]
        rows = rows[~np.isin(of.ints("op")[rows], pairs[pair, 2:])]
        if len(rows):
            found.append((pair, int(of.ints("offset")[rows].min())))
    columns = np.array(found, dtype=np.int64).reshape(-1, 2)
    return table_from(_COMBINED, columns[:, 0], columns[:, 1])


# ---------------------------------------------------------------- skipped


def _skipped_inputs(context: Context, registers: Batch, unreported: Batch) -> Plan[Finding]:
    if not len(registers):
        none = schema_of(input_skipped.InputSkipped).empty_table()
        return Finding(id=SKIPPED, rows=none, observations=0)
    far = partial(commit_progress, unreported.ints("group"), unreported.ints("invoked_ns"))
    title = "commit progress of groups"
    rises, given, log = yield from in_parallel(
        collect(Stage(Source.OPERATIONS, Kernel(title, COLUMNS, PROGRESS, far))),
        collect(Stage(Source.OPERATIONS, Kernel(title, COLUMNS, OWNER_WORDS, delivered_words))),
        collect(occupied_offsets.occupied_offsets(context.unconfirmed.committed, context.aborted)),
    )
    intervals = _consumed_intervals(Batch(rises), registers, context)
    group, key, low, high = (intervals[:, n] for n in range(4))
    clean = Batch(log.filter(log["clean"]))
    names = np.zeros(len(clean), dtype=np.int64)
    shown = OwnerOffsets.of(
        table_from(
            OWNER_WORDS,
            names,
            *(clean.ints(name) for name in ("key", "word", "bits")),
            names,
            names,
        )
    )
    interval, row, bits = shown.within(np.zeros(len(key), dtype=np.int64), key, low, high)
    had = OwnerOffsets.of(given)
    at = had.at(group[interval], key[interval], shown.word[row])
    missing = bits & ~np.r_[had.bits, np.uint64(0)][at]
    some = np.flatnonzero(missing)
    of_word, offset = members(shown.word[row[some]], missing[some])
    of = interval[some[of_word]]
    rows = yield from _rows_of_skipped(context, group[of], key[of], offset)
    return Finding(id=SKIPPED, rows=rows, observations=count(bits))


def _consumed_intervals(rises: Batch, registers: Batch, context: Context) -> Ints:
    begin: dict[tuple[int, int], int] = {}
    kept = context.log_starts.of(registers.ints("key"))
    names = ("group", "key", "low", "jumped")
    for *register, low, jumped, start in zip(
        *(registers.ints(name).tolist() for name in names), kept.tolist(), strict=True
    ):
        begin[register[0], register[1]] = max(low, jumped, start)
    reached: dict[tuple[int, int], int] = {}
    made: list[tuple[int, int, int, int]] = []
    for group, key, committed, good in zip(
        *(rises.ints(name).tolist() for name in PROGRESS.names), strict=True
    ):
        low = max(reached.get((group, key), LONG_AGO), begin[group, key])
        if good and low < committed:
            made.append((group, key, low, committed))
        reached[group, key] = max(committed, reached.get((group, key), LONG_AGO))
    return np.array(made, dtype=np.int64).reshape(-1, 4)


def _rows_of_skipped(context: Context, group: Ints, key: Ints, offset: Ints) -> Plan[pa.Table]:
    schema = schema_of(input_skipped.InputSkipped)
    if not len(group):
        return schema.empty_table()
    shown = partial(
        _proofs_at, context.unconfirmed.committed, context.aborted, Pairs.of(key, offset)
    )
    passed, tried, seen = yield from in_parallel(
        collect(
            Stage(
                Source.OPERATIONS,
                Kernel(
                    "steps past skipped inputs",
                    COLUMNS,
                    _PASSED,
                    partial(_first_transactions_past, group, key, offset),
                ),
            )
        ),
        collect(
            Stage(
                Source.OPERATIONS,
                Kernel(
                    "failed polls of skipped inputs",
                    COLUMNS,
                    _TRIED,
                    partial(_failed_polls, group, key, offset),
                ),
            )
        ),
        collect(
            Stage(Source.RECORD_LOCATIONS, Kernel("skipped inputs", RECORD_COLUMNS, _SHOWN, shown))
        ),
    )
    first: dict[int, tuple[int, int]] = {}
    for row in passed.to_pylist():
        step = row["op"], row["committed"]
        first[row["query"]] = min(step, first.get(row["query"], step))
    tries: defaultdict[int, set[int]] = defaultdict(set)
    for row in tried.to_pylist():
        tries[row["query"]].add(row["op"])
    records = yield from _first_proofs(Batch(seen))
    group_of = yield from resolve_fingerprints(group, column="group")
    key_of = yield from resolve_fingerprints(key, column="key")
    places = list(zip(key.tolist(), offset.tolist(), strict=True))
    queries = range(len(places))
    return pa.table(
        {
            "group": group_of(group),
            "key": key_of(key),
            "offset": offset,
            "value": pa.array([records[place][1] for place in places], pa.string()),
            "known_op": pa.array([records[place][0] for place in places], pa.int64()),
            "committed_offset": pa.array([first[n][1] for n in queries], pa.int64()),
            "passed_op": pa.array([first[n][0] for n in queries], pa.int64()),
            "tried_by": pa.array([sorted(tries[n]) for n in queries], pa.list_(pa.int64())),
        }
    ).cast(schema)


def _first_transactions_past(group: Ints, key: Ints, offset: Ints, batch: Batch) -> pa.Table:
    steps = steps_of(batch)
    register = hash_of_pair(steps.ints("group"), steps.ints("key"))
    queries = hash_of_pair(group, key)
    found: list[tuple[int, int, int]] = []
    for name in np.unique(queries[member(queries, np.unique(register))]).tolist():
        rows = np.flatnonzero(register == name)
        rows = rows[np.argsort(steps.ints("op")[rows])]
        reached = np.maximum.accumulate(steps.ints("committed")[rows])
        some = np.flatnonzero(queries == name)
        at = np.searchsorted(reached, offset[some], side="right")
        some, at = some[at < len(rows)], at[at < len(rows)]
        ops, committed = steps.ints("op")[rows[at]], steps.ints("committed")[rows[at]]
        found.extend(zip(some.tolist(), ops.tolist(), committed.tolist(), strict=True))
    columns = np.array(found, dtype=np.int64).reshape(-1, 3)
    return table_from(_PASSED, *columns.T)


def _failed_polls(group: Ints, key: Ints, offset: Ints, batch: Batch) -> pa.Table:
    rows = polled_rows(batch, batch.is_in("outcome", "fail"))
    polled = hash_of_pair(
        hash_of_pair(batch.fingerprints("group")[rows], batch.fingerprints("key")[rows]),
        batch.ints("offset")[rows],
    )
    queries = hash_of_pair(hash_of_pair(group, key), offset)
    order = np.argsort(queries)
    some = member(polled, queries[order])
    at = order[np.searchsorted(queries[order], polled[some])]
    op = batch.ints("op")[rows[some]]
    return table_from(_TRIED, at, op, np.ones(len(op), dtype=np.int64))


def _proofs_at(committed: Ints, aborted: Pairs, places: Pairs, batch: Batch) -> pa.Table:
    few = batch.where(places.have(batch.ints("key"), batch.ints("offset")))
    clean = proves_location(few, committed) & ~occupied_offsets.may_be_skipped(aborted, few)
    return few.where(clean).table.select(_SHOWN.names)


def _first_proofs(seen: Batch) -> Plan[dict[tuple[int, int], tuple[int, str]]]:
    value_of = yield from resolve_fingerprints(seen.ints("value"))
    texts = value_of(seen.ints("value")).to_pylist()
    records: dict[tuple[int, int], tuple[int, str]] = {}
    for key, offset, op, text in zip(
        *(seen.ints(name).tolist() for name in ("key", "offset", "op")), texts, strict=True
    ):
        records[key, offset] = min((op, text), records.get((key, offset), (op, text)))
    return records


CHECKERS: Final = (AnomalyChecker(ids=(TWICE, SKIPPED), plan=pipelines),)
