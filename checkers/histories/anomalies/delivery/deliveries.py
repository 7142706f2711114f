"""Inquiry into delivery semantics: what each application was delivered again, and what it skipped.

What applications were given and where acknowledged records lie is a bit each. The places of strays,
and those that show several values, are left out of it: everything that was polled of what lies
there comes to one place. For an application that was delivered something again only the piece in
which that first happened is looked at, and of what it skipped the first place.

Source: `properties.delivery`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.delivery import consumption
from checkers.histories.anomalies.delivery.consumption import (
    COLUMNS,
    FAIL,
    FIRST,
    IN_FULL,
    LOW,
    OK,
    PLACED,
    POLLED,
    REACH,
    ROWS,
)
from checkers.histories.anomalies.findings import Context
from checkers.histories.anomalies.transactions.unread import Record, Stray, stray_records
from checkers.histories.columnar.bitset import count, members
from checkers.histories.columnar.fingerprints import NULL, Ints
from checkers.histories.columnar.sorting import distinct, member, run_lengths, run_starts
from checkers.histories.facts.owner_offsets import OWNER_WORDS, OwnerOffsets, without
from checkers.histories.facts.record_locations import (
    POLL_OK,
    RECORD_COLUMNS,
    SEND_INFO,
    SEND_OK,
    Pairs,
)
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import (
    Plan,
    Source,
    Stage,
    collect,
    in_parallel,
    resolve_fingerprints,
)
from properties.delivery import Delivery, Repetition, Skip

Delivered = tuple[int, int]  # operation, position


@dataclass(frozen=True, slots=True)
class _Again:
    """A record that was delivered again: when, and when first if that is known."""

    second: Delivered
    first: Delivered | None
    key: int
    value: int
    offset: int


@dataclass(frozen=True, slots=True)
class _Gone:
    """A record that was skipped; of one at a place of its own the value is yet to be asked for."""

    key: int
    offset: int
    value: int = NULL
    writer_op: int = -1


@dataclass(slots=True)
class _Account:
    """What is known of one application."""

    group: int
    process: int
    records: int = 0
    repeated: int = 0
    skipped: int = 0
    again: _Again | None = None  # the first
    gone: list[_Gone] = field(default_factory=list[_Gone])  # of each key at least the lowest

    def repeats(self, again: _Again) -> None:
        """Keeps it if nothing was delivered again before."""
        if self.again is None or again.second < self.again.second:
            self.again = again


@dataclass(frozen=True, slots=True)
class _Odd:
    """A record whose place is not its own: where it lies last, and who sent it to effect."""

    offset: int
    writer_op: int


def deliveries(context: Context) -> Plan[tuple[Delivery, ...]]:
    """What each application was delivered that was delivered something, by name."""
    title = "what applications were given"
    ok, info, sent, reached, shared = yield from in_parallel(
        collect(
            Stage(
                Source.OPERATIONS,
                Kernel(title, COLUMNS, OWNER_WORDS, partial(consumption.given, "ok")),
            )
        ),
        collect(
            Stage(
                Source.OPERATIONS,
                Kernel(title, COLUMNS, OWNER_WORDS, partial(consumption.given, "info")),
            )
        ),
        collect(
            Stage(
                Source.RECORD_LOCATIONS,
                Kernel(
                    "what was acknowledged", RECORD_COLUMNS, OWNER_WORDS, consumption.acknowledged
                ),
            )
        ),
        collect(Stage(Source.OPERATIONS, Kernel(title, COLUMNS, REACH, consumption.reach))),
        collect(
            Stage(
                Source.RECORD_LOCATIONS,
                Kernel("places of several values", RECORD_COLUMNS, ROWS, consumption.shared),
            )
        ),
    )
    reach, at_shared, unconfirmed = (
        Batch(consumption.furthest(reached)),
        Batch(shared),
        context.unconfirmed,
    )
    several = at_shared.where(at_shared.ints("role") == SEND_OK)
    records = Pairs.of(
        np.r_[unconfirmed.keys, several.ints("key")],
        np.r_[unconfirmed.values, several.ints("value")],
    )
    ops = distinct(
        np.concatenate(
            [
                of.ints("op")[of.ints("role") >= POLL_OK]
                for of in (unconfirmed.observations, at_shared)
            ]
        )
    )
    run, title = partial(consumption.polls_of, ops, records), "who was given strays"
    polls = yield from collect(
        Stage(Source.OPERATIONS, Kernel(title, IN_FULL, POLLED, run, ops=ops), Batch)
    )
    places = unconfirmed.observations.where(
        unconfirmed.observations.ints("offset") != UNKNOWN_OFFSET
    )
    odd_keys = np.r_[places.ints("key"), several.ints("key")]
    odd_offsets = np.r_[places.ints("offset"), several.ints("offset")]
    ok, info, sent = (without(told, odd_keys, odd_offsets) for told in (ok, info, sent))
    delivered, unknown, log = OwnerOffsets.of(ok), OwnerOffsets.of(info), OwnerOffsets.of(sent)
    accounts = _accounts(reach, polls)
    _count(accounts, delivered)
    _skips(context, accounts, reach, log, delivered, unknown)
    _odd(context, accounts, reach, several, polls)
    yield from _repetitions(accounts, ok, delivered)
    return (yield from _told(accounts, reach))


def _accounts(reach: Batch, polls: Batch) -> dict[int, _Account]:
    """One of each application that was delivered something."""
    accounts: dict[int, _Account] = {}
    for of, ended_ok in (
        (reach, reach.ints("high") != LOW),
        (polls, polls.ints("outcome") == OK),
    ):
        some = of.where(ended_ok)
        for owner, group, process in zip(
            *(some.ints(name).tolist() for name in ("owner", "group", "process")), strict=True
        ):
            accounts.setdefault(owner, _Account(group, process))
    return accounts


def _count(accounts: dict[int, _Account], delivered: OwnerOffsets) -> None:
    for owner, rows in _rows_of(delivered.owner):
        accounts[owner].records += count(delivered.bits[rows])
        accounts[owner].repeated += count(delivered.repeated[rows])


def _rows_of(owner: Ints) -> list[tuple[int, slice]]:
    """The rows of each owner, which lie together."""
    starts = run_starts(owner)
    ends = starts + run_lengths(starts, len(owner))
    return [
        (int(owner[first]), slice(first, end))
        for first, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def _low(context: Context, reach: Batch) -> Ints:
    """From where on an application must have been given everything."""
    return np.maximum(reach.ints("low"), context.log_starts.of(reach.ints("key")))


def _skips(
    context: Context,
    accounts: dict[int, _Account],
    reach: Batch,
    log: OwnerOffsets,
    delivered: OwnerOffsets,
    unknown: OwnerOffsets,
) -> None:
    """Acknowledged records that applications went past, each at a place of its own."""
    low, high, key = _low(context, reach), reach.ints("high"), reach.ints("key")
    for owner, rows in _rows_of(reach.ints("owner")):
        some = np.arange(rows.start, rows.stop)
        some = some[high[some] > low[some]]
        nobody = np.zeros(len(some), dtype=np.int64)
        stretch, row, bits = log.within(nobody, key[some], low[some], high[some])
        whose = np.full(len(row), owner)
        for given in (delivered, unknown):
            at = given.at(whose, log.key[row], log.word[row])
            had = np.flatnonzero(at >= 0)
            bits[had] &= ~given.bits[at[had]]
        missed = np.flatnonzero(bits)
        if len(missed):
            account = accounts[owner]
            account.skipped += count(bits[missed])
            first = missed[run_starts(stretch[missed])]
            of_word, offset = members(log.word[row[first]], bits[first])
            lowest = offset[run_starts(of_word)]
            keys = log.key[row[first]].tolist()
            account.gone.extend(map(_Gone, keys, lowest.tolist()))


def _odd(
    context: Context, accounts: dict[int, _Account], reach: Batch, several: Batch, polls: Batch
) -> None:
    """The same of records whose place is not their own."""
    given: defaultdict[int, set[Record]] = defaultdict(set)
    times: defaultdict[tuple[int, Record], list[tuple[int, int]]] = defaultdict(list)
    names = ("owner", "key", "value", "op", "position", "outcome")
    for owner, key, value, op, position, outcome in zip(
        *(polls.ints(name).tolist() for name in names), strict=True
    ):
        if outcome != FAIL:
            given[owner].add((key, value))
        if outcome == OK:
            times[owner, (key, value)].append((op, position))
    for (owner, record), of_record in times.items():
        account = accounts[owner]
        account.records += 1
        if len(of_record) > 1:
            account.repeated += 1
            first, second, *_ = sorted(of_record)
            account.repeats(_Again(second, first, *record, UNKNOWN_OFFSET))
    records = _odd_records(context, several)
    of_key: defaultdict[int, list[_Gone]] = defaultdict(list)
    for (key, value), odd in records.items():
        of_key[key].append(_Gone(key, odd.offset, value, odd.writer_op))
    low = _low(context, reach).tolist()
    columns = (reach.ints(name).tolist() for name in ("owner", "key", "high"))
    for owner, key, high, begin in zip(*columns, low, strict=True):
        for it in of_key.get(key, ()):
            if begin <= it.offset < high and (key, it.value) not in given[owner]:
                accounts[owner].skipped += 1
                accounts[owner].gone.append(it)


def _odd_records(context: Context, several: Batch) -> dict[Record, _Odd]:
    """Those that took effect at a known place."""
    records: dict[Record, _Odd] = {}
    columns = (several.ints(name).tolist() for name in ("key", "offset", "value", "op"))
    for key, offset, value, op in zip(*columns, strict=True):
        records[key, value] = _Odd(offset, op)
    committed = set(context.unconfirmed.committed.tolist())
    for record, stray in stray_records(context.unconfirmed).items():
        records.pop(record, None)
        writer, place = _writer(stray, committed), stray.place()
        if writer is not None and place is not None:
            records[record] = _Odd(place[0], writer)
    return records


def _writer(stray: Stray, committed: set[int]) -> int | None:
    """The first operation that sent it and took effect."""
    took_effect = (
        op
        for op, role in stray.sent_by
        if role == SEND_OK or (role == SEND_INFO and op in committed)
    )
    return min(took_effect, default=None)


# ---------------------------------------------------------------- what the words name


def _repetitions(
    accounts: dict[int, _Account], told: pa.Table, delivered: OwnerOffsets
) -> Plan[None]:
    """Of each application the record that was first delivered again."""
    again = delivered.where(delivered.repeated != 0)
    where = {owner: int(again.repeated_in[some].min()) for owner, some in _rows_of(again.owner)}
    if not where:
        return
    owners = np.array(sorted(where), dtype=np.int64)
    pieces = np.array([where[owner] for owner in owners.tolist()], dtype=np.int64)
    at = replace(again, repeated_in=pieces[np.searchsorted(owners, again.owner)])
    run, title = partial(consumption.repeating, at), "what came again"
    some = frozenset(where.values())
    rows = yield from collect(
        Stage(Source.OPERATIONS, Kernel(title, IN_FULL, POLLED, run, partitions=some), Batch)
    )
    shown = Batch(told)
    shown = shown.where(member(shown.ints("owner"), owners))
    earlier = shown.ints("batch") < pieces[np.searchsorted(owners, shown.ints("owner"))]
    for owner, it in _seconds(rows, OwnerOffsets.of(shown.where(earlier).table)).items():
        accounts[owner].repeats(it)
    open_still = [
        (owner, it.again)
        for owner, it in accounts.items()
        if it.again is not None and it.again.first is None
    ]
    key, offset = (
        np.array([getattr(it, name) for _, it in open_still], dtype=np.int64)
        for name in ("key", "offset")
    )
    first = partial(
        consumption.first_of, np.array([it[0] for it in open_still], np.int64), key, offset
    )
    found = yield from collect(
        Stage(Source.OPERATIONS, Kernel("when it first came", IN_FULL, FIRST, first))
    )
    earliest: dict[int, Delivered] = {}
    for row in found.to_pylist():
        delivery = row["op"], row["position"]
        earliest[row["asked"]] = min(delivery, earliest.get(row["asked"], delivery))
    for number, (owner, it) in enumerate(open_still):
        accounts[owner].again = replace(it, first=earliest[number])


def _seconds(rows: Batch, before: OwnerOffsets) -> dict[int, _Again]:
    """Of each application what first came again; `before` is what had come in earlier pieces."""
    names = ("owner", "key", "value", "offset", "op", "position")
    columns = [rows.ints(name) for name in names]
    had = before.has(columns[0], columns[1], columns[3])
    order = np.lexsort([columns[5], columns[4]])
    seen: set[tuple[int, int, int]] = set()
    found: dict[int, _Again] = {}
    ordered = (column[order].tolist() for column in (*columns, had))
    for owner, key, value, offset, op, position, earlier in zip(*ordered, strict=True):
        if owner not in found and (earlier or (owner, key, offset) in seen):
            found[owner] = _Again((op, position), None, key, value, offset)
        seen.add((owner, key, offset))
    return found


def _told(accounts: dict[int, _Account], reach: Batch) -> Plan[tuple[Delivery, ...]]:
    """The accounts in words that can be read."""
    yield from _values(accounts)
    named: list[_Gone | _Again] = [it for account in accounts.values() for it in account.gone]
    named += [it.again for it in accounts.values() if it.again]
    key_of, value_of, group_of = yield from in_parallel(
        _spelled([it.key for it in named], "key"),
        _spelled([it.value for it in named], "value"),
        _spelled([it.group for it in accounts.values()], "group"),
    )
    high: dict[Record, tuple[int, int]] = {}
    columns = (reach.ints(name).tolist() for name in ("owner", "key", "high", "high_op"))
    for owner, key, offset, op in zip(*columns, strict=True):
        high[owner, key] = offset, op
    made: list[Delivery] = []
    for owner, account in accounts.items():
        alone = account.group == NULL
        name = f"process {account.process}" if alone else f"group {group_of[account.group]}"
        skips = (
            Skip(
                application=name,
                key=key_of[it.key],
                offset=it.offset,
                value=value_of[it.value],
                writer_op=it.writer_op,
                beyond_offset=high[owner, it.key][0],
                beyond_op=high[owner, it.key][1],
            )
            for it in account.gone
        )
        repetition = None
        if (twice := account.again) and twice.first:
            repetition = Repetition(
                application=name,
                key=key_of[twice.key],
                value=value_of[twice.value],
                first_op=twice.first[0],
                second_op=twice.second[0],
            )
        made.append(
            Delivery(
                application=name,
                records=account.records,
                repeated=account.repeated,
                skipped=account.skipped,
                repetition=repetition,
                skip=min(skips, default=None),
            )
        )
    return tuple(sorted(made, key=lambda it: it.application))


def _values(accounts: dict[int, _Account]) -> Plan[None]:
    """Asks for what was acknowledged at the places that were skipped."""
    plain = [it for account in accounts.values() for it in account.gone if it.value == NULL]
    if not plain:
        return
    keys, offsets = (
        np.array([getattr(it, name) for it in plain], dtype=np.int64) for name in ("key", "offset")
    )
    run = partial(consumption.placed_at, Pairs.of(keys, offsets))
    sent = yield from collect(
        Stage(Source.RECORD_LOCATIONS, Kernel("what was skipped", RECORD_COLUMNS, PLACED, run))
    )
    at: dict[Record, _Gone] = {}
    for row in sent.to_pylist():
        place = row["key"], row["offset"]
        at[place] = _Gone(*place, row["value"], row["op"])
    for account in accounts.values():
        account.gone = [at[it.key, it.offset] if it.value == NULL else it for it in account.gone]


def _spelled(numbers: list[int], column: str) -> Plan[dict[int, str]]:
    asked = np.array(numbers, dtype=np.int64)
    text_of = yield from resolve_fingerprints(asked, column=column)
    return dict(zip(numbers, text_of(asked).to_pylist(), strict=True))
