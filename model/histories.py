"""Histories of clients: the operations that clients called, each with its invocation, its
completion and its outcome.

A process is one thread of one client, and has at most one open operation. An operation with the
outcome `ok` happened, and an operation with the outcome `fail` did not happen. An operation with
the outcome `info` may have happened. Each operation has a list of micro-operations, such as the
records that it sent. A history lists its operations in the order of their completions. The
operations that never completed are at the end of the list. The number of an operation is its
position in this list.

Checkers and history files store one row for each micro-operation. `COLUMNS` describes the columns
of a row.

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
        "null: the level of `--isolation`",
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
    """A record that a producer sent. `offset` is None if the producer received no offset for the
    record.
    """

    key: str
    value: str
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Poll:
    """A record that a consumer received. `offset` is None if the consumer did not report the
    record's offset.
    """

    key: str
    offset: int | None
    value: str


@dataclass(frozen=True, slots=True)
class EndOffset:
    """The end offset of a log, as a client received it.

    At the isolation level `read_committed`, this is the last stable offset. Otherwise, it is the
    high watermark.
    """

    key: str
    offset: int


@dataclass(frozen=True, slots=True)
class StartOffset:
    """The start offset of a log, as a client received it.

    The records before the start offset were deleted by retention or by a DeleteRecords request, so
    checkers do not report them as lost.
    """

    key: str
    offset: int


@dataclass(frozen=True, slots=True)
class Assigned:
    """A partition that an `assign` or `subscribe` operation assigned to the consumer."""

    key: str


@dataclass(frozen=True, slots=True)
class Rebalanced:
    """A partition that a rebalance assigned to a consumer, or revoked from the consumer, during a
    poll.

    The poll may skip records of this partition.
    """

    key: str


@dataclass(frozen=True, slots=True)
class CommitOffset:
    """An offset that an operation commits for its consumer group. If the operation is a
    transaction, the offset is committed only if the transaction commits.
    """

    key: str
    offset: int


@dataclass(frozen=True, slots=True)
class FetchOffset:
    """The committed offset of a consumer group, as a client received it. `offset` is None if the
    group had committed no offset.
    """

    key: str
    offset: int | None


MicroOperation = (
    Send | Poll | EndOffset | StartOffset | Assigned | Rebalanced | CommitOffset | FetchOffset
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call of a client, from its invocation to its completion.

    All times are nanoseconds of one monotonic clock. `completed_ns` is None if the operation never
    completed.
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
    """Returns the topic of a partition whose name has the form `topic-number`. For any other name,
    returns ''.

    >>> topic_of("orders-by-day-0"), topic_of("17")
    ('orders-by-day', '')
    """
    topic, _, partition = key.rpartition("-")
    return topic if partition.isdigit() else ""
