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

from checkers.histories.anomalies.findings import Context, Finding
from checkers.histories.anomalies.groups.group_commits import (
    COLUMNS,
    COMMITS,
    COUNT,
    FAIL,
    FETCHES,
    FIRST,
    HIGHER,
    LONG_AGO,
    PRODUCED,
    Facts,
    Told,
    count_aborted,
    fetched,
    first_commits,
    first_producing,
    first_two,
    higher_commits,
    producing_ahead,
    tried_offsets,
)
from checkers.histories.columnar.arrow import table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.prefix_max import prefix_max_index
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import Mask, NumberSet, distinct, member, run_starts
from checkers.histories.facts.record_locations import hash_of_pair
from checkers.histories.plan.batch import NEVER_NS, Batch
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
from properties.anomalies.groups import (
    aborted_offset_read,
    group_offset_moved_without_commit,
    group_offset_went_backwards,
)
from properties.anomalies.groups.offsets import NONE

BACKWARDS: Final = group_offset_went_backwards.ANOMALY.id
MOVED: Final = group_offset_moved_without_commit.ANOMALY.id
ABORTED: Final = aborted_offset_read.ANOMALY.id


@dataclass(frozen=True, slots=True)
class Answers:
    """What fetches were told, and what explains it."""

    fetches: Batch
    tried: Batch  # commits of the very offset that a fetch was told
    refuted: Ints  # the first fact of another offset before each fetch, in `others`; -1: none
    others: Batch
    explained_ns: Ints  # when the last commit ended that may have set what was told; else LONG_AGO
    staged: Mask  # one of those is of a transaction
    ahead: Batch  # transactions with output that a fetch begun later was told less than
    began: Batch  # when the first transaction with output of a register did, by piece


def answers(context: Context) -> Plan[tuple[Answers, tuple[Finding, ...]]]:
    """Looks at the history, and decides what commits and fetches alone decide."""
    isolation = context.declared.isolation
    told, aborted = yield from in_parallel(
        collect(_ask("what groups were told", FETCHES, partial(fetched, isolation))),
        collect(_ask("offsets of transactions that failed", COUNT, count_aborted)),
    )
    fetches = Batch(told)
    offsets = NumberSet.of(hash_of_pair(fetches.ints("register"), fetches.ints("offset")))
    registers = np.unique(fetches.ints("register"))
    of_kind = [Told.of(fetches, stable=stable) for stable in (False, True)]
    title = "what they may have been told"
    tried, firsts, began, ahead, higher = yield from in_parallel(
        collect(_ask(title, COMMITS, partial(tried_offsets, offsets))),
        collect(_ask(title, FIRST, partial(first_commits, registers))),
        collect(_ask(title, PRODUCED, first_producing)),
        collect(_ask(title, COMMITS, partial(producing_ahead, of_kind[1]))),
        collect_all(_ask(title, HIGHER, partial(higher_commits, told, None)) for told in of_kind),
    )
    of = _answers(fetches, Batch(tried), Batch(firsts), Batch(ahead), Batch(began))
    backwards = yield from _backwards(of, Batch(pa.concat_tables(higher)))
    moved = yield from _moved(of)
    vain = yield from _in_vain(of, sum(aborted["count"].to_pylist()))
    return of, (backwards, moved, vain)


def _ask(title: str, schema: pa.Schema, run: object) -> Stage[pa.Table]:
    return Stage(Source.OPERATIONS, Kernel(title, COLUMNS, schema, run))  # type: ignore[arg-type]


def _answers(fetches: Batch, tried: Batch, firsts: Batch, ahead: Batch, began: Batch) -> Answers:
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


def best_of(fetches: Batch, of: Batch, numbers: Ints, otherwise: int) -> Ints:
    """For each fetch the highest number of the commits that may have set what it was told."""
    made = np.full(len(fetches), otherwise, dtype=np.int64)
    pairs = hash_of_pair(of.ints("register"), of.ints("offset"))
    names = distinct(pairs)
    asked = hash_of_pair(fetches.ints("register"), fetches.ints("offset"))
    some = np.flatnonzero(member(asked, names))
    got = prefix_max_index(np.searchsorted(names, pairs), numbers, of.ints("invoked_ns"))
    group = np.searchsorted(names, asked[some])
    at = got.before(group, fetches.ints("completed_ns")[some] + 1)
    made[some[at >= 0]] = got.reaches[at[at >= 0]]
    return made


def _others(fetches: Batch, firsts: Batch) -> tuple[Ints, Batch]:
    """For each fetch the first fact of another offset, if it was known before; and the facts."""
    own = table_from(
        FIRST,
        *(fetches.ints(name) for name in ("register", "offset", "op")),
        np.zeros(len(fetches), dtype=np.int64),
        fetches.ints("completed_ns"),
    )
    everything = Batch(pa.concat_tables([firsts.table, own]))
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
    return found, Batch(pa.concat_tables([facts.table for facts in two]))


# ---------------------------------------------------------------- the anomalies


def named(of: Batch) -> Plan[dict[str, pa.Array]]:
    """The columns of fetches that every row has."""
    group_of = yield from resolve_fingerprints(of.ints("group"), column="group")
    key_of = yield from resolve_fingerprints(of.ints("key"), column="key")
    return {
        "group": group_of(of.ints("group")),
        "key": key_of(of.ints("key")),
        "offset": of.table["offset"],
        "op": of.table["op"],
    }


def once(rows: pa.Table) -> pa.Table:
    """Each row once."""
    return rows.group_by(rows.column_names, use_threads=False).aggregate([])


def _backwards(of: Answers, higher: Batch) -> Plan[Finding]:
    """What was told less than was known: by commits, and by other fetches."""
    fetches = of.fetches
    best = np.full((len(fetches), 2), LONG_AGO)  # offset, and the operation with its sign changed
    redo = np.zeros(len(fetches), dtype=np.bool_)
    _keep(best, redo, higher, of.explained_ns)
    if redo.any():
        again = np.flatnonzero(redo)
        asked, since = fetches.where(again), of.explained_ns[again]
        of_kind = [Told.of(asked, stable=stable) for stable in (False, True)]
        runs = (partial(higher_commits, told, since) for told in of_kind)
        more = yield from collect_all(_ask("what no commit explains", HIGHER, run) for run in runs)
        told = Batch(pa.concat_tables(more))
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
    return Finding(id=BACKWARDS, rows=once(rows), observations=len(fetches))


def _keep(best: np.ndarray, redo: Mask, higher: Batch, since_ns: Ints) -> None:
    """The highest of each fetch, unless a commit explains it: then it is to be asked again."""
    fetch, offset, op = (higher.ints(name) for name in ("fetch", "offset", "op"))
    order = np.lexsort([op, -offset, fetch])
    first = order[run_starts(fetch[order])]
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


def _moved(of: Answers) -> Plan[Finding]:
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
    return Finding(id=MOVED, rows=once(rows), observations=int(np.count_nonzero(refuted)))


def _in_vain(of: Answers, observations: int) -> Plan[Finding]:
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
    return Finding(id=ABORTED, rows=once(rows), observations=observations)
