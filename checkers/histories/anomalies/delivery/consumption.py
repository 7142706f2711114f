"""What a piece of a history tells of what applications were given: kernels of `deliveries`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import columns_of, ints
from checkers.histories.columnar.fingerprints import NULL, Ints, fingerprints
from checkers.histories.columnar.sorting import Mask, begins, codes, firsts, lengths, member
from checkers.histories.facts.bitmaps import WORDS, Bitmaps, word_of, words
from checkers.histories.facts.record_locations import READ, SENT, Pairs, role_of, together
from checkers.histories.plan.batch import UNKNOWN, Piece

OK, INFO, FAIL = range(3)
NO_GROUP: Final = np.int64(-1)
COLUMNS: Final = ("op", "outcome", "process", "kind", "key", "offset", "group")
IN_FULL: Final = (*COLUMNS, "value", "position")
REACH: Final = ints("owner", "group", "process", "key", "low", "high", "high_op")
POLLED: Final = ints(
    "owner", "group", "process", "key", "value", "offset", "op", "position", "outcome"
)
PLACED: Final = ints("key", "offset", "value", "op")
ROWS: Final = ints("key", "offset", "value", "op", "role")
FIRST: Final = ints("asked", "op", "position")
LOW: Final = -(2**63)  # of what was delivered: nothing was
LAST: Final = 2**63 - 1


def owners(piece: Piece) -> Ints:
    """The application of each row: a number for its group, or for its process."""
    starts, owner = _owners(piece, np.arange(len(piece)))
    return np.repeat(owner, lengths(starts, len(piece)))


def _owners(piece: Piece, rows: Ints) -> tuple[Ints, Ints]:
    """Where runs of rows of one application begin among these, and whose they are."""
    group, texts = piece.narrow("group")
    process, group = piece.ints("process").take(rows), group.take(rows)
    starts = begins(process, group)
    process, group = process[starts], group[starts]
    alone = together(process, np.full(len(starts), NO_GROUP))
    named = np.r_[fingerprints(texts, piece.salt), NULL][group]
    return starts, np.where(group < 0, alone, named)


@dataclass(frozen=True, slots=True)
class _Polls:
    """What was polled at known offsets, by numbers from 0 for the application and for the key."""

    rows: Ints
    owner: Ints
    key: Ints
    owners: Ints  # what the numbers stand for
    keys: Ints
    heads: Ints  # the first row of each application


def _polls(piece: Piece) -> _Polls:
    return piece.derived(("polls of applications",), _made_polls)


def _made_polls(piece: Piece) -> _Polls:
    rows = np.flatnonzero(piece.is_("kind", "poll") & piece.known("offset"))
    starts, of_run = _owners(piece, rows)
    code, _ = codes(of_run)
    seen = firsts(code)
    owner = np.repeat(code, lengths(starts, len(rows)))
    narrow, texts = piece.narrow("key")
    keys = np.r_[fingerprints(texts, piece.salt), NULL]
    key = narrow.take(rows).astype(np.int64) % len(keys)
    return _Polls(rows, owner, key, of_run[seen], keys, rows[starts[seen]])


def given(outcome: str, piece: Piece) -> pa.Table:
    """What applications were given by operations that ended so."""
    of = _polls(piece)
    some = np.flatnonzero(piece.is_("outcome", outcome).take(of.rows))
    offset = piece.ints("offset").take(of.rows.take(some))
    made = Piece(words(of.owner.take(some), of.key.take(some), offset, piece.number))
    named = of.owners[made.ints("owner")], of.keys[made.ints("key")]
    return columns_of(WORDS, *named, *(made.ints(name) for name in WORDS.names[2:]))


def acknowledged(piece: Piece) -> pa.Table:
    rows = np.flatnonzero((role_of(piece) == SENT) & (piece.ints("offset") != UNKNOWN))
    nobody = np.zeros(len(rows), dtype=np.int64)
    return words(nobody, piece.ints("key")[rows], piece.ints("offset")[rows], piece.number)


def reach(piece: Piece) -> pa.Table:
    """From where up to where applications were given records: by any, and by those ended ok."""
    of = _polls(piece)
    pair, count = codes(of.owner * len(of.keys) + of.key)
    offset, ok = piece.ints("offset").take(of.rows), piece.is_("outcome", "ok").take(of.rows)
    high, op = np.where(ok, offset, LOW), piece.ints("op").take(of.rows)
    seen = firsts(pair)
    owner = of.owner[seen]
    return columns_of(
        REACH,
        of.owners[owner],
        piece.fingerprints("group")[of.heads[owner]],
        piece.ints("process")[of.heads[owner]],
        of.keys[of.key[seen]],
        *_extent(pair, count, offset, high, op),
    )


def furthest(told: pa.Table) -> pa.Table:
    """Of each application and key the lowest, and the highest with its first operation."""
    of = Piece(told)
    pair, count = codes(together(of.ints("owner"), of.ints("key")))
    extent = _extent(pair, count, *(of.ints(name) for name in ("low", "high", "high_op")))
    heads = firsts(pair)
    order = np.lexsort([of.ints("key")[heads], of.ints("owner")[heads]])
    named = (of.ints(name)[heads[order]] for name in ("owner", "group", "process", "key"))
    return columns_of(REACH, *named, *(column[order] for column in extent))


def _extent(pair: Ints, count: int, low: Ints, high: Ints, op: Ints) -> tuple[Ints, Ints, Ints]:
    """Of so many pairs the lowest, the highest, and the first operation that is there."""
    lowest, highest, first = np.full(count, LAST), np.full(count, LOW), np.full(count, LAST)
    np.minimum.at(lowest, pair, low)
    np.maximum.at(highest, pair, high)
    there = np.flatnonzero(high == highest.take(pair))
    np.minimum.at(first, pair.take(there), op.take(there))
    return lowest, highest, first


def shared(piece: Piece) -> pa.Table:
    """All that was acknowledged or polled at places that show several values."""
    key, offset, value = (piece.ints(name) for name in ("key", "offset", "value"))
    starts = begins(key, offset)  # a block is in the order of these columns, and then of values
    ends = starts + lengths(starts, len(key)) - 1
    several = np.repeat(value[starts] != value[ends], ends - starts + 1)
    rows = np.flatnonzero(several & (offset != UNKNOWN))
    role = role_of(piece)[rows]
    rows = rows[(role == SENT) | (role >= READ)]
    return columns_of(ROWS, *(piece.ints(name)[rows] for name in ROWS.names))


def polls_of(ops: Ints, records: Pairs, piece: Piece) -> pa.Table:
    """What these operations polled of these records."""
    few = piece.where(piece.rows_of(ops), IN_FULL)
    polls = few.is_("kind", "poll")
    wanted = polls & records.have(few.fingerprints("key"), few.fingerprints("value"))
    return _polled(few.where(wanted))


def _polled(polls: Piece) -> pa.Table:
    outcome = np.where(polls.is_("outcome", "ok"), OK, INFO)
    outcome[polls.is_("outcome", "fail")] = FAIL
    return columns_of(
        POLLED,
        owners(polls),
        polls.fingerprints("group"),
        polls.ints("process"),
        polls.fingerprints("key"),
        polls.fingerprints("value"),
        polls.ints("offset", null=UNKNOWN),
        polls.ints("op"),
        polls.ints("position"),
        outcome,
    )


def _delivered(piece: Piece, offsets: Mask) -> Piece:
    """What was delivered of these rows, which are told from the others by their offsets."""
    few = piece.where(offsets, IN_FULL)
    polled = few.is_("kind", "poll") & few.known("offset") & few.is_("outcome", "ok")
    return few.where(polled)


def repeating(again: Bitmaps, piece: Piece) -> pa.Table:
    """Deliveries of what is delivered again, of applications to which that first happens here."""
    here = again.where(again.repeated_in == piece.number)
    if not len(here):
        return POLLED.empty_table()
    polls = _delivered(piece, member(word_of(piece.ints("offset")), np.unique(here.word)))
    several = replace(here, bits=here.again)
    of = owners(polls), polls.fingerprints("key"), polls.ints("offset")
    return _polled(polls.where(several.has(*of)))


def first_of(owner: Ints, key: Ints, offset: Ints, piece: Piece) -> pa.Table:
    """The first delivery in the piece of each of these."""
    polls = _delivered(piece, member(piece.ints("offset"), np.unique(offset)))
    polled = together(together(owners(polls), polls.fingerprints("key")), polls.ints("offset"))
    asked = together(together(owner, key), offset)
    order = np.argsort(asked)
    some = np.flatnonzero(member(polled, asked[order]))
    at = order[np.searchsorted(asked[order], polled[some])]
    return columns_of(FIRST, at, polls.ints("op")[some], polls.ints("position")[some])


def placed_at(places: Pairs, piece: Piece) -> pa.Table:
    """What was acknowledged at these places."""
    few = piece.where(places.have(piece.ints("key"), piece.ints("offset")))
    return few.where(role_of(few) == SENT).table.select(PLACED.names)
