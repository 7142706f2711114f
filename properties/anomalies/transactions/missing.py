"""The missing records of a committed transaction: no reader received them, but readers read on.

A record is missing if no reader received it, although some reader received a record of the same
topic partition at the same offset or at a higher offset. The exact offset of a missing record is
not always known. So a missing record has one of these labels, which say what its field `offset`
means:

    at       the offset was observed: the record was acknowledged, or an operation polled it
    up to    the offset was not observed; later operations give an upper bound

The record was in the log when its transaction committed. So the record's offset is lower than the
acknowledged offset of every later send, and lower than every high watermark that a client read
later. The last stable offset gives no bound, because it waits for the transaction marker. A record
that the log may have dropped (`retention`) is not missing.

Simplified: as in the anomaly `lost-write`, the check ignores the offset at which a reader began to
read. So if all readers began above a record, the record is reported as missing, although it may not
be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from model.histories import EndOffset, History, Send
from properties.anomalies.declarations import Declarations
from properties.anomalies.observations import dirty, trusted_observations
from properties.anomalies.retention import kept_from
from properties.anomalies.transactions.visible import first_readers, furthest_readers, sent_by

Lies = Literal["at", "up to"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A record of a transaction that no reader received, although a reader read at its offset or
    beyond.
    """

    key: str
    value: str
    lies: Lies
    offset: int  # of the record, or the highest offset that it can have
    known_op: int  # the operation that shows this offset
    read_offset: int  # the highest offset that readers polled
    reader_op: int


def missing_of(history: History, declared: Declarations) -> Callable[[int, int], Iterator[Missing]]:
    """Returns a function that yields the missing records of one transaction: the records that the
    readers should have received and did not receive.

    The function that is returned has two parameters: the operation number of the transaction, and a
    time at which the records of the transaction were already in the log.
    """
    readers, furthest = first_readers(history), furthest_readers(history)
    kept = kept_from(history, declared)

    def missing(op: int, in_log_ns: int) -> Iterator[Missing]:
        for send in sent_by(history[op]):
            if (send.key, send.value) in readers or send.key not in furthest:
                continue
            location = _location(history, send)
            bound = location or _bound(history, send.key, in_log_ns)
            read_offset, reader = furthest[send.key]
            if bound is None or bound[0] > read_offset:
                continue
            if kept(send.key) <= (location[0] if location else 0):
                yield Missing(
                    key=send.key,
                    value=send.value,
                    lies="at" if location else "up to",
                    offset=bound[0],
                    known_op=bound[1],
                    read_offset=read_offset,
                    reader_op=reader,
                )

    return missing


def passed_of(history: History, declared: Declarations) -> Callable[[int, int], int]:
    """Returns a function that returns how many records of one transaction the readers have passed.

    Readers pass a record by receiving it, or by skipping it. A skipped record is missing
    (`missing_of`). The function that is returned has the same two parameters as the result of
    `missing_of`.
    """
    readers, missing = first_readers(history), missing_of(history, declared)

    def passed(op: int, in_log_ns: int) -> int:
        received = sum((sent.key, sent.value) in readers for sent in sent_by(history[op]))
        return received + len(list(missing(op, in_log_ns)))

    return passed


def _location(history: History, send: Send) -> tuple[int, int] | None:
    seen = [
        (-s.offset, s.op)
        for s in trusted_observations(history)
        if (s.key, s.value) == (send.key, send.value)
    ]
    # the last offset, and its first observer
    return (-min(seen)[0], min(seen)[1]) if seen else None


def _bound(history: History, key: str, in_log_ns: int) -> tuple[int, int] | None:
    """Returns an upper bound of the unknown offset of a record, and the operation that proves the
    bound.

    The record was in the log `key` at the time `in_log_ns`. So its offset is lower than the offset
    of each send that began later, and lower than each high watermark that was read later. Returns
    None if there is no such later operation.
    """
    bounds = [
        (micro.offset - 1, number)
        for number, operation in enumerate(history)
        if operation.outcome == "ok" and operation.invoked_ns > in_log_ns
        for micro in operation.did
        if isinstance(micro, Send) or (isinstance(micro, EndOffset) and dirty(operation))
        if micro.key == key and micro.offset is not None
    ]
    return min(bounds, default=None)
