"""Inquiry into operations that polled what they sent themselves: each is decided where it lies.

Source: `properties.anomalies.log.precommitted_read`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.anomalies.findings import Family, Found, Known
from checkers.histories.columnar.rows import schema_of
from checkers.histories.columnar.sorting import begins, lengths, member
from checkers.histories.facts.record_locations import UNCOMMITTED, any_of, roles, together
from checkers.histories.plan.batch import Piece
from checkers.histories.plan.batches import Kernel
from checkers.histories.plan.stage import OPERATIONS, Ask, Inquiry, spelled
from model.histories import Isolation
from properties.anomalies.log.precommitted_read import ANOMALY, PrecommittedRead

_READS: Final = ("op", "outcome", "kind", "key", "value", "isolation")
_OWN: Final = pa.schema([(name, pa.int64()) for name in ("op", "key", "value", "operations")])


def own_reads(known: Known) -> Inquiry[tuple[Found, ...]]:
    """What operations at read_committed both sent and polled."""
    run = partial(_own, known.declared.isolation)
    told = yield Ask(OPERATIONS, Kernel("what was sent and polled at once", _READS, _OWN, run))
    found = Piece(told.filter(pa.array(Piece(told).ints("operations") == 0)))
    key_of = yield from spelled(found.ints("key"), column="key")
    value_of = yield from spelled(found.ints("value"))
    columns = {
        "key": key_of(found.ints("key")),
        "value": value_of(found.ints("value")),
        "op": found.ints("op"),
    }
    rows = pa.table(columns).cast(schema_of(PrecommittedRead))
    return (Found(id=ANOMALY.id, rows=rows, observations=sum(told["operations"].to_pylist())),)


def _own(isolation: Isolation, piece: Piece) -> pa.Table:
    """The records, and in a last row how many operations sent and polled something."""
    sends = piece.is_("kind", "send")
    polls = piece.is_("kind", "poll") & (roles(piece, isolation) < UNCOMMITTED)
    op = piece.ints("op")
    starts = begins(op)
    both = any_of(sends, starts) & any_of(polls, starts)
    count = int(np.count_nonzero(both))
    if not count:
        return _OWN.empty_table()
    inside = np.repeat(both, lengths(starts, len(op)))
    sent, polled = np.flatnonzero(inside & sends), np.flatnonzero(inside & polls)
    key, value = piece.fingerprints("key"), piece.fingerprints("value")
    records = [together(op[it], together(key[it], value[it])) for it in (sent, polled)]
    some = member(records[1], np.unique(records[0]))
    own = polled[some][np.unique(records[1][some], return_index=True)[1]]
    columns = {
        "op": np.r_[op[own], 0],
        "key": np.r_[key[own], 0],
        "value": np.r_[value[own], 0],
        "operations": np.r_[np.zeros(len(own), dtype=np.int64), count],
    }
    return pa.table(columns, schema=_OWN)


FAMILIES: Final = (Family(ids=(ANOMALY.id,), inquiry=own_reads, strays=False),)
