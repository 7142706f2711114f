"""Observations in a history: which value the log of a topic partition has at which offset.

The offset of an acknowledged send is an observation if the operation of the send must have taken
effect. An operation that ended `ok` must have taken effect. An operation that ended `info` (its
outcome is unknown) must have taken effect if a poll at `read_committed` returned one of its
records, and this poll ended `ok`.

A poll at `read_committed` proves the offset of each value that it returns, because a consumer must
receive only committed records. A poll at `read_uncommitted` may return aborted records. So such a
poll proves the offset of a value only if no send of the value failed.

Source: jepsen.tests.kafka version-orders and must-have-committed?.
Simplified: Jepsen numbers the observed offsets and compares these numbers. Urteil compares the
offsets themselves, because the offsets have the same order as the numbers. As in Jepsen, a gap
between two offsets (transaction markers or compaction) is no anomaly. Jepsen does not model
isolation levels.
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
    """A fact: the operation `op` shows that the log of `key` has `value` at `offset`."""

    key: str
    offset: int
    value: str
    op: int
    dirty: bool  # by a poll at read_uncommitted


def dirty(operation: Operation) -> bool:
    """Returns True if the operation polls at read_uncommitted. Such a poll may return aborted
    records.
    """
    return operation.isolation == "read_uncommitted"


@remembered
def read_values(history: History) -> dict[KeyValue, tuple[int, ...]]:
    """Maps each pair (topic partition, value) to the operations that polled the value and ended
    `ok`.

    A value that no such operation polled is not in the result.
    """
    readers: dict[KeyValue, tuple[int, ...]] = {}
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Poll) and operation.outcome == "ok":
                earlier = readers.get((micro.key, micro.value), ())
                readers[micro.key, micro.value] = (*earlier, number)
    return readers


@remembered
def polled_values(history: History) -> list[tuple[str, str, int]]:
    """Returns (topic partition, value, operation number) for each polled value, whatever the
    outcome of the operation.
    """
    return [
        (micro.key, micro.value, number)
        for number, operation in enumerate(history)
        for micro in operation.did
        if isinstance(micro, Poll)
    ]


@remembered
def committed_reads(history: History) -> frozenset[KeyValue]:
    """Returns each pair (topic partition, value) that a poll at read_committed returned.

    Only polls of operations that ended `ok` are included.
    """
    return frozenset(
        (micro.key, micro.value)
        for operation in history
        if operation.outcome == "ok" and not dirty(operation)
        for micro in operation.did
        if isinstance(micro, Poll)
    )


def must_have_taken_effect(operation: Operation, read: AbstractSet[KeyValue]) -> bool:
    """Returns True if the operation took effect for certain. `read` has the records that polls
    returned.

    An operation that ended `ok` took effect. An operation that ended `info` (its outcome is
    unknown) took effect if `read` has one of its records.
    """
    sent = {(micro.key, micro.value) for micro in operation.did if isinstance(micro, Send)}
    return operation.outcome == "ok" or (operation.outcome == "info" and not sent.isdisjoint(read))


@remembered
def keys_read(history: History) -> frozenset[str]:
    """Returns the topic partitions from which a poll at read_committed returned a record.

    Only polls of operations that ended `ok` are included.
    """
    return frozenset(key for key, _ in committed_reads(history))


@remembered
def senders(history: History) -> Mapping[KeyValue, tuple[int, ...]]:
    """Maps each pair (topic partition, value) to the operations that tried to send the value,
    whatever their outcome.
    """
    tried: defaultdict[KeyValue, tuple[int, ...]] = defaultdict(tuple)
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Send):
                tried[micro.key, micro.value] += (number,)
    return dict(tried)


@remembered
def aborted_values(history: History) -> frozenset[KeyValue]:
    """Returns each pair (topic partition, value) that was sent only by operations that failed."""
    return frozenset(
        key_value
        for key_value, ops in senders(history).items()
        if all(history[op].outcome == "fail" for op in ops)
    )


@remembered
def committed_sends(history: History) -> dict[KeyValue, int]:
    """Maps each pair (topic partition, value) to the first operation that sent the value and took
    effect for certain.
    """
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
    """Yields one observation for each poll and each send whose offset is recorded.

    A send is included only if its operation has certainly taken effect. If an operation polled the
    same record twice, the function yields two equal observations.
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
    """Returns the observations that prove the offset of a value.

    A poll at read_uncommitted proves the offset only if no send of the value failed.
    """
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
    """Maps each pair (topic partition, value) to the offsets at which the value was observed, in
    ascending order.

    An offset is included only if a trusted observation proves it (`trusted_observations`).
    """
    found: defaultdict[KeyValue, set[int]] = defaultdict(set)
    for seen in trusted_observations(history):
        found[seen.key, seen.value].add(seen.offset)
    return {key_value: tuple(sorted(offsets)) for key_value, offsets in found.items()}
