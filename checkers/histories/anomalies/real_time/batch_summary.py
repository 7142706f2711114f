"""Summarizes the offsets that clients observed in one batch of the history's operations.

    c1 end_offset k -> ok @5      op 0   observation: the log of k ends at 5 or higher
    p1 send k=a     -> ok @3      op 1   check: 3 is below 5, which was observed before op 1 was
                                         invoked, so op 0 contradicts the check

A batch has operations in the order of their completion. An *observation* is a log end that a client
observed. A *check* is an offset that an operation returned: the offset of a send, or an end offset.
For most checks, the batch's own observations are enough to decide whether these checks are
contradicted.

A summary consists of these tables:

    spans           the first and the last completion in the batch, and the number of checks
    firsts          for each log, the time of its first observation in the batch
    unopposed       the checks of operations that were invoked no later than this first observation.
                    No observation in the batch can contradict these checks. If no other batch has
                    an observation from before the invocation, nothing can contradict the check, and
                    the check is not counted
    steps           the observations. Each of the last 1,024 observations has its own row. All older
                    observations of a key share one row: the highest log end, with the time of the
                    first completion in the batch
    early           the checks of operations that were invoked no later than the first completion in
                    the batch. An observation in an earlier batch may have been made after such an
                    operation was invoked. So the plan compares the times of the check and of the
                    observation
    contradicted    the checks that an observation of this batch contradicts, each with the highest
                    such observation
    limits          for each key, the lowest offset of all checks that are neither in `early` nor in
                    `contradicted`. The plan reads these checks again only if an earlier batch has
                    an observation of the key above this offset
    without_offset  the sends without an acknowledged offset, each with the highest log end that
                    was observed in this batch before the send was invoked
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.prefix_max import NOWHERE, PrefixMaxIndex, prefix_max_index
from checkers.histories.columnar.sorting import Codes, run_lengths, run_starts
from checkers.histories.facts.observed_offsets import (
    AN_END,
    COLUMNS,
    LOG,
    LOG_OF,
    STABLE,
    ObservedOffsets,
    checked_rows,
    observed_offsets,
)
from checkers.histories.plan.batch import NEVER_NS, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Source, Stage
from model.histories import Isolation

LAST_OBSERVATIONS: Final = 1024  # of a batch, reported one by one
_ROWS_PER_OBSERVATION: Final = 8  # rows scanned for each of them

WITNESS: Final = ("kind", "known_op")  # of an observation: the index in KINDS, and the operation
_SPANS: Final = int64_schema("batch", "began_ns", "ended_ns", "sends", "ends", "polls")
_KEYS: Final = int64_schema("key")
_FIRSTS: Final = int64_schema("key", "log", "completed_ns")
_UNOPPOSED: Final = int64_schema("key", "check", "invoked_ns")
_STEPS: Final = int64_schema("batch", "key", "log", "reach", "completed_ns", *WITNESS)
_LIMITS: Final = int64_schema("batch", "key", "check", "offset")
WITHOUT_OFFSET: Final = int64_schema("batch", "op", "key", "invoked_ns", "reach")
# a send without an acknowledgement has no position here and is identified by its value
CHECKS: Final = int64_schema(
    "batch", "key", "check", "offset", "invoked_ns", "op", "position", "value"
)
CONTRADICTED: Final = int64_schema(*CHECKS.names, "reach", *WITNESS)


@dataclass(frozen=True, slots=True)
class _Summary:
    spans: pa.Table
    firsts: pa.Table
    unopposed: pa.Table
    steps: pa.Table
    limits: pa.Table
    early: pa.Table
    contradicted: pa.Table
    without_offset: pa.Table


def summary_stages(isolation: Isolation) -> tuple[Stage[pa.Table], ...]:
    """Returns the query-plan stages (queries on a dataset) that collect the summaries of all
    batches.

    There is one stage for each table of a summary, and then one stage that collects the keys (topic
    partitions) to which transactions send.
    """
    parts = (
        ("spans", _SPANS),
        ("firsts", _FIRSTS),
        ("unopposed", _UNOPPOSED),
        ("steps", _STEPS),
        ("limits", _LIMITS),
        ("early", CHECKS),
        ("contradicted", CONTRADICTED),
        ("without_offset", WITHOUT_OFFSET),
    )
    title = "log ends"
    return (
        *(
            offsets_stage(title, schema, partial(_part_of_summary, name, isolation))
            for name, schema in parts
        ),
        Stage(Source.OPERATIONS, Kernel(title, ("f", "kind", "key"), _KEYS, _transactional)),
    )


def offsets_stage(
    title: str, schema: pa.Schema, run: partial[pa.Table], partitions: frozenset[int] | None = None
) -> Stage[pa.Table]:
    """Returns a query-plan stage (one query on a dataset) that calls `run` with each batch of the
    history's operations.

    With `partitions`, only the partitions of the history with these numbers are read.
    """
    return Stage(Source.OPERATIONS, Kernel(title, COLUMNS, schema, run, partitions=partitions))


def _part_of_summary(part: str, isolation: Isolation, batch: Batch) -> pa.Table:
    summary = batch.derived(
        ("summary", isolation), lambda it: _summarize(observed_offsets(it, isolation), it)
    )
    table: pa.Table = getattr(summary, part)
    return table


def _summarize(of: ObservedOffsets, batch: Batch) -> _Summary:
    began_ns = int(of.completed_ns[0]) if len(of.row) else NEVER_NS
    got = prefix_max_index(of.key, of.end, of.completed_ns)
    of_log = {LOG: got, STABLE: got.restricted_to(of.committed)}
    # the log end of all rows completed before decides most checks already
    unsure = np.zeros(len(of.row), dtype=np.bool_)
    unsure[got.below_maximum(of.kind != AN_END)] = True
    limits, early, contradicted = ([it.empty_table()] for it in (_LIMITS, CHECKS, CONTRADICTED))
    first_ns = {log: _first_ns(of, stairs) for log, stairs in of_log.items()}
    unopposed: list[pa.Table] = []
    counts: list[int] = []
    for check, rows in checked_rows(of):
        first = rows[of.invoked_ns[rows] <= first_ns[int(LOG_OF[check])][of.key[rows]]]
        unopposed.append(_unopposed(of, check, first))
        late = of.invoked_ns[rows] > began_ns
        some = np.flatnonzero(late & unsure[rows])
        at = rows[some]
        stairs = of_log[int(LOG_OF[check])]
        is_contradicted = some[stairs.exceeded(of.key[at], of.offset[at], of.invoked_ns[at])]
        contradicted.append(_contradicted(of, check, rows[is_contradicted], stairs, batch))
        early.append(check_rows(of, check, rows[~late], batch))
        late[is_contradicted] = False
        limits.append(_limits(of, check, rows[late], batch))
        counts.append(len(rows))
    sends, ends, committed, _ = counts
    polls = np.count_nonzero(batch.is_in("kind", "poll") & batch.is_in("outcome", "ok"))
    ended_ns = int(of.completed_ns[-1]) if len(of.row) else 0
    span = (batch.number, began_ns, ended_ns, sends, ends + committed, polls)
    return _Summary(
        spans=table_from(_SPANS, *(np.array([number], dtype=np.int64) for number in span)),
        firsts=pa.concat_tables(_firsts(of, log, first_ns[log]) for log in of_log),
        unopposed=pa.concat_tables(unopposed),
        steps=pa.concat_tables(_last_observations(of, log, of_log[log], batch) for log in of_log),
        limits=pa.concat_tables(limits),
        early=pa.concat_tables(early),
        contradicted=pa.concat_tables(contradicted),
        without_offset=_without_offset(got, batch),
    )


def _first_ns(of: ObservedOffsets, stairs: PrefixMaxIndex) -> Ints:
    """Returns, for each topic partition, the time of the first observation of its log, or
    NEVER_NS if the log was not observed.
    """
    first = stairs.first(len(of.keys))
    first_ns = np.full(len(of.keys), NEVER_NS)
    first_ns[first >= 0] = of.completed_ns[stairs.rows[first[first >= 0]]]
    return first_ns


def _firsts(of: ObservedOffsets, log: int, first_ns: Ints) -> pa.Table:
    key = np.flatnonzero(first_ns != NEVER_NS)
    return table_from(_FIRSTS, of.keys[key], np.full(len(key), log), first_ns[key])


def _unopposed(of: ObservedOffsets, check: int, rows: Ints) -> pa.Table:
    kind = np.full(len(rows), check)
    return table_from(_UNOPPOSED, of.keys[of.key[rows]], kind, of.invoked_ns[rows])


def _without_offset(got: PrefixMaxIndex, batch: Batch) -> pa.Table:
    doubted, ok = batch.is_in("outcome", "info"), batch.is_in("outcome", "ok")
    rows = np.flatnonzero(
        batch.is_in("kind", "send") & (doubted | (ok & ~batch.is_valid("offset")))
    )
    key, invoked_ns = batch.narrow_codes("key")[0][rows], batch.ints("invoked_ns")[rows]
    at = got.before(key, invoked_ns)
    reach = np.full(len(rows), NOWHERE)
    reach[at >= 0] = got.reach(at[at >= 0])
    return table_from(
        WITHOUT_OFFSET,
        np.full(len(rows), batch.number),
        batch.ints("op")[rows],
        batch.fingerprints("key")[rows],
        invoked_ns,
        reach,
    )


def _last_observations(
    of: ObservedOffsets, log: int, got: PrefixMaxIndex, batch: Batch
) -> pa.Table:
    # Older observations share one row for each key: the highest log end, at the time of the batch's
    # first completion.
    rows = np.flatnonzero(of.committed) if log == STABLE else np.arange(len(of.row))
    if not len(rows):
        return _STEPS.empty_table()
    tail_ns = of.completed_ns[rows[-_ROWS_PER_OBSERVATION * LAST_OBSERVATIONS :][0]]
    rows = rows[np.searchsorted(rows, np.searchsorted(of.completed_ns, tail_ns)) :]
    rows = rows[
        _first_rows_of_maximum(run_starts(of.key[rows], of.completed_ns[rows]), of.end[rows])
    ]
    since = of.completed_ns[rows[-LAST_OBSERVATIONS:][0]]
    last = rows[of.completed_ns[rows] >= since]
    every = np.arange(len(of.keys))
    at = got.before(every, np.full(len(every), since))
    at = at[at >= 0]
    at = at[got.reach(at) != NOWHERE]
    fact = np.r_[got.furthest(at), last]
    return table_from(
        _STEPS,
        np.full(len(fact), batch.number),
        of.keys[of.key[fact]],
        np.full(len(fact), log),
        of.end[fact],
        np.r_[np.full(len(at), of.completed_ns[0]), of.completed_ns[last]],
        *witness(of, fact, batch),
    )


def _first_rows_of_maximum(starts: Ints, end: Ints) -> Ints:
    furthest = np.repeat(np.maximum.reduceat(end, starts), run_lengths(starts, len(end)))
    at = np.flatnonzero(end == furthest)
    run = np.searchsorted(starts, at, side="right")
    return at[run_starts(run)]


def witness(of: ObservedOffsets, fact: Ints, batch: Batch) -> tuple[Codes, Ints]:
    """Returns two arrays for the observations with the indexes `fact`: their kinds, and their
    operation numbers.
    """
    return of.kind[fact], batch.ints("op")[of.row[fact]]


def _contradicted(
    of: ObservedOffsets, check: int, rows: Ints, stairs: PrefixMaxIndex, batch: Batch
) -> pa.Table:
    if not len(rows):
        return CONTRADICTED.empty_table()
    at = stairs.before(of.key[rows], of.invoked_ns[rows])
    fact = stairs.furthest(at)
    made = check_rows(of, check, rows, batch)
    shown = table_from(int64_schema("reach", *WITNESS), of.end[fact], *witness(of, fact, batch))
    return pa.table([*made.columns, *shown.columns], schema=CONTRADICTED)


def _limits(of: ObservedOffsets, check: int, rows: Ints, batch: Batch) -> pa.Table:
    least = np.full(len(of.keys), NEVER_NS)
    np.minimum.at(least, of.key[rows], of.offset[rows])
    key = np.flatnonzero(least != NEVER_NS)
    number, kind = np.full((2, len(key)), [[batch.number], [check]])
    return table_from(_LIMITS, number, of.keys[key], kind, least[key])


def check_rows(of: ObservedOffsets, check: int, rows: Ints, batch: Batch) -> pa.Table:
    """Returns a table of the checks in `rows`: offsets that must not be below a log end that was
    observed earlier.
    """
    at = of.row[rows]
    return table_from(
        CHECKS,
        np.full(len(rows), batch.number),
        of.keys[of.key[rows]],
        np.full(len(rows), check),
        of.offset[rows],
        of.invoked_ns[rows],
        batch.ints("op")[at],
        batch.ints("position")[at],
        np.zeros(len(rows), dtype=np.int64),
    )


def _transactional(batch: Batch) -> pa.Table:
    codes, texts = batch.narrow_codes("key")
    sent = codes[batch.is_in("f", "txn") & batch.is_in("kind", "send")]
    some = np.bincount(sent, minlength=len(texts)) > 0
    return table_from(_KEYS, fingerprints(texts, batch.hash_seed)[some])
