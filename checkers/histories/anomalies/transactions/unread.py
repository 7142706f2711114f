"""What of transactions readers at read_committed were not given, though they came as far.

First every piece of the history says which of its operations are transactions that ended ok and
send, how far readers came in each log, and which records of transactions have no known offset.
Then each block of places finds the records of these transactions that lie below where readers came
and that none was given: in a sound history there are none. Of strays (so of every transaction that
did not end ok) everything is at hand.

Source: `properties.anomalies.transactions.missing`, `properties.anomalies.transactions.visible`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import Known
from checkers.histories.columnar.arrow import columns_of, ints
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.operation_set import WORDS, OpSet, words
from checkers.histories.columnar.sorting import Mask, begins, distinct, lengths
from checkers.histories.facts.observed_offsets import dirty
from checkers.histories.facts.record_locations import (
    DOUBTED,
    FAILED,
    NAMES,
    READ,
    SENT,
    UNCOMMITTED,
    Strays,
    by_key,
    heads,
    place_of,
    role_of,
)
from checkers.histories.plan.batch import NEVER_NS, UNKNOWN, Piece
from checkers.histories.plan.batches import Kernel
from checkers.histories.plan.stage import OPERATIONS, PLACES, Ask, Inquiry
from model.histories import Isolation

OK, INFO, FAIL = range(3)
LAST: Final = 2**63 - 1  # above every operation
Record = tuple[int, int]  # key, value


_FURTHEST: Final = ints("key", "offset", "op")
_SENDS: Final = ints("key", "value", "op")
_OPERATIONS: Final = ints(
    "op", "transaction", "outcome", "invoked_ns", "completed_ns", "asked_ns", "sends"
)
_DESCRIBED: Final = (
    *("op", "f", "outcome", "kind"),
    *("invoked_ns", "completed_ns", "end_asked_ns"),
)
_SPANS: Final = ints("first_ns", "last_ns", "ascending")
_UNREAD: Final = ints("key", "offset", "value", "op", "known_op", "clean_op")
_EARLY: Final = ints("key", "value", "reader_op", "op")
_COUNT: Final = ints("count")


# ---------------------------------------------------------------- the history


def _first_look(known: Known) -> tuple[Ask, ...]:
    isolation, strays = known.declared.isolation, known.strays
    transactions = ("op", "f", "outcome", "kind")
    untold = partial(_untold, strays)
    polls = ("op", "outcome", "kind", "key", "offset", "isolation")
    return (
        _ask("transactions that send", transactions, WORDS, partial(_sending, 1)),
        _ask("transactions that send", transactions, WORDS, partial(_sending, 2)),
        _ask("how far readers came", polls, _FURTHEST, partial(_furthest, isolation)),
        _ask("sends without an offset", (*transactions, "key", "value", "offset"), _SENDS, untold),
        described(strays.ops),
        _ask("times ascend", ("op", "completed_ns"), _SPANS, _spans),
    )


def _ask(
    says: str, columns: tuple[str, ...], schema: pa.Schema, run: partial[pa.Table] | object
) -> Ask:
    return Ask(OPERATIONS, Kernel(says, columns, schema, run))  # type: ignore[arg-type]


def _sending(least: int, piece: Piece) -> pa.Table:
    """The transactions that ended ok and send so many records."""
    ops, sends = piece.derived(("transactions that send",), _senders)
    return words(ops[sends >= least])


def _senders(piece: Piece) -> tuple[Ints, Ints]:
    """The transactions that ended ok and send, and how many records each does."""
    sends = piece.is_("f", "txn") & piece.is_("outcome", "ok") & piece.is_("kind", "send")
    ops = piece.ints("op").take(np.flatnonzero(sends))
    starts = begins(ops)
    return ops[starts], lengths(starts, len(ops))


def _furthest(isolation: Isolation, piece: Piece) -> pa.Table:
    """Of each key the highest offset that a reader was given, and the first that was."""
    polls = piece.is_("outcome", "ok") & piece.is_("kind", "poll") & piece.known("offset")
    rows = np.flatnonzero(polls & ~dirty(piece, isolation))
    numbers, texts = piece.codes("key")
    key, offset = numbers.take(rows), piece.ints("offset").take(rows)
    highest, first = np.full(len(texts), UNKNOWN), np.full(len(texts), LAST)
    np.maximum.at(highest, key, offset)
    there = np.flatnonzero(offset == highest.take(key))
    np.minimum.at(first, key[there], piece.ints("op")[rows[there]])
    some = first != LAST
    return columns_of(_FURTHEST, fingerprints(texts, piece.salt)[some], highest[some], first[some])


def furthest(key: Ints, offset: Ints, op: Ints) -> pa.Table:
    """Of each key the highest offset, and the first operation there; keys ascend."""
    order = np.lexsort([op, -offset, key])
    first = order[begins(key[order])]
    return columns_of(_FURTHEST, key[first], offset[first], op[first])


def _untold(strays: Strays, piece: Piece) -> pa.Table:
    """What transactions that did not fail sent to nobody knows which offset; not what was seen."""
    sends = piece.is_("f", "txn") & piece.is_("kind", "send") & ~piece.known("offset")
    few = piece.where(sends & ~piece.is_("outcome", "fail"), ("op", "key", "value"))
    key, value = few.fingerprints("key"), few.fingerprints("value")
    unseen = ~strays.among(key, value)
    return columns_of(_SENDS, key[unseen], value[unseen], few.ints("op")[unseen])


def described(ops: Ints) -> Ask:
    """What these operations are, when they were, and how many records they send."""
    ops = distinct(ops)
    run = partial(_described, ops)
    return Ask(OPERATIONS, Kernel("what they are", _DESCRIBED, _OPERATIONS, run, ops=ops))


def _described(ops: Ints, piece: Piece) -> pa.Table:
    few = piece.where(piece.rows_of(ops), _DESCRIBED)
    rows = begins(few.ints("op"))
    firsts = few.where(rows)
    outcome = np.where(firsts.is_("outcome", "ok"), OK, INFO)
    outcome[firsts.is_("outcome", "fail")] = FAIL
    return columns_of(
        _OPERATIONS,
        firsts.ints("op"),
        firsts.is_("f", "txn").astype(np.int64),
        outcome,
        firsts.ints("invoked_ns"),
        firsts.ints("completed_ns", null=NEVER_NS),
        asked_ns(firsts),
        np.add.reduceat(few.is_("kind", "send").astype(np.int64), rows),
    )


def asked_ns(of: Piece) -> Ints:
    """The earliest that the end of the operation of each row can have been asked for."""
    ends = (of.ints(name, null=NEVER_NS) for name in ("completed_ns", "end_asked_ns"))
    return np.where(of.known("end_asked_ns"), np.minimum(*ends), of.ints("invoked_ns"))


def _spans(piece: Piece) -> pa.Table:
    completed = piece.ints("completed_ns", null=NEVER_NS)
    if not len(completed):
        return _SPANS.empty_table()
    ascending = int(np.all(completed[1:] >= completed[:-1]))
    bounds = (completed.min(), completed.max(), ascending)
    return columns_of(_SPANS, *(np.array([bound]) for bound in bounds))


def _in_order(spans: Piece) -> bool:
    """Operations are numbered as they completed."""
    first, last = spans.ints("first_ns"), spans.ints("last_ns")
    return bool(np.all(spans.ints("ascending")) and np.all(first[1:] >= last[:-1]))


# ---------------------------------------------------------------- blocks of places


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a block of places has to know of the history."""

    strays: Strays
    sending: OpSet  # transactions that ended ok and send
    several: OpSet  # several records
    furthest: Piece  # keys ascend
    in_order: bool


@dataclass(frozen=True, slots=True)
class _Block:
    unread: pa.Table
    early: pa.Table
    shown: pa.Table
    count: pa.Table


def _second_look(wanted: Wanted) -> tuple[Ask, ...]:
    parts = (("unread", _UNREAD), ("early", _EARLY), ("shown", WORDS), ("count", _COUNT))
    says = "what was read of transactions"
    return tuple(
        Ask(PLACES, Kernel(says, NAMES, schema, partial(_part, wanted, name)))
        for name, schema in parts
    )


def _part(wanted: Wanted, name: str, piece: Piece) -> pa.Table:
    made: pa.Table = getattr(piece.derived(("transactions",), partial(_block, wanted)), name)
    return made


def _block(wanted: Wanted, piece: Piece) -> _Block:
    key, offset, value = (piece.ints(name) for name in ("key", "offset", "value"))
    op, role = piece.ints("op"), role_of(piece)
    sent = np.flatnonzero((role == SENT) & ~wanted.strays.of(piece))
    sent = sent[wanted.sending.has(op.take(sent))]
    # everything that was shown where one of them lies
    place = place_of(piece)

    def first(those: Mask) -> Ints:
        """For each of the sends the first operation of those of its place; LAST if none."""
        ops, rows = np.full(len(heads(piece)), LAST), np.flatnonzero(those)[::-1]
        ops[place.take(rows)] = op.take(rows)  # operations of one place ascend
        return ops.take(place.take(sent))

    reader = first(role == READ)
    read = reader != LAST
    due = offset[sent] <= by_key(key[sent], partial(reach, wanted.furthest))
    some = np.flatnonzero(~read & due)
    gone, known, cleanly = sent[some], reader, reader
    if len(gone):
        shows = (role == SENT) | (role >= READ)
        known, cleanly = first(shows), first(shows & (role < UNCOMMITTED))
    early = np.flatnonzero(read & ((reader < op[sent]) | (not wanted.in_order)))
    shown = op[sent[np.flatnonzero(read)]]
    return _Block(
        unread=columns_of(
            _UNREAD, key[gone], offset[gone], value[gone], op[gone], known[some], cleanly[some]
        ),
        early=columns_of(
            _EARLY, key[sent[early]], value[sent[early]], reader[early], op[sent[early]]
        ),
        shown=words(shown[np.flatnonzero(wanted.several.has(shown))]),
        count=columns_of(_COUNT, np.array([np.count_nonzero(read)])),
    )


def reach(of: Piece, key: Ints) -> Ints:
    """The offset of each key; UNKNOWN, which is below all, if it has none."""
    keys = of.ints("key")
    at = np.searchsorted(keys, key)
    inside = at < len(keys)
    inside[inside] = keys[at[inside]] == key[inside]
    reached: Ints = np.r_[of.ints("offset"), UNKNOWN][np.where(inside, at, -1)]
    return reached


# ---------------------------------------------------------------- strays


@dataclass(slots=True)
class Stray:
    """All that is known of a stray: who sent it and how that ended, who was given it, where."""

    sent_by: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])  # op, role
    readers: list[int] = field(default_factory=list[int])  # at read_committed, ended ok
    lies: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])  # offset, op

    @property
    def writer(self) -> int:
        """The first operation that sent it and did not fail, or else the first."""
        return min(self.sent_by, key=lambda it: (it[1] == FAILED, it[0]))[0]

    def place(self) -> tuple[int, int] | None:
        """The last offset at which the log shows it, and the first operation that did."""
        if not self.lies:
            return None
        offset = max(offset for offset, _ in self.lies)
        return offset, min(op for at, op in self.lies if at == offset)


def stray_records(strays: Strays) -> dict[Record, Stray]:
    """The strays one by one; made once for all that look at them."""
    return strays.places.derived(("records",), lambda _: _stray_records(strays))


def _stray_records(strays: Strays) -> dict[Record, Stray]:
    records: defaultdict[Record, Stray] = defaultdict(Stray)
    seen, sent = strays.places, strays.sends
    polls = (seen.ints(name).tolist() for name in ("key", "value", "offset", "op", "role"))
    sends = (sent.ints(name).tolist() for name in ("key", "value", "offset", "op", "role"))
    dirty: defaultdict[Record, list[tuple[int, int]]] = defaultdict(list)
    for key, value, offset, op, role in zip(*polls, strict=True):
        if role < READ:  # a send: those without an offset are not among the places
            continue
        if role == READ:
            records[key, value].readers.append(op)
        if offset != UNKNOWN:
            into = dirty[key, value] if role & UNCOMMITTED else records[key, value].lies
            into.append((offset, op))
    rows = list(zip(*sends, strict=True))
    for key, value, _, op, role in rows:
        records[key, value].sent_by.append((op, role))
    took_effect = {
        op for it in records.values() if it.readers for op, role in it.sent_by if role == DOUBTED
    }
    for key, value, offset, op, role in rows:
        if offset != UNKNOWN and (role == SENT or op in took_effect):
            records[key, value].lies.append((offset, op))
    for record, lies in dirty.items():
        if not any(role == FAILED for _, role in records[record].sent_by):
            records[record].lies.extend(lies)
    return dict(records)


# ---------------------------------------------------------------- together


@dataclass(frozen=True, slots=True)
class Unread:
    """What is known of transactions and their readers when every piece was looked at twice."""

    records: dict[Record, Stray]
    operations: dict[int, dict[str, int]]  # of strays
    furthest: Piece  # how far readers came; keys ascend
    shown: OpSet  # transactions that ended ok with several records, of which confirmed ones read
    early: Piece  # confirmed records of transactions that were read before these completed
    read: int  # confirmed records of transactions that were read
    unread: Piece  # confirmed records below where readers came
    untold: Piece  # records that nobody was given, at nobody knows which offset


def unread(known: Known) -> Inquiry[Unread]:
    """Looks at the history, then at the places."""
    sending, several, reached, untold, operations, spans = yield _first_look(known)
    far = Piece(reached)
    far = Piece(furthest(far.ints("key"), far.ints("offset"), far.ints("op")))
    wanted = Wanted(
        strays=known.strays,
        sending=OpSet.of(sending),
        several=OpSet.of(several),
        furthest=far,
        in_order=_in_order(Piece(spans)),
    )
    gone, early, shown, count = yield _second_look(wanted)
    return Unread(
        records=stray_records(known.strays),
        operations={row["op"]: row for row in operations.to_pylist()},
        furthest=far,
        shown=OpSet.of(shown),
        early=Piece(early),
        read=sum(count["count"].to_pylist()),
        unread=Piece(gone),
        untold=Piece(untold),
    )
