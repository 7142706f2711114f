"""The log of a key as a history shows it: which value was seen at which offset.

Two kinds of observation tell. A send tells its offset if its operation must have taken effect: it
ended `ok`, or it ended `info` and something that it sent was given to a poll that ended `ok`. A
poll tells always, however its operation ended: consumers must only be given what is safe, whatever
becomes of the transaction around them.

At `read_uncommitted` safe is less: a poll is given what is aborted later. It proves of no operation
that it took effect, and of a value whose send failed once it tells nothing: if the value was sent
again, the copy of the aborted transaction is in the log beside it.

Source: jepsen.tests.kafka version-orders and must-have-committed?.
Simplified: Jepsen ranks the offsets that occur and compares ranks; the order is the same, so here
offsets are compared, however sparse they are. Gaps (markers of transactions, compaction) are no
anomaly either way. Jepsen knows no isolation levels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from model.histories import History, Operation, Poll, Send

KeyValue = tuple[str, str]


@dataclass(frozen=True, slots=True, order=True)
class Sighting:
    """An operation showed that the log of the key has this value at this offset."""

    key: str
    offset: int
    value: str
    op: int
    dirty: bool  # by a poll at read_uncommitted


def dirty(operation: Operation) -> bool:
    """Its polls may be given what is aborted later."""
    return operation.isolation == "read_uncommitted"


def read_values(history: History) -> dict[KeyValue, tuple[int, ...]]:
    """For each key and value that a poll was given, the operations ended `ok` that polled it."""
    readers: dict[KeyValue, tuple[int, ...]] = {}
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Poll) and operation.outcome == "ok":
                known = readers.get((micro.key, micro.value), ())
                readers[micro.key, micro.value] = (*known, number)
    return readers


def _committed_reads(history: History) -> frozenset[KeyValue]:
    return frozenset(
        (micro.key, micro.value)
        for operation in history
        if operation.outcome == "ok" and not dirty(operation)
        for micro in operation.did
        if isinstance(micro, Poll)
    )


def must_have_taken_effect(operation: Operation, read: AbstractSet[KeyValue]) -> bool:
    """The operation ended `ok`, or `info` and something that it sent was read."""
    sent = {(micro.key, micro.value) for micro in operation.did if isinstance(micro, Send)}
    return operation.outcome == "ok" or (operation.outcome == "info" and not sent.isdisjoint(read))


def senders(history: History) -> Mapping[KeyValue, tuple[int, ...]]:
    """For each key and value the operations that tried to send it, however they ended."""
    tried: defaultdict[KeyValue, tuple[int, ...]] = defaultdict(tuple)
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Send):
                tried[micro.key, micro.value] += (number,)
    return tried


def committed_sends(history: History) -> dict[KeyValue, int]:
    """For each key and value, the first operation that sent it and must have taken effect."""
    read = _committed_reads(history)
    writers: dict[KeyValue, int] = {}
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Send) and must_have_taken_effect(operation, read):
                writers.setdefault((micro.key, micro.value), number)
    return writers


def sightings(history: History) -> frozenset[Sighting]:
    """Everything that the history shows of the logs."""
    read = _committed_reads(history)
    return frozenset(
        Sighting(
            micro.key,
            micro.offset,
            micro.value,
            number,
            dirty=isinstance(micro, Poll) and dirty(operation),
        )
        for number, operation in enumerate(history)
        for micro in operation.did
        if (isinstance(micro, Send) and must_have_taken_effect(operation, read))
        or isinstance(micro, Poll)
        if micro.offset is not None
    )


def placings(history: History) -> frozenset[Sighting]:
    """The sightings that tell where a value lies that took effect, or may have."""
    failed = {
        key_value
        for key_value, ops in senders(history).items()
        if any(history[op].outcome == "fail" for op in ops)
    }
    return frozenset(s for s in sightings(history) if not (s.dirty and (s.key, s.value) in failed))


def places(history: History) -> dict[KeyValue, tuple[int, ...]]:
    """For each key and value the offsets at which it lies, ascending."""
    found: defaultdict[KeyValue, set[int]] = defaultdict(set)
    for seen in placings(history):
        found[seen.key, seen.value].add(seen.offset)
    return {key_value: tuple(sorted(offsets)) for key_value, offsets in found.items()}
