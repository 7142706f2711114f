"""Inquiry into committed offsets of groups as linearizable registers.

Fetches are few, and commits are many. Of the commits those matter that a fetch may have been told
of: none began after the commit and ended before the fetch began. Every other either ended before
one that matters began, or began when the fetch had ended, and has its place in any order of the
rest. So one look brings the fetches, and a second of each piece the commits that matter as far as
the piece can tell. A register all of whose fetches had one commit to be told of, and were told it,
or came before all commits, and were told the same, has an order; the others are searched.

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
from checkers.histories.columnar.prefix_max import NOWHERE, prefix_max_index
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import Mask, member, run_lengths, run_starts
from checkers.histories.facts.observed_offsets import reads_uncommitted
from checkers.histories.facts.record_locations import Pairs, hash_of_pair
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
from properties.anomalies.real_time.stale_group_offset import StaleGroupOffset, row_of
from properties.linearizability import UNKNOWN, Call, Read, RegisterAction, Write, register, stuck

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
# a register is one number for its group and key; of a commit that may never have been the end is
# NEVER_NS
_CALLS: Final = int64_schema(
    "register", "group", "key", "offset", "op", "position", "invoked_ns", "completed_ns", "fetch"
)
_STAGED: Final = int64_schema("register")


def _texts(batch: Batch, name: str, rows: Ints) -> Ints:
    """The fingerprints of few rows, whose texts are fewer."""
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
    """The answers; `fetch` is 2 of those that do not wait for transactions."""
    told = batch.is_in("kind", "fetch_offset") & batch.is_in("outcome", "ok")
    rows = np.flatnonzero(told & batch.is_valid("group") & batch.is_valid("completed_ns"))
    made = _calls(batch, rows, fetch=1)
    waits = 1 + reads_uncommitted(batch, isolation)[rows].astype(np.int64)
    return made.set_column(made.schema.get_field_index("fetch"), "fetch", pa.array(waits))


def _staged(batch: Batch) -> pa.Table:
    """The registers that transactions commit to, however they end."""
    rows = batch.is_in("kind", "commit_offset") & batch.is_in("f", "txn") & batch.is_valid("group")
    return table_from(_STAGED, np.unique(_registers(batch, np.flatnonzero(rows))))


@dataclass(frozen=True, slots=True)
class _Fetches:
    """What a piece must know of the fetches to tell which of its commits matter."""

    all: Batch
    latest: Batch  # of each register the last to begin; registers ascend
    told: Pairs  # registers and offsets

    @classmethod
    def of(cls, fetches: Batch) -> Self:
        register = fetches.ints("register")
        order = np.lexsort([fetches.ints("invoked_ns"), register])
        starts = run_starts(register[order])
        last = order[starts + run_lengths(starts, len(order)) - 1]
        told = Pairs.of(register, fetches.ints("offset"))
        return cls(fetches, fetches.where(last), told)

    def near(self, began_ns: int, ended_ns: int) -> Batch:
        """Those that may be told of commits of this time; of all that come later one a register."""
        invoked, completed = self.all.ints("invoked_ns"), self.all.ints("completed_ns")
        within = self.all.where((completed >= began_ns) & (invoked <= ended_ns))
        later = self.latest.where(self.latest.ints("invoked_ns") > ended_ns)
        return Batch(pa.concat_tables([within.table, later.table]))


def _commits(fetches: _Fetches, batch: Batch) -> pa.Table:
    """The commits that a fetch may have been told of, as far as this piece can tell."""
    registers = fetches.latest.ints("register")
    some = (
        batch.is_in("kind", "commit_offset")
        & batch.is_valid("group")
        & ~batch.is_in("outcome", "fail")
    )
    rows = np.flatnonzero(some)
    rows = rows[member(_registers(batch, rows), registers)]
    made = Batch(_calls(batch, rows, fetch=0))
    return made.where(_matters(made, fetches)).table


def _matters(commits: Batch, told: _Fetches) -> Mask:
    """A commit that ended ok, unless others hide it from each fetch; one that may never have been,
    if a fetch of the register was told its offset.
    """
    ended = commits.ints("completed_ns")
    kept: Mask = ended == NEVER_NS
    sure, doubted = np.flatnonzero(~kept), np.flatnonzero(kept)
    kept[doubted] = told.told.have(*(commits.ints(n)[doubted] for n in ("register", "offset")))
    if not len(sure):
        return kept
    began, ended = commits.ints("invoked_ns")[sure], ended[sure]
    fetches = told.near(int(began.min()), int(ended.max()))
    registers, group = np.unique(commits.ints("register")[sure], return_inverse=True)
    asked = np.flatnonzero(member(fetches.ints("register"), registers))
    of_fetch = np.searchsorted(registers, fetches.ints("register")[asked])
    got = prefix_max_index(group, began, ended)
    count = len(sure)

    def place(time_ns: Any) -> Any:
        """In each fetch's register, where the commits begin that did not complete before."""
        at = np.searchsorted(got.instants, time_ns)
        return np.searchsorted(got.places, of_fetch * count + at)

    last = got.before(of_fetch, fetches.ints("invoked_ns")[asked])
    # what ended before the last to begin of those that ended before the fetch is hidden by it
    hides = np.where(last >= 0, got.reaches[last], NOWHERE)
    longest = int((ended - began).max())
    first = place(hides)
    end = place(fetches.ints("completed_ns")[asked] + longest + 1)
    opened, closed = (np.bincount(at, minlength=count + 1)[:count] for at in (first, end))
    kept[sure[got.rows[np.cumsum(opened - closed) > 0]]] = True
    return kept


# ---------------------------------------------------------------- the search


def _searched(commits: Batch, fetches: Batch) -> Mask:
    """Which fetches are of a register that needs a search.

    It needs none if each fetch either had one commit to be told of, and was told it, or ended
    before any commit began, and these agree. Then what may never have been need not have been.
    """
    sure = commits.where(commits.ints("completed_ns") != NEVER_NS)
    registers, group = np.unique(
        np.r_[sure.ints("register"), fetches.ints("register")], return_inverse=True
    )
    of_commit, of_fetch = np.split(group, [len(sure)])
    began, ended = sure.ints("invoked_ns"), sure.ints("completed_ns")
    got = prefix_max_index(of_commit, began, ended)
    last = got.before(of_fetch, fetches.ints("invoked_ns"))
    # what ended before the last to begin of those that ended before the fetch is hidden by it
    hides = np.where(last >= 0, np.r_[got.reaches, NOWHERE][last], NOWHERE)
    told_of = _count(of_commit, began, of_fetch, fetches.ints("completed_ns"), "right")
    told_of -= _count(of_commit, ended, of_fetch, hides, "left")
    offset = fetches.ints("offset")
    plain = (last >= 0) & (told_of == 1)
    plain[plain] = sure.ints("offset")[got.furthest(last[plain])] == offset[plain]
    at_first = (last < 0) & (told_of == 0)
    held = np.full(len(registers), NOWHERE)
    held[of_fetch[at_first]] = offset[at_first]
    plain |= at_first & (held[of_fetch] == offset)
    odd = np.zeros(len(registers), dtype=np.bool_)
    odd[of_fetch[~plain]] = True
    searched: Mask = odd[of_fetch]
    return searched


def _count(
    group: Ints, time_ns: Ints, of: Ints, until_ns: Ints, side: Literal["left", "right"]
) -> Ints:
    """How many times of each group lie before these; `right`: or at them."""
    instants, width = np.sort(time_ns), len(time_ns) + 1
    places = np.sort(group * width + np.searchsorted(instants, time_ns))
    ends = np.searchsorted(places, of * width + np.searchsorted(instants, until_ns, side))
    return ends - np.searchsorted(places, of * width)


def _stale(calls: pa.Table) -> Iterator[StaleGroupOffset]:
    """The rows of each register, group and key in place of their fingerprints."""
    ordered = calls.sort_by(
        [(name, "ascending") for name in ("register", "op", "fetch", "position")]
    )
    starts = run_starts(Batch(ordered).ints("register")).tolist()
    for start, end in pairwise([*starts, ordered.num_rows]):
        rows = ordered.slice(start, end - start).to_pylist()
        of_register = [_call(row) for row in rows]
        where = rows[0]["group"], rows[0]["key"]
        for found in stuck(of_register, UNKNOWN, register):
            yield row_of(where, of_register, found)


def _call(row: dict[str, Any]) -> Call[RegisterAction]:
    action = Read(row["offset"]) if row["fetch"] else Write(row["offset"])
    ended = None if row["completed_ns"] == NEVER_NS else row["completed_ns"]
    return Call(row["op"], action, row["invoked_ns"], ended)


# ---------------------------------------------------------------- the inquiry


def stale_group_offsets(context: Context) -> Plan[tuple[Finding, ...]]:
    """Fetches that fit no order of what was committed and told before."""
    fetch = partial(_fetches, context.declared.isolation)
    title, names = "what groups were told", ("f", "kind", "key", "group")
    told, staged = yield from in_parallel(
        collect(Stage(Source.OPERATIONS, Kernel(title, _COLUMNS, _CALLS, fetch))),
        collect(Stage(Source.OPERATIONS, Kernel(title, names, _STAGED, _staged))),
    )
    answers = Batch(told)
    passed = member(answers.ints("register"), np.unique(Batch(staged).ints("register")))
    fetches = answers.where(~passed | (answers.ints("fetch") == 1))
    found: list[StaleGroupOffset] = []
    if len(fetches):
        run = partial(_commits, _Fetches.of(fetches))
        title = "what they may have been told"
        commits = yield from collect(
            Stage(Source.OPERATIONS, Kernel(title, _COLUMNS, _CALLS, run), Batch)
        )
        searched = fetches.where(_searched(commits, fetches))
        registers = np.unique(searched.ints("register"))
        theirs = commits.where(member(commits.ints("register"), registers))
        found = list(_stale(pa.concat_tables([theirs.table, searched.table])))
    groups, keys = (
        np.array([getattr(row, name) for row in found], dtype=np.int64) for name in ("group", "key")
    )
    group_of = yield from resolve_fingerprints(groups, column="group")
    key_of = yield from resolve_fingerprints(keys, column="key")
    schema = schema_of(StaleGroupOffset)
    columns = {name: [getattr(row, name) for row in found] for name in schema.names}
    rows = pa.table({**columns, "group": group_of(groups), "key": key_of(keys)}, schema=schema)
    return (Finding(id=stale_group_offset.ANOMALY.id, rows=rows, observations=len(fetches)),)


CHECKERS: Final = (AnomalyChecker(ids=(stale_group_offset.ANOMALY.id,), plan=stale_group_offsets),)
