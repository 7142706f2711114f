"""Finds the first reader of each transaction, and the record that this reader polled.

    p1 txn{id=x} k=a j=b -> ok @0 @0      op 0
    c1 poll              -> ok j=b@0      op 1
    c2 poll              -> ok k=a@0      op 2

    first read of op 0   op 1, j=b

Source: `properties.anomalies.transactions.visible`.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.transactions.unconfirmed_records import Record
from checkers.histories.columnar.arrow import int64_schema, table_from
from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.columnar.pairs import Pairs
from checkers.histories.columnar.sorting import run_starts
from checkers.histories.facts.record_locations import POLL_OK, RECORD_COLUMNS, role_of
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Plan, Source, Stage, collect, resolve_fingerprints

_SENT: Final = int64_schema("op", "key", "value")
_READERS: Final = int64_schema("key", "value", "op")


def first_reads(ops: Ints) -> Plan[dict[int, tuple[int, Record]]]:
    """Returns, for each transaction in `ops`, its first reader and the record that this reader
    polled.

    The first reader is the operation with the lowest number that polled a record of the transaction
    at read_committed. A transaction without a reader is not in the result.
    """
    columns = ("op", "kind", "key", "value")
    run = partial(_sent, ops)
    title = "records of transactions"
    sent = yield from collect(
        Stage(Source.OPERATIONS, Kernel(title, columns, _SENT, run, ops=ops), Batch)
    )
    readers = partial(_readers, Pairs.of(sent.ints("key"), sent.ints("value")))
    read = yield from collect(
        Stage(
            Source.RECORD_LOCATIONS,
            Kernel("readers of transactions", RECORD_COLUMNS, _READERS, readers),
        )
    )
    first: dict[Record, int] = {}
    for key, value, op in zip(
        *(read[name].to_pylist() for name in ("key", "value", "op")), strict=True
    ):
        first[key, value] = min(op, first.get((key, value), op))
    parts: defaultdict[int, list[tuple[int, Record]]] = defaultdict(list)
    for op, key, value in zip(*(sent.ints(name).tolist() for name in _SENT.names), strict=True):
        if (key, value) in first:
            parts[op].append((first[key, value], (key, value)))
    earliest = {op: [it for it in some if it[0] == min(some)[0]] for op, some in parts.items()}
    tied = np.array([part for some in earliest.values() for _, part in some], dtype=np.int64)
    tied = tied.reshape(-1, 2)
    key_of = yield from resolve_fingerprints(tied[:, 0], column="key")
    value_of = yield from resolve_fingerprints(tied[:, 1])
    texts = zip(key_of(tied[:, 0]).to_pylist(), value_of(tied[:, 1]).to_pylist(), strict=True)
    text_of = dict(zip(map(tuple, tied.tolist()), texts, strict=True))
    return {op: min(some, key=lambda it: text_of[it[1]]) for op, some in earliest.items()}


def _sent(ops: Ints, batch: Batch) -> pa.Table:
    few = batch.where(batch.rows_of(ops))
    sends = few.where(few.is_in("kind", "send"))
    columns = (sends.ints("op"), sends.fingerprints("key"), sends.fingerprints("value"))
    return table_from(_SENT, *columns)


def _readers(records: Pairs, batch: Batch) -> pa.Table:
    rows = np.flatnonzero(records.have(batch.ints("key"), batch.ints("value")))
    rows = rows[role_of(batch)[rows] == POLL_OK]
    key, value, op = (batch.ints(name)[rows] for name in ("key", "value", "op"))
    order = np.lexsort([op, value, key])
    first = order[run_starts(key[order], value[order])]
    return table_from(_READERS, key[first], value[first], op[first])
