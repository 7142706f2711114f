"""Inquiry into linearizable offsets: no operation is told less than was known before it began.

Facts and questions are those of `properties.anomalies.real_time`: a fact reaches some end of the
log of a key once its operation completed, and breaks a question of the same log that asks about
less and was invoked later. What readers at `read_committed` may go by is a log of its own, STABLE,
where transactions send to the key.

In one look at the history (`reach_survey`) each piece answers the questions that began in it by its
own facts. If the pieces follow each other in time, the furthest that those before it reached breaks
the limit of a piece or none of its questions. Its early ones were open where one piece ends and the
next begins: there the steps decide. What a send asks that was told no offset is known only when it
is known where its value was polled; how far its log was before it, by its own piece, is told in the
first look too. In a sound history nothing is left. Otherwise a second look brings the questions
below what was reached before their piece, and a third the furthest fact that breaks each; only what
has one is told.

Source: the prefix maximum over time chunks; Herlihy and Wing for what is decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columns.arrow import columns_of, compute, ints
from checkers.histories.columns.fingerprints import Ints, fingerprints
from checkers.histories.columns.order import begins, member
from checkers.histories.columns.rows import schema_of
from checkers.histories.columns.staircase import NOWHERE, Staircase, staircase
from checkers.histories.families.real_time import group_registers
from checkers.histories.families.real_time.future_reads import (
    FUTURE_READ,
    NO_POLLS,
    future_reads,
    polls_at,
    times,
)
from checkers.histories.families.real_time.reach_survey import (
    CONVICTED,
    QUESTIONS,
    WITNESS,
    ask,
    asked_rows,
    first_look,
    witness,
)
from checkers.histories.families.real_time.told_offsets import (
    COMMITTED_END,
    KINDS,
    LOG,
    LOG_OF,
    SEND,
    STABLE,
    STABLE_END,
    questions,
    told,
)
from checkers.histories.inquiries.found import Family, Found, Known
from checkers.histories.inquiries.inquiry import OPERATIONS, Ask, Inquiry, spelled
from checkers.histories.inquiries.places import (
    DOUBTED,
    SENT,
    Strays,
    pairs_in,
    read,
    together,
    untold,
    untold_sends,
)
from checkers.histories.pieces.piece import NEVER_NS, UNKNOWN, Mask, Piece
from checkers.histories.pieces.pieces import Kernel
from model.histories import Isolation
from properties.anomalies.real_time import offset_order_inversion, stale_end_offset

INVERSION: Final = offset_order_inversion.ANOMALY.id
STALE: Final = stale_end_offset.ANOMALY.id
_WITNESSES: Final = ints("suspect", "reach", "completed_ns", *WITNESS, "position")
_SENDS: Final = pa.schema(
    [*((name, pa.int64()) for name in ("op", "position", "key", "value")), ("text", pa.string())]
)


# ---------------------------------------------------------------- what the first look leaves open


@dataclass(frozen=True, slots=True)
class _Reached:
    """How far all pieces together reached, and in which of their questions that counts."""

    logs: Ints  # every log that has a fact, as one number, ascending
    in_time: Staircase
    by_piece: Staircase  # in the order of the pieces in time
    place: Ints  # of each piece in that order
    began_ns: Ints  # of each piece: the first completion of what it was told
    ended_ns: Ints  # and the last
    in_order: bool  # no piece has anything told before the one in front of it ended
    held_back: Ints  # the keys that transactions send to, ascending
    steps: Piece
    log: Ints  # of each step, its place in `logs`

    def counts(self, asked: Piece) -> Mask:
        """Which questions are of the log that counts: at read_committed one of two does."""
        asks, stable_apart = asked.ints("asks"), member(asked.ints("key"), self.held_back)
        counts: Mask = np.where(stable_apart, asks != COMMITTED_END, asks != STABLE_END)
        return counts

    def maybe_broken(self, asked: Piece) -> Mask:
        """Which questions a fact may break that was known before; the others none does."""
        group, some = self._group(asked)
        offset, invoked_ns = (asked.ints(name)[some] for name in ("offset", "invoked_ns"))
        broken = np.zeros(len(asked), dtype=np.bool_)
        broken[some] = self.in_time.exceeded(group[some], offset, invoked_ns)
        return broken

    def broken(self, asked: Piece) -> Mask:
        """Which questions are broken, of which it is known what their piece had reached before."""
        broken = self.maybe_broken(asked)
        piece = asked.ints("piece")
        if not self.in_order or not len(asked):
            return broken
        group, some = self._group(asked)
        known = asked.ints("reach").copy()
        at = self.by_piece.before(group[some], self.place[piece[some]])
        some, at = some[at >= 0], at[at >= 0]
        known[some] = np.maximum(known[some], self.by_piece.reach(at))
        invoked_ns = asked.ints("invoked_ns")
        inside = (self.began_ns[piece] < invoked_ns) & (invoked_ns <= self.ended_ns[piece])
        decided: Mask = np.where(inside, known > asked.ints("offset"), broken)
        return decided

    def carries(self, limits: Piece) -> pa.Table:
        """The limits that lie below what was reached before their piece, and how far that was."""
        group, some = self._group(limits)
        before = self.place[limits.ints("piece")]
        if not self.in_order:
            before = np.full(len(before), len(self.place))
        at = self.by_piece.before(group[some], before[some])
        some, at = some[at >= 0], at[at >= 0]
        reach = self.by_piece.reach(at)
        below = reach > limits.ints("offset")[some]
        return limits.where(some[below]).table.append_column("reach", pa.array(reach[below]))

    def breaking(self, asked: Piece) -> frozenset[int]:
        """The pieces that may have a fact that breaks one of these questions."""
        group, some = self._group(asked)
        least, latest = np.full((2, len(self.logs)), [[NEVER_NS], [UNKNOWN]])
        np.minimum.at(least, group[some], asked.ints("offset")[some])
        np.maximum.at(latest, group[some], asked.ints("invoked_ns")[some])
        beyond = self.steps.ints("reach") > least[self.log]
        may = beyond & (self.steps.ints("completed_ns") < latest[self.log])
        return _numbers(self.steps.ints("piece")[may])

    def with_earlier(self, convicted: Piece) -> Piece:
        """The same, each with the furthest fact of all pieces; they must lie in order of time.

        Whoever is convicted began inside its piece, behind all that pieces before it were told.
        """
        group, some = self._group(convicted)
        at = self.by_piece.before(group[some], self.place[convicted.ints("piece")[some]])
        some, at = some[at >= 0], at[at >= 0]
        further = self.by_piece.reach(at) >= convicted.ints("reach")[some]
        some, step = some[further], self.by_piece.furthest(at[further])
        table = convicted.table
        for name in ("reach", *WITNESS):
            column = convicted.ints(name).copy()
            column[some] = self.steps.ints(name)[step]
            table = table.set_column(table.schema.get_field_index(name), name, pa.array(column))
        return Piece(table)

    def _group(self, asked: Piece) -> tuple[Ints, Ints]:
        """The place of each question's log, and the questions whose log has one."""
        log = together(asked.ints("key"), LOG_OF[asked.ints("asks")])
        group = np.searchsorted(self.logs, log)
        return group, np.flatnonzero(member(log, self.logs))


def _reached(spans: Piece, steps: Piece, held_back: Ints) -> _Reached:
    began_ns, ended_ns = spans.ints("began_ns"), spans.ints("ended_ns")
    order = np.lexsort([ended_ns, began_ns])
    place = np.empty(int(spans.ints("piece").max(initial=-1)) + 1, dtype=np.int64)
    place[spans.ints("piece")[order]] = np.arange(len(order))
    began_in, ended_in = np.zeros((2, len(place)), dtype=np.int64)
    began_in[spans.ints("piece")], ended_in[spans.ints("piece")] = began_ns, ended_ns
    some = order[began_ns[order] != NEVER_NS]
    logs, group = np.unique(together(steps.ints("key"), steps.ints("log")), return_inverse=True)
    reach = steps.ints("reach")
    return _Reached(
        logs=logs,
        in_time=staircase(group, reach, steps.ints("completed_ns")),
        by_piece=staircase(group, reach, place[steps.ints("piece")]),
        place=place,
        began_ns=began_in,
        ended_ns=ended_in,
        in_order=bool(np.all(ended_ns[some][:-1] <= began_ns[some][1:])),
        held_back=held_back,
        steps=steps,
        log=group,
    )


def _numbers(pieces: Ints) -> frozenset[int]:
    return frozenset(np.unique(pieces).tolist())


def _below(isolation: Isolation, carries: pa.Table, piece: Piece) -> pa.Table:
    """The questions that began in the piece and ask about less than was reached before it."""
    of = told(piece, isolation)
    own = carries.filter(compute.equal(carries["piece"], piece.number)).to_pylist()
    number_of = {key: number for number, key in enumerate(of.keys.tolist())}
    reached = np.full((len(LOG_OF), len(of.keys)), NOWHERE)
    for one in own:
        reached[one["asks"], number_of[one["key"]]] = one["reach"]
    late = of.invoked_ns > of.completed_ns.min(initial=NEVER_NS)
    made: list[pa.Table] = []
    for asks, rows in questions(of):
        below = of.offset[rows] < reached[asks][of.key[rows]]
        made.append(asked_rows(of, asks, rows[late[rows] & below], piece))
    return pa.concat_tables(made)


def _stray_questions(strays: Strays, before: Piece) -> Piece:
    """Of sends that nobody acknowledged with an offset: they got the lowest that was polled.

    With the piece of each, and how far its log was there before it: as UNTOLD tells.
    """
    sends, places = strays.sends, strays.places
    role = sends.ints("role")
    untold = sends.where((role == DOUBTED) | ((role == SENT) & (sends.ints("offset") == UNKNOWN)))
    polled = places.where(read(places) & (places.ints("offset") != UNKNOWN))
    lowest = polled.table.group_by(["key", "value"], use_threads=False).aggregate(
        [("offset", "min")]
    )
    of_send = untold.table.select(["key", "value", "op"])
    known = before.table.group_by(before.table.schema.names, use_threads=False).aggregate([])
    found = of_send.join(lowest, ["key", "value"], join_type="inner")
    found = found.join(known, ["op", "key"], join_type="inner").rename_columns(
        {"offset_min": "offset"}
    )
    for name, what in (("asks", SEND), ("position", UNKNOWN)):
        found = found.append_column(name, pa.array(np.full(found.num_rows, what)))
    return Piece(found)


# ---------------------------------------------------------------- what breaks a question


def _witnesses(isolation: Isolation, suspects: Piece, piece: Piece) -> pa.Table:
    """For each suspect, by its place, the furthest fact of the piece that breaks it."""
    piece = _of_keys(piece, suspects.ints("key"))
    of = told(piece, isolation)
    number_of = {key: number for number, key in enumerate(of.keys.tolist())}
    numbers = [number_of.get(key, -1) for key in suspects.ints("key").tolist()]
    key = np.array(numbers, dtype=np.int64)
    made: list[pa.Table] = [_WITNESSES.empty_table()]
    for log in (LOG, STABLE):
        some = np.flatnonzero((key >= 0) & (LOG_OF[suspects.ints("asks")] == log))
        if not len(some):
            continue
        late = of.end > suspects.ints("offset")[some].min()
        late &= of.completed_ns < suspects.ints("invoked_ns")[some].max()
        row = np.flatnonzero(late & of.committed if log == STABLE else late)
        got = staircase(of.key[row], of.end[row], of.completed_ns[row])
        at = got.before(key[some], suspects.ints("invoked_ns")[some])
        some, at = some[at >= 0], at[at >= 0]
        fact = row[got.furthest(at)]
        breaks = of.end[fact] > suspects.ints("offset")[some]
        some, fact = some[breaks], fact[breaks]
        made.append(
            columns_of(
                _WITNESSES,
                some,
                of.end[fact],
                of.completed_ns[fact],
                *witness(of, fact, piece),
                piece.ints("position")[of.row[fact]],
            )
        )
    return pa.concat_tables(made)


def _of_keys(piece: Piece, keys: Ints) -> Piece:
    """The rows of these keys alone, if that is fewer."""
    codes, texts = piece.narrow("key")
    wanted = np.r_[member(fingerprints(texts, piece.salt), np.unique(keys)), False]
    return piece if wanted[:-1].all() else piece.where(wanted[codes])


def _furthest(witnesses: Piece) -> Piece:
    """Of each suspect the witness that reaches furthest; of equals the first to complete."""
    columns = [witnesses.ints(name) for name in ("position", "known_op", "completed_ns")]
    order = np.lexsort([*columns, -witnesses.ints("reach"), witnesses.ints("suspect")])
    return witnesses.where(order[begins(witnesses.ints("suspect")[order])])


def _sends_of(ops: Ints, piece: Piece) -> pa.Table:
    """What these operations sent."""
    sends = piece.where(piece.is_("kind", "send") & member(piece.ints("op"), ops))
    text = sends.table["value"].combine_chunks()
    columns = (sends.ints("op"), sends.ints("position"), sends.fingerprints("key"))
    return columns_of(_SENDS, *columns, fingerprints(text, piece.salt), text)


def _texts(sends: Piece, asked: Piece) -> pa.Array:
    """The values of these sends: known by their position, or by what they are."""
    texts: dict[tuple[int, ...], str] = {}
    for one in sends.table.to_pylist():
        texts[one["op"], one["position"], 0] = one["text"]
        texts[one["op"], UNKNOWN, one["key"], one["value"]] = one["text"]
    return pa.array(
        [
            texts[op, position, 0] if position != UNKNOWN else texts[op, UNKNOWN, key, value]
            for op, position, key, value in zip(
                *(asked.ints(name).tolist() for name in ("op", "position", "key", "value")),
                strict=True,
            )
        ],
        pa.string(),
    )


# ---------------------------------------------------------------- the inquiry


def linearizable_offsets(known: Known) -> Inquiry[tuple[Found, ...]]:
    """Order inversions, stale ends and future reads."""
    strays = known.strays
    isolation = known.declared.isolation
    *first, when = yield (*first_look(isolation), times(strays.ops))
    broken = yield from _questioned(isolation, first, strays, polled=True)
    future = yield from future_reads(strays, Piece(when), broken.polls)
    polls = int(Piece(first[0]).ints("polls").sum())
    return *broken.found, Found(id=FUTURE_READ, rows=future, observations=polls)


def offsets_alone(known: Known) -> Inquiry[tuple[Found, ...]]:
    """Order inversions and stale ends, with nothing exchanged: what was sent is read again instead.

    Of all strays only those are asked for that somebody sent and was told no offset of.
    """
    isolation = known.declared.isolation
    *first, sends = yield (*first_look(isolation), untold_sends(isolation))
    strays = yield from untold(isolation, Piece(sends))
    broken = yield from _questioned(isolation, first, strays, polled=False)
    return broken.found


def _questioned(
    isolation: Isolation, first: Sequence[pa.Table], strays: Strays, *, polled: bool
) -> Inquiry[_Broken]:
    """What facts break, from the first look at the history; and if wanted who polled that."""
    spans, steps, limits, early, own, before, transactional = first
    of_pieces = Piece(spans)
    reached = _reached(of_pieces, Piece(steps), np.unique(Piece(transactional).ints("key")))
    of_strays, of_early = _stray_questions(strays, Piece(before)), Piece(early)
    asked = [
        of_early.where(reached.maybe_broken(of_early)).table,
        of_strays.where(reached.broken(of_strays)).table.select(QUESTIONS.names),
    ]
    carries = reached.carries(Piece(limits))
    if carries.num_rows:
        run = partial(_below, isolation, carries)
        late = _numbers(Piece(carries).ints("piece"))
        asked.append((yield ask("offsets below what was known", QUESTIONS, run, late)))
    convicted = Piece(own)
    convicted = convicted.where(reached.counts(convicted))
    if reached.in_order:
        convicted = reached.with_earlier(convicted)
    else:
        asked.append(convicted.table.select(QUESTIONS.names))
        convicted = convicted.where(np.zeros(0, dtype=np.int64))
    questioned = Piece(
        pa.concat_tables(asked).group_by(QUESTIONS.names, use_threads=False).aggregate([])
    )
    open_ = questioned.where(reached.counts(questioned) & ~_among(questioned, convicted))
    told_of = yield from _convicted(open_, isolation, reached.breaking(open_))
    inversions, stale, polls = yield from _broken(
        Piece(pa.concat_tables([convicted.table, told_of])), polled=polled
    )
    sends = int(of_pieces.ints("sends").sum()) + len(of_strays)
    ends = int(of_pieces.ints("ends").sum())
    found = (
        Found(id=INVERSION, rows=inversions, observations=sends),
        Found(id=STALE, rows=stale, observations=ends),
    )
    return _Broken(found, polls)


@dataclass(frozen=True, slots=True)
class _Broken:
    """What facts break, and who polled what the sends among it sent, where they sent it."""

    found: tuple[Found, ...]
    polls: Piece


def _convicted(asked: Piece, isolation: Isolation, breaking: frozenset[int]) -> Inquiry[pa.Table]:
    """Of the questions those that a fact of these pieces breaks, with the furthest."""
    if not breaking:
        return CONVICTED.empty_table()
    run = partial(_witnesses, isolation, asked)
    known = _furthest(Piece((yield ask("what was known before them", _WITNESSES, run, breaking))))
    made = asked.where(known.ints("suspect")).table
    shown = known.table.select(["reach", *WITNESS])
    return pa.table([*made.columns, *shown.columns], schema=CONVICTED)


def _among(asked: Piece, convicted: Piece) -> Mask:
    """Which of the questions are already convicted."""
    known = (convicted.ints(name) for name in ("op", "position", "asks"))
    told = {*zip(*(column.tolist() for column in known), strict=True)}
    ours = (asked.ints(name).tolist() for name in ("op", "position", "asks"))
    return np.array([one in told for one in zip(*ours, strict=True)], dtype=np.bool_)


def _broken(row: Piece, *, polled: bool) -> Inquiry[tuple[pa.Table, pa.Table, Piece]]:
    """The rows of who is convicted, and who polled what the sends among it sent."""
    inversion = schema_of(offset_order_inversion.OffsetOrderInversion)
    end = schema_of(stale_end_offset.StaleEndOffset)
    if not len(row):
        return inversion.empty_table(), end.empty_table(), NO_POLLS
    sends = row.where(row.ints("asks") == SEND)
    told_sends, *polls = yield (
        Ask(OPERATIONS, _sending(sends)),
        *([polls_at(sends.ints("key"), sends.ints("offset"))] if polled else []),
    )
    key_of = yield from spelled(row.ints("key"), column="key")
    of_send = np.flatnonzero(row.ints("asks") == SEND)
    of_end = np.flatnonzero(row.ints("asks") != SEND)

    def columns(some: Ints, offset: str) -> dict[str, pa.Array]:
        asks = row.where(some)
        return {
            "key": key_of(asks.ints("key")),
            offset: pa.array(asks.ints("offset")),
            "op": pa.array(asks.ints("op")),
            "known_end": pa.array(asks.ints("reach")),
            "known_from": pa.array(KINDS).take(pa.array(asks.ints("kind"))),
            "known_op": pa.array(asks.ints("known_op")),
        }

    value = _texts(Piece(told_sends), row.where(of_send))
    inversions = pa.table({**columns(of_send, "offset"), "value": value}).select(inversion.names)
    stale = pa.table(columns(of_end, "end_offset"))
    theirs, read_at = Piece(told_sends), Piece(polls[0]) if polled else NO_POLLS
    of_theirs = pairs_in(*(one.ints(n) for one in (read_at, theirs) for n in ("key", "value")))
    return inversions.cast(inversion), stale.cast(end), read_at.where(of_theirs)


def _sending(asked: Piece) -> Kernel:
    columns = ("op", "position", "kind", "key", "value")
    ops = np.unique(asked.ints("op"))
    return Kernel("what they sent", columns, _SENDS, partial(_sends_of, ops), ops=ops)


_COLUMNS_ALONE: Final = (
    "op",
    "outcome",
    "invoked_ns",
    "completed_ns",
    "position",
    "kind",
    "key",
    "offset",
    "isolation",
)
FAMILIES: Final = (
    Family(
        ids=(INVERSION, STALE, FUTURE_READ),
        inquiry=linearizable_offsets,
        narrow=Family(
            ids=(INVERSION, STALE),
            inquiry=offsets_alone,
            assumes=("time-goes-forward",),
            columns=_COLUMNS_ALONE,
            strays=False,
        ),
    ),
    *group_registers.FAMILIES,
)
