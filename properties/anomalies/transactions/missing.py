"""What is missing of a transaction that committed: readers came as far and were not given it.

A record is missing if no reader was given it although readers came as far as it can lie:

    at       its place: it was acknowledged at an offset, or seen at one by somebody
    up to    if nobody knows its place: it was in the log when its transaction committed, so it lies
             below every record acknowledged to a send that was invoked after that, and below every
             high watermark that a client asked for after that

and a reader was given a record that lies there or higher. The last stable offset bounds nothing: it
waits below a transaction whose marker is not yet written. What a log may have dropped (`retention`)
is not missing; nor is a record of unknown place of a log that may have dropped anything.

Simplified: that readers passed is told by the highest offset that any of them was given, as for
`lost-write`: a history in which nobody reads from the beginning shows losses that are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from model.histories import EndOffset, History, Send
from properties.anomalies.declarations import Declarations
from properties.anomalies.observations import dirty, placings
from properties.anomalies.retention import kept_from
from properties.anomalies.transactions.visible import first_readers, furthest_readers, sent_by

Lies = Literal["at", "up to"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A record of a transaction that readers passed without being given it."""

    key: str
    value: str
    lies: Lies
    offset: int  # where it lies, or the highest at which it can
    known_op: int  # who told
    read_offset: int  # how far readers came
    reader_op: int


def missing_of(history: History, declared: Declarations) -> Callable[[int, int], Iterator[Missing]]:
    """What is missing of the operation with a number, if all that it sent was in the log then."""
    readers, furthest = first_readers(history), furthest_readers(history)
    kept = kept_from(history, declared)

    def missing(op: int, in_log_ns: int) -> Iterator[Missing]:
        for send in sent_by(history[op]):
            if (send.key, send.value) in readers or send.key not in furthest:
                continue
            place = _place(history, send)
            bound = place or _bound(history, send.key, in_log_ns)
            read_offset, reader = furthest[send.key]
            if bound is None or bound[0] > read_offset:
                continue
            if kept(send.key) <= (place[0] if place else 0):
                yield Missing(
                    key=send.key,
                    value=send.value,
                    lies="at" if place else "up to",
                    offset=bound[0],
                    known_op=bound[1],
                    read_offset=read_offset,
                    reader_op=reader,
                )

    return missing


def _place(history: History, send: Send) -> tuple[int, int] | None:
    """The last offset at which the log shows it, and the first operation that did."""
    seen = [
        (-s.offset, s.op) for s in placings(history) if (s.key, s.value) == (send.key, send.value)
    ]
    return (-min(seen)[0], min(seen)[1]) if seen else None


def _bound(history: History, key: str, in_log_ns: int) -> tuple[int, int] | None:
    """The highest offset at which a record can lie that was in the log then, and who told."""
    bounds = [
        (micro.offset - 1, number)
        for number, operation in enumerate(history)
        if operation.outcome == "ok" and operation.invoked_ns > in_log_ns
        for micro in operation.did
        if isinstance(micro, Send) or (isinstance(micro, EndOffset) and dirty(operation))
        if micro.key == key and micro.offset is not None
    ]
    return min(bounds, default=None)
