"""What a piece of a history tells of what applications were given: kernels of `deliveries`."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columns.arrow import columns_of, ints
from checkers.histories.columns.fingerprints import NULL, Ints, fingerprints
from checkers.histories.columns.order import Mask, begins, codes, lengths, member
from checkers.histories.inquiries.bitmaps import Bitmaps, words
from checkers.histories.inquiries.places import READ, SENT, pairs_in, role_of, together
from checkers.histories.pieces.piece import UNKNOWN, Piece

OK, INFO, FAIL = range(3)
NO_GROUP: Final = np.int64(-1)
COLUMNS: Final = ("op", "outcome", "process", "kind", "key", "offset", "group")
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
    return piece.derived(("owners",), _made_owners)


def _made_owners(piece: Piece) -> Ints:
    process, (group, texts) = piece.ints("process"), piece.narrow("group")
    starts = begins(process, group)
    alone = together(process[starts], np.full(len(starts), NO_GROUP))
    named = np.r_[fingerprints(texts, piece.salt), NULL][group[starts]]
    return np.repeat(np.where(group[starts] < 0, alone, named), lengths(starts, len(piece)))


def given(outcome: str, piece: Piece) -> pa.Table:
    """What applications were given by operations that ended so."""
    polled = piece.is_("kind", "poll") & piece.known("offset") & piece.is_("outcome", outcome)
    rows = np.flatnonzero(polled)
    owner, key = owners(piece)[rows], piece.fingerprints("key")[rows]
    return words(owner, key, piece.ints("offset")[rows], piece.number)


def acknowledged(piece: Piece) -> pa.Table:
    rows = np.flatnonzero((role_of(piece) == SENT) & (piece.ints("offset") != UNKNOWN))
    nobody = np.zeros(len(rows), dtype=np.int64)
    return words(nobody, piece.ints("key")[rows], piece.ints("offset")[rows], piece.number)


def reach(piece: Piece) -> pa.Table:
    """From where up to where applications were given records: by any, and by those ended ok."""
    rows = np.flatnonzero(piece.is_("kind", "poll") & piece.known("offset"))
    owner, key = owners(piece)[rows], piece.codes("key")[0][rows]
    offset = piece.ints("offset")[rows]
    # of neighbours of one application and key the lowest and the highest
    starts = begins(owner, key, piece.ints("op")[rows])
    if not len(starts):
        return REACH.empty_table()
    first = rows[starts]
    ok = piece.is_("outcome", "ok")[first]
    return furthest(
        columns_of(
            REACH,
            owners(piece)[first],
            piece.fingerprints("group")[first],
            piece.ints("process")[first],
            piece.fingerprints("key")[first],
            np.minimum.reduceat(offset, starts),
            np.where(ok, np.maximum.reduceat(offset, starts), LOW),
            piece.ints("op")[first],
        )
    )


def furthest(told: pa.Table) -> pa.Table:
    """Of each application and key the lowest, and the highest with its first operation."""
    of = Piece(told)
    pair, count = codes(together(of.ints("owner"), of.ints("key")))
    low, high, first = np.full(count, LAST), np.full(count, LOW), np.full(count, LAST)
    np.minimum.at(low, pair, of.ints("low"))
    np.maximum.at(high, pair, of.ints("high"))
    there = np.flatnonzero(of.ints("high") == high[pair])
    np.minimum.at(first, pair[there], of.ints("high_op")[there])
    heads = np.flatnonzero(np.diff(np.maximum.accumulate(pair), prepend=-1))
    order = np.lexsort([of.ints("key")[heads], of.ints("owner")[heads]])
    named = (of.ints(name)[heads[order]] for name in ("owner", "group", "process", "key"))
    return columns_of(REACH, *named, low[order], high[order], first[order])


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


def polls_of(ops: Ints, keys: Ints, values: Ints, piece: Piece) -> pa.Table:
    """What these operations polled of these records."""
    rows = np.flatnonzero(piece.is_("kind", "poll") & member(piece.ints("op"), ops))
    key, value = piece.fingerprints("key")[rows], piece.fingerprints("value")[rows]
    return _polled(piece, rows[pairs_in(key, value, keys, values)])


def _polled(piece: Piece, rows: Ints) -> pa.Table:
    outcome = np.where(piece.is_("outcome", "ok")[rows], OK, INFO)
    outcome[piece.is_("outcome", "fail")[rows]] = FAIL
    return columns_of(
        POLLED,
        owners(piece)[rows],
        piece.fingerprints("group")[rows],
        piece.ints("process")[rows],
        piece.fingerprints("key")[rows],
        piece.fingerprints("value")[rows],
        piece.ints("offset", null=UNKNOWN)[rows],
        piece.ints("op")[rows],
        piece.ints("position")[rows],
        outcome,
    )


def _delivered(piece: Piece, of: Mask | Ints) -> Ints:
    polled = piece.is_("kind", "poll") & piece.known("offset") & piece.is_("outcome", "ok")
    return np.flatnonzero(polled & of)


def repeating(again: Bitmaps, piece: Piece) -> pa.Table:
    """Deliveries of what is delivered again, of applications to which that first happens here."""
    here = again.where(again.repeated_in == piece.number)
    if not len(here):
        return POLLED.empty_table()
    rows = _delivered(piece, member(owners(piece), np.unique(here.owner)))
    owner, key = owners(piece)[rows], piece.fingerprints("key")[rows]
    several = Bitmaps(
        again.owner, again.key, again.word, again.again, again.again, again.repeated_in
    )
    return _polled(piece, rows[several.has(owner, key, piece.ints("offset")[rows])])


def first_of(owner: Ints, key: Ints, offset: Ints, piece: Piece) -> pa.Table:
    """The first delivery in the piece of each of these."""
    rows = _delivered(piece, member(owners(piece), np.unique(owner)))
    polled = together(
        together(owners(piece)[rows], piece.fingerprints("key")[rows]), piece.ints("offset")[rows]
    )
    asked = together(together(owner, key), offset)
    order = np.argsort(asked)
    some = member(polled, asked[order])
    at = order[np.searchsorted(asked[order], polled[some])]
    rows = rows[some]
    return columns_of(FIRST, at, piece.ints("op")[rows], piece.ints("position")[rows])


def placed_at(key: Ints, offset: Ints, piece: Piece) -> pa.Table:
    """What was acknowledged at these places."""
    rows = np.flatnonzero(role_of(piece) == SENT)
    rows = rows[pairs_in(piece.ints("key")[rows], piece.ints("offset")[rows], key, offset)]
    return columns_of(PLACED, *(piece.ints(name)[rows] for name in PLACED.names))
