"""What of a log may be gone, legally: records below its start, and any of a compacted topic.

A log starts where a client was told that it starts; retention, DeleteRecords and the truncation of
a topic only ever move it up. Of what lies below the highest start that was told nothing is
demanded, whenever it was told. Of a topic that is declared compacted nothing is demanded at all:
which records have a later one of the same record key no history tells.

Simplified: a record that a reader missed before it was deleted is not told from one that was
deleted before the reader came.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from model.histories import History, StartOffset
from properties.anomalies.declarations import Declarations

BEGINNING: Final = -(2**63)  # below every offset: everything has to be there
NOWHERE: Final = 2**63 - 1  # above every offset: nothing of the log has to be there


def kept_from(history: History, declared: Declarations) -> Callable[[str], int]:
    """For each key the offset from which on everything must be there."""
    starts: dict[str, int] = {}
    for operation in history:
        for micro in operation.did:
            if isinstance(micro, StartOffset) and operation.outcome == "ok":
                starts[micro.key] = max(micro.offset, starts.get(micro.key, BEGINNING))
    return lambda key: NOWHERE if declared.compacts(key) else starts.get(key, BEGINNING)
