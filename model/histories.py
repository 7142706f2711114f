"""Histories: the operations that clients observed, each with invocation, completion and outcome.

A process is one thread of one client and has at most one open operation. An operation with outcome
`ok` happened, one with `fail` did not, and one with `info` may have happened. Each operation has a
list of micro-operations. A history lists its operations in the order of their completions; the
operations that never completed come last. The number of an operation is its position in that list.

Engines and files store one row for each micro-operation, with the columns `COLUMNS`.

Source: jepsen.history; jepsen.tests.kafka.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Outcome = Literal["ok", "fail", "info"]
Isolation = Literal["read_committed", "read_uncommitted"]
SCHEMA_VERSION: Final = 2  # version 1 lacks the columns `NEW_IN_2`: null

# column -> (Arrow type, whether it may be null, meaning)
COLUMNS: Final = {
    "op": (
        "int64",
        False,
        "number of the operation in completion order, 0 or more; numbers may be missing",
    ),
    "process": ("int64", False, "the thread that invoked it; at most one operation open at a time"),
    "f": (
        "string",
        False,
        "send, poll, txn, end_offset, start_offset, assign, subscribe, commit_offset, "
        "fetch_offset, init_producer, or another name",
    ),
    "outcome": ("string", False, "ok: it happened; fail: it did not; info: it may have happened"),
    "invoked_ns": ("int64", False, "monotonic clock of the recorder at the invocation, ns"),
    "completed_ns": (
        "int64",
        True,
        "the same clock at the completion, ns; null: it never completed",
    ),
    "position": ("int32", False, "position of the micro-operation inside its operation, from 0"),
    "kind": (
        "string",
        False,
        "send, poll, end_offset, start_offset, assigned, rebalanced, commit_offset, fetch_offset; "
        "none: the operation has no micro-operations",
    ),
    "key": (
        "string",
        True,
        "topic partition, such as `orders-0`; in a Jepsen history the key in EDN",
    ),
    "offset": (
        "int64",
        True,
        "log offset; end_offset: one after the last record; start_offset: the first record kept; "
        "commit_offset, fetch_offset: the next record to read; null: unknown, or none committed",
    ),
    "value": (
        "string",
        True,
        "value sent or polled; unique among the sends to a key that did not fail",
    ),
    "error": ("string", True, "why the operation did not end ok"),
    "transactional_id": ("string", True, "transactional id of a txn or an init_producer"),
    "group": (
        "string",
        True,
        "consumer group whose offsets it commits or fetches, or in which it polls",
    ),
    "isolation": (
        "string",
        True,
        "isolation level of its polls and end offsets: read_committed or read_uncommitted; "
        "null: as declared",
    ),
    "end_asked_ns": (
        "int64",
        True,
        "monotonic clock when the transaction's commit or abort was requested, ns; null: unknown",
    ),
}
NEW_IN_2: Final = ("transactional_id", "group", "isolation", "end_asked_ns")


@dataclass(frozen=True, slots=True)
class Send:
    """A record that a producer sent; `offset` is None if the producer received no offset for it."""

    key: str
    value: str
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Poll:
    """A record that a consumer received; `offset` is None if the consumer did not report it."""

    key: str
    offset: int | None
    value: str


@dataclass(frozen=True, slots=True)
class EndOffset:
    """The end offset of a log, as a client received it.

    At isolation level `read_committed` this is the last stable offset, otherwise the high
    watermark.
    """

    key: str
    offset: int


@dataclass(frozen=True, slots=True)
class StartOffset:
    """The start offset of a log, as a client received it.

    Retention or a DeleteRecords request deleted the records before this offset, so they do not
    count as lost.
    """

    key: str
    offset: int


@dataclass(frozen=True, slots=True)
class Assigned:
    """A partition that an assign or subscribe operation gave to the consumer."""

    key: str


@dataclass(frozen=True, slots=True)
class Rebalanced:
    """A partition that a rebalance gave to a consumer, or took from it, during a poll.

    The poll may skip records of this partition.
    """

    key: str


@dataclass(frozen=True, slots=True)
class CommitOffset:
    """An offset that an operation commits for its consumer group; in a transaction, only if the
    transaction commits.
    """

    key: str
    offset: int


@dataclass(frozen=True, slots=True)
class FetchOffset:
    """A consumer group's committed offset, as a client received it; None if none was committed."""

    key: str
    offset: int | None


MicroOperation = (
    Send | Poll | EndOffset | StartOffset | Assigned | Rebalanced | CommitOffset | FetchOffset
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call of a client, from its invocation to its completion.

    Times are nanoseconds of one monotonic clock.
    """

    process: int
    f: str
    outcome: Outcome
    invoked_ns: int
    completed_ns: int | None
    did: tuple[MicroOperation, ...] = ()
    error: str | None = None
    transactional_id: str | None = None
    group: str | None = None
    isolation: Isolation | None = None
    end_asked_ns: int | None = None  # of a transaction: when its commit or abort was requested


History = tuple[Operation, ...]


def topic_of(key: str) -> str:
    """Returns the topic of a partition named `topic-number`, or '' for any other name.

    >>> topic_of("orders-by-day-0"), topic_of("17")
    ('orders-by-day', '')
    """
    topic, _, partition = key.rpartition("-")
    return topic if partition.isdigit() else ""
