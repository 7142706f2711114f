"""Whether a history has any operation: judged as Jepsen does, one that has none is invalid."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from checkers.histories.anomalies.findings import Family, Found, Known
from checkers.histories.columnar.rows import schema_of
from checkers.histories.plan.batch import Piece
from checkers.histories.plan.batches import Kernel
from checkers.histories.plan.stage import OPERATIONS, Ask, Inquiry
from properties.anomalies.empty_history import ANOMALY, EmptyHistory

_PIECES: Final = pa.schema([("op", pa.int64())])


def empty(known: Known) -> Inquiry[tuple[Found, ...]]:
    """A row if no piece has an operation."""
    del known
    some = yield Ask(OPERATIONS, Kernel("is there anything", ("op",), _PIECES, _first))
    rows = [] if some.num_rows else [{"operations": 0}]
    table = pa.Table.from_pylist(rows, schema=schema_of(EmptyHistory))
    return (Found(id=ANOMALY.id, rows=table, observations=1),)


def _first(piece: Piece) -> pa.Table:
    return piece.table.select(["op"]).slice(0, 1).cast(_PIECES)


FAMILIES: Final = (
    Family(ids=(ANOMALY.id,), inquiry=empty, assumes=(), columns=("op",), strays=False),
)
