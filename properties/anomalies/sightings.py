"""The log of a key as a history shows it: which value was seen at which offset.

Two kinds of observation tell. A send tells its offset if its operation must have taken effect: it
ended `ok`, or it ended `info` and something that it sent was given to a poll that ended `ok`. A
poll tells always, however its operation ended: consumers must only be given what is safe, whatever
becomes of the transaction around them.

Source: jepsen.tests.kafka version-orders and must-have-committed?.
Simplified: Jepsen ranks the offsets that occur and compares ranks; the order is the same, so here
offsets are compared. Gaps (markers of transactions, compaction) are no anomaly either way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from model.histories import History, Operation, Poll, Send

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet


@dataclass(frozen=True, slots=True, order=True)
class Sighting:
    """An operation showed that the log of the key has this value at this offset."""

    key: str
    offset: int
    value: str
    op: int


def read_values(history: History) -> dict[tuple[str, str], tuple[int, ...]]:
    """For each key and value that a poll was given, the operations ended `ok` that polled it."""
    readers: dict[tuple[str, str], tuple[int, ...]] = {}
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Poll) and operation.outcome == "ok":
                known = readers.get((micro.key, micro.value), ())
                readers[micro.key, micro.value] = (*known, number)
    return readers


def must_have_taken_effect(operation: Operation, read: AbstractSet[tuple[str, str]]) -> bool:
    """The operation ended `ok`, or `info` and something that it sent was read."""
    sent = {(micro.key, micro.value) for micro in operation.did if isinstance(micro, Send)}
    return operation.outcome == "ok" or (operation.outcome == "info" and not sent.isdisjoint(read))


def committed_sends(history: History) -> dict[tuple[str, str], int]:
    """For each key and value, the first operation that sent it and must have taken effect."""
    read = read_values(history).keys()
    writers: dict[tuple[str, str], int] = {}
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Send) and must_have_taken_effect(operation, read):
                writers.setdefault((micro.key, micro.value), number)
    return writers


def sightings(history: History) -> frozenset[Sighting]:
    """Everything that the history shows of the logs."""
    read = read_values(history).keys()
    return frozenset(
        Sighting(micro.key, micro.offset, micro.value, number)
        for number, operation in enumerate(history)
        for micro in operation.did
        if (isinstance(micro, Send) and must_have_taken_effect(operation, read))
        or isinstance(micro, Poll)
        if micro.offset is not None
    )
