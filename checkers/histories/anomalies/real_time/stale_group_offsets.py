"""Defines the query plan of `stale-group-offset`: group offsets as linearizable registers.

    c1 commit_offset{group=g} +k@1 -> ok      op 0
    c1 commit_offset{group=g} +k@5 -> ok      op 1     hides op 0 from every later fetch
    c2 fetch_offset{group=g} k     -> ok @1   op 2     stale: a fetch here must return 5

A register is the committed offset of one group and key. Commit B hides commit A from a fetch if B
began after A ended, and B ended before the fetch began. The plan has three steps:

1. The first stage collects the fetches, which are few.
2. The second stage collects the commits that are visible to at least one fetch.
3. For each register, the driver searches for a linearization of its commits and fetches. A fetch
   that fits into no linearization is stale.

Most registers need no search: each fetch could return only one offset, and returned it.

Source: `properties.anomalies.real_time.stale_group_offset`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final, Literal, Self

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.pairs import Pairs, hash_of_pair
from checkers.histories.columnar.prefix_max import NOWHERE, prefix_max_index
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import Mask, member, run_lengths, run_starts
from checkers.histories.facts.observed_offsets import reads_uncommitted
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
from model.histories import Isolation
from properties.anomalies.groups.offsets import NONE
from properties.anomalies.real_time import stale_group_offset
from properties.anomalies.real_time.stale_group_offset import StaleGroupOffset, rows_of
from properties.linearizability import Call, Read, RegisterAction, Write

_COLUMNS: Final = (
    "op",
    "f",
    "outcome",
    "invoked_ns",
    "completed_ns",
    "position",
    "kind",
    "key",
    "offset",
    "group",
    "isolation",
)
# a register is one number for group and key; a commit of unknown outcome ends at NEVER_NS
_CALLS: Final = int64_schema(
    "register", "group", "key", "offset", "op", "position", "invoked_ns", "completed_ns", "fetch"
)
_STAGED: Final = int64_schema("register")


def _texts(batch: Batch, name: str, rows: Ints) -> Ints:
    numbers, texts = batch.codes(name)
    return fingerprints(texts, batch.hash_seed)[numbers[rows]]


def _registers(batch: Batch, rows: Ints) -> Ints:
    return hash_of_pair(_texts(batch, "group", rows), _texts(batch, "key", rows))


def _calls(batch: Batch, rows: Ints, *, fetch: int) -> pa.Table:
    ended = batch.ints("completed_ns", null=NEVER_NS)[rows]
    return table_from(
        _CALLS,
        _registers(batch, rows),
        _texts(batch, "group", rows),
        _texts(batch, "key", rows),
        batch.ints("offset", null=NONE)[rows],
        batch.ints("op")[rows],
        batch.ints("position")[rows],
        batch.ints("invoked_ns")[rows],
        np.where(batch.is_in("outcome", "ok")[rows], ended, NEVER_NS),
        np.full(len(rows), fetch),
    )


def _fetches(isolation: Isolation, batch: Batch) -> pa.Table:
    fetched = batch.is_in("kind", "fetch_offset") & batch.is_in("outcome", "ok")
    rows = np.flatnonzero(fetched & batch.is_valid("group") & batch.is_valid("completed_ns"))
    made = _calls(batch, rows, fetch=1)
    waits = 1 + reads_uncommitted(batch, isolation)[rows].astype(np.int64)
    return made.set_column(made.schema.get_field_index("fetch"), "fetch", pa.array(waits))


def _staged(batch: Batch) -> pa.Table:
    rows = batch.is_in("kind", "commit_offset") & batch.is_in("f", "txn") & batch.is_valid("group")
    return table_from(_STAGED, np.unique(_registers(batch, np.flatnonzero(rows))))


@dataclass(frozen=True, slots=True)
class _Fetches:
    all: Batch  # ordered by their begin
    longest_ns: int
    latest: Batch  # the last fetch of each register to begin; registers ascend
    fetched: Pairs  # registers and offsets

    @classmethod
    def of(cls, fetches: Batch) -> Self:
        register = fetches.ints("register")
        order = np.lexsort([fetches.ints("invoked_ns"), register])
        starts = run_starts(register[order])
        last = order[starts + run_lengths(starts, len(order)) - 1]
        fetched = Pairs.of(register, fetches.ints("offset"))
        ordered = fetches.where(np.argsort(fetches.ints("invoked_ns"), kind="stable"))
        took = ordered.ints("completed_ns") - ordered.ints("invoked_ns")
        return cls(ordered, int(took.max()), fetches.where(last), fetched)

    def near(self, began_ns: int, ended_ns: int) -> Batch:
        invoked = self.all.ints("invoked_ns")
        first = int(np.searchsorted(invoked, began_ns - self.longest_ns))
        end = int(np.searchsorted(invoked, ended_ns, "right"))
        some = Batch(self.all.table.slice(first, end - first))
        within = some.where(some.ints("completed_ns") >= began_ns)
        later = self.latest.where(self.latest.ints("invoked_ns") > ended_ns)
        return Batch(pa.concat_tables([within.table, later.table]))


def _commits(fetches: _Fetches, batch: Batch) -> pa.Table:
    registers = fetches.latest.ints("register")
    some = (
        batch.is_in("kind", "commit_offset")
        & batch.is_valid("group")
        & ~batch.is_in("outcome", "fail")
    )
    rows = np.flatnonzero(some)
    rows = rows[member(_registers(batch, rows), registers)]
    made = Batch(_calls(batch, rows, fetch=0))
    # A commit B hides a commit A if B began after A ended: a fetch that begins after B cannot
    # return the offset of A. Only commits of this batch are compared with each other.
    return made.where(_may_be_fetched(made, fetches)).table


def _may_be_fetched(commits: Batch, fetched: _Fetches) -> Mask:
    ended = commits.ints("completed_ns")
    kept: Mask = ended == NEVER_NS
    sure, doubted = np.flatnonzero(~kept), np.flatnonzero(kept)
    kept[doubted] = fetched.fetched.have(
        *(commits.ints(n)[doubted] for n in ("register", "offset"))
    )
    # A commit that ended ok is left out if it is hidden from every fetch.
    if not len(sure):
        return kept
    began, ended = commits.ints("invoked_ns")[sure], ended[sure]
    fetches = fetched.near(int(began.min()), int(ended.max()))
    registers, group = np.unique(commits.ints("register")[sure], return_inverse=True)
    relevant = np.flatnonzero(member(fetches.ints("register"), registers))
    of_fetch = np.searchsorted(registers, fetches.ints("register")[relevant])
    got = prefix_max_index(group, began, ended)
    count = len(sure)

    def place(time_ns: Any, side: Literal["left", "right"]) -> Any:
        at = np.searchsorted(got.instants, time_ns, side)
        return np.searchsorted(got.places, of_fetch * count + at)

    last = got.before(of_fetch, fetches.ints("invoked_ns")[relevant])
    # The last commit to begin, of those that ended before the fetch, hides all commits that ended
    # before it began.
    hides = np.where(last >= 0, got.reaches[last], NOWHERE)
    longest = int((ended - began).max())
    first = place(hides, "left")
    end = place(fetches.ints("completed_ns")[relevant] + longest, "right")
    opened, closed = (np.bincount(at, minlength=count)[:count] for at in (first, end))
    kept[sure[got.rows[np.cumsum(opened - closed) > 0]]] = True
    return kept


# ---------------------------------------------------------------- the search


def _needs_search(commits: Batch, fetches: Batch) -> Mask:
    # No search is needed if each fetch could return one offset only, and returned it.
    sure = commits.where(commits.ints("completed_ns") != NEVER_NS)
    registers, group = np.unique(
        np.r_[sure.ints("register"), fetches.ints("register")], return_inverse=True
    )
    of_commit, of_fetch = np.split(group, [len(sure)])
    began, ended = sure.ints("invoked_ns"), sure.ints("completed_ns")
    got = prefix_max_index(of_commit, began, ended)
    last = got.before(of_fetch, fetches.ints("invoked_ns"))
    # The last commit to begin, of those that ended before the fetch, hides all commits that ended
    # before it began.
    hides = np.where(last >= 0, np.r_[got.reaches, NOWHERE][last], NOWHERE)
    possible = _count_before(of_commit, began, of_fetch, fetches.ints("completed_ns"), "right")
    possible -= _count_before(of_commit, ended, of_fetch, hides, "left")
    offset = fetches.ints("offset")
    plain = (last >= 0) & (possible == 1)
    plain[plain] = sure.ints("offset")[got.furthest(last[plain])] == offset[plain]
    at_first = (last < 0) & (possible == 0)
    held = np.full(len(registers), NOWHERE)
    held[of_fetch[at_first]] = offset[at_first]
    plain |= at_first & (held[of_fetch] == offset)
    odd = np.zeros(len(registers), dtype=np.bool_)
    odd[of_fetch[~plain]] = True
    searched: Mask = odd[of_fetch]
    return searched


def _count_before(
    group: Ints, time_ns: Ints, of: Ints, until_ns: Ints, side: Literal["left", "right"]
) -> Ints:
    instants, width = np.sort(time_ns), len(time_ns)
    places = np.sort(group * width + np.searchsorted(instants, time_ns))
    ends = np.searchsorted(places, of * width + np.searchsorted(instants, until_ns, side))
    return ends - np.searchsorted(places, of * width)


def _later_fetches(commits: Batch, fetches: Batch) -> int:
    """Returns the number of fetches that are not the first completed operation on their register. A
    register is the committed offset of a group and a topic partition.
    """
    calls = Batch(pa.concat_tables([commits.table, fetches.table]))
    ended = calls.where(calls.ints("completed_ns") != NEVER_NS)
    is_fetch = ended.ints("fetch") > 0
    order = np.lexsort(
        [is_fetch, *(ended.ints(name) for name in ("op", "completed_ns", "register"))]
    )
    first = order[run_starts(ended.ints("register")[order])]
    return len(fetches) - int(np.count_nonzero(is_fetch[first]))


def _stale_rows(calls: pa.Table) -> Iterator[StaleGroupOffset]:
    ordered = calls.sort_by(
        [(name, "ascending") for name in ("register", "op", "fetch", "position")]
    )
    starts = run_starts(Batch(ordered).ints("register")).tolist()
    for start, end in pairwise([*starts, ordered.num_rows]):
        rows = ordered.slice(start, end - start).to_pylist()
        of_register = [_call(row) for row in rows]
        where = rows[0]["group"], rows[0]["key"]
        yield from rows_of(where, of_register)


def _call(row: dict[str, Any]) -> Call[RegisterAction]:
    action = Read(row["offset"]) if row["fetch"] else Write(row["offset"])
    ended = None if row["completed_ns"] == NEVER_NS else row["completed_ns"]
    return Call(row["op"], action, row["invoked_ns"], ended)


# ---------------------------------------------------------------- the query plan


def stale_group_offsets(context: Context) -> Plan[tuple[Finding, ...]]:
    fetch = partial(_fetches, context.declared.isolation)
    title, names = "fetched offsets", ("f", "kind", "key", "group")
    fetched, staged = yield from in_parallel(
        collect(Stage(Source.OPERATIONS, Kernel(title, _COLUMNS, _CALLS, fetch))),
        collect(Stage(Source.OPERATIONS, Kernel(title, names, _STAGED, _staged))),
    )
    answers = Batch(fetched)
    passed = member(answers.ints("register"), np.unique(Batch(staged).ints("register")))
    fetches = answers.where(~passed | (answers.ints("fetch") == 1))
    found: list[StaleGroupOffset] = []
    later = 0
    if len(fetches):
        run = partial(_commits, _Fetches.of(fetches))
        title = "commits of fetched registers"
        commits = yield from collect(
            Stage(Source.OPERATIONS, Kernel(title, _COLUMNS, _CALLS, run), Batch)
        )
        later = _later_fetches(commits, fetches)
        searched = fetches.where(_needs_search(commits, fetches))
        registers = np.unique(searched.ints("register"))
        theirs = commits.where(member(commits.ints("register"), registers))
        found = list(_stale_rows(pa.concat_tables([theirs.table, searched.table])))
    groups, keys = (
        np.array([getattr(row, name) for row in found], dtype=np.int64) for name in ("group", "key")
    )
    group_of = yield from resolve_fingerprints(groups, column="group")
    key_of = yield from resolve_fingerprints(keys, column="key")
    schema = schema_of(StaleGroupOffset)
    columns = {name: [getattr(row, name) for row in found] for name in schema.names}
    rows = pa.table({**columns, "group": group_of(groups), "key": key_of(keys)}, schema=schema)
    return (Finding(id=stale_group_offset.ANOMALY.id, rows=rows, observations=later),)


CHECKERS: Final = (AnomalyChecker(ids=(stale_group_offset.ANOMALY.id,), plan=stale_group_offsets),)
