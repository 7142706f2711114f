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

from checkers.histories.anomalies.findings import Family, Found, Known
from checkers.histories.columnar.arrow import columns_of, ints
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.prefix_max import NOWHERE, staircase
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import begins, lengths, member
from checkers.histories.facts.observed_offsets import dirty
from checkers.histories.facts.record_locations import Pairs, together
from checkers.histories.plan.batch import NEVER_NS, Mask, Piece
from checkers.histories.plan.batches import Kernel
from checkers.histories.plan.stage import OPERATIONS, Ask, Inquiry, spelled
from model.histories import Isolation
from properties.anomalies.groups.offsets import NONE
from properties.anomalies.real_time import stale_group_offset
from properties.anomalies.real_time.stale_group_offset import StaleGroupOffset, row_of
from properties.linearizability import UNTOLD, Call, Read, RegisterAction, Write, register, stuck

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
_CALLS: Final = ints(
    "register", "group", "key", "offset", "op", "position", "invoked_ns", "completed_ns", "fetch"
)
_STAGED: Final = ints("register")


def _texts(piece: Piece, name: str, rows: Ints) -> Ints:
    """The fingerprints of few rows, whose texts are fewer."""
    numbers, texts = piece.codes(name)
    return fingerprints(texts, piece.salt)[numbers[rows]]


def _registers(piece: Piece, rows: Ints) -> Ints:
    return together(_texts(piece, "group", rows), _texts(piece, "key", rows))


def _calls(piece: Piece, rows: Ints, *, fetch: int) -> pa.Table:
    ended = piece.ints("completed_ns", null=NEVER_NS)[rows]
    return columns_of(
        _CALLS,
        _registers(piece, rows),
        _texts(piece, "group", rows),
        _texts(piece, "key", rows),
        piece.ints("offset", null=NONE)[rows],
        piece.ints("op")[rows],
        piece.ints("position")[rows],
        piece.ints("invoked_ns")[rows],
        np.where(piece.is_("outcome", "ok")[rows], ended, NEVER_NS),
        np.full(len(rows), fetch),
    )


def _fetches(isolation: Isolation, piece: Piece) -> pa.Table:
    """The answers; `fetch` is 2 of those that do not wait for transactions."""
    told = piece.is_("kind", "fetch_offset") & piece.is_("outcome", "ok")
    rows = np.flatnonzero(told & piece.known("group") & piece.known("completed_ns"))
    made = _calls(piece, rows, fetch=1)
    waits = 1 + dirty(piece, isolation)[rows].astype(np.int64)
    return made.set_column(made.schema.get_field_index("fetch"), "fetch", pa.array(waits))


def _staged(piece: Piece) -> pa.Table:
    """The registers that transactions commit to, however they end."""
    rows = piece.is_("kind", "commit_offset") & piece.is_("f", "txn") & piece.known("group")
    return columns_of(_STAGED, np.unique(_registers(piece, np.flatnonzero(rows))))


@dataclass(frozen=True, slots=True)
class _Fetches:
    """What a piece must know of the fetches to tell which of its commits matter."""

    all: Piece
    latest: Piece  # of each register the last to begin; registers ascend
    told: Pairs  # registers and offsets

    @classmethod
    def of(cls, fetches: Piece) -> Self:
        register = fetches.ints("register")
        order = np.lexsort([fetches.ints("invoked_ns"), register])
        starts = begins(register[order])
        last = order[starts + lengths(starts, len(order)) - 1]
        told = Pairs.of(register, fetches.ints("offset"))
        return cls(fetches, fetches.where(last), told)

    def near(self, began_ns: int, ended_ns: int) -> Piece:
        """Those that may be told of commits of this time; of all that come later one a register."""
        invoked, completed = self.all.ints("invoked_ns"), self.all.ints("completed_ns")
        within = self.all.where((completed >= began_ns) & (invoked <= ended_ns))
        later = self.latest.where(self.latest.ints("invoked_ns") > ended_ns)
        return Piece(pa.concat_tables([within.table, later.table]))


def _commits(fetches: _Fetches, piece: Piece) -> pa.Table:
    """The commits that a fetch may have been told of, as far as this piece can tell."""
    registers = fetches.latest.ints("register")
    some = piece.is_("kind", "commit_offset") & piece.known("group") & ~piece.is_("outcome", "fail")
    rows = np.flatnonzero(some)
    rows = rows[member(_registers(piece, rows), registers)]
    made = Piece(_calls(piece, rows, fetch=0))
    return made.where(_matters(made, fetches)).table


def _matters(commits: Piece, told: _Fetches) -> Mask:
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
    got = staircase(group, began, ended)
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


def _searched(commits: Piece, fetches: Piece) -> Mask:
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
    got = staircase(of_commit, began, ended)
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
    starts = begins(Piece(ordered).ints("register")).tolist()
    for start, end in pairwise([*starts, ordered.num_rows]):
        rows = ordered.slice(start, end - start).to_pylist()
        of_register = [_call(row) for row in rows]
        where = rows[0]["group"], rows[0]["key"]
        for found in stuck(of_register, UNTOLD, register):
            yield row_of(where, of_register, found)


def _call(row: dict[str, Any]) -> Call[RegisterAction]:
    action = Read(row["offset"]) if row["fetch"] else Write(row["offset"])
    ended = None if row["completed_ns"] == NEVER_NS else row["completed_ns"]
    return Call(row["op"], action, row["invoked_ns"], ended)


# ---------------------------------------------------------------- the inquiry


def stale_group_offsets(known: Known) -> Inquiry[tuple[Found, ...]]:
    """Fetches that fit no order of what was committed and told before."""
    fetch = partial(_fetches, known.declared.isolation)
    says, names = "what groups were told", ("f", "kind", "key", "group")
    told, staged = yield (
        Ask(OPERATIONS, Kernel(says, _COLUMNS, _CALLS, fetch)),
        Ask(OPERATIONS, Kernel(says, names, _STAGED, _staged)),
    )
    answers = Piece(told)
    passed = member(answers.ints("register"), np.unique(Piece(staged).ints("register")))
    fetches = answers.where(~passed | (answers.ints("fetch") == 1))
    found: list[StaleGroupOffset] = []
    if len(fetches):
        run = partial(_commits, _Fetches.of(fetches))
        says = "what they may have been told"
        commits = Piece((yield Ask(OPERATIONS, Kernel(says, _COLUMNS, _CALLS, run))))
        searched = fetches.where(_searched(commits, fetches))
        registers = np.unique(searched.ints("register"))
        theirs = commits.where(member(commits.ints("register"), registers))
        found = list(_stale(pa.concat_tables([theirs.table, searched.table])))
    groups, keys = (
        np.array([getattr(row, name) for row in found], dtype=np.int64) for name in ("group", "key")
    )
    group_of = yield from spelled(groups, column="group")
    key_of = yield from spelled(keys, column="key")
    schema = schema_of(StaleGroupOffset)
    columns = {name: [getattr(row, name) for row in found] for name in schema.names}
    rows = pa.table({**columns, "group": group_of(groups), "key": key_of(keys)}, schema=schema)
    return (Found(id=stale_group_offset.ANOMALY.id, rows=rows, observations=len(fetches)),)


FAMILIES: Final = (Family(ids=(stale_group_offset.ANOMALY.id,), inquiry=stale_group_offsets),)
