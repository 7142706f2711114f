"""Defines the kernels (functions on rows) that collect the offsets that each application polled, as
bitsets.

    c1 poll -> ok k=a@0 k=b@1       op 0
    c1 poll -> ok k=b@1 k=c@70      op 1

    delivered_offsets   word 0 of k: bits 0 1, repeated 1
                        word 1 of k: bits 6
    extents             k: lowest offset 0, highest offset 70, polled by op 1

An application is a consumer group, or a process without a group. The bitset of an application for a
topic partition has one bit for each offset, in 64-bit words. For example, offset 70 is bit 6 of
word 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.bitset import word_of
from checkers.histories.columnar.fingerprints import NULL, Ints, fingerprints
from checkers.histories.columnar.pairs import Pairs, hash_of_pair
from checkers.histories.columnar.sorting import (
    Mask,
    codes,
    first_occurrences,
    member,
    run_lengths,
    run_starts,
)
from checkers.histories.facts.owner_offsets import OWNER_WORDS, OwnerOffsets, packed_offsets
from checkers.histories.facts.record_locations import POLL_OK, SEND_OK, role_of
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch

OK, INFO, FAIL = range(3)
NO_GROUP: Final = np.int64(-1)
COLUMNS: Final = ("op", "outcome", "process", "kind", "key", "offset", "group")
IN_FULL: Final = (*COLUMNS, "value", "position")
REACH: Final = int64_schema("owner", "group", "process", "key", "low", "high", "high_op")
POLLED: Final = int64_schema(
    "owner", "group", "process", "key", "value", "offset", "op", "position", "outcome"
)
PLACED: Final = int64_schema("key", "offset", "value", "op")
ROWS: Final = int64_schema("key", "offset", "value", "op", "role")
FIRST: Final = int64_schema("query", "op", "position")
LOW: Final = -(2**63)  # the highest offset if nothing was delivered
LAST: Final = 2**63 - 1


def owners(batch: Batch) -> Ints:
    """Returns the owner of each row: its consumer group, or its process if it has no group."""
    starts, owner = _rows_by_application(batch, np.arange(len(batch)))
    return np.repeat(owner, run_lengths(starts, len(batch)))


def _rows_by_application(batch: Batch, rows: Ints) -> tuple[Ints, Ints]:
    group, texts = batch.narrow_codes("group")
    process, group = batch.ints("process").take(rows), group.take(rows)
    starts = run_starts(process, group)
    process, group = process[starts], group[starts]
    alone = hash_of_pair(process, np.full(len(starts), NO_GROUP))
    named = np.r_[fingerprints(texts, batch.hash_seed), NULL][group]
    return starts, np.where(group < 0, alone, named)


@dataclass(frozen=True, slots=True)
class _Polls:
    rows: Ints
    owner: Ints
    key: Ints
    owners: Ints  # the applications by number
    keys: Ints
    heads: Ints  # the first row of each application


def _polls(batch: Batch) -> _Polls:
    return batch.derived(("polls of applications",), _made_polls)


def _made_polls(batch: Batch) -> _Polls:
    rows = np.flatnonzero(batch.is_in("kind", "poll") & batch.is_valid("offset"))
    starts, of_run = _rows_by_application(batch, rows)
    code, _ = codes(of_run)
    seen = first_occurrences(code)
    owner = np.repeat(code, run_lengths(starts, len(rows)))
    code_of_key, texts = batch.narrow_codes("key")
    keys = np.r_[fingerprints(texts, batch.hash_seed), NULL]
    key = code_of_key.take(rows).astype(np.int64) % len(keys)
    return _Polls(rows, owner, key, of_run[seen], keys, rows[starts[seen]])


def delivered_offsets(outcome: str, batch: Batch) -> pa.Table:
    """Returns the offsets that each application polled from each topic partition, as bitsets.

    Only polls with the outcome `outcome` are considered.
    """
    of = _polls(batch)
    some = np.flatnonzero(batch.is_in("outcome", outcome).take(of.rows))
    offset = batch.ints("offset").take(of.rows.take(some))
    made = Batch(packed_offsets(of.owner.take(some), of.key.take(some), offset, batch.number))
    named = of.owners[made.ints("owner")], of.keys[made.ints("key")]
    # One row for each application, key and 64-bit word.
    return table_from(OWNER_WORDS, *named, *(made.ints(name) for name in OWNER_WORDS.names[2:]))


def acknowledged(batch: Batch) -> pa.Table:
    rows = np.flatnonzero((role_of(batch) == SEND_OK) & (batch.ints("offset") != UNKNOWN_OFFSET))
    no_owner = np.zeros(len(rows), dtype=np.int64)
    return packed_offsets(
        no_owner, batch.ints("key")[rows], batch.ints("offset")[rows], batch.number
    )


def extents(batch: Batch) -> pa.Table:
    """Returns the lowest polled offset and the highest delivered offset of each application in each
    topic partition.

    A polled offset is delivered if its poll ended ok. If no poll ended ok, the highest delivered
    offset is LOW.
    """
    of = _polls(batch)
    pair, count = codes(of.owner * len(of.keys) + of.key)
    offset, ok = batch.ints("offset").take(of.rows), batch.is_in("outcome", "ok").take(of.rows)
    high, op = np.where(ok, offset, LOW), batch.ints("op").take(of.rows)
    seen = first_occurrences(pair)
    owner = of.owner[seen]
    return table_from(
        REACH,
        of.owners[owner],
        batch.fingerprints("group")[of.heads[owner]],
        batch.ints("process")[of.heads[owner]],
        of.keys[of.key[seen]],
        *_extent(pair, count, offset, high, op),
    )


def merged_extents(summaries: pa.Table) -> pa.Table:
    of = Batch(summaries)
    pair, count = codes(hash_of_pair(of.ints("owner"), of.ints("key")))
    extent = _extent(pair, count, *(of.ints(name) for name in ("low", "high", "high_op")))
    heads = first_occurrences(pair)
    order = np.lexsort([of.ints("key")[heads], of.ints("owner")[heads]])
    named = (of.ints(name)[heads[order]] for name in ("owner", "group", "process", "key"))
    return table_from(REACH, *named, *(column[order] for column in extent))


def _extent(pair: Ints, count: int, low: Ints, high: Ints, op: Ints) -> tuple[Ints, Ints, Ints]:
    lowest, highest, first = np.full(count, LAST), np.full(count, LOW), np.full(count, LAST)
    np.minimum.at(lowest, pair, low)
    np.maximum.at(highest, pair, high)
    there = np.flatnonzero(high == highest.take(pair))
    np.minimum.at(first, pair.take(there), op.take(there))
    return lowest, highest, first


def at_shared_offsets(batch: Batch) -> pa.Table:
    """Returns the polls and the acknowledged sends at all offsets at which several values were
    observed.
    """
    key, offset, value = (batch.ints(name) for name in ("key", "offset", "value"))
    starts = run_starts(key, offset)  # a block is ordered by key, offset and value
    ends = starts + run_lengths(starts, len(key)) - 1
    several = np.repeat(value[starts] != value[ends], ends - starts + 1)
    rows = np.flatnonzero(several & (offset != UNKNOWN_OFFSET))
    role = role_of(batch)[rows]
    rows = rows[(role == SEND_OK) | (role >= POLL_OK)]
    return table_from(ROWS, *(batch.ints(name)[rows] for name in ROWS.names))


def polls_of(ops: Ints, records: Pairs, batch: Batch) -> pa.Table:
    few = batch.where(batch.rows_of(ops), IN_FULL)
    polls = few.is_in("kind", "poll")
    wanted = polls & records.have(few.fingerprints("key"), few.fingerprints("value"))
    return _polled(few.where(wanted))


def _polled(polls: Batch) -> pa.Table:
    outcome = np.where(polls.is_in("outcome", "ok"), OK, INFO)
    outcome[polls.is_in("outcome", "fail")] = FAIL
    return table_from(
        POLLED,
        owners(polls),
        polls.fingerprints("group"),
        polls.ints("process"),
        polls.fingerprints("key"),
        polls.fingerprints("value"),
        polls.ints("offset", null=UNKNOWN_OFFSET),
        polls.ints("op"),
        polls.ints("position"),
        outcome,
    )


def _delivered(batch: Batch, offsets: Mask) -> Batch:
    few = batch.where(offsets, IN_FULL)
    polled = few.is_in("kind", "poll") & few.is_valid("offset") & few.is_in("outcome", "ok")
    return few.where(polled)


def repeated_deliveries(again: OwnerOffsets, batch: Batch) -> pa.Table:
    """Returns the polls of repeated records in one batch of the history's operations. The
    application that polled such a record received it more than once.

    Each row of `again` has repeated offsets of an application. A row is considered only in the
    batch with the number `repeated_in`, which is the first batch that repeats an offset of the row.
    """
    here = again.where(again.repeated_in == batch.number)
    if not len(here):
        return POLLED.empty_table()
    polls = _delivered(batch, member(word_of(batch.ints("offset")), np.unique(here.word)))
    several = replace(here, bits=here.repeated)
    of = owners(polls), polls.fingerprints("key"), polls.ints("offset")
    return _polled(polls.where(several.has(*of)))


def first_deliveries(owner: Ints, key: Ints, offset: Ints, batch: Batch) -> pa.Table:
    """Returns the polls of this batch by the application `owner[i]`, at the offset `offset[i]` of
    the topic partition `key[i]`, for each index i.

    The column `query` of the result has the index i.
    """
    polls = _delivered(batch, member(batch.ints("offset"), np.unique(offset)))
    polled = hash_of_pair(
        hash_of_pair(owners(polls), polls.fingerprints("key")), polls.ints("offset")
    )
    queries = hash_of_pair(hash_of_pair(owner, key), offset)
    order = np.argsort(queries)
    some = np.flatnonzero(member(polled, queries[order]))
    at = order[np.searchsorted(queries[order], polled[some])]
    return table_from(FIRST, at, polls.ints("op")[some], polls.ints("position")[some])


def acknowledged_at(places: Pairs, batch: Batch) -> pa.Table:
    few = batch.where(places.have(batch.ints("key"), batch.ints("offset")))
    return few.where(role_of(few) == SEND_OK).table.select(PLACED.names)
