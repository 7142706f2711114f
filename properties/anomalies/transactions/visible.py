"""The visible records of transactions: those that readers at read_committed received.

A transaction is an operation `txn`. A *reader* is an operation that ended `ok` and polls at
read_committed. If a reader received a record of a transaction, the transaction has committed. After
the commit, every reader that reads beyond a record of the transaction must receive the record.

Source: KIP-98, the last stable offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from model.histories import History, Operation, Poll, Send
from properties.anomalies.observations import KeyValue, dirty, senders
from properties.anomalies.remembered import remembered

TRANSACTION: Final = "txn"


def sent_by(operation: Operation) -> tuple[Send, ...]:
    """Returns the records that the operation sent. If it sent a record several times, the result
    has the record once.
    """
    sends = {(it.key, it.value): it for it in operation.did if isinstance(it, Send)}
    return tuple(sends.values())


def received(history: History) -> Iterator[tuple[int, Poll]]:
    """Yields each record that a reader received, together with the number of the reader's
    operation.

    A reader is an operation that ended `ok` and polls at read_committed.
    """
    for number, operation in enumerate(history):
        if operation.outcome == "ok" and not dirty(operation):
            for micro in operation.did:
                if isinstance(micro, Poll):
                    yield number, micro


@remembered
def first_readers(history: History) -> dict[KeyValue, int]:
    """Maps each record (topic partition, value) to the first operation of a reader that received
    the record.
    """
    first: dict[KeyValue, int] = {}
    for number, poll in received(history):
        first.setdefault((poll.key, poll.value), number)
    return first


@remembered
def furthest_readers(history: History) -> dict[str, tuple[int, int]]:
    """Maps each topic partition to a pair: the highest offset that a reader polled, and the first
    operation that polled at this offset.
    """
    furthest: dict[str, tuple[int, int]] = {}
    for number, poll in received(history):
        if poll.offset is not None:
            highest = furthest.get(poll.key, (poll.offset, number))
            furthest[poll.key] = max(highest, (poll.offset, number), key=lambda it: (it[0], -it[1]))
    return furthest


@remembered
def writers(history: History) -> dict[KeyValue, int]:
    """Maps each record (topic partition, value) to the first operation that sent the record and did
    not fail.

    If all operations that sent the record failed, the result has the first of them.
    """
    return {
        record: min(ops, key=lambda op: (history[op].outcome == "fail", op))
        for record, ops in senders(history).items()
    }


def end_requested_ns(operation: Operation) -> int:
    """Returns the earliest time at which the client can have requested the commit or the abort.

    If the history does not record the request, the function returns the invocation time of the
    operation.
    """
    if operation.end_asked_ns is None:
        return operation.invoked_ns
    ended_ns = operation.completed_ns
    return operation.end_asked_ns if ended_ns is None else min(operation.end_asked_ns, ended_ns)
