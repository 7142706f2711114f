"""Defines the query plan that finds the anomalies of fetched group offsets.

A register is the committed offset of one group and topic partition. A history has many commits, and
the plan collects only three kinds of commits:

- commits of an offset that a fetch returned;
- for each register, the commit that ended first, and the first commit of a different offset;
- for each fetch, the highest commit that ended before the fetch began, if this commit is above the
  fetched offset.

Such a higher commit contradicts the fetch, unless a commit of the fetched offset may have taken
effect after the higher commit:

    commit 7    |-----|
    commit 3        |-----|             may have taken effect after commit 7, which it overlaps
    fetch 3                  |--|       legal: commit 7 does not contradict it

Another stage of the plan then searches for a higher commit that began after commit 3 had ended.
Such a commit contradicts the fetch.

Source: `properties.anomalies.groups.offsets` and the anomalies that use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import Context, Finding
from checkers.histories.anomalies.groups.committed_offsets import (
    COMMITS,
    COUNT,
    FAIL,
    FETCH_COLUMNS,
    FETCHES,
    FIRST,
    HIGHER,
    LONG_AGO,
    PRODUCED,
    FetchIndex,
    KnownOffsets,
    commits_of_offsets,
    count_aborted,
    fetched,
    first_commits,
    first_output,
    first_two,
    higher_commits,
    last_fetches,
    output_ahead,
)
from checkers.histories.columnar.arrow import table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.prefix_max import prefix_max_index
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import Mask, NumberSet, distinct, member, run_starts
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
class FetchedOffsets:
    """All fetches of group offsets, and the commits that explain or contradict some fetch."""

    fetches: Batch
    tried: Batch  # the commits of an offset that a fetch returned, of any outcome
    known: int  # the number of fetches whose group surely had an offset before
    refuted: Ints  # per fetch, the first earlier row of `others` with another offset; or -1
    others: Batch
    explained_ns: Ints  # per fetch, the end of the last commit that may explain it; or LONG_AGO
    staged: Mask  # True if a transaction may explain the fetch
    ahead: Batch  # transactions with output whose committed offset is above a later fetch
    began: Batch  # per batch and register, the start of the first transaction with output


def fetched_offsets(context: Context) -> Plan[tuple[FetchedOffsets, tuple[Finding, ...]]]:
    """Returns all fetches of group offsets, and three findings.

    The findings are offsets that went backwards, offsets that changed without a commit, and offsets
    whose only commits were in failed transactions.
    """
    isolation = context.declared.isolation
    observed = yield from collect(_stage("fetched offsets", FETCHES, partial(fetched, isolation)))
    fetches = Batch(observed)
    offsets = NumberSet.of(hash_of_pair(fetches.ints("register"), fetches.ints("offset")))
    registers = np.unique(fetches.ints("register"))
    of_kind = [FetchIndex.of(fetches, stable=stable) for stable in (False, True)]
    title = "commits of fetched registers"
    tried, firsts, began, ahead, aborted, higher = yield from in_parallel(
        collect(_stage(title, COMMITS, partial(commits_of_offsets, offsets))),
        collect(_stage(title, FIRST, partial(first_commits, registers))),
        collect(_stage(title, PRODUCED, first_output)),
        collect(_stage(title, COMMITS, partial(output_ahead, of_kind[1]))),
        collect(_stage(title, COUNT, partial(count_aborted, last_fetches(fetches)))),
        collect_all(
            _stage(title, HIGHER, partial(higher_commits, observed, None)) for observed in of_kind
        ),
    )
    of = _explained(fetches, Batch(tried), Batch(firsts), Batch(ahead), Batch(began))
    backwards = yield from _went_backwards(of, Batch(pa.concat_tables(higher)))
    moved = yield from _without_commit(of)
    of_aborted = yield from _aborted_offsets(of, sum(aborted["count"].to_pylist()))
    return of, (backwards, moved, of_aborted)


def _stage(title: str, schema: pa.Schema, run: object) -> Stage[pa.Table]:
    return Stage(Source.OPERATIONS, Kernel(title, FETCH_COLUMNS, schema, run))  # type: ignore[arg-type]


def _explained(
    fetches: Batch, tried: Batch, firsts: Batch, ahead: Batch, began: Batch
) -> FetchedOffsets:
    explaining = tried.where(tried.ints("outcome") != FAIL)
    staged = explaining.where(explaining.ints("staged") == 1)
    refuted, others = _first_of_another_offset(fetches, firsts)
    return FetchedOffsets(
        fetches=fetches,
        tried=tried,
        known=_after_an_offset(fetches, firsts),
        refuted=refuted,
        others=others,
        explained_ns=highest_explaining(fetches, explaining, explaining.ints("ended_ns"), LONG_AGO),
        staged=highest_explaining(fetches, staged, staged.ints("ended_ns"), LONG_AGO) != LONG_AGO,
        ahead=ahead,
        began=began,
    )


def highest_explaining(fetches: Batch, of: Batch, numbers: Ints, otherwise: int) -> Ints:
    """Returns, for each fetch, the maximum of `numbers` over the commits that explain the fetch.

    A commit explains a fetch if it committed the fetched offset, and did not begin after the
    completion of the fetch. If no commit explains a fetch, the result is `otherwise`.
    """
    made = np.full(len(fetches), otherwise, dtype=np.int64)
    pairs = hash_of_pair(of.ints("register"), of.ints("offset"))
    names = distinct(pairs)
    queries = hash_of_pair(fetches.ints("register"), fetches.ints("offset"))
    some = np.flatnonzero(member(queries, names))
    got = prefix_max_index(np.searchsorted(names, pairs), numbers, of.ints("invoked_ns"))
    group = np.searchsorted(names, queries[some])
    at = got.before(group, fetches.ints("completed_ns")[some] + 1)
    made[some[at >= 0]] = got.reaches[at[at >= 0]]
    return made


def _with_fetches(firsts: Batch, fetches: Batch) -> Batch:
    own = table_from(
        FIRST,
        *(fetches.ints(name) for name in ("register", "offset", "op")),
        np.zeros(len(fetches), dtype=np.int64),
        fetches.ints("completed_ns"),
    )
    return Batch(pa.concat_tables([firsts.table, own]))


def _after_an_offset(fetches: Batch, firsts: Batch) -> int:
    """Returns the number of fetches at whose start the group certainly had a committed offset."""
    everything = _with_fetches(firsts, fetches)
    known = everything.where(everything.ints("offset") != NONE)
    count = 0
    for stable, facts in ((1, known), (0, known.where(known.ints("staged") == 0))):
        of = fetches.where(fetches.ints("stable") == stable)
        register, ended_ns = facts.ints("register"), facts.ints("ended_ns")
        order = np.lexsort([ended_ns, register])
        first = order[run_starts(register[order])]
        some = np.flatnonzero(member(of.ints("register"), register[first]))
        at = np.searchsorted(register[first], of.ints("register")[some])
        before = ended_ns[first[at]] < of.ints("invoked_ns")[some]
        count += int(np.count_nonzero(before))
    return count


def _first_of_another_offset(fetches: Batch, firsts: Batch) -> tuple[Ints, Batch]:
    everything = _with_fetches(firsts, fetches)
    two = [first_two(everything), first_two(everything.where(everything.ints("staged") == 0))]
    found = np.full(len(fetches), -1, dtype=np.int64)
    shift = 0
    for stable, facts in zip((1, 0), two, strict=True):
        rows = np.flatnonzero(fetches.ints("stable") == stable)
        register, offset = fetches.ints("register")[rows], fetches.ints("offset")[rows]
        at = np.searchsorted(facts.ints("register"), register)
        for step in (1, 0):  # the first row overwrites the second, if it has another offset
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


def shared_columns(of: Batch) -> Plan[dict[str, pa.Array]]:
    """Returns the columns that all anomalies of fetched offsets have: group, key (topic
    partition), offset and operation.
    """
    group_of = yield from resolve_fingerprints(of.ints("group"), column="group")
    key_of = yield from resolve_fingerprints(of.ints("key"), column="key")
    return {
        "group": group_of(of.ints("group")),
        "key": key_of(of.ints("key")),
        "offset": of.table["offset"],
        "op": of.table["op"],
    }


def distinct_rows(rows: pa.Table) -> pa.Table:
    return rows.group_by(rows.column_names, use_threads=False).aggregate([])


def _went_backwards(of: FetchedOffsets, higher: Batch) -> Plan[Finding]:
    fetches = of.fetches
    best = np.full((len(fetches), 2), LONG_AGO)  # offset, and the negated operation
    redo = np.zeros(len(fetches), dtype=np.bool_)
    _keep_highest_commits(best, redo, higher, of.explained_ns)
    if redo.any():
        again = np.flatnonzero(redo)
        queries, since = fetches.where(again), of.explained_ns[again]
        of_kind = [FetchIndex.of(queries, stable=stable) for stable in (False, True)]
        runs = (partial(higher_commits, observed, since) for observed in of_kind)
        more = yield from collect_all(_stage("unexplained offsets", HIGHER, run) for run in runs)
        observed = Batch(pa.concat_tables(more))
        best[again] = LONG_AGO
        at = again[observed.ints("fetch")]
        _keep_highest(best, at, observed.ints("offset"), observed.ints("op"))
    for stable in (0, 1):
        facts = KnownOffsets.of(fetches.where(fetches.ints("stable") == stable), "completed_ns")
        since = of.explained_ns if stable else np.where(of.staged, NEVER_NS, of.explained_ns)
        fact = facts.highest(fetches, since)
        rows = np.flatnonzero(fact >= 0)
        _keep_highest(best, rows, facts.offset[fact[rows]], facts.op[fact[rows]])
    wrong = np.flatnonzero(best[:, 0] != LONG_AGO)
    columns = yield from shared_columns(fetches.where(wrong))
    rows = pa.table({**columns, "known_offset": best[wrong, 0], "known_op": -best[wrong, 1]}).cast(
        schema_of(group_offset_went_backwards.GroupOffsetWentBackwards)
    )
    return Finding(id=BACKWARDS, rows=distinct_rows(rows), observations=of.known)


def _keep_highest_commits(best: np.ndarray, redo: Mask, higher: Batch, since_ns: Ints) -> None:
    fetch, offset, op = (higher.ints(name) for name in ("fetch", "offset", "op"))
    order = np.lexsort([op, -offset, fetch])
    first = order[run_starts(fetch[order])]
    explained = higher.ints("invoked_ns")[first] <= since_ns[fetch[first]]
    redo[fetch[first[explained]]] = True
    kept = first[~explained]
    _keep_highest(best, fetch[kept], offset[kept], op[kept])


def _keep_highest(best: np.ndarray, rows: Ints, offset: Ints, op: Ints) -> None:
    for row, candidate in zip(
        rows.tolist(), zip(offset.tolist(), (-op).tolist(), strict=True), strict=True
    ):
        best[row] = max(tuple(best[row].tolist()), candidate)


def _without_commit(of: FetchedOffsets) -> Plan[Finding]:
    fetches, tried = of.fetches, of.tried
    setting = tried.where((tried.ints("outcome") != FAIL) | (tried.ints("staged") == 1))
    set_by = highest_explaining(fetches, setting, setting.ints("ended_ns"), LONG_AGO) != LONG_AGO
    refuted = (of.refuted >= 0) & (fetches.ints("offset") != NONE)
    wrong = np.flatnonzero(refuted & ~set_by)
    known = of.others.where(of.refuted[wrong])
    columns = yield from shared_columns(fetches.where(wrong))
    rows = pa.table(
        {**columns, "known_offset": known.table["offset"], "known_op": known.table["op"]}
    ).cast(schema_of(group_offset_moved_without_commit.GroupOffsetMovedWithoutCommit))
    return Finding(id=MOVED, rows=distinct_rows(rows), observations=int(np.count_nonzero(refuted)))


def _aborted_offsets(of: FetchedOffsets, observations: int) -> Plan[Finding]:
    fetches, tried = of.fetches, of.tried
    aborted_commits = tried.where((tried.ints("outcome") == FAIL) & (tried.ints("staged") == 1))
    aborted = highest_explaining(fetches, aborted_commits, -aborted_commits.ints("op"), LONG_AGO)
    some = (of.refuted >= 0) & (of.explained_ns == LONG_AGO) & (aborted != LONG_AGO)
    wrong = np.flatnonzero(some)
    columns = yield from shared_columns(fetches.where(wrong))
    rows = pa.table({**columns, "aborted_op": -aborted[wrong]}).cast(
        schema_of(aborted_offset_read.AbortedOffsetRead)
    )
    return Finding(id=ABORTED, rows=distinct_rows(rows), observations=observations)
