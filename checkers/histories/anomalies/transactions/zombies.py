"""Inquiry into the writes of producers that had been replaced.

Every piece tells of the producers that were made in it, and how long each worked. Where one still
did when another had been made under its id, a second look finds what it wrote then. What it sent
and was read is a stray, unless the operation ended ok.

Source: `properties.anomalies.transactions.zombie_write`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import Family, Found, Known
from checkers.histories.anomalies.transactions.unread import (
    FAIL,
    INFO,
    OK,
    Record,
    Stray,
    asked_ns,
    stray_records,
)
from checkers.histories.columnar.arrow import columns_of, ints
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import begins, distinct, grouped, lengths, member
from checkers.histories.plan.batch import NEVER_NS, Piece
from checkers.histories.plan.batches import Kernel
from checkers.histories.plan.stage import OPERATIONS, Ask, Inquiry, spelled
from properties.anomalies.transactions import zombie_write

ZOMBIE: Final = zombie_write.ANOMALY.id
_MADE: Final = ints("id", "process", "op", "outcome", "invoked_ns", "completed_ns")
_LATE: Final = ints("id", "op", "older_op", "newer_op", "late_ns", "outcome")
_STINTS: Final = ints("id", "process", "operations", "invoked_ns", "asked_ns")
_OF_OPERATION: Final = ("op", "process", "f", "outcome", "invoked_ns", "completed_ns")
_MAKING: Final = (*_OF_OPERATION, "transactional_id")
_WORKING: Final = (*_MAKING, "end_asked_ns")
_WROTE: Final = (*_WORKING, "kind")


def zombies(history: Known) -> Inquiry[tuple[Found, ...]]:
    """What operations of replaced producers wrote that took effect."""
    told, worked = yield (
        Ask(OPERATIONS, Kernel("producers that were made", _MAKING, _MADE, _made)),
        Ask(OPERATIONS, Kernel("when producers worked", _WORKING, _STINTS, _stints)),
    )
    made, stints = Piece(told), Piece(worked)
    own = _instances(made, *(stints.ints(name) for name in ("id", "process", "invoked_ns")))
    known = stints.where(own >= 0)
    newer = _replaced(made, known.ints("id"), own[own >= 0], known.ints("asked_ns"))
    suspects = np.unique(known.ints("id")[newer >= 0])
    late = Piece(_LATE.empty_table())
    if len(suspects):
        run = partial(_late, made.where(member(made.ints("id"), suspects)), suspects)
        says = "what replaced producers wrote"
        late = Piece((yield Ask(OPERATIONS, Kernel(says, _WROTE, _LATE, run))))
    shown = _shown(stray_records(history.strays))
    ok = late.ints("outcome") == OK
    readers = [shown.get(op) for op in late.ints("op").tolist()]
    took_effect = late.where(ok | np.array([it is not None for it in readers], dtype=np.bool_))
    id_of = yield from spelled(took_effect.ints("id"), column="transactional_id")
    rows = pa.table(
        {
            "transactional_id": id_of(took_effect.ints("id")),
            **{name: took_effect.table[name] for name in _LATE.names[1:5]},
            "shown_by": pa.array(
                [
                    [] if outcome == OK else [shown[op]]
                    for op, outcome in zip(
                        *(took_effect.ints(name).tolist() for name in ("op", "outcome")),
                        strict=True,
                    )
                ],
                pa.list_(pa.int64()),
            ),
        }
    ).cast(schema_of(zombie_write.ZombieWrite))
    return (Found(id=ZOMBIE, rows=rows, observations=int(known.ints("operations").sum())),)


def _shown(records: dict[Record, Stray]) -> dict[int, int]:
    """Of the operations that wrote strays that were read: the first reader."""
    first: dict[int, int] = {}
    for stray in records.values():
        if stray.readers and stray.sent_by:
            reader = min(stray.readers)
            first[stray.writer] = min(reader, first.get(stray.writer, reader))
    return first


# ---------------------------------------------------------------- in a piece


def _firsts(piece: Piece) -> Ints:
    """The first row of each operation with a transactional id."""

    def made(piece: Piece) -> Ints:
        rows = np.flatnonzero(piece.known("transactional_id"))
        return rows[begins(piece.ints("op").take(rows))]

    return piece.derived(("producers at work",), made)


def _outcomes(piece: Piece) -> Ints:
    outcome = np.where(piece.is_("outcome", "ok"), OK, INFO)
    outcome[piece.is_("outcome", "fail")] = FAIL
    return outcome


def _made(piece: Piece) -> pa.Table:
    rows = _firsts(piece)
    made = piece.where(rows[piece.is_("f", zombie_write.INIT)[rows]], _MAKING)
    return columns_of(
        _MADE,
        made.fingerprints("transactional_id"),
        made.ints("process"),
        made.ints("op"),
        _outcomes(made),
        made.ints("invoked_ns"),
        made.ints("completed_ns", null=NEVER_NS),
    )


def _stints(piece: Piece) -> pa.Table:
    """Of each process with an id, from one `init_producer` to the next, how it worked."""
    made, working = Piece(_made(piece)), _working(piece)
    ids, process = working.fingerprints("transactional_id"), working.ints("process")
    invoked, asked = working.ints("invoked_ns"), asked_ns(working)
    own = _last_made(made, ids, process, invoked)
    order = np.lexsort([own, process, ids])
    starts = begins(ids[order], process[order], own[order])
    if not len(starts):
        return _STINTS.empty_table()
    first = order[starts]
    return columns_of(
        _STINTS,
        ids[first],
        process[first],
        lengths(starts, len(order)),
        np.minimum.reduceat(invoked[order], starts),
        np.maximum.reduceat(asked[order], starts),
    )


def _working(piece: Piece) -> Piece:
    rows = _firsts(piece)
    return piece.where(rows[~piece.is_("f", zombie_write.INIT)[rows]], _WORKING)


def _last_made(made: Piece, ids: Ints, process: Ints, invoked: Ints) -> Ints:
    """The last `init_producer` of the process for the id before that time; -1: none."""
    group, asked = _codes([made.ints("id"), made.ints("process")], [ids, process])
    by_time = np.lexsort([made.ints("op"), made.ints("invoked_ns")])
    return _last_before(group, made.ints("invoked_ns"), by_time, asked, invoked)


def _instances(made: Piece, ids: Ints, process: Ints, invoked: Ints) -> Ints:
    """What made the process the instance that it was at that time; -1: nobody knows."""
    own = _last_made(made, ids, process, invoked)
    known = own >= 0
    known[known] = made.ints("outcome")[own[known]] == OK
    return np.where(known, own, -1)


def _replaced(made: Piece, ids: Ints, own: Ints, asked: Ints) -> Ints:
    """The first that was made after the instance, if that was before the time; else -1."""
    group, of_id = _codes([made.ints("id")], [ids])
    usable = np.flatnonzero((made.ints("outcome") == OK) & (made.ints("completed_ns") != NEVER_NS))
    newer = _first_done_of_later(made, group, usable, of_id, made.ints("completed_ns")[own])
    late = newer >= 0
    late[late] = made.ints("completed_ns")[newer[late]] < asked[late]
    return np.where(late, newer, -1)


def _codes(made: list[Ints], asked: list[Ints]) -> tuple[Ints, Ints]:
    """Numbers from 0 for what is alike in all columns, of both together."""
    columns = [np.r_[ours, theirs] for ours, theirs in zip(made, asked, strict=True)]
    order = grouped(*columns)
    starts = begins(*(column[order] for column in columns))
    code = np.zeros(len(order), dtype=np.int64)
    code[order] = np.repeat(np.arange(len(starts)), lengths(starts, len(order)))
    return code[: len(made[0])], code[len(made[0]) :]


def _last_before(group: Ints, at_ns: Ints, by_time: Ints, asked: Ints, before_ns: Ints) -> Ints:
    """For each that asks the last of its group that was earlier; -1 if none was."""
    if not len(group):
        return np.full(len(asked), -1, dtype=np.int64)
    instants = distinct(at_ns)
    width = len(instants) + 1
    order = by_time[np.argsort(group[by_time], kind="stable")]
    places = group[order] * width + np.searchsorted(instants, at_ns[order])
    wanted = asked * width + np.searchsorted(instants, before_ns)
    found = np.searchsorted(places, wanted) - 1
    none = (found < 0) | (group[order[found]] != asked)
    return np.where(none, -1, order[found])


def _first_done_of_later(made: Piece, of_id: Ints, usable: Ints, ids: Ints, after_ns: Ints) -> Ints:
    """For each of these ids who of those invoked after the time was made first; -1 if nobody."""
    if not len(usable):
        return np.full(len(ids), -1, dtype=np.int64)
    invoked, group = made.ints("invoked_ns")[usable], of_id[usable]
    rank = np.empty(len(usable), dtype=np.int64)
    done = np.lexsort([made.ints("op")[usable], made.ints("completed_ns")[usable]])
    rank[done] = np.arange(len(usable))
    instants = distinct(invoked)
    width = len(instants) + 1
    order = np.lexsort([invoked, group])
    places = group[order] * width + np.searchsorted(instants, invoked[order])
    # the first to be done of all behind, in one sweep: seen from behind groups descend
    packed = group[order] * len(usable) + rank[order]
    best = np.minimum.accumulate(packed[::-1])[::-1] % len(usable)
    at = np.searchsorted(places, ids * width + np.searchsorted(instants, after_ns, side="right"))
    none = at == len(order)
    at[none] = 0
    none |= group[order[at]] != ids
    return np.where(none, -1, usable[done[best[at]]])


def _late(made: Piece, suspects: Ints, piece: Piece) -> pa.Table:
    """Operations under these ids that wrote after their producer had been replaced."""
    of = _working(piece)
    of = of.where(member(of.fingerprints("transactional_id"), suspects))
    theirs = piece.where(piece.rows_of(of.ints("op")), ("op", "kind"))
    writes = theirs.ints("op")[theirs.is_("kind", "send", "commit_offset")]
    of = of.where(member(of.ints("op"), writes))
    ids = of.fingerprints("transactional_id")
    own = _instances(made, ids, of.ints("process"), of.ints("invoked_ns"))
    of, ids, own = of.where(own >= 0), ids[own >= 0], own[own >= 0]
    newer = _replaced(made, ids, own, asked_ns(of))
    some = newer >= 0
    of, own, newer = of.where(some), own[some], newer[some]
    return columns_of(
        _LATE,
        ids[some],
        of.ints("op"),
        made.ints("op")[own],
        made.ints("op")[newer],
        asked_ns(of) - made.ints("completed_ns")[newer],
        _outcomes(of),
    )


FAMILIES: Final = (Family(ids=(ZOMBIE,), inquiry=zombies),)
