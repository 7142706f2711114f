"""What a piece tells of its logs in one look, of which most questions are decided.

    spans     when it began and ended, and how much was asked
    steps     how far it reached: by all but its last facts, as if at first, and by each of those;
              with the first fact that got there
    limits    the least that a question asks about, of those that began in it
    early     the questions that were invoked before anything of it completed
    convicted the questions that its own facts break, with the furthest of these
    untold    of each send that was told no offset how far its log was by the facts before it

Source: the prefix maximum over time chunks.
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

LAST_FACTS: Final = 1024  # of a piece that are told one by one
_ROWS_OF_FACT: Final = 8  # among so many rows for each they are sought

WITNESS: Final = ("kind", "known_op")  # a fact: the place in KINDS, and whose it is
_SPANS: Final = int64_schema("batch", "began_ns", "ended_ns", "sends", "ends", "polls")
_KEYS: Final = int64_schema("key")
_STEPS: Final = int64_schema("batch", "key", "log", "reach", "completed_ns", *WITNESS)
_LIMITS: Final = int64_schema("batch", "key", "asks", "offset")
UNTOLD: Final = int64_schema("batch", "op", "key", "invoked_ns", "reach")
# of a send that nobody acknowledged the position is unknown, and the value tells which it is
QUESTIONS: Final = int64_schema(
    "batch", "key", "asks", "offset", "invoked_ns", "op", "position", "value"
)
CONVICTED: Final = int64_schema(*QUESTIONS.names, "reach", *WITNESS)


@dataclass(frozen=True, slots=True)
class _Survey:
    """What a piece tells in the first look."""

    spans: pa.Table
    steps: pa.Table
    limits: pa.Table
    early: pa.Table
    convicted: pa.Table
    untold: pa.Table


def first_look(isolation: Isolation) -> tuple[Stage[pa.Table], ...]:
    """Of each piece the parts of its survey, and the keys that transactions send to."""
    parts = (
        ("spans", _SPANS),
        ("steps", _STEPS),
        ("limits", _LIMITS),
        ("early", QUESTIONS),
        ("convicted", CONVICTED),
        ("untold", UNTOLD),
    )
    title = "how far each log had reached"
    return (
        *(ask(title, schema, partial(_surveyed, name, isolation)) for name, schema in parts),
        Stage(Source.OPERATIONS, Kernel(title, ("f", "kind", "key"), _KEYS, _transactional)),
    )


def ask(
    title: str, schema: pa.Schema, run: partial[pa.Table], partitions: frozenset[int] | None = None
) -> Stage[pa.Table]:
    """A stage that reads the offsets of the history, or of these partitions of it."""
    return Stage(Source.OPERATIONS, Kernel(title, COLUMNS, schema, run, partitions=partitions))


def _surveyed(part: str, isolation: Isolation, batch: Batch) -> pa.Table:
    survey = batch.derived(
        ("survey", isolation), lambda it: _survey(observed_offsets(it, isolation), it)
    )
    table: pa.Table = getattr(survey, part)
    return table


def _survey(of: ObservedOffsets, batch: Batch) -> _Survey:
    began_ns = int(of.completed_ns[0]) if len(of.row) else NEVER_NS
    got = prefix_max_index(of.key, of.end, of.completed_ns)
    of_log = {LOG: got, STABLE: got.restricted_to(of.committed)}
    # what was reached by all that completed before it, invoked or not, mostly decides already
    unsure = np.zeros(len(of.row), dtype=np.bool_)
    unsure[got.below_maximum(of.kind != AN_END)] = True
    limits, early, convicted = ([it.empty_table()] for it in (_LIMITS, QUESTIONS, CONVICTED))
    counts: list[int] = []
    for asks, rows in checked_rows(of):
        late = of.invoked_ns[rows] > began_ns
        some = np.flatnonzero(late & unsure[rows])
        at = rows[some]
        stairs = of_log[int(LOG_OF[asks])]
        broken = some[stairs.exceeded(of.key[at], of.offset[at], of.invoked_ns[at])]
        convicted.append(_convicted(of, asks, rows[broken], stairs, batch))
        early.append(asked_rows(of, asks, rows[~late], batch))
        late[broken] = False
        limits.append(_limits(of, asks, rows[late], batch))
        counts.append(len(rows))
    sends, ends, committed, _ = counts
    polls = np.count_nonzero(batch.is_in("kind", "poll") & batch.is_in("outcome", "ok"))
    ended_ns = int(of.completed_ns[-1]) if len(of.row) else 0
    span = (batch.number, began_ns, ended_ns, sends, ends + committed, polls)
    return _Survey(
        spans=table_from(_SPANS, *(np.array([number], dtype=np.int64) for number in span)),
        steps=pa.concat_tables(_steps(of, log, of_log[log], batch) for log in of_log),
        limits=pa.concat_tables(limits),
        early=pa.concat_tables(early),
        convicted=pa.concat_tables(convicted),
        untold=_untold(got, batch),
    )


def _untold(got: PrefixMaxIndex, batch: Batch) -> pa.Table:
    doubted, ok = batch.is_in("outcome", "info"), batch.is_in("outcome", "ok")
    rows = np.flatnonzero(
        batch.is_in("kind", "send") & (doubted | (ok & ~batch.is_valid("offset")))
    )
    key, invoked_ns = batch.narrow_codes("key")[0][rows], batch.ints("invoked_ns")[rows]
    at = got.before(key, invoked_ns)
    reach = np.full(len(rows), NOWHERE)
    reach[at >= 0] = got.reach(at[at >= 0])
    return table_from(
        UNTOLD,
        np.full(len(rows), batch.number),
        batch.ints("op")[rows],
        batch.fingerprints("key")[rows],
        invoked_ns,
        reach,
    )


def _steps(of: ObservedOffsets, log: int, got: PrefixMaxIndex, batch: Batch) -> pa.Table:
    """The last facts one by one; of each key the furthest of the others, as if told at first.

    Of neighbours of one key and one instant only the furthest is told, and of these the first.
    """
    rows = np.flatnonzero(of.committed) if log == STABLE else np.arange(len(of.row))
    if not len(rows):
        return _STEPS.empty_table()
    tail_ns = of.completed_ns[rows[-_ROWS_OF_FACT * LAST_FACTS :][0]]
    rows = rows[rows >= np.searchsorted(of.completed_ns, tail_ns)]
    rows = rows[_firsts_of_furthest(run_starts(of.key[rows], of.completed_ns[rows]), of.end[rows])]
    since = of.completed_ns[rows[-LAST_FACTS:][0]]
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


def _firsts_of_furthest(starts: Ints, end: Ints) -> Ints:
    """Of each run the first that ends furthest."""
    furthest = np.repeat(np.maximum.reduceat(end, starts), run_lengths(starts, len(end)))
    at = np.flatnonzero(end == furthest)
    run = np.searchsorted(starts, at, side="right")
    return at[run_starts(run)]


def witness(of: ObservedOffsets, fact: Ints, batch: Batch) -> tuple[Codes, Ints]:
    """What is shown of these facts, as WITNESS."""
    return of.kind[fact], batch.ints("op")[of.row[fact]]


def _convicted(
    of: ObservedOffsets, asks: int, rows: Ints, stairs: PrefixMaxIndex, batch: Batch
) -> pa.Table:
    """What these rows ask, each with the furthest fact that breaks it, as CONVICTED."""
    at = stairs.before(of.key[rows], of.invoked_ns[rows])
    fact = stairs.furthest(at)
    made = asked_rows(of, asks, rows, batch)
    shown = table_from(int64_schema("reach", *WITNESS), of.end[fact], *witness(of, fact, batch))
    return pa.table([*made.columns, *shown.columns], schema=CONVICTED)


def _limits(of: ObservedOffsets, asks: int, rows: Ints, batch: Batch) -> pa.Table:
    """The least that these ask about of each key."""
    least = np.full(len(of.keys), NEVER_NS)
    np.minimum.at(least, of.key[rows], of.offset[rows])
    key = np.flatnonzero(least != NEVER_NS)
    number, kind = np.full((2, len(key)), [[batch.number], [asks]])
    return table_from(_LIMITS, number, of.keys[key], kind, least[key])


def asked_rows(of: ObservedOffsets, asks: int, rows: Ints, batch: Batch) -> pa.Table:
    """What these rows ask, as QUESTIONS."""
    at = of.row[rows]
    return table_from(
        QUESTIONS,
        np.full(len(rows), batch.number),
        of.keys[of.key[rows]],
        np.full(len(rows), asks),
        of.offset[rows],
        of.invoked_ns[rows],
        batch.ints("op")[at],
        batch.ints("position")[at],
        np.zeros(len(rows), dtype=np.int64),
    )


def _transactional(batch: Batch) -> pa.Table:
    """The keys that a transaction sends to."""
    codes, texts = batch.narrow_codes("key")
    sent = codes[batch.is_in("f", "txn") & batch.is_in("kind", "send")]
    some = np.bincount(sent, minlength=len(texts)) > 0
    return table_from(_KEYS, fingerprints(texts, batch.hash_seed)[some])
