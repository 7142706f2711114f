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
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.prefix_max import PrefixMaxIndex, prefix_max_index
from checkers.histories.columnar.sorting import Mask, member, run_starts
from checkers.histories.facts.observed_offsets import (
    COMMITTED_END,
    LOG,
    LOG_OF,
    STABLE,
    STABLE_END,
    observed_offsets,
)
from checkers.histories.facts.record_locations import hash_of_pair
from checkers.histories.plan.batch import NEVER_NS, UNKNOWN_OFFSET, Batch
from checkers.histories.plan.stage import Plan, collect
from model.histories import Isolation

_FACTS: Final = int64_schema("suspect", "reach", "completed_ns", *WITNESS, "position")


@dataclass(frozen=True, slots=True)
class Reached:
    """How far all pieces together reached, and in which of their questions that counts."""

    logs: Ints  # every log that has a fact, as one number, ascending
    in_time: PrefixMaxIndex
    by_piece: PrefixMaxIndex  # in the order of the pieces in time
    place: Ints  # of each piece in that order
    began_ns: Ints  # of each piece: the first completion of what it was told
    ended_ns: Ints  # and the last
    in_order: bool  # no piece has anything told before the one in front of it ended
    held_back: Ints  # the keys that transactions send to, ascending
    steps: Batch
    log: Ints  # of each step, its place in `logs`

    @classmethod
    def of(cls, spans: Batch, steps: Batch, held_back: Ints) -> Self:
        """From the parts of all surveys, and the keys that transactions send to."""
        began_ns, ended_ns = spans.ints("began_ns"), spans.ints("ended_ns")
        order = np.lexsort([ended_ns, began_ns])
        place = np.empty(int(spans.ints("batch").max(initial=-1)) + 1, dtype=np.int64)
        place[spans.ints("batch")[order]] = np.arange(len(order))
        began_in, ended_in = np.zeros((2, len(place)), dtype=np.int64)
        began_in[spans.ints("batch")], ended_in[spans.ints("batch")] = began_ns, ended_ns
        some = order[began_ns[order] != NEVER_NS]
        logs, group = np.unique(
            hash_of_pair(steps.ints("key"), steps.ints("log")), return_inverse=True
        )
        reach = steps.ints("reach")
        return cls(
            logs=logs,
            in_time=prefix_max_index(group, reach, steps.ints("completed_ns")),
            by_piece=prefix_max_index(group, reach, place[steps.ints("batch")]),
            place=place,
            began_ns=began_in,
            ended_ns=ended_in,
            in_order=bool(np.all(ended_ns[some][:-1] <= began_ns[some][1:])),
            held_back=held_back,
            steps=steps,
            log=group,
        )

    def counts(self, asked: Batch) -> Mask:
        """Which questions are of the log that counts: at read_committed one of two does."""
        asks, stable_apart = asked.ints("asks"), member(asked.ints("key"), self.held_back)
        counts: Mask = np.where(stable_apart, asks != COMMITTED_END, asks != STABLE_END)
        return counts

    def maybe_broken(self, asked: Batch) -> Mask:
        """Which questions a fact may break that was known before; the others none does."""
        group, some = self._group(asked)
        offset, invoked_ns = (asked.ints(name)[some] for name in ("offset", "invoked_ns"))
        broken = np.zeros(len(asked), dtype=np.bool_)
        broken[some] = self.in_time.exceeded(group[some], offset, invoked_ns)
        return broken

    def broken(self, asked: Batch) -> Mask:
        """Which questions are broken, of which it is known what their piece had reached before."""
        broken = self.maybe_broken(asked)
        batch = asked.ints("batch")
        if not self.in_order or not len(asked):
            return broken
        group, some = self._group(asked)
        known = asked.ints("reach").copy()
        at = self.by_piece.before(group[some], self.place[batch[some]])
        some, at = some[at >= 0], at[at >= 0]
        known[some] = np.maximum(known[some], self.by_piece.reach(at))
        invoked_ns = asked.ints("invoked_ns")
        inside = (self.began_ns[batch] < invoked_ns) & (invoked_ns <= self.ended_ns[batch])
        decided: Mask = np.where(inside, known > asked.ints("offset"), broken)
        return decided

    def carries(self, limits: Batch) -> pa.Table:
        """The limits that lie below what was reached before their piece, and how far that was."""
        group, some = self._group(limits)
        before = self.place[limits.ints("batch")]
        if not self.in_order:
            before = np.full(len(before), len(self.place))
        at = self.by_piece.before(group[some], before[some])
        some, at = some[at >= 0], at[at >= 0]
        reach = self.by_piece.reach(at)
        below = reach > limits.ints("offset")[some]
        return limits.where(some[below]).table.append_column("reach", pa.array(reach[below]))

    def breaking(self, asked: Batch) -> frozenset[int]:
        """The pieces that may have a fact that breaks one of these questions."""
        group, some = self._group(asked)
        least, latest = np.full((2, len(self.logs)), [[NEVER_NS], [UNKNOWN_OFFSET]])
        np.minimum.at(least, group[some], asked.ints("offset")[some])
        np.maximum.at(latest, group[some], asked.ints("invoked_ns")[some])
        beyond = self.steps.ints("reach") > least[self.log]
        may = beyond & (self.steps.ints("completed_ns") < latest[self.log])
        return partition_numbers(self.steps.ints("batch")[may])

    def with_earlier(self, convicted: Batch) -> Batch:
        """The same, each with the furthest fact of all pieces; they must lie in order of time.

        Whoever is convicted began inside its piece, behind all that pieces before it were told.
        """
        group, some = self._group(convicted)
        at = self.by_piece.before(group[some], self.place[convicted.ints("batch")[some]])
        some, at = some[at >= 0], at[at >= 0]
        further = self.by_piece.reach(at) >= convicted.ints("reach")[some]
        some, step = some[further], self.by_piece.furthest(at[further])
        table = convicted.table
        for name in ("reach", *WITNESS):
            column = convicted.ints(name).copy()
            column[some] = self.steps.ints(name)[step]
            table = table.set_column(table.schema.get_field_index(name), name, pa.array(column))
        return Batch(table)

    def _group(self, asked: Batch) -> tuple[Ints, Ints]:
        """The place of each question's log, and the questions whose log has one."""
        log = hash_of_pair(asked.ints("key"), LOG_OF[asked.ints("asks")])
        group = np.searchsorted(self.logs, log)
        return group, np.flatnonzero(member(log, self.logs))


def partition_numbers(pieces: Ints) -> frozenset[int]:
    return frozenset(np.unique(pieces).tolist())


# ---------------------------------------------------------------- a look at what breaks questions


def convicting(asked: Batch, isolation: Isolation, breaking: frozenset[int]) -> Plan[pa.Table]:
    """Of the questions those that a fact of these pieces breaks, with the furthest."""
    if not breaking:
        return CONVICTED.empty_table()
    run = partial(_witnesses, isolation, asked)
    known = _furthest(
        Batch((yield from collect(ask("what was known before them", _FACTS, run, breaking))))
    )
    made = asked.where(known.ints("suspect")).table
    shown = known.table.select(["reach", *WITNESS])
    return pa.table([*made.columns, *shown.columns], schema=CONVICTED)


def _witnesses(isolation: Isolation, suspects: Batch, batch: Batch) -> pa.Table:
    """For each suspect, by its place, the furthest fact of the piece that breaks it."""
    batch = _of_keys(batch, suspects.ints("key"))
    of = observed_offsets(batch, isolation)
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
        got = prefix_max_index(of.key[row], of.end[row], of.completed_ns[row])
        at = got.before(key[some], suspects.ints("invoked_ns")[some])
        some, at = some[at >= 0], at[at >= 0]
        fact = row[got.furthest(at)]
        breaks = of.end[fact] > suspects.ints("offset")[some]
        some, fact = some[breaks], fact[breaks]
        made.append(
            table_from(
                _FACTS,
                some,
                of.end[fact],
                of.completed_ns[fact],
                *witness(of, fact, batch),
                batch.ints("position")[of.row[fact]],
            )
        )
    return pa.concat_tables(made)


def _of_keys(batch: Batch, keys: Ints) -> Batch:
    """The rows of these keys alone, if that is fewer."""
    codes, texts = batch.narrow_codes("key")
    wanted = np.r_[member(fingerprints(texts, batch.hash_seed), np.unique(keys)), False]
    rows: Mask = wanted[codes]
    return batch if rows.all() else batch.where(rows)


def _furthest(witnesses: Batch) -> Batch:
    """Of each suspect the witness that reaches furthest; of equals the first to complete."""
    columns = [witnesses.ints(name) for name in ("position", "known_op", "completed_ns")]
    order = np.lexsort([*columns, -witnesses.ints("reach"), witnesses.ints("suspect")])
    return witnesses.where(order[run_starts(witnesses.ints("suspect")[order])])
