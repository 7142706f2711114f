"""How far all pieces of a history reached together, from what each told in the first look.

Most questions are decided by it: the facts of pieces that lie before one in time count all for what
began in it, so of these only the furthest matters. What was open where one piece ends and the next
begins is decided by the last facts of each, or asked about in a further look at the pieces that may
have what breaks it.

Source: the prefix maximum over time chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, Self

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.real_time.reach_survey import (
    CONVICTED,
    WITNESS,
    ask,
    witness,
)
from checkers.histories.columnar.arrow import columns_of, ints
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.prefix_max import Staircase, staircase
from checkers.histories.columnar.sorting import begins, member
from checkers.histories.facts.observed_offsets import (
    COMMITTED_END,
    LOG,
    LOG_OF,
    STABLE,
    STABLE_END,
    told,
)
from checkers.histories.facts.record_locations import together
from checkers.histories.plan.batch import NEVER_NS, UNKNOWN, Mask, Piece
from checkers.histories.plan.stage import Inquiry
from model.histories import Isolation

_FACTS: Final = ints("suspect", "reach", "completed_ns", *WITNESS, "position")


@dataclass(frozen=True, slots=True)
class Reached:
    """How far all pieces together reached, and in which of their questions that counts."""

    logs: Ints  # every log that has a fact, as one number, ascending
    in_time: Staircase
    by_piece: Staircase  # in the order of the pieces in time
    place: Ints  # of each piece in that order
    began_ns: Ints  # of each piece: the first completion of what it was told
    ended_ns: Ints  # and the last
    in_order: bool  # no piece has anything told before the one in front of it ended
    held_back: Ints  # the keys that transactions send to, ascending
    steps: Piece
    log: Ints  # of each step, its place in `logs`

    @classmethod
    def of(cls, spans: Piece, steps: Piece, held_back: Ints) -> Self:
        """From the parts of all surveys, and the keys that transactions send to."""
        began_ns, ended_ns = spans.ints("began_ns"), spans.ints("ended_ns")
        order = np.lexsort([ended_ns, began_ns])
        place = np.empty(int(spans.ints("piece").max(initial=-1)) + 1, dtype=np.int64)
        place[spans.ints("piece")[order]] = np.arange(len(order))
        began_in, ended_in = np.zeros((2, len(place)), dtype=np.int64)
        began_in[spans.ints("piece")], ended_in[spans.ints("piece")] = began_ns, ended_ns
        some = order[began_ns[order] != NEVER_NS]
        logs, group = np.unique(together(steps.ints("key"), steps.ints("log")), return_inverse=True)
        reach = steps.ints("reach")
        return cls(
            logs=logs,
            in_time=staircase(group, reach, steps.ints("completed_ns")),
            by_piece=staircase(group, reach, place[steps.ints("piece")]),
            place=place,
            began_ns=began_in,
            ended_ns=ended_in,
            in_order=bool(np.all(ended_ns[some][:-1] <= began_ns[some][1:])),
            held_back=held_back,
            steps=steps,
            log=group,
        )

    def counts(self, asked: Piece) -> Mask:
        """Which questions are of the log that counts: at read_committed one of two does."""
        asks, stable_apart = asked.ints("asks"), member(asked.ints("key"), self.held_back)
        counts: Mask = np.where(stable_apart, asks != COMMITTED_END, asks != STABLE_END)
        return counts

    def maybe_broken(self, asked: Piece) -> Mask:
        """Which questions a fact may break that was known before; the others none does."""
        group, some = self._group(asked)
        offset, invoked_ns = (asked.ints(name)[some] for name in ("offset", "invoked_ns"))
        broken = np.zeros(len(asked), dtype=np.bool_)
        broken[some] = self.in_time.exceeded(group[some], offset, invoked_ns)
        return broken

    def broken(self, asked: Piece) -> Mask:
        """Which questions are broken, of which it is known what their piece had reached before."""
        broken = self.maybe_broken(asked)
        piece = asked.ints("piece")
        if not self.in_order or not len(asked):
            return broken
        group, some = self._group(asked)
        known = asked.ints("reach").copy()
        at = self.by_piece.before(group[some], self.place[piece[some]])
        some, at = some[at >= 0], at[at >= 0]
        known[some] = np.maximum(known[some], self.by_piece.reach(at))
        invoked_ns = asked.ints("invoked_ns")
        inside = (self.began_ns[piece] < invoked_ns) & (invoked_ns <= self.ended_ns[piece])
        decided: Mask = np.where(inside, known > asked.ints("offset"), broken)
        return decided

    def carries(self, limits: Piece) -> pa.Table:
        """The limits that lie below what was reached before their piece, and how far that was."""
        group, some = self._group(limits)
        before = self.place[limits.ints("piece")]
        if not self.in_order:
            before = np.full(len(before), len(self.place))
        at = self.by_piece.before(group[some], before[some])
        some, at = some[at >= 0], at[at >= 0]
        reach = self.by_piece.reach(at)
        below = reach > limits.ints("offset")[some]
        return limits.where(some[below]).table.append_column("reach", pa.array(reach[below]))

    def breaking(self, asked: Piece) -> frozenset[int]:
        """The pieces that may have a fact that breaks one of these questions."""
        group, some = self._group(asked)
        least, latest = np.full((2, len(self.logs)), [[NEVER_NS], [UNKNOWN]])
        np.minimum.at(least, group[some], asked.ints("offset")[some])
        np.maximum.at(latest, group[some], asked.ints("invoked_ns")[some])
        beyond = self.steps.ints("reach") > least[self.log]
        may = beyond & (self.steps.ints("completed_ns") < latest[self.log])
        return piece_numbers(self.steps.ints("piece")[may])

    def with_earlier(self, convicted: Piece) -> Piece:
        """The same, each with the furthest fact of all pieces; they must lie in order of time.

        Whoever is convicted began inside its piece, behind all that pieces before it were told.
        """
        group, some = self._group(convicted)
        at = self.by_piece.before(group[some], self.place[convicted.ints("piece")[some]])
        some, at = some[at >= 0], at[at >= 0]
        further = self.by_piece.reach(at) >= convicted.ints("reach")[some]
        some, step = some[further], self.by_piece.furthest(at[further])
        table = convicted.table
        for name in ("reach", *WITNESS):
            column = convicted.ints(name).copy()
            column[some] = self.steps.ints(name)[step]
            table = table.set_column(table.schema.get_field_index(name), name, pa.array(column))
        return Piece(table)

    def _group(self, asked: Piece) -> tuple[Ints, Ints]:
        """The place of each question's log, and the questions whose log has one."""
        log = together(asked.ints("key"), LOG_OF[asked.ints("asks")])
        group = np.searchsorted(self.logs, log)
        return group, np.flatnonzero(member(log, self.logs))


def piece_numbers(pieces: Ints) -> frozenset[int]:
    return frozenset(np.unique(pieces).tolist())


# ---------------------------------------------------------------- a look at what breaks questions


def convicting(asked: Piece, isolation: Isolation, breaking: frozenset[int]) -> Inquiry[pa.Table]:
    """Of the questions those that a fact of these pieces breaks, with the furthest."""
    if not breaking:
        return CONVICTED.empty_table()
    run = partial(_witnesses, isolation, asked)
    known = _furthest(Piece((yield ask("what was known before them", _FACTS, run, breaking))))
    made = asked.where(known.ints("suspect")).table
    shown = known.table.select(["reach", *WITNESS])
    return pa.table([*made.columns, *shown.columns], schema=CONVICTED)


def _witnesses(isolation: Isolation, suspects: Piece, piece: Piece) -> pa.Table:
    """For each suspect, by its place, the furthest fact of the piece that breaks it."""
    piece = _of_keys(piece, suspects.ints("key"))
    of = told(piece, isolation)
    number_of = {key: number for number, key in enumerate(of.keys.tolist())}
    numbers = [number_of.get(key, -1) for key in suspects.ints("key").tolist()]
    key = np.array(numbers, dtype=np.int64)
    made: list[pa.Table] = [_FACTS.empty_table()]
    for log in (LOG, STABLE):
        some = np.flatnonzero((key >= 0) & (LOG_OF[suspects.ints("asks")] == log))
        if not len(some):
            continue
        late = of.end > suspects.ints("offset")[some].min()
        late &= of.completed_ns < suspects.ints("invoked_ns")[some].max()
        row = np.flatnonzero(late & of.committed if log == STABLE else late)
        got = staircase(of.key[row], of.end[row], of.completed_ns[row])
        at = got.before(key[some], suspects.ints("invoked_ns")[some])
        some, at = some[at >= 0], at[at >= 0]
        fact = row[got.furthest(at)]
        breaks = of.end[fact] > suspects.ints("offset")[some]
        some, fact = some[breaks], fact[breaks]
        made.append(
            columns_of(
                _FACTS,
                some,
                of.end[fact],
                of.completed_ns[fact],
                *witness(of, fact, piece),
                piece.ints("position")[of.row[fact]],
            )
        )
    return pa.concat_tables(made)


def _of_keys(piece: Piece, keys: Ints) -> Piece:
    """The rows of these keys alone, if that is fewer."""
    codes, texts = piece.narrow("key")
    wanted = np.r_[member(fingerprints(texts, piece.salt), np.unique(keys)), False]
    rows: Mask = wanted[codes]
    return piece if rows.all() else piece.where(rows)


def _furthest(witnesses: Piece) -> Piece:
    """Of each suspect the witness that reaches furthest; of equals the first to complete."""
    columns = [witnesses.ints(name) for name in ("position", "known_op", "completed_ns")]
    order = np.lexsort([*columns, -witnesses.ints("reach"), witnesses.ints("suspect")])
    return witnesses.where(order[begins(witnesses.ints("suspect")[order])])
