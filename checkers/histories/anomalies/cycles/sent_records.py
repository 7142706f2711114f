"""Collects the records that some transactions sent, and the highest offset at which each record was
observed.

Source: `properties.anomalies.cycles.intermediate_read`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.cycles.dependency_context import UnconfirmedSenders
from checkers.histories.columnar.arrow import int64_schema
from checkers.histories.columnar.fingerprints import Ints, fingerprints
from checkers.histories.columnar.pairs import hash_of_pair
from checkers.histories.columnar.sorting import member
from checkers.histories.plan.batch import UNKNOWN_OFFSET, Batch
from checkers.histories.plan.kernel import Kernel
from checkers.histories.plan.stage import Plan, Source, Stage, collect
from properties.anomalies.transactions.visible import TRANSACTION

_READS: Final = ("op", "f", "outcome", "kind", "key", "offset", "value")
_SENT: Final = pa.schema([*int64_schema("op", "key", "value", "offset"), ("text", pa.string())])


def records_sent_by(committed: Ints, ops: Ints) -> Plan[Batch]:
    """Returns the sends of all transactions in `ops`, except failed transactions.

    If a transaction ended ok, or is in `committed` (the operations that took effect although they
    ended `info`), its sends have their recorded offsets. Any other send has the offset
    UNKNOWN_OFFSET.
    """
    if not len(ops):
        return Batch(_SENT.empty_table())
    title, run = "records of transactions", partial(_sent, committed, ops)
    return (
        yield from collect(
            Stage(Source.OPERATIONS, Kernel(title, _READS, _SENT, run, ops=ops), Batch)
        )
    )


def _sent(committed: Ints, ops: Ints, batch: Batch) -> pa.Table:
    few = batch.where(batch.rows_of(ops))
    wanted = few.is_in("kind", "send") & few.is_in("f", TRANSACTION) & ~few.is_in("outcome", "fail")
    sends = few.where(wanted)
    text = sends.table["value"].combine_chunks()
    took = sends.is_in("outcome", "ok") | member(sends.ints("op"), committed)
    columns = {
        "op": sends.ints("op"),
        "key": sends.fingerprints("key"),
        "value": fingerprints(text, batch.hash_seed),
        "offset": np.where(took, sends.ints("offset", null=UNKNOWN_OFFSET), UNKNOWN_OFFSET),
        "text": text,
    }
    return pa.table(columns, schema=_SENT)


def last_offsets(sent: Batch, senders: UnconfirmedSenders) -> Ints:
    """Returns, for each sent record, the highest offset at which the record was observed.

    The result is UNKNOWN_OFFSET if the record was observed at no offset.
    """
    offsets = sent.ints("offset").copy()
    pairs = hash_of_pair(sent.ints("key"), sent.ints("value"))
    is_unconfirmed = np.flatnonzero(member(pairs, senders.pairs))
    offsets[is_unconfirmed] = senders.last[np.searchsorted(senders.pairs, pairs[is_unconfirmed])]
    return offsets
