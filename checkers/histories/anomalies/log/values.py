"""Inquiry into what became of each value: acknowledged and unseen, aborted and read, or made up.

A confirmed value is decided in its block. An acknowledged send whose offset nobody knows is in no
block unless it was polled: such are found among the sends. All others are strays, and of them
everything is at hand.

Source: `properties.anomalies.log`: unseen, aborted_read, value_nobody_sent.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import Family, Found, Known
from checkers.histories.anomalies.log.across_keys import across_keys
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import Mask
from checkers.histories.facts.record_locations import (
    FAILED,
    NAMES,
    PLACE,
    READ,
    SEEN,
    SENT,
    UNCOMMITTED,
    Strays,
    by_key,
    first_of,
    heads,
    read,
    role_of,
    runs,
    together,
)
from checkers.histories.facts.retention import Kept
from checkers.histories.plan.batch import UNKNOWN, Piece
from checkers.histories.plan.batches import Kernel
from checkers.histories.plan.stage import OPERATIONS, PLACES, SENDS, Ask, Inquiry, spelled
from properties.anomalies.log import (
    aborted_read,
    duplicate_across_keys,
    unseen,
    value_nobody_sent,
)
from properties.anomalies.log.unseen import SOMEWHERE

NOBODY: Final = 2**63 - 1  # above every operation
_WRITE: Final = pa.schema([(name, pa.int64()) for name in ("key", "value", "op")])
_SEEN: Final = pa.schema(
    [*_WRITE, *((name, pa.int64()) for name in ("polled", "read_clean", "owed"))]
)

# what a row of PLACES tells of its value, by role
_SENT, _POLLED, _READ, _READ_CLEAN = 1, 2, 4, 8
_TELLS: Final = np.zeros(16, dtype=np.uint8)
_TELLS[SENT] = _SENT
_TELLS[[SEEN, SEEN + UNCOMMITTED]] = _POLLED
_TELLS[READ + UNCOMMITTED] = _POLLED | _READ
_TELLS[READ] = _POLLED | _READ | _READ_CLEAN
_LAST: Final = pa.schema([("op", pa.int64())])


def fates(known: Known) -> Inquiry[tuple[Found, ...]]:
    """What became of all values."""
    strays, kept = known.strays, known.kept
    seen, placeless, last = yield (
        Ask(PLACES, Kernel("values seen", NAMES, _SEEN, partial(_seen, strays, kept))),
        Ask(SENDS, Kernel("values of no place", NAMES, _WRITE, partial(_placeless, strays, kept))),
        Ask(OPERATIONS, Kernel("the last operation", ("op",), _LAST, _last)),
    )
    of_strays = _Fates.of(strays, kept)
    hidden = seen.filter(pa.array(Piece(seen).ints("op") != NOBODY)).select(_WRITE.names)
    writes = Piece(pa.concat_tables([hidden, placeless, of_strays.hidden()]))
    aborted, made_up = of_strays.aborted(), of_strays.made_up()
    copies = yield from across_keys(strays, made_up)
    tables = (writes, aborted, made_up)
    key_of = yield from spelled(*(it.ints("key") for it in tables), column="key")
    value_of = yield from spelled(*(it.ints("value") for it in tables))

    def told(of: Piece, row: Hashable, **columns: Any) -> pa.Table:
        texts = {"key": key_of(of.ints("key")), "value": value_of(of.ints("value"))}
        made = {**{name: of.table[name] for name in of.table.schema.names}, **texts, **columns}
        schema: pa.Schema = schema_of(row)
        return pa.table({name: made[name] for name in schema.names}).cast(schema)

    ops = writes.ints("op")
    later = max(last["op"].to_pylist(), default=0) - ops
    counts = (Piece(seen).ints(name) for name in ("polled", "read_clean", "owed"))
    polled, read_clean, owed = (int(count.sum()) for count in counts)
    polled += int(np.count_nonzero(of_strays.polled))
    owed += placeless.num_rows + int(np.count_nonzero(of_strays.owed))
    return (
        Found(
            id=unseen.ANOMALY.id,
            rows=told(writes, unseen.Unseen, writer_op=ops, later=later),
            observations=owed,
        ),
        Found(
            id=aborted_read.ANOMALY.id,
            rows=told(aborted, aborted_read.AbortedRead),
            observations=read_clean + int(np.count_nonzero(of_strays.readers)),
        ),
        Found(
            id=value_nobody_sent.ANOMALY.id,
            rows=told(made_up, value_nobody_sent.ValueNobodySent),
            observations=polled,
        ),
        Found(id=duplicate_across_keys.ANOMALY.id, rows=copies, observations=polled),
    )


def _last(piece: Piece) -> pa.Table:
    return piece.table.select(["op"]).slice(max(0, len(piece) - 1)).cast(_LAST)


# ---------------------------------------------------------------- confirmed values


def _seen(strays: Strays, kept: Kept, piece: Piece) -> pa.Table:
    """Those that must be there and that no poll ended ok was given; counts of all in a last row."""
    at, confirmed = heads(piece), np.flatnonzero(~strays.of_heads(piece))
    if not len(confirmed):
        return _SEEN.empty_table()
    key, offset, value = map(piece.ints, PLACE)
    role, first = role_of(piece), at.take(confirmed)
    told = np.bitwise_or.reduceat(_TELLS.take(role), at).take(confirmed)
    owed = ((told & _SENT) > 0) & (offset.take(first) >= by_key(key.take(first), kept.of))
    hidden = first[owed & ((told & _READ) == 0)]
    writer = piece.ints("op")[first_of(role == SENT, hidden)]
    none = np.zeros(len(hidden), dtype=np.int64)
    counts = [np.count_nonzero(it) for it in (told & _POLLED, told & _READ_CLEAN, owed)]
    columns = [key[hidden], value[hidden], writer, none, none, none]
    ends = [0, 0, NOBODY, *counts]
    return pa.table(
        {
            name: np.r_[column, end]
            for name, column, end in zip(_SEEN.names, columns, ends, strict=True)
        },
        schema=_SEEN,
    )


def _placeless(strays: Strays, kept: Kept, piece: Piece) -> pa.Table:
    """What was acknowledged without an offset and never polled; it may lie anywhere."""
    few = piece.where((role_of(piece) == SENT) & (piece.ints("offset") == UNKNOWN))
    wanted = ~strays.of(few) & (kept.of(few.ints("key")) <= SOMEWHERE)
    return few.where(wanted).table.select(_WRITE.names)


# ---------------------------------------------------------------- strays


@dataclass(frozen=True, slots=True)
class _Fates:
    """What became of each stray: an entry for each in every column."""

    keys: Ints
    values: Ints
    polled: Ints  # how many times
    poller: Ints  # the first operation that polled it
    readers: Ints  # how many operations ended ok read it at read_committed
    reader: Ints  # the first of these
    read: Mask  # at either level
    sent: Ints  # how many times
    failed: Ints  # how many times in vain
    sender: Ints  # the first operation that sent it
    owed: Mask  # acknowledged, and must be there
    writer: Ints  # the first operation that was acknowledged

    @classmethod
    def of(cls, strays: Strays, kept: Kept) -> Self:
        """From all that is known of them."""
        pairs = together(strays.keys, strays.values)
        order = np.argsort(pairs)
        pairs, keys, values = pairs[order], strays.keys[order], strays.values[order]

        def entry(piece: Piece) -> Ints:
            return np.searchsorted(pairs, together(piece.ints("key"), piece.ints("value")))

        def count(at: Ints) -> Ints:
            return np.bincount(at, minlength=len(pairs))

        def first(at: Ints, ops: Ints) -> Ints:
            made = np.full(len(pairs), NOBODY)
            np.minimum.at(made, at, ops)
            return made

        places, sends, placed = strays.places, strays.sends, strays.placings()
        role, op, at = places.ints("role"), places.ints("op"), entry(places)
        polls, clean = role >= READ, role == READ
        once, starts = runs(at[clean], op[clean])
        lies = np.full(len(pairs), UNKNOWN)
        np.maximum.at(lies, entry(placed), placed.ints("offset"))
        lies[lies == UNKNOWN] = SOMEWHERE
        by, told = entry(sends), sends.ints("role")
        sent = told == SENT
        return cls(
            keys=keys,
            values=values,
            polled=count(at[polls]),
            poller=first(at[polls], op[polls]),
            readers=count(at[clean][once[starts]]),
            reader=first(at[clean], op[clean]),
            read=count(at[read(places)]) > 0,
            sent=count(by),
            failed=count(by[told == FAILED]),
            sender=first(by, sends.ints("op")),
            owed=(count(by[sent]) > 0) & (lies >= kept.of(keys)),
            writer=first(by[sent], sends.ints("op")[sent]),
        )

    def hidden(self) -> pa.Table:
        """What must be there and no poll ended ok was given."""
        return self._rows(self.owed & ~self.read, op=self.writer).table.cast(_WRITE)

    def aborted(self) -> Piece:
        """What was read though every operation that sent it failed."""
        only_failed = (self.readers > 0) & (self.sent > 0) & (self.failed == self.sent)
        return self._rows(
            only_failed, writer_op=self.sender, reader_op=self.reader, readers=self.readers
        )

    def made_up(self) -> Piece:
        """What was polled though nobody tried to send it."""
        return self._rows((self.polled > 0) & (self.sent == 0), op=self.poller, times=self.polled)

    def _rows(self, those: Mask, **columns: Ints) -> Piece:
        every = {"key": self.keys, "value": self.values, **columns}
        return Piece(pa.table({name: column[those] for name, column in every.items()}))


FAMILIES: Final = (
    Family(
        ids=(
            unseen.ANOMALY.id,
            aborted_read.ANOMALY.id,
            value_nobody_sent.ANOMALY.id,
            duplicate_across_keys.ANOMALY.id,
        ),
        inquiry=fates,
    ),
)
