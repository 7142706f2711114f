"""What shows of transactions: which of their records readers at read_committed were given.

A transaction is an operation `txn`. A reader is an operation that ended `ok` and polls at
read_committed: the last stable offset holds it at the first transaction that is still open, and the
abort markers hide what did not commit. So once a reader was given one record of a transaction, the
transaction has committed, and whoever passes its other records must be given them.

Source: KIP-98, the last stable offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from model.histories import History, Operation, Poll, Send
from properties.anomalies.observations import KeyValue, dirty, senders

TRANSACTION: Final = "txn"


def sent_by(operation: Operation) -> tuple[Send, ...]:
    """The records that it sent, each key and value once."""
    sends = {(it.key, it.value): it for it in operation.did if isinstance(it, Send)}
    return tuple(sends.values())


def given(history: History) -> Iterator[tuple[int, Poll]]:
    """Each record that a reader was given, with the number of the reader."""
    for number, operation in enumerate(history):
        if operation.outcome == "ok" and not dirty(operation):
            for micro in operation.did:
                if isinstance(micro, Poll):
                    yield number, micro


def first_readers(history: History) -> dict[KeyValue, int]:
    """For each record that readers were given, the first of them to complete."""
    first: dict[KeyValue, int] = {}
    for number, poll in given(history):
        first.setdefault((poll.key, poll.value), number)
    return first


def furthest_readers(history: History) -> dict[str, tuple[int, int]]:
    """For each key the highest offset that a reader was given, and the first that was."""
    furthest: dict[str, tuple[int, int]] = {}
    for number, poll in given(history):
        if poll.offset is not None:
            known = furthest.get(poll.key, (poll.offset, number))
            furthest[poll.key] = max(known, (poll.offset, number), key=lambda it: (it[0], -it[1]))
    return furthest


def writers(history: History) -> dict[KeyValue, int]:
    """For each record the first operation that sent it and did not fail, or else the first."""
    return {
        record: min(ops, key=lambda op: (history[op].outcome == "fail", op))
        for record, ops in senders(history).items()
    }


def asked_ns(operation: Operation) -> int:
    """The earliest that the end of a transaction can have been asked for; never after it ended."""
    if operation.end_asked_ns is None:
        return operation.invoked_ns
    ended_ns = operation.completed_ns
    return operation.end_asked_ns if ended_ns is None else min(operation.end_asked_ns, ended_ns)
