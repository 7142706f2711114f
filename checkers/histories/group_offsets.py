"""Inquiry into what groups were told of their committed offsets.

Fetches are few, and commits are many. One look brings the fetches. In a second each piece tells of
the commits only what may speak for or against an answer: those of the very offset that was told,
the first two offsets that each register is known to have had, and for each answer the highest
offset that was committed before it, if it is higher. In a sound history nobody tells one. Where a
commit explains an answer in part, a third look finds the highest that it does not explain.

A register is one number for its group and key.

Source: `properties.anomalies.groups.offsets` and the anomalies that stand on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.fingerprints import Ints
from checkers.histories.found import Found, Known
from checkers.histories.inquiry import OPERATIONS, Ask, Inquiry, spelled
from checkers.histories.order import Mask, begins, lengths, member
from checkers.histories.piece import NEVER_NS, Piece
from checkers.histories.pieces import Kernel
from checkers.histories.places import together
from checkers.histories.reach_survey import columns_of, ints
from checkers.histories.rows import schema_of
from checkers.histories.staircase import staircase
from checkers.histories.told_offsets import dirty
from model.histories import Isolation
from properties.anomalies.groups import (
    aborted_offset_read,
    group_offset_moved_without_commit,
    group_offset_went_backwards,
)
from properties.anomalies.groups.offsets import NONE

BACKWARDS: Final = group_offset_went_backwards.ANOMALY.id
MOVED: Final = group_offset_moved_without_commit.ANOMALY.id
ABORTED: Final = aborted_offset_read.ANOMALY.id
LONG_AGO: Final = -(2**63)
OK, INFO, FAIL = range(3)
_COLUMNS: Final = (
    "op",
    "f",
    "outcome",
    "invoked_ns",
    "completed_ns",
    "kind",
    "key",
    "offset",
    "group",
    "isolation",
)
FETCHES: Final = ints(
    "register", "group", "key", "offset", "op", "stable", "invoked_ns", "completed_ns"
)
COMMITS: Final = ints(
    "register", "offset", "op", "outcome", "staged", "sends", "invoked_ns", "ended_ns"
)
_FIRST: Final = ints("register", "offset", "op", "staged", "ended_ns")
_HIGHER: Final = ints("fetch", "offset", "op", "invoked_ns")
_PRODUCED: Final = ints("register", "invoked_ns")
_COUNT: Final = ints("count")


# ---------------------------------------------------------------- in a piece


def _fetches(isolation: Isolation, piece: Piece) -> pa.Table:
    told = piece.is_("kind", "fetch_offset") & piece.is_("outcome", "ok")
    rows = np.flatnonzero(told & piece.known("group") & piece.known("completed_ns"))
    group, key = piece.fingerprints("group")[rows], piece.fingerprints("key")[rows]
    return columns_of(
        FETCHES,
        together(group, key),
        group,
        key,
        piece.ints("offset", null=NONE)[rows],
        piece.ints("op")[rows],
        (~dirty(piece, isolation)[rows]).astype(np.int64),
        piece.ints("invoked_ns")[rows],
        piece.ints("completed_ns")[rows],
    )


def _aborted(piece: Piece) -> pa.Table:
    """How many offsets transactions committed that failed."""
    some = piece.is_("kind", "commit_offset") & piece.is_("f", "txn") & piece.is_("outcome", "fail")
    count = np.count_nonzero(some & piece.known("group"))
    return columns_of(_COUNT, np.array([count]))


def commits(piece: Piece) -> Piece:
    """Every commit of a group's offset; made once for all kernels."""
    return piece.derived(("commits",), _commits)


def _commits(piece: Piece) -> Piece:
    rows = np.flatnonzero(piece.is_("kind", "commit_offset") & piece.known("group"))
    outcome = np.where(piece.is_("outcome", "ok"), OK, INFO)
    outcome[piece.is_("outcome", "fail")] = FAIL
    outcome = outcome[rows]
    ended = piece.ints("completed_ns", null=NEVER_NS)[rows]
    op = piece.ints("op")
    starts = begins(op)
    sends = np.add.reduceat(piece.is_("kind", "send").astype(np.int64), starts) if len(op) else op
    of_op = np.searchsorted(op[starts], op[rows])
    return Piece(
        columns_of(
            COMMITS,
            together(piece.fingerprints("group")[rows], piece.fingerprints("key")[rows]),
            piece.ints("offset")[rows],
            op[rows],
            outcome,
            piece.is_("f", "txn")[rows].astype(np.int64),
            sends[of_op] if len(rows) else rows,
            piece.ints("invoked_ns")[rows],
            np.where(outcome == INFO, NEVER_NS, ended),
        )
    )


def _tried(fetches: Piece, piece: Piece) -> pa.Table:
    """The commits of the very offset that a fetch was told."""
    of = commits(piece)
    told = np.unique(together(fetches.ints("register"), fetches.ints("offset")))
    return of.where(member(together(of.ints("register"), of.ints("offset")), told)).table


def _firsts(fetches: Piece, piece: Piece) -> pa.Table:
    """Of each register that is told of the first commit, and the first of another offset."""
    of = commits(piece)
    some = (of.ints("outcome") == OK) & member(
        of.ints("register"), np.unique(fetches.ints("register"))
    )
    made = []
    for staged in (0, 1):
        rows = of.where(some & (of.ints("staged") == staged))
        made.append(first_two(Piece(rows.table.select(_FIRST.names))).table)
    return pa.concat_tables(made)


def first_two(of: Piece) -> Piece:
    """Of each register the first to end, and the first of those with another offset."""
    columns = [of.ints(name) for name in ("offset", "op", "ended_ns", "register")]
    ordered = of.where(np.lexsort(columns))
    register, offset = ordered.ints("register"), ordered.ints("offset")
    starts = begins(register)
    of_first = np.repeat(offset[starts], lengths(starts, len(register)))
    others = np.flatnonzero(offset != of_first)
    seconds = others[begins(register[others])]
    return ordered.where(np.sort(np.r_[starts, seconds]))


@dataclass(frozen=True, slots=True)
class Facts:
    """What registers are known to have held: since when, and of an operation that began when."""

    register: Ints
    offset: Ints
    op: Ints
    invoked_ns: Ints
    known_ns: Ints

    @classmethod
    def of(cls, piece: Piece, known: str) -> Facts:
        names = ("register", "offset", "op", "invoked_ns", known)
        return cls(*(piece.ints(name) for name in names))

    def highest(self, asked: Piece, since_ns: Ints | None = None) -> Ints:
        """For each that asks the fact of the highest offset above its own; -1 if there is none.

        Known before it began, and of an operation that began after `since_ns`; of equals the first.
        """
        found = np.full(len(asked), -1, dtype=np.int64)
        registers = np.unique(self.register)
        some = np.flatnonzero(member(asked.ints("register"), registers))
        if not len(some):
            return found
        rank = np.empty(len(self.op), dtype=np.int64)
        by_rank = np.lexsort([-self.op, self.offset])
        rank[by_rank] = np.arange(len(by_rank))
        got = staircase(np.searchsorted(registers, self.register), rank, self.known_ns)
        of_asked = np.searchsorted(registers, asked.ints("register")[some])
        at = got.before(of_asked, asked.ints("invoked_ns")[some])
        some, at = some[at >= 0], at[at >= 0]
        fact = by_rank[got.reaches[at]]
        higher = self.offset[fact] > asked.ints("offset")[some]
        some, fact = some[higher], fact[higher]
        found[some] = fact
        if since_ns is not None:
            for number in some[self.invoked_ns[fact] <= since_ns[some]].tolist():
                found[number] = self._since(asked, number, int(since_ns[number]))
        return found

    def _since(self, asked: Piece, number: int, since_ns: int) -> int:
        """The same of one, looking at every fact."""
        rows = np.flatnonzero(
            (self.register == asked.ints("register")[number])
            & (self.known_ns < asked.ints("invoked_ns")[number])
            & (self.offset > asked.ints("offset")[number])
            & (self.invoked_ns > since_ns)
        )
        if not len(rows):
            return -1
        return int(rows[np.lexsort([self.op[rows], -self.offset[rows]])[0]])


def _higher(fetches: Piece, since_ns: Ints | None, piece: Piece) -> pa.Table:
    """For each fetch the highest offset that had been committed before, if it is higher."""
    of = commits(piece).where(commits(piece).ints("outcome") == OK)
    made: list[pa.Table] = []
    for stable in (0, 1):
        facts = Facts.of(of if stable else of.where(of.ints("staged") == 0), "ended_ns")
        rows = np.flatnonzero(fetches.ints("stable") == stable)
        since = None if since_ns is None else since_ns[rows]
        fact = facts.highest(fetches.where(rows), since)
        found = np.flatnonzero(fact >= 0)
        fact = fact[found]
        columns = (facts.offset[fact], facts.op[fact], facts.invoked_ns[fact])
        made.append(columns_of(_HIGHER, rows[found], *columns))
    return pa.concat_tables(made)


def _producing(piece: Piece) -> Piece:
    """Commits of transactions that did not fail and have output."""
    of = commits(piece)
    produces = (of.ints("staged") == 1) & (of.ints("sends") > 0) & (of.ints("outcome") != FAIL)
    return of.where(produces)


def _began(piece: Piece) -> pa.Table:
    """Of each register when the first transaction with output that commits it began."""
    of = _producing(piece)
    order = np.lexsort([of.ints("invoked_ns"), of.ints("register")])
    first = order[begins(of.ints("register")[order])]
    return of.where(first).table.select(_PRODUCED.names)


def _ahead(fetches: Piece, piece: Piece) -> pa.Table:
    """Transactions with output that a fetch begun later was told less than."""
    of, stable = _producing(piece), fetches.where(fetches.ints("stable") == 1)
    if not len(of) or not len(stable):
        return COMMITS.empty_table()
    # the least that was told from each time on, seen from behind
    registers = np.unique(stable.ints("register"))
    told = staircase(
        np.searchsorted(registers, stable.ints("register")),
        -stable.ints("offset"),
        -stable.ints("invoked_ns"),
    )
    some = np.flatnonzero(member(of.ints("register"), registers))
    group = np.searchsorted(registers, of.ints("register")[some])
    at = told.before(group, -of.ints("invoked_ns")[some])
    some, at = some[at >= 0], at[at >= 0]
    return of.where(some[-told.reaches[at] < of.ints("offset")[some]]).table


# ---------------------------------------------------------------- answers


@dataclass(frozen=True, slots=True)
class Answers:
    """What fetches were told, and what explains it."""

    fetches: Piece
    tried: Piece  # commits of the very offset that a fetch was told
    refuted: Ints  # the first fact of another offset before each fetch, in `others`; -1: none
    others: Piece
    explained_ns: Ints  # when the last commit ended that may have set what was told; else LONG_AGO
    staged: Mask  # one of those is of a transaction
    ahead: Piece  # transactions with output that a fetch begun later was told less than
    began: Piece  # when the first transaction with output of a register did, by piece


def answers(known: Known) -> Inquiry[tuple[Answers, tuple[Found, ...]]]:
    """Looks at the history, and decides what commits and fetches alone decide."""
    isolation = known.declared.isolation
    told, aborted = yield (
        _ask("what groups were told", FETCHES, partial(_fetches, isolation)),
        _ask("offsets of transactions that failed", _COUNT, _aborted),
    )
    fetches = Piece(told)
    says = "what they may have been told"
    tried, firsts, higher, began, ahead = yield (
        _ask(says, COMMITS, partial(_tried, fetches)),
        _ask(says, _FIRST, partial(_firsts, fetches)),
        _ask(says, _HIGHER, partial(_higher, fetches, None)),
        _ask(says, _PRODUCED, _began),
        _ask(says, COMMITS, partial(_ahead, fetches)),
    )
    of = _answers(fetches, Piece(tried), Piece(firsts), Piece(ahead), Piece(began))
    backwards = yield from _backwards(of, Piece(higher))
    moved = yield from _moved(of)
    vain = yield from _in_vain(of, sum(aborted["count"].to_pylist()))
    return of, (backwards, moved, vain)


def _ask(says: str, schema: pa.Schema, run: object) -> Ask:
    return Ask(OPERATIONS, Kernel(says, _COLUMNS, schema, run))  # type: ignore[arg-type]


def _answers(fetches: Piece, tried: Piece, firsts: Piece, ahead: Piece, began: Piece) -> Answers:
    explaining = tried.where(tried.ints("outcome") != FAIL)
    staged = explaining.where(explaining.ints("staged") == 1)
    refuted, others = _others(fetches, firsts)
    return Answers(
        fetches=fetches,
        tried=tried,
        refuted=refuted,
        others=others,
        explained_ns=best_of(fetches, explaining, explaining.ints("ended_ns"), LONG_AGO),
        staged=best_of(fetches, staged, staged.ints("ended_ns"), LONG_AGO) != LONG_AGO,
        ahead=ahead,
        began=began,
    )


def best_of(fetches: Piece, of: Piece, numbers: Ints, otherwise: int) -> Ints:
    """For each fetch the highest number of the commits that may have set what it was told."""
    made = np.full(len(fetches), otherwise, dtype=np.int64)
    pairs = together(of.ints("register"), of.ints("offset"))
    names = np.unique(pairs)
    asked = together(fetches.ints("register"), fetches.ints("offset"))
    some = np.flatnonzero(member(asked, names))
    got = staircase(np.searchsorted(names, pairs), numbers, of.ints("invoked_ns"))
    group = np.searchsorted(names, asked[some])
    at = got.before(group, fetches.ints("completed_ns")[some] + 1)
    made[some[at >= 0]] = got.reaches[at[at >= 0]]
    return made


def _others(fetches: Piece, firsts: Piece) -> tuple[Ints, Piece]:
    """For each fetch the first fact of another offset, if it was known before; and the facts."""
    own = columns_of(
        _FIRST,
        *(fetches.ints(name) for name in ("register", "offset", "op")),
        np.zeros(len(fetches), dtype=np.int64),
        fetches.ints("completed_ns"),
    )
    everything = Piece(pa.concat_tables([firsts.table, own]))
    two = [first_two(everything), first_two(everything.where(everything.ints("staged") == 0))]
    found = np.full(len(fetches), -1, dtype=np.int64)
    shift = 0
    for stable, facts in zip((1, 0), two, strict=True):
        rows = np.flatnonzero(fetches.ints("stable") == stable)
        register, offset = fetches.ints("register")[rows], fetches.ints("offset")[rows]
        at = np.searchsorted(facts.ints("register"), register)
        for step in (1, 0):  # the second first: the first counts if it has another offset
            fact = np.minimum(at + step, max(0, len(facts) - 1))
            other = np.zeros(len(rows), dtype=np.bool_)
            if len(facts):
                other = (facts.ints("register")[fact] == register) & (
                    facts.ints("offset")[fact] != offset
                )
                other &= facts.ints("ended_ns")[fact] < fetches.ints("invoked_ns")[rows]
            found[rows[other]] = fact[other] + shift
        shift += len(facts)
    return found, Piece(pa.concat_tables([facts.table for facts in two]))


# ---------------------------------------------------------------- the anomalies


def named(of: Piece) -> Inquiry[dict[str, pa.Array]]:
    """The columns of fetches that every row has."""
    group_of = yield from spelled(of.ints("group"), column="group")
    key_of = yield from spelled(of.ints("key"), column="key")
    return {
        "group": group_of(of.ints("group")),
        "key": key_of(of.ints("key")),
        "offset": of.table["offset"],
        "op": of.table["op"],
    }


def distinct(rows: pa.Table) -> pa.Table:
    """Each row once."""
    return rows.group_by(rows.column_names).aggregate([])


def _backwards(of: Answers, higher: Piece) -> Inquiry[Found]:
    """What was told less than was known: by commits, and by other fetches."""
    fetches = of.fetches
    best = np.full((len(fetches), 2), LONG_AGO)  # offset, and the operation with its sign changed
    redo = np.zeros(len(fetches), dtype=np.bool_)
    _keep(best, redo, higher, of.explained_ns)
    if redo.any():
        again = np.flatnonzero(redo)
        asked, since = fetches.where(again), of.explained_ns[again]
        run = partial(_higher, asked, since)
        told = Piece((yield _ask("what no commit explains", _HIGHER, run)))
        best[again] = LONG_AGO
        at = again[told.ints("fetch")]
        _keep_best(best, at, told.ints("offset"), told.ints("op"))
    for stable in (0, 1):
        facts = Facts.of(fetches.where(fetches.ints("stable") == stable), "completed_ns")
        since = of.explained_ns if stable else np.where(of.staged, NEVER_NS, of.explained_ns)
        fact = facts.highest(fetches, since)
        rows = np.flatnonzero(fact >= 0)
        _keep_best(best, rows, facts.offset[fact[rows]], facts.op[fact[rows]])
    wrong = np.flatnonzero(best[:, 0] != LONG_AGO)
    columns = yield from named(fetches.where(wrong))
    rows = pa.table({**columns, "known_offset": best[wrong, 0], "known_op": -best[wrong, 1]}).cast(
        schema_of(group_offset_went_backwards.GroupOffsetWentBackwards)
    )
    return Found(id=BACKWARDS, rows=distinct(rows), observations=len(fetches))


def _keep(best: np.ndarray, redo: Mask, higher: Piece, since_ns: Ints) -> None:
    """The highest of each fetch, unless a commit explains it: then it is to be asked again."""
    fetch, offset, op = (higher.ints(name) for name in ("fetch", "offset", "op"))
    order = np.lexsort([op, -offset, fetch])
    first = order[begins(fetch[order])]
    explained = higher.ints("invoked_ns")[first] <= since_ns[fetch[first]]
    redo[fetch[first[explained]]] = True
    kept = first[~explained]
    _keep_best(best, fetch[kept], offset[kept], op[kept])


def _keep_best(best: np.ndarray, rows: Ints, offset: Ints, op: Ints) -> None:
    """The higher offset, and of equals the first operation."""
    for row, candidate in zip(
        rows.tolist(), zip(offset.tolist(), (-op).tolist(), strict=True), strict=True
    ):
        best[row] = max(tuple(best[row].tolist()), candidate)


def _moved(of: Answers) -> Inquiry[Found]:
    """What was told that nobody had committed."""
    fetches, tried = of.fetches, of.tried
    setting = tried.where((tried.ints("outcome") != FAIL) | (tried.ints("staged") == 1))
    set_by = best_of(fetches, setting, setting.ints("ended_ns"), LONG_AGO) != LONG_AGO
    refuted = (of.refuted >= 0) & (fetches.ints("offset") != NONE)
    wrong = np.flatnonzero(refuted & ~set_by)
    known = of.others.where(of.refuted[wrong])
    columns = yield from named(fetches.where(wrong))
    rows = pa.table(
        {**columns, "known_offset": known.table["offset"], "known_op": known.table["op"]}
    ).cast(schema_of(group_offset_moved_without_commit.GroupOffsetMovedWithoutCommit))
    return Found(id=MOVED, rows=distinct(rows), observations=int(np.count_nonzero(refuted)))


def _in_vain(of: Answers, observations: int) -> Inquiry[Found]:
    """What was told that only transactions had committed that failed."""
    fetches, tried = of.fetches, of.tried
    vain = tried.where((tried.ints("outcome") == FAIL) & (tried.ints("staged") == 1))
    aborted = best_of(fetches, vain, -vain.ints("op"), LONG_AGO)
    some = (of.refuted >= 0) & (of.explained_ns == LONG_AGO) & (aborted != LONG_AGO)
    wrong = np.flatnonzero(some)
    columns = yield from named(fetches.where(wrong))
    rows = pa.table({**columns, "aborted_op": -aborted[wrong]}).cast(
        schema_of(aborted_offset_read.AbortedOffsetRead)
    )
    return Found(id=ABORTED, rows=distinct(rows), observations=observations)
