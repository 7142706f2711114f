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
first look too. In a sound history nothing is left. What its own piece breaks is convicted with the
furthest fact that does, of that or of a piece before it. Of the rest a second look brings the
questions below what was reached before their piece, and a third the fact; only what has one is
told.

Source: the prefix maximum over time chunks; Herlihy and Wing for what is decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import AnomalyChecker, Context, Finding
from checkers.histories.anomalies.real_time import group_registers
from checkers.histories.anomalies.real_time.future_reads import (
    FUTURE_READ,
    NO_POLLS,
    future_reads,
    polls_at,
    times,
)
from checkers.histories.anomalies.real_time.reach_survey import (
    QUESTIONS,
    ask,
    asked_rows,
    first_look,
)
from checkers.histories.anomalies.real_time.reached import Reached, convicting, partition_numbers
from checkers.histories.columnar.arrow import compute, table_from
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.prefix_max import NOWHERE
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import Mask
from checkers.histories.facts.observed_offsets import (
    KINDS,
    LOG_OF,
    SEND,
    checked_rows,
    observed_offsets,
)
from checkers.histories.facts.record_locations import (
    SEND_INFO,
    SEND_OK,
    UnconfirmedValues,
    find_unconfirmed_sends,
    pairs_in,
    polled_ok,
    sends_without_offset,
)
from checkers.histories.plan.batch import NEVER_NS, UNKNOWN_OFFSET, Batch
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
from model.histories import Isolation
from properties.anomalies.real_time import offset_order_inversion, stale_end_offset

INVERSION: Final = offset_order_inversion.ANOMALY.id
STALE: Final = stale_end_offset.ANOMALY.id
_SENDS: Final = pa.schema(
    [*((name, pa.int64()) for name in ("op", "position", "key", "value")), ("text", pa.string())]
)


# ---------------------------------------------------------------- what the first look leaves open


def _below(isolation: Isolation, carries: pa.Table, batch: Batch) -> pa.Table:
    """The questions that began in the piece and ask about less than was reached before it."""
    of = observed_offsets(batch, isolation)
    own = carries.filter(compute.equal(carries["batch"], batch.number)).to_pylist()
    number_of = {key: number for number, key in enumerate(of.keys.tolist())}
    reached = np.full((len(LOG_OF), len(of.keys)), NOWHERE)
    for one in own:
        reached[one["asks"], number_of[one["key"]]] = one["reach"]
    late = of.invoked_ns > of.completed_ns.min(initial=NEVER_NS)
    made: list[pa.Table] = []
    for asks, rows in checked_rows(of):
        below = of.offset[rows] < reached[asks][of.key[rows]]
        made.append(asked_rows(of, asks, rows[late[rows] & below], batch))
    return pa.concat_tables(made)


def _stray_questions(unconfirmed: UnconfirmedValues, before: Batch) -> Batch:
    """Of sends that nobody acknowledged with an offset: they got the lowest that was polled.

    With the piece of each, and how far its log was there before it: as UNTOLD tells.
    """
    sends, places = unconfirmed.sends, unconfirmed.observations
    role = sends.ints("role")
    untold = sends.where(
        (role == SEND_INFO) | ((role == SEND_OK) & (sends.ints("offset") == UNKNOWN_OFFSET))
    )
    polled = places.where(polled_ok(places) & (places.ints("offset") != UNKNOWN_OFFSET))
    lowest = polled.table.group_by(["key", "value"], use_threads=False).aggregate(
        [("offset", "min")]
    )
    of_send = untold.table.select(["key", "value", "op"])
    known = before.table.group_by(before.table.schema.names, use_threads=False).aggregate([])
    found = of_send.join(lowest, ["key", "value"], join_type="inner")
    found = found.join(known, ["op", "key"], join_type="inner").rename_columns(
        {"offset_min": "offset"}
    )
    for name, what in (("asks", SEND), ("position", UNKNOWN_OFFSET)):
        found = found.append_column(name, pa.array(np.full(found.num_rows, what)))
    return Batch(found)


# ---------------------------------------------------------------- what they sent


def _sends_of(ops: Ints, batch: Batch) -> pa.Table:
    """What these operations sent."""
    rows = batch.rows_of(ops)
    sends = batch.where(rows[batch.is_in("kind", "send")[rows]])
    text = sends.table["value"].combine_chunks()
    columns = (sends.ints("op"), sends.ints("position"), sends.fingerprints("key"))
    return table_from(_SENDS, *columns, fingerprints(text, batch.hash_seed), text)


def _texts(sends: Batch, asked: Batch) -> pa.Array:
    """The values of these sends: known by their position, or by what they are."""
    texts: dict[tuple[int, ...], str] = {}
    for one in sends.table.to_pylist():
        texts[one["op"], one["position"], 0] = one["text"]
        texts[one["op"], UNKNOWN_OFFSET, one["key"], one["value"]] = one["text"]
    return pa.array(
        [
            texts[op, position, 0]
            if position != UNKNOWN_OFFSET
            else texts[op, UNKNOWN_OFFSET, key, value]
            for op, position, key, value in zip(
                *(asked.ints(name).tolist() for name in ("op", "position", "key", "value")),
                strict=True,
            )
        ],
        pa.string(),
    )


# ---------------------------------------------------------------- the inquiry


def linearizable_offsets(context: Context) -> Plan[tuple[Finding, ...]]:
    """Order inversions, stale ends and future reads."""
    unconfirmed = context.unconfirmed
    isolation = context.declared.isolation
    first, when = yield from in_parallel(
        collect_all(first_look(isolation)), collect(times(unconfirmed.ops))
    )
    broken = yield from _questioned(isolation, first, unconfirmed, polled=True)
    future = yield from future_reads(unconfirmed, Batch(when), broken.polls)
    polls = int(Batch(first[0]).ints("polls").sum())
    return *broken.found, Finding(id=FUTURE_READ, rows=future, observations=polls)


def offsets_alone(context: Context) -> Plan[tuple[Finding, ...]]:
    """Order inversions and stale ends, with nothing exchanged: what was sent is read again instead.

    Of all strays only those are asked for that somebody sent and was told no offset of.
    """
    isolation = context.declared.isolation
    first, sends = yield from in_parallel(
        collect_all(first_look(isolation)), collect(sends_without_offset(isolation))
    )
    unconfirmed = yield from find_unconfirmed_sends(isolation, Batch(sends))
    broken = yield from _questioned(isolation, first, unconfirmed, polled=False)
    return broken.found


def _questioned(
    isolation: Isolation, first: Sequence[pa.Table], unconfirmed: UnconfirmedValues, *, polled: bool
) -> Plan[_Broken]:
    """What facts break, from the first look at the history; and if wanted who polled that."""
    spans, steps, limits, early, own, before, transactional = first
    of_pieces = Batch(spans)
    reached = Reached.of(of_pieces, Batch(steps), np.unique(Batch(transactional).ints("key")))
    of_strays, of_early = _stray_questions(unconfirmed, Batch(before)), Batch(early)
    asked = [
        of_early.where(reached.maybe_broken(of_early)).table,
        of_strays.where(reached.broken(of_strays)).table.select(QUESTIONS.names),
    ]
    carries = reached.carries(Batch(limits))
    if carries.num_rows:
        run = partial(_below, isolation, carries)
        late = partition_numbers(Batch(carries).ints("batch"))
        asked.append(
            (yield from collect(ask("offsets below what was known", QUESTIONS, run, late)))
        )
    convicted = Batch(own).where(reached.counts(Batch(own)))
    if reached.in_order:
        convicted = reached.with_earlier(convicted)
    else:
        asked.append(convicted.table.select(QUESTIONS.names))
        convicted = convicted.where(np.zeros(0, dtype=np.int64))
    questioned = Batch(
        pa.concat_tables(asked).group_by(QUESTIONS.names, use_threads=False).aggregate([])
    )
    open_ = questioned.where(reached.counts(questioned) & ~_among(questioned, convicted))
    told_of = yield from convicting(open_, isolation, reached.breaking(open_))
    inversions, stale, polls = yield from _broken(
        Batch(pa.concat_tables([convicted.table, told_of])), polled=polled
    )
    sends = int(of_pieces.ints("sends").sum()) + len(of_strays)
    ends = int(of_pieces.ints("ends").sum())
    found = (
        Finding(id=INVERSION, rows=inversions, observations=sends),
        Finding(id=STALE, rows=stale, observations=ends),
    )
    return _Broken(found, polls)


@dataclass(frozen=True, slots=True)
class _Broken:
    """What facts break, and who polled what the sends among it sent, where they sent it."""

    found: tuple[Finding, ...]
    polls: Batch


def _among(asked: Batch, convicted: Batch) -> Mask:
    """Which of the questions are already convicted."""
    known = (convicted.ints(name) for name in ("op", "position", "asks"))
    told = {*zip(*(column.tolist() for column in known), strict=True)}
    ours = (asked.ints(name).tolist() for name in ("op", "position", "asks"))
    return np.array([one in told for one in zip(*ours, strict=True)], dtype=np.bool_)


def _broken(row: Batch, *, polled: bool) -> Plan[tuple[pa.Table, pa.Table, Batch]]:
    """The rows of who is convicted, and who polled what the sends among it sent."""
    inversion = schema_of(offset_order_inversion.OffsetOrderInversion)
    end = schema_of(stale_end_offset.StaleEndOffset)
    if not len(row):
        return inversion.empty_table(), end.empty_table(), NO_POLLS
    sends = row.where(row.ints("asks") == SEND)
    told_sends, polls = yield from in_parallel(
        collect(Stage(Source.OPERATIONS, _sending(sends))),
        collect_all([polls_at(sends.ints("key"), sends.ints("offset"))] if polled else []),
    )
    key_of = yield from resolve_fingerprints(row.ints("key"), column="key")
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

    value = _texts(Batch(told_sends), row.where(of_send))
    inversions = pa.table({**columns(of_send, "offset"), "value": value}).select(inversion.names)
    stale = pa.table(columns(of_end, "end_offset"))
    theirs, read_at = Batch(told_sends), Batch(polls[0]) if polled else NO_POLLS
    of_theirs = pairs_in(*(one.ints(n) for one in (read_at, theirs) for n in ("key", "value")))
    return inversions.cast(inversion), stale.cast(end), read_at.where(of_theirs)


def _sending(asked: Batch) -> Kernel:
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
CHECKERS: Final = (
    AnomalyChecker(
        ids=(INVERSION, STALE, FUTURE_READ),
        plan=linearizable_offsets,
        cheaper=AnomalyChecker(
            ids=(INVERSION, STALE),
            plan=offsets_alone,
            assumes=("time-goes-forward",),
            columns=_COLUMNS_ALONE,
            needs_shuffle=False,
        ),
    ),
    *group_registers.CHECKERS,
)
