"""What a piece tells of its logs in one look, of which most questions are decided.

    spans     when it began and ended, and how much was asked
    steps     how far it reached: by all but its last facts, as if at first, and by each of those
    limits    the least that a question asks about, of those that began in it
    early     the questions that were invoked before anything of it completed
    suspects  the questions that its own facts break
    untold    of each send that was told no offset how far its log was by the facts before it

Source: the prefix maximum over time chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columns.arrow import columns_of, ints
from checkers.histories.columns.fingerprints import Ints, fingerprints
from checkers.histories.columns.staircase import NOWHERE, Staircase
from checkers.histories.families.real_time.told_offsets import (
    COLUMNS,
    LOG,
    LOG_OF,
    SEND,
    STABLE,
    STABLE_END,
    Facts,
    Questions,
    Told,
    facts,
    questions,
    told,
)
from checkers.histories.inquiries.inquiry import OPERATIONS, Ask
from checkers.histories.pieces.piece import NEVER_NS, Mask, Piece
from checkers.histories.pieces.pieces import Kernel
from model.histories import Isolation

LAST_FACTS: Final = 1024  # of a piece that are told one by one


_SPANS: Final = ints("piece", "began_ns", "ended_ns", "sends", "ends", "polls")
_KEYS: Final = ints("key")
_STEPS: Final = ints("piece", "key", "log", "reach", "completed_ns")
_LIMITS: Final = ints("piece", "key", "asks", "offset")
UNTOLD: Final = ints("piece", "op", "key", "invoked_ns", "reach")
# of a send that nobody acknowledged the position is unknown, and the value tells which it is
QUESTIONS: Final = ints("key", "asks", "offset", "invoked_ns", "op", "position", "value")


@dataclass(frozen=True, slots=True)
class _Survey:
    """What a piece tells in the first look."""

    spans: pa.Table
    steps: pa.Table
    limits: pa.Table
    early: pa.Table
    suspects: pa.Table
    untold: pa.Table


def first_look(isolation: Isolation) -> tuple[Ask, ...]:
    """Of each piece the parts of its survey, and the keys that transactions send to."""
    parts = (
        ("spans", _SPANS),
        ("steps", _STEPS),
        ("limits", _LIMITS),
        ("early", QUESTIONS),
        ("suspects", QUESTIONS),
        ("untold", UNTOLD),
    )
    says = "how far each log had reached"
    return (
        *(ask(says, schema, partial(_surveyed, name, isolation)) for name, schema in parts),
        Ask(OPERATIONS, Kernel(says, ("f", "kind", "key"), _KEYS, _transactional)),
    )


def ask(says: str, schema: pa.Schema, run: partial[pa.Table]) -> Ask:
    """A look at what the history tells of offsets."""
    return Ask(OPERATIONS, Kernel(says, COLUMNS, schema, run))


def _surveyed(part: str, isolation: Isolation, piece: Piece) -> pa.Table:
    survey = piece.derived(("survey", isolation), lambda it: _survey(told(it, isolation), it))
    table: pa.Table = getattr(survey, part)
    return table


def _survey(of: Told, piece: Piece) -> _Survey:
    asked = questions(of)
    began_ns = int(of.completed_ns.min(initial=NEVER_NS))
    late = of.invoked_ns[asked.told] > began_ns
    broken = np.zeros(len(asked.told), dtype=np.bool_)
    steps: list[pa.Table] = []
    untold = UNTOLD.empty_table()
    for log in (LOG, STABLE):
        known = facts(of, log)
        got = known.staircase()
        if log == LOG:
            untold = _untold(got, piece)
        steps.append(_steps(known, got, log, of.keys, began_ns, piece))
        some = np.flatnonzero((LOG_OF[asked.asks] == log) & late)
        rows = asked.told[some]
        # what was reached by all that completed before it, invoked or not, mostly decides already
        unsure = got.without()[known.of_told[rows]] > of.offset[rows]
        some, rows = some[unsure], rows[unsure]
        broken[some] = got.exceeded(of.key[rows], of.offset[rows], of.invoked_ns[rows])
    counts = (
        began_ns,
        of.completed_ns.max(initial=0),
        np.count_nonzero(asked.asks == SEND),
        np.count_nonzero((asked.asks != SEND) & (asked.asks != STABLE_END)),
        np.count_nonzero(piece.is_("kind", "poll") & piece.is_("outcome", "ok")),
    )
    return _Survey(
        spans=columns_of(_SPANS, *(np.array([n], dtype=np.int64) for n in (piece.number, *counts))),
        steps=pa.concat_tables(steps),
        limits=_limits(of, asked, late & ~broken, piece),
        early=asked_rows(of, asked, ~late, piece),
        suspects=asked_rows(of, asked, broken, piece),
        untold=untold,
    )


def _untold(got: Staircase, piece: Piece) -> pa.Table:
    doubted, ok = piece.is_("outcome", "info"), piece.is_("outcome", "ok")
    rows = np.flatnonzero(piece.is_("kind", "send") & (doubted | (ok & ~piece.known("offset"))))
    key, invoked_ns = piece.codes("key")[0][rows], piece.ints("invoked_ns")[rows]
    at = got.before(key, invoked_ns)
    return columns_of(
        UNTOLD,
        np.full(len(rows), piece.number),
        piece.ints("op")[rows],
        piece.fingerprints("key")[rows],
        invoked_ns,
        np.where(at < 0, NOWHERE, np.r_[got.reaches, NOWHERE][at]),
    )


def _steps(
    of: Facts, got: Staircase, log: int, keys: Ints, began_ns: int, piece: Piece
) -> pa.Table:
    """The last facts one by one; of each key the furthest of the others, as if told at first."""
    since = began_ns
    if len(of.key) > LAST_FACTS:
        since = int(np.partition(of.completed_ns, -LAST_FACTS)[-LAST_FACTS])
    every = np.arange(len(keys))
    at = got.before(every, np.full(len(keys), since))
    key, at = every[at >= 0], at[at >= 0]
    last = np.flatnonzero(of.completed_ns >= since)
    count = len(key) + len(last)
    return columns_of(
        _STEPS,
        np.full(count, piece.number),
        keys[np.r_[key, of.key[last]]],
        np.full(count, log),
        np.r_[got.reaches[at], of.end[last]],
        np.r_[np.full(len(key), began_ns), of.completed_ns[last]],
    )


def _limits(of: Told, asked: Questions, some: Mask, piece: Piece) -> pa.Table:
    """The least that is asked about of each key, by each kind of question."""
    rows, asks = asked.told[some], asked.asks[some]
    least = np.full(len(of.keys) * len(LOG_OF), NEVER_NS)
    np.minimum.at(least, of.key[rows] * len(LOG_OF) + asks, of.offset[rows])
    group = np.flatnonzero(least != NEVER_NS)
    key, kind = np.divmod(group, len(LOG_OF))
    return columns_of(_LIMITS, np.full(len(key), piece.number), of.keys[key], kind, least[group])


def asked_rows(of: Told, asked: Questions, some: Mask, piece: Piece) -> pa.Table:
    """Some of the questions, as QUESTIONS."""
    rows = asked.told[some]
    at = of.row[rows]
    return columns_of(
        QUESTIONS,
        of.keys[of.key[rows]],
        asked.asks[some],
        of.offset[rows],
        of.invoked_ns[rows],
        piece.ints("op")[at],
        piece.ints("position")[at],
        np.zeros(len(rows), dtype=np.int64),
    )


def _transactional(piece: Piece) -> pa.Table:
    """The keys that a transaction sends to."""
    codes, texts = piece.codes("key")
    sent = piece.is_("f", "txn") & piece.is_("kind", "send")
    return columns_of(_KEYS, fingerprints(texts, piece.salt)[np.unique(codes[sent])])
