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

from checkers.histories.anomalies.findings import Context
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.bitset import WORDS, Bitset, packed
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.sorting import Mask, distinct, run_lengths, run_starts
from checkers.histories.facts.observed_offsets import reads_uncommitted
from checkers.histories.facts.record_locations import (
    POLL_OK,
    RECORD_COLUMNS,
    SEND_FAIL,
    SEND_INFO,
    SEND_OK,
    UNCOMMITTED,
    UnconfirmedValues,
    first_rows,
    location_of,
    per_key,
    role_of,
)
from checkers.histories.plan.batch import NEVER_NS, UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Plan, Source, Stage, collect_all
from model.histories import Isolation

OK, INFO, FAIL = range(3)
LAST: Final = 2**63 - 1  # above every operation
Record = tuple[int, int]  # key, value


_FURTHEST: Final = int64_schema("key", "offset", "op")
_SENDS: Final = int64_schema("key", "value", "op")
_OPERATIONS: Final = int64_schema(
    "op", "transaction", "outcome", "invoked_ns", "completed_ns", "asked_ns", "sends"
)
_DESCRIBED: Final = (
    *("op", "f", "outcome", "kind"),
    *("invoked_ns", "completed_ns", "end_asked_ns"),
)
_SPANS: Final = int64_schema("first_ns", "last_ns", "ascending")
_UNREAD: Final = int64_schema("key", "offset", "value", "op", "known_op", "clean_op")
_EARLY: Final = int64_schema("key", "value", "reader_op", "op")
_COUNT: Final = int64_schema("count")


# ---------------------------------------------------------------- the history


def _first_look(context: Context) -> tuple[Stage[pa.Table], ...]:
    isolation, unconfirmed = context.declared.isolation, context.unconfirmed
    transactions = ("op", "f", "outcome", "kind")
    untold = partial(_untold, unconfirmed)
    polls = ("op", "outcome", "kind", "key", "offset", "isolation")
    return (
        _ask("transactions that send", transactions, WORDS, partial(_sending, 1)),
        _ask("transactions that send", transactions, WORDS, partial(_sending, 2)),
        _ask("how far readers came", polls, _FURTHEST, partial(_furthest, isolation)),
        _ask("sends without an offset", (*transactions, "key", "value", "offset"), _SENDS, untold),
        described(unconfirmed.ops),
        _ask("times ascend", ("op", "completed_ns"), _SPANS, _spans),
    )


def _ask(
    title: str, columns: tuple[str, ...], schema: pa.Schema, run: partial[pa.Table] | object
) -> Stage[pa.Table]:
    return Stage(Source.OPERATIONS, Kernel(title, columns, schema, run))  # type: ignore[arg-type]


def _sending(least: int, batch: Batch) -> pa.Table:
    """The transactions that ended ok and send so many records."""
    ops, sends = batch.derived(("transactions that send",), _senders)
    return packed(ops[sends >= least])


def _senders(batch: Batch) -> tuple[Ints, Ints]:
    """The transactions that ended ok and send, and how many records each does."""
    sends = batch.is_in("f", "txn") & batch.is_in("outcome", "ok") & batch.is_in("kind", "send")
    ops = batch.ints("op").take(np.flatnonzero(sends))
    starts = run_starts(ops)
    return ops[starts], run_lengths(starts, len(ops))


def _furthest(isolation: Isolation, batch: Batch) -> pa.Table:
    """Of each key the highest offset that a reader was given, and the first that was."""
    polls = batch.is_in("outcome", "ok") & batch.is_in("kind", "poll") & batch.is_valid("offset")
    rows = np.flatnonzero(polls & ~reads_uncommitted(batch, isolation))
    numbers, texts = batch.codes("key")
    key, offset = numbers.take(rows), batch.ints("offset").take(rows)
    highest, first = np.full(len(texts), UNKNOWN_OFFSET), np.full(len(texts), LAST)
    np.maximum.at(highest, key, offset)
    there = np.flatnonzero(offset == highest.take(key))
    np.minimum.at(first, key[there], batch.ints("op")[rows[there]])
    some = first != LAST
    return table_from(
        _FURTHEST, fingerprints(texts, batch.hash_seed)[some], highest[some], first[some]
    )


def furthest(key: Ints, offset: Ints, op: Ints) -> pa.Table:
    """Of each key the highest offset, and the first operation there; keys ascend."""
    order = np.lexsort([op, -offset, key])
    first = order[run_starts(key[order])]
    return table_from(_FURTHEST, key[first], offset[first], op[first])


def _untold(unconfirmed: UnconfirmedValues, batch: Batch) -> pa.Table:
    """What transactions that did not fail sent to nobody knows which offset; not what was seen."""
    sends = batch.is_in("f", "txn") & batch.is_in("kind", "send") & ~batch.is_valid("offset")
    few = batch.where(sends & ~batch.is_in("outcome", "fail"), ("op", "key", "value"))
    key, value = few.fingerprints("key"), few.fingerprints("value")
    unseen = ~unconfirmed.among(key, value)
    return table_from(_SENDS, key[unseen], value[unseen], few.ints("op")[unseen])


def described(ops: Ints) -> Stage[pa.Table]:
    """What these operations are, when they were, and how many records they send."""
    ops = distinct(ops)
    run = partial(_described, ops)
    return Stage(Source.OPERATIONS, Kernel("what they are", _DESCRIBED, _OPERATIONS, run, ops=ops))


def _described(ops: Ints, batch: Batch) -> pa.Table:
    few = batch.where(batch.rows_of(ops), _DESCRIBED)
    rows = run_starts(few.ints("op"))
    firsts = few.where(rows)
    outcome = np.where(firsts.is_in("outcome", "ok"), OK, INFO)
    outcome[firsts.is_in("outcome", "fail")] = FAIL
    return table_from(
        _OPERATIONS,
        firsts.ints("op"),
        firsts.is_in("f", "txn").astype(np.int64),
        outcome,
        firsts.ints("invoked_ns"),
        firsts.ints("completed_ns", null=NEVER_NS),
        asked_ns(firsts),
        np.add.reduceat(few.is_in("kind", "send").astype(np.int64), rows),
    )


def asked_ns(of: Batch) -> Ints:
    """The earliest that the end of the operation of each row can have been asked for."""
    ends = (of.ints(name, null=NEVER_NS) for name in ("completed_ns", "end_asked_ns"))
    return np.where(of.is_valid("end_asked_ns"), np.minimum(*ends), of.ints("invoked_ns"))


def _spans(batch: Batch) -> pa.Table:
    completed = batch.ints("completed_ns", null=NEVER_NS)
    if not len(completed):
        return _SPANS.empty_table()
    ascending = int(np.all(completed[1:] >= completed[:-1]))
    bounds = (completed.min(), completed.max(), ascending)
    return table_from(_SPANS, *(np.array([bound]) for bound in bounds))


def _in_order(spans: Batch) -> bool:
    """Operations are numbered as they completed."""
    first, last = spans.ints("first_ns"), spans.ints("last_ns")
    return bool(np.all(spans.ints("ascending")) and np.all(first[1:] >= last[:-1]))


# ---------------------------------------------------------------- blocks of places


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a block of places has to know of the history."""

    unconfirmed: UnconfirmedValues
    sending: Bitset  # transactions that ended ok and send
    several: Bitset  # several records
    furthest: Batch  # keys ascend
    in_order: bool


@dataclass(frozen=True, slots=True)
class _Block:
    unread: pa.Table
    early: pa.Table
    shown: pa.Table
    count: pa.Table


def _second_look(wanted: Wanted) -> tuple[Stage[pa.Table], ...]:
    parts = (("unread", _UNREAD), ("early", _EARLY), ("shown", WORDS), ("count", _COUNT))
    title = "what was read of transactions"
    return tuple(
        Stage(
            Source.RECORD_LOCATIONS,
            Kernel(title, RECORD_COLUMNS, schema, partial(_part, wanted, name)),
        )
        for name, schema in parts
    )


def _part(wanted: Wanted, name: str, batch: Batch) -> pa.Table:
    made: pa.Table = getattr(batch.derived(("transactions",), partial(_block, wanted)), name)
    return made


def _block(wanted: Wanted, batch: Batch) -> _Block:
    key, offset, value = (batch.ints(name) for name in ("key", "offset", "value"))
    op, role = batch.ints("op"), role_of(batch)
    sent = np.flatnonzero((role == SEND_OK) & ~wanted.unconfirmed.of(batch))
    sent = sent[wanted.sending.has(op.take(sent))]
    # everything that was shown where one of them lies
    place = location_of(batch)

    def first(those: Mask) -> Ints:
        """For each of the sends the first operation of those of its place; LAST if none."""
        ops, rows = np.full(len(first_rows(batch)), LAST), np.flatnonzero(those)[::-1]
        ops[place.take(rows)] = op.take(rows)  # operations of one place ascend
        return ops.take(place.take(sent))

    reader = first(role == POLL_OK)
    read = reader != LAST
    due = offset[sent] <= per_key(key[sent], partial(reach, wanted.furthest))
    some = np.flatnonzero(~read & due)
    gone, known, cleanly = sent[some], reader, reader
    if len(gone):
        shows = (role == SEND_OK) | (role >= POLL_OK)
        known, cleanly = first(shows), first(shows & (role < UNCOMMITTED))
    early = np.flatnonzero(read & ((reader < op[sent]) | (not wanted.in_order)))
    shown = op[sent[np.flatnonzero(read)]]
    return _Block(
        unread=table_from(
            _UNREAD, key[gone], offset[gone], value[gone], op[gone], known[some], cleanly[some]
        ),
        early=table_from(
            _EARLY, key[sent[early]], value[sent[early]], reader[early], op[sent[early]]
        ),
        shown=packed(shown[np.flatnonzero(wanted.several.has(shown))]),
        count=table_from(_COUNT, np.array([np.count_nonzero(read)])),
    )


def reach(of: Batch, key: Ints) -> Ints:
    """The offset of each key; UNKNOWN, which is below all, if it has none."""
    keys = of.ints("key")
    at = np.searchsorted(keys, key)
    inside = at < len(keys)
    inside[inside] = keys[at[inside]] == key[inside]
    reached: Ints = np.r_[of.ints("offset"), UNKNOWN_OFFSET][np.where(inside, at, -1)]
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
        return min(self.sent_by, key=lambda it: (it[1] == SEND_FAIL, it[0]))[0]

    def place(self) -> tuple[int, int] | None:
        """The last offset at which the log shows it, and the first operation that did."""
        if not self.lies:
            return None
        offset = max(offset for offset, _ in self.lies)
        return offset, min(op for at, op in self.lies if at == offset)


def stray_records(unconfirmed: UnconfirmedValues) -> dict[Record, Stray]:
    """The strays one by one; made once for all that look at them."""
    return unconfirmed.observations.derived(("records",), lambda _: _stray_records(unconfirmed))


def _stray_records(unconfirmed: UnconfirmedValues) -> dict[Record, Stray]:
    records: defaultdict[Record, Stray] = defaultdict(Stray)
    seen, sent = unconfirmed.observations, unconfirmed.sends
    polls = (seen.ints(name).tolist() for name in ("key", "value", "offset", "op", "role"))
    sends = (sent.ints(name).tolist() for name in ("key", "value", "offset", "op", "role"))
    dirty: defaultdict[Record, list[tuple[int, int]]] = defaultdict(list)
    for key, value, offset, op, role in zip(*polls, strict=True):
        if role < POLL_OK:  # a send: those without an offset are not among the places
            continue
        if role == POLL_OK:
            records[key, value].readers.append(op)
        if offset != UNKNOWN_OFFSET:
            into = dirty[key, value] if role & UNCOMMITTED else records[key, value].lies
            into.append((offset, op))
    rows = list(zip(*sends, strict=True))
    for key, value, _, op, role in rows:
        records[key, value].sent_by.append((op, role))
    took_effect = {
        op for it in records.values() if it.readers for op, role in it.sent_by if role == SEND_INFO
    }
    for key, value, offset, op, role in rows:
        if offset != UNKNOWN_OFFSET and (role == SEND_OK or op in took_effect):
            records[key, value].lies.append((offset, op))
    for record, lies in dirty.items():
        if not any(role == SEND_FAIL for _, role in records[record].sent_by):
            records[record].lies.extend(lies)
    return dict(records)


# ---------------------------------------------------------------- together


@dataclass(frozen=True, slots=True)
class Unread:
    """What is known of transactions and their readers when every piece was looked at twice."""

    records: dict[Record, Stray]
    operations: dict[int, dict[str, int]]  # of strays
    furthest: Batch  # how far readers came; keys ascend
    shown: Bitset  # transactions that ended ok with several records, of which confirmed ones read
    early: Batch  # confirmed records of transactions that were read before these completed
    read: int  # confirmed records of transactions that were read
    unread: Batch  # confirmed records below where readers came
    untold: Batch  # records that nobody was given, at nobody knows which offset


def unread(context: Context) -> Plan[Unread]:
    """Looks at the history, then at the places."""
    sending, several, reached, untold, operations, spans = yield from collect_all(
        _first_look(context)
    )
    far = Batch(reached)
    far = Batch(furthest(far.ints("key"), far.ints("offset"), far.ints("op")))
    wanted = Wanted(
        unconfirmed=context.unconfirmed,
        sending=Bitset.of(sending),
        several=Bitset.of(several),
        furthest=far,
        in_order=_in_order(Batch(spans)),
    )
    gone, early, shown, count = yield from collect_all(_second_look(wanted))
    return Unread(
        records=stray_records(context.unconfirmed),
        operations={row["op"]: row for row in operations.to_pylist()},
        furthest=far,
        shown=Bitset.of(shown),
        early=Batch(early),
        read=sum(count["count"].to_pylist()),
        unread=Batch(gone),
        untold=Batch(untold),
    )
