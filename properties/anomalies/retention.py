"""Records that the log may legally have dropped: records below the log start, and records of a
compacted topic.

The log start of a topic partition is the highest start offset that any client of the history read.
The time of the read does not matter, because the start of a log never moves back. If a topic is
declared as compacted, any of its records may be gone, because the history does not show which
records compaction keeps.

Simplified: a record below the log start is never reported as missing, even if a reader skipped the
record before the log dropped it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from model.histories import History, StartOffset
from properties.anomalies.declarations import Declarations
from properties.anomalies.remembered import remembered

BEGINNING: Final = -(2**63)  # below every offset: every record has to be there
NOWHERE: Final = 2**63 - 1  # above every offset: no record has to be there


@remembered
def kept_from(history: History, declared: Declarations) -> Callable[[str], int]:
    """Returns a function from a topic partition to an offset. The records from this offset on must
    still exist.

    Each row has a condition and the offset. The first row whose condition is true determines the
    result:

        the topic may be compacted   `NOWHERE`: any record may be gone
        a client read the log start  the highest log start that a client read
        otherwise                    `BEGINNING`: every record must exist
    """
    starts: dict[str, int] = {}
    for operation in history:
        for micro in operation.did:
            if isinstance(micro, StartOffset) and operation.outcome == "ok":
                starts[micro.key] = max(micro.offset, starts.get(micro.key, BEGINNING))
    return lambda key: NOWHERE if declared.compacts(key) else starts.get(key, BEGINNING)
