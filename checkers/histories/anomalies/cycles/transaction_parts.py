"""Collects the offsets of the parts of transactions, as one bitset for each key (topic partition).

A *part* is a record of a transaction that sent a later record to the same key.

    p1 txn k=a k=b j=c -> ok @0 @1 @5     a part: a, at offset 0 of k
    c1 poll            -> ok k=a@0
    c1 poll            -> ok k=d@2        c1 continues after the part a, and has skipped b

Source: `properties.anomalies.cycles.intermediate_read`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.cycles.dependency_context import UnconfirmedSenders
from checkers.histories.anomalies.cycles.sent_records import last_offsets, records_sent_by
from checkers.histories.anomalies.findings import Context
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.sorting import (
    Mask,
    NumberSet,
    member,
    run_lengths,
    run_starts,
    runs,
)
from checkers.histories.facts.occupied_offsets import OFFSET_WORDS, OffsetCounts, packed_by_key
from checkers.histories.facts.record_locations import SEND_FAIL, proves_location
from checkers.histories.facts.retention import LogStarts
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Plan, Source, Stage, collect, in_parallel

_READS: Final = ("op", "f", "outcome", "kind", "key", "offset")


def transaction_parts(context: Context) -> Plan[OffsetCounts]:
    """Returns the offsets of the parts of all transactions. A part is a record of a transaction
    that is not the transaction's last record in its key (topic partition).

    If retention may have deleted the last record of a transaction in a key, the result does not
    have the transaction's offsets in this key.
    """
    sends = context.unconfirmed.sends
    ops = np.unique(sends.ints("op")[sends.ints("role") != SEND_FAIL])
    run = partial(_confirmed_parts, NumberSet(ops), context.log_starts)
    kernel = Kernel("parts of transactions", _READS, OFFSET_WORDS, run)
    words, sent = yield from in_parallel(
        collect(Stage(Source.OPERATIONS, kernel)),
        records_sent_by(context.unconfirmed.committed, ops),
    )
    return OffsetCounts.of(pa.concat_tables([words, _unconfirmed_parts(context, sent)]))


def _confirmed_parts(unconfirmed_ops: NumberSet, log_starts: LogStarts, batch: Batch) -> pa.Table:
    sends = batch.is_in("kind", "send") & batch.is_in("f", "txn") & batch.is_in("outcome", "ok")
    rows = np.flatnonzero(sends & batch.is_valid("offset"))
    op = batch.ints("op").take(rows)
    run = np.cumsum(np.r_[False, op[1:] != op[:-1]][: len(op)])
    codes, texts = batch.narrow_codes("key")
    group = run * len(texts) + codes.take(rows)
    some = np.flatnonzero(_occurs_again(group))
    some = some[~unconfirmed_ops.has(op[some])]
    rows, group = rows[some], group[some]
    offset = batch.ints("offset").take(rows)
    if not _ascending(group, offset):
        order, _ = runs(group, offset)
        rows, group, offset = rows[order], group[order], offset[order]
    starts = run_starts(group)
    lengths = run_lengths(starts, len(group))
    last = np.repeat(offset[starts + lengths - 1], lengths)
    part = np.flatnonzero(offset < last)
    return _words(batch.fingerprints("key")[rows[part]], offset[part], last[part], log_starts)


def _occurs_again(group: Ints) -> Mask:
    """Returns a mask: True for each element of `group` that occurs in it more than once."""
    ascending = bool(np.all(group[1:] >= group[:-1]))
    ordered = group if ascending else np.sort(group)
    same: Mask = ordered[1:] == ordered[:-1]
    if ascending:
        again: Mask = np.r_[False, same][: len(group)] | np.r_[same, False][: len(group)]
        return again
    repeated = ordered[1:][same]
    return member(group, repeated[run_starts(repeated)])


def _ascending(group: Ints, offset: Ints) -> bool:
    later = group[1:] > group[:-1]
    same = (group[1:] == group[:-1]) & (offset[1:] >= offset[:-1])
    return bool(np.all(later | same))


def _words(key: Ints, offset: Ints, last: Ints, log_starts: LogStarts) -> pa.Table:
    """Returns a table with one bitset for each key (topic partition). The bitset has the offsets of
    all records that are not the last ones of their transaction in the key.

    For each entry of `offset`, `last` has the last offset of the transaction that sent the record.
    If retention may have deleted the record at this last offset, the entry is ignored.
    """
    some = np.flatnonzero((offset < last) & (last >= log_starts.of(key)))
    key, offset = key[some], offset[some]
    if not _ascending(key, offset):
        order, _ = runs(key, offset)
        key, offset = key[order], offset[order]
    return packed_by_key(key, offset)


def _unconfirmed_parts(context: Context, sent: Batch) -> pa.Table:
    unconfirmed, key = context.unconfirmed, sent.ints("key")
    place = last_offsets(sent, UnconfirmedSenders.of(unconfirmed))
    _, group = np.unique(hash_of_pair(sent.ints("op"), key), return_inverse=True)
    last = np.full(len(sent), UNKNOWN_OFFSET)
    np.maximum.at(last, group, place)
    proofs = proves_location(unconfirmed.observations, unconfirmed.committed)
    observed = unconfirmed.observations.where(proofs)
    pair = hash_of_pair(key, sent.ints("value"))
    order = np.argsort(pair)
    of = hash_of_pair(observed.ints("key"), observed.ints("value"))
    theirs = np.flatnonzero(member(of, pair[order]))
    rows = np.r_[np.arange(len(sent)), order[np.searchsorted(pair, of[theirs], sorter=order)]]
    offset = np.r_[place, observed.ints("offset")[theirs]]
    known = offset != UNKNOWN_OFFSET
    rows = rows[known]
    return _words(key[rows], offset[known], last[group[rows]], context.log_starts)
