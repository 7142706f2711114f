"""The offset of each poll and each send: where this operation received or appended the value.

In this history, each line is an operation of a process, with a comment on the right:

    p1 send k=a  -> ok @0       a is in the log twice: a retry was appended too, at offset 5
    c1 poll      -> ok k=a@0    c1 received a at offset 0, then b at 1, and a again at 5
    c1 poll      -> ok k=b@1
    c1 poll      -> ok k=a@5

So the reader `c1` went forward with each poll. If a send took effect, its offset is the
acknowledged offset. If a send failed, it has no offset. If the history records no offset for a poll
or a send, the poll or send gets the offset of its value, provided that the value was observed at
exactly one offset.

Jepsen has only one offset for each value: the highest offset that the value has in the history (see
`ranking`).
"""

from __future__ import annotations

from collections.abc import Mapping

from model.histories import History, Operation, Poll, Send
from properties.anomalies.observations import (
    KeyValue,
    committed_reads,
    locations,
    must_have_taken_effect,
)
from properties.anomalies.remembered import remembered


@remembered
def own_offsets(history: History) -> Mapping[tuple[int, int], int]:
    """Maps each poll and each send to its offset. A poll or send with an unknown offset is not
    included.

    A key of the result is a pair: the number of the operation, and the position of the poll or send
    in this operation.
    """
    only = {of: offsets[0] for of, offsets in locations(history).items() if len(offsets) == 1}
    read = committed_reads(history)
    own: dict[tuple[int, int], int] = {}
    for number, operation in enumerate(history):
        for position, micro in enumerate(operation.did):
            if isinstance(micro, Poll | Send):
                offset = _offset(operation, micro, read, only)
                if offset is not None:
                    own[number, position] = offset
    return own


def _offset(
    operation: Operation,
    micro: Poll | Send,
    read: frozenset[KeyValue],
    only: Mapping[KeyValue, int],
) -> int | None:
    if isinstance(micro, Send) and operation.outcome == "fail":
        return None
    if isinstance(micro, Poll) or must_have_taken_effect(operation, read):
        shown = micro.offset
    else:
        shown = None
    return only.get((micro.key, micro.value)) if shown is None else shown
