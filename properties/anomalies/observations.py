"""Observations in a history: which value the log of a key has at which offset.

A send proves its offset if its operation must have taken effect: it ended `ok`, or it ended `info`,
and a poll at `read_committed` that ended `ok` returned one of its records.

A poll at `read_committed` proves the offsets of its values, because a consumer must receive only
committed records. A poll at `read_uncommitted` may return aborted records, so it proves the offset
of a value only if no send of the value failed.

Source: jepsen.tests.kafka version-orders and must-have-committed?.
Simplified: Jepsen numbers the observed offsets and compares these numbers. Urteil compares the
offsets themselves, since their order is the same. Gaps between offsets (markers of transactions,
compaction) are no anomaly, as in Jepsen. Jepsen does not model isolation levels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from model.histories import History, Operation, Poll, Send
from properties.anomalies.remembered import remembered

KeyValue = tuple[str, str]


@dataclass(frozen=True, slots=True, order=True)
class Observation:
    """Operation `op` shows that the log of `key` has `value` at `offset`."""

    key: str
    offset: int
    value: str
    op: int
    dirty: bool  # by a poll at read_uncommitted


def dirty(operation: Operation) -> bool:
    """Returns True if the operation polls at read_uncommitted, and so may see aborted records."""
    return operation.isolation == "read_uncommitted"


@remembered
def read_values(history: History) -> dict[KeyValue, tuple[int, ...]]:
    """Maps each pair of a log and a value to the operations that polled it and ended `ok`."""
    readers: dict[KeyValue, tuple[int, ...]] = {}
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Poll) and operation.outcome == "ok":
                earlier = readers.get((micro.key, micro.value), ())
                readers[micro.key, micro.value] = (*earlier, number)
    return readers


@remembered
def polled_values(history: History) -> list[tuple[str, str, int]]:
    """Returns (log, value, operation number) for each polled value, whatever the outcome."""
    return [
        (micro.key, micro.value, number)
        for number, operation in enumerate(history)
        for micro in operation.did
        if isinstance(micro, Poll)
    ]


@remembered
def committed_reads(history: History) -> frozenset[KeyValue]:
    """Returns each pair (key, value) that a poll at read_committed, of an operation that ended
    `ok`, returned.
    """
    return frozenset(
        (micro.key, micro.value)
        for operation in history
        if operation.outcome == "ok" and not dirty(operation)
        for micro in operation.did
        if isinstance(micro, Poll)
    )


def must_have_taken_effect(operation: Operation, read: AbstractSet[KeyValue]) -> bool:
    """Returns True if the operation ended `ok`, or ended `info` and a record of it is in `read`,
    the polled records.
    """
    sent = {(micro.key, micro.value) for micro in operation.did if isinstance(micro, Send)}
    return operation.outcome == "ok" or (operation.outcome == "info" and not sent.isdisjoint(read))


@remembered
def keys_read(history: History) -> frozenset[str]:
    """Returns the keys from which a poll at read_committed, of an operation that ended `ok`,
    returned a record.
    """
    return frozenset(key for key, _ in committed_reads(history))


@remembered
def senders(history: History) -> Mapping[KeyValue, tuple[int, ...]]:
    """Maps each log and value to the operations that tried to send it, whatever their outcome."""
    tried: defaultdict[KeyValue, tuple[int, ...]] = defaultdict(tuple)
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Send):
                tried[micro.key, micro.value] += (number,)
    return dict(tried)


@remembered
def aborted_values(history: History) -> frozenset[KeyValue]:
    """Returns each pair (key, value) that was sent only by operations that failed."""
    return frozenset(
        key_value
        for key_value, ops in senders(history).items()
        if all(history[op].outcome == "fail" for op in ops)
    )


@remembered
def committed_sends(history: History) -> dict[KeyValue, int]:
    """Maps each key and value to the first operation that sent the value and surely took effect."""
    read = committed_reads(history)
    writers: dict[KeyValue, int] = {}
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Send) and must_have_taken_effect(operation, read):
                writers.setdefault((micro.key, micro.value), number)
    return writers


@remembered
def observations(history: History) -> frozenset[Observation]:
    return frozenset(each_observation(history))


def each_observation(history: History) -> Iterator[Observation]:
    """Yields one observation for each poll with an offset, and each send with an offset that must
    have taken effect.

    Two polls of one operation may yield equal observations.
    """
    read = committed_reads(history)
    return (
        Observation(
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


@remembered
def trusted_observations(history: History) -> frozenset[Observation]:
    """Returns the observations that prove the offset of a value."""
    failed = {
        key_value
        for key_value, ops in senders(history).items()
        if any(history[op].outcome == "fail" for op in ops)
    }
    return frozenset(
        s for s in observations(history) if not (s.dirty and (s.key, s.value) in failed)
    )


@remembered
def locations(history: History) -> dict[KeyValue, tuple[int, ...]]:
    """Maps each log and value to the offsets at which the value was observed, ascending."""
    found: defaultdict[KeyValue, set[int]] = defaultdict(set)
    for seen in trusted_observations(history):
        found[seen.key, seen.value].add(seen.offset)
    return {key_value: tuple(sorted(offsets)) for key_value, offsets in found.items()}
