"""What the history shows of its logs, dealt out once: the places of values, and who sent them.

    PLACES  a row for each record sent at a known offset, and for each that was polled; in one piece
            is a block of offsets of a key, with everything that was shown there: by key, offset,
            value and operation
    SENDS   a row for each send; in one piece is all that was sent with one value, together

Most values are confirmed: they have one place, where their send was acknowledged. The others are
strays: something was polled where no acknowledged send put it, or at an offset nobody knows. A
duplicate, an aborted read, a value that nobody sent, a send that nobody knows of: all of them show
as strays. There are few, so all that is known of them comes to one place (`strays`), and of the
confirmed everything can be decided in their block.

Source: "duplicates need no shuffle by value"; jepsen.tests.kafka version-orders for what counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints, fingerprints, mixed
from checkers.histories.columnar.sorting import Codes, NumberSet, begins, grouped, lengths, member
from checkers.histories.plan.batch import UNKNOWN, Mask, Piece
from checkers.histories.plan.batches import GROUP, Kernel
from checkers.histories.plan.stage import OPERATIONS, PLACES, SENDS, Ask, Inquiry
from model.histories import Isolation
from properties.anomalies.declarations import Declarations

BLOCK_BITS: Final = 16  # 65,536 offsets
_SPREAD: Final = 0x1E3779B97F4A7C15  # odd: how far apart blocks of a key are dealt
_COUNTER: Final = np.int32  # of the rows of a piece: half as wide is counted faster

# what a row is; polls at read_uncommitted have UNCOMMITTED added
SENT: Final = 0  # its operation ended ok
DOUBTED: Final = 1  # it ended info
FAILED: Final = 2
READ: Final = 3  # a poll ended ok
SEEN: Final = 4  # a poll that did not
UNCOMMITTED: Final = 8

_ROW: Final = [
    ("key", pa.int64()),  # fingerprint
    ("offset", pa.int64()),  # UNKNOWN if nobody knows it
    ("value", pa.int64()),  # fingerprint
    ("op", pa.int64()),
    ("role", pa.int8()),
]
ROW: Final = pa.schema(_ROW)
NAMES: Final = tuple(ROW.names)
PLACE: Final = ("key", "offset", "value")
_DEALT: Final = pa.schema([(GROUP, pa.int64()), *_ROW])
_READS: Final = ("op", "outcome", "kind", "key", "offset", "value", "isolation")


def exchanged(declared: Declarations) -> dict[str, Kernel]:
    """The kernels that deal out a history of which this is declared."""
    places = partial(_places, isolation=declared.isolation)
    sends = partial(_sends, isolation=declared.isolation)
    return {
        PLACES: Kernel("places of values", _READS, _DEALT, places, PLACE),
        SENDS: Kernel("senders of values", _READS, _DEALT, sends, ("value", "key")),
    }


def block(offset: Ints) -> Ints:
    """The block that an offset lies in."""
    return offset >> BLOCK_BITS


def _places(piece: Piece, isolation: Isolation) -> pa.Table:
    """Polls, and sends whose offset is known."""
    wanted = piece.is_("kind", "poll") | (piece.is_("kind", "send") & piece.known("offset"))
    return _rows(piece, wanted, _by_block, isolation)


def _sends(piece: Piece, isolation: Isolation) -> pa.Table:
    return _rows(piece, piece.is_("kind", "send"), _by_value, isolation)


def _by_block(key: Ints, offset: Ints, value: Ints) -> Ints:
    del value
    return key + block(offset) * _SPREAD  # keys are spread already


def _by_value(key: Ints, offset: Ints, value: Ints) -> Ints:
    del key, offset
    return value


def together(first: Ints, second: Ints) -> Ints:
    """One number for two, as good as different for different pairs."""
    return mixed(first.view(np.uint64) ^ mixed(second.view(np.uint64))).view(np.int64)


def _rows(piece: Piece, wanted: Mask, group: Any, isolation: Isolation) -> pa.Table:
    rows = np.flatnonzero(wanted)
    key, value = piece.fingerprints("key")[rows], piece.fingerprints("value")[rows]
    offset = piece.ints("offset", null=UNKNOWN)[rows]
    columns = {
        GROUP: group(key, offset, value),
        "key": key,
        "offset": offset,
        "value": value,
        "op": piece.ints("op")[rows],
        "role": roles(piece, isolation)[rows],
    }
    return pa.table(columns, schema=_DEALT)


def roles(piece: Piece, isolation: Isolation) -> Any:
    """What each send and poll is; at this level are polls that do not say their own."""
    return piece.derived(("roles", isolation), partial(_roles, isolation))


def _roles(isolation: Isolation, piece: Piece) -> Any:
    ok, info = (piece.is_("outcome", word).view(np.int8) for word in ("ok", "info"))
    sent = FAILED + (SENT - FAILED) * ok + (DOUBTED - FAILED) * info
    uncommitted = piece.is_("isolation", "read_uncommitted")
    if isolation == "read_uncommitted":
        uncommitted = uncommitted | ~piece.known("isolation")
    polled = SEEN + (READ - SEEN) * ok + UNCOMMITTED * uncommitted.view(np.int8)
    return np.where(piece.is_("kind", "send"), sent, polled)


# ---------------------------------------------------------------- rows that agree


def runs(*columns: Ints) -> tuple[Ints, Ints]:
    """An order in which rows that agree in the columns lie together, and where each run begins.

    Rows that agree in the first column lie together, ascending in the others; rows of a run keep
    their order.
    """
    order = grouped(*columns)
    return order, begins(*(column[order] for column in columns))


def any_of(flags: Mask, starts: Ints) -> Mask:
    """For each run of rows whether one of them is flagged; the first run begins at the first."""
    if not len(starts):
        return flags[:0]
    so_far = np.cumsum(flags, dtype=_COUNTER)[np.r_[starts[1:] - 1, -1]]
    flagged: Mask = np.diff(so_far, prepend=_COUNTER(0)) > 0
    return flagged


def first_of(flags: Mask, starts: Ints) -> Ints:
    """The first flagged row of each of these runs, all of which have one."""
    before = np.cumsum(flags, dtype=_COUNTER).take(starts) - flags.take(starts)
    return np.flatnonzero(flags).take(before)


def by_key(key: Ints, of: Callable[[Ints], Ints]) -> Ints:
    """What is known of each key; asked once where rows of a key follow each other."""
    starts = begins(key)
    return np.repeat(of(key[starts]), lengths(starts, len(key)))


def role_of(piece: Piece) -> Codes:
    """What each row of PLACES or SENDS is, as narrow as they are."""
    return piece.derived(("role",), lambda it: it.table["role"].to_numpy())


def heads(piece: Piece) -> Ints:
    """The first row of each value at each offset; a piece of PLACES is in that order."""
    return piece.derived(("heads",), lambda it: begins(*map(it.ints, PLACE)))


def place_of(piece: Piece) -> Ints:
    """Which of the `heads` each row is of."""

    def made(piece: Piece) -> Ints:
        begun = np.zeros(len(piece), dtype=np.bool_)
        begun[heads(piece)] = True
        return np.cumsum(begun) - 1

    return piece.derived(("place",), made)


def pairs_in(key: Ints, value: Ints, keys: Ints, values: Ints) -> Mask:
    """Where (key, value) is one of the pairs."""
    return Pairs.of(keys, values).have(key, value)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of numbers, to be asked for many."""

    values: NumberSet
    both: NumberSet  # key and value in one number

    @classmethod
    def of(cls, keys: Ints, values: Ints) -> Pairs:
        """Of these keys with these values."""
        return cls(NumberSet.of(values), NumberSet.of(together(keys, values)))

    def have(self, key: Ints, value: Ints) -> Mask:
        """Where (key, value) is one of them: mostly its value is none of theirs."""
        found = self.values.has(value)
        some = np.flatnonzero(found)
        found[some] = self.both.has(together(key.take(some), value.take(some)))
        return found


def effect(piece: Piece, committed: Ints) -> Mask:
    """Which rows of PLACES or SENDS are sends that must have taken effect; `committed` ascends."""
    role = role_of(piece)
    took: Mask = role == SENT
    doubted = np.flatnonzero(role == DOUBTED)
    took[doubted] = member(piece.ints("op")[doubted], committed)
    return took


def shows(piece: Piece, committed: Ints) -> Mask:
    """Which rows of PLACES show that the value lies at the offset, if they tell one."""
    role = role_of(piece)
    told: Mask = (role >= READ) | effect(piece, committed)
    return told


def read(piece: Piece) -> Mask:
    """Which rows are polls that ended ok."""
    ended_ok: Mask = (role_of(piece) & ~UNCOMMITTED) == READ
    return ended_ok


# ---------------------------------------------------------------- strays


@dataclass(frozen=True, slots=True)
class Strays:
    """All that the history shows of values that are not confirmed.

    `places` and `sends` have the columns of ROW; `committed` are the operations that ended info and
    must have taken effect: something that they sent was read by a poll that ended ok. `resent` are
    acknowledged sends of values whose send had also failed: strays or not, of these few it is told.
    """

    places: Piece
    sends: Piece
    committed: Ints
    keys: Ints  # of the values, pair by pair
    values: Ints
    resent: Piece

    def placings(self) -> Piece:
        """What tells where they lie: no copy of an aborted transaction, if it was sent again."""
        key, value, role = (self.places.ints(name) for name in ("key", "value", "role"))
        failed = self.sends.where(self.sends.ints("role") == FAILED)
        in_vain = pairs_in(key, value, failed.ints("key"), failed.ints("value"))
        copies = in_vain & (role >= UNCOMMITTED)
        return self.places.where(shows(self.places, self.committed) & ~copies)

    @property
    def ops(self) -> Ints:
        """The operations that show or sent them, some several times."""
        ops: Ints = np.r_[self.places.ints("op"), self.sends.ints("op")]
        return ops

    def among(self, key: Ints, value: Ints) -> Mask:
        """Where (key, value) is a stray."""
        pairs = self.places.derived(("pairs",), lambda _: Pairs.of(self.keys, self.values))
        return pairs.have(key, value)

    def of(self, piece: Piece) -> Mask:
        """Which rows of PLACES are of strays."""

        def made(piece: Piece) -> Mask:
            return np.repeat(self.of_heads(piece), lengths(heads(piece), len(piece)))

        return piece.derived(("strays",), made)

    def of_heads(self, piece: Piece) -> Mask:
        """Which of its `heads` are of strays."""

        def made(piece: Piece) -> Mask:
            return self.among(*(piece.ints(name).take(heads(piece)) for name in ("key", "value")))

        return piece.derived(("heads of strays",), made)


_NOBODY: Final = np.zeros(0, dtype=np.int64)
_NOTHING: Final = Piece(ROW.empty_table())
NO_STRAYS: Final = Strays(_NOTHING, _NOTHING, _NOBODY, _NOBODY, _NOBODY, _NOTHING)
_PAIR: Final = pa.schema([("key", pa.int64()), ("value", pa.int64())])
_COMMITTED: Final = pa.schema([("op", pa.int64())])


def strays() -> Inquiry[Strays]:
    """The strays, and which doubtful operations took effect."""
    found = yield Ask(PLACES, Kernel("values without a confirmed place", NAMES, _PAIR, _stray))
    pairs = Piece(found.group_by(["key", "value"], use_threads=False).aggregate([]))
    keys, values = pairs.ints("key"), pairs.ints("value")
    resent = Ask(SENDS, Kernel("what was sent again", NAMES, ROW, _resent))
    if not len(keys):
        return replace(NO_STRAYS, resent=Piece((yield resent)))
    of_strays = partial(of_pairs, Pairs.of(keys, values))
    places = yield Ask(PLACES, Kernel("where strays lie", NAMES, ROW, of_strays))
    sends = Ask(SENDS, Kernel("who sent the strays", NAMES, ROW, of_strays))
    sent, again = yield sends, resent
    return _strays(Piece(places), Piece(sent), keys, values, Piece(again))


def _strays(seen: Piece, sent: Piece, keys: Ints, values: Ints, resent: Piece = _NOTHING) -> Strays:
    given = seen.where(seen.ints("role") == READ)
    doubted = sent.where(sent.ints("role") == DOUBTED)
    were_read = pairs_in(
        doubted.ints("key"), doubted.ints("value"), given.ints("key"), given.ints("value")
    )
    return Strays(seen, sent, np.unique(doubted.ints("op")[were_read]), keys, values, resent)


def _stray(piece: Piece) -> pa.Table:
    """Values polled where no operation that ended ok has sent them."""
    key, offset, value = map(piece.ints, PLACE)
    at = heads(piece)
    confirmed = any_of(role_of(piece) == SENT, at)
    first = at[~confirmed | (offset[at] == UNKNOWN)]
    return pa.table({"key": key[first], "value": value[first]}, schema=_PAIR)


def _resent(piece: Piece) -> pa.Table:
    """The acknowledged sends among those of a value of which one failed."""
    role = role_of(piece)
    failed = role == FAILED
    if not failed.any():
        return ROW.empty_table()
    starts = begins(piece.ints("value"), piece.ints("key"))  # SENDS are in that order
    one_failed = np.repeat(any_of(failed, starts), lengths(starts, len(piece)))
    placed = (role == SENT) & (piece.ints("offset") != UNKNOWN)
    return piece.where(one_failed & placed).table


def of_pairs(pairs: Pairs, piece: Piece) -> pa.Table:
    """The rows of PLACES or SENDS whose key and value are one of the pairs."""
    return piece.where(pairs.have(piece.ints("key"), piece.ints("value"))).table


# ---------------------------------------------------------------- strays, with nothing exchanged


def untold_sends(isolation: Isolation) -> Ask:
    """Sends that ended info, or ok without an offset: few, and strays if they were polled."""
    run = partial(_untold, isolation)
    return Ask(OPERATIONS, Kernel("sends without an offset", _READS, ROW, run))


def untold(isolation: Isolation, sends: Piece) -> Inquiry[Strays]:
    """Of the strays those that these sends sent."""
    if not len(sends):
        return NO_STRAYS
    keys, values = sends.ints("key"), sends.ints("value")
    run = partial(_polls_of, isolation, Pairs.of(keys, values))
    polls = yield Ask(OPERATIONS, Kernel("where they were polled", _READS, ROW, run))
    return _strays(Piece(polls), sends, keys, values)


def _untold(isolation: Isolation, piece: Piece) -> pa.Table:
    doubted, ok = piece.is_("outcome", "info"), piece.is_("outcome", "ok")
    few = piece.where(piece.is_("kind", "send") & (doubted | (ok & ~piece.known("offset"))))
    return _rows(few, np.ones(len(few), np.bool_), _by_value, isolation).select(NAMES)


def _polls_of(isolation: Isolation, pairs: Pairs, piece: Piece) -> pa.Table:
    rows = np.flatnonzero(piece.is_("kind", "poll"))
    value = fingerprints(piece.table["value"].take(pa.array(rows)).combine_chunks(), piece.salt)
    few = piece.where(rows[pairs.have(piece.fingerprints("key")[rows], value)])
    return _rows(few, np.ones(len(few), np.bool_), _by_value, isolation).select(NAMES)
