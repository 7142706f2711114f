"""Histories: what clients observed, as operations with an invocation, a completion and an outcome.

A process is one thread of one client and has at most one operation open. An operation that ended
`ok` happened, one that ended `fail` did not, and of one that ended `info` nobody knows. What an
operation did is a list of micro-operations. A history lists its operations in the order of their
completions; those that never completed come last. The number of an operation is its place there.

On disk and in every engine a history is a table of micro-operations: `COLUMNS`.

Source: jepsen.history; jepsen.tests.kafka.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Outcome = Literal["ok", "fail", "info"]
Isolation = Literal["read_committed", "read_uncommitted"]
SCHEMA_VERSION: Final = 2  # 1 lacked the columns that `NEW_IN_2` names; they are read as null

# column -> (Arrow type, whether it may be null, meaning)
COLUMNS: Final = {
    "op": ("int64", False, "number of the operation in completion order, from 0"),
    "process": ("int64", False, "the thread that invoked it; at most one operation open at a time"),
    "f": (
        "string",
        False,
        "send, poll, txn, end_offset, start_offset, assign, subscribe, commit_offset, "
        "fetch_offset, init_producer, or another name",
    ),
    "outcome": ("string", False, "ok: it happened; fail: it did not; info: nobody knows"),
    "invoked_ns": ("int64", False, "monotonic clock of the recorder at the invocation, ns"),
    "completed_ns": ("int64", True, "the same at the completion; null: it never completed"),
    "position": ("int32", False, "of the micro-operation inside its operation, from 0"),
    "kind": (
        "string",
        False,
        "send, poll, end_offset, start_offset, assigned, rebalanced, commit_offset, fetch_offset; "
        "none: an operation without micro-operations",
    ),
    "key": ("string", True, "topic partition `orders-0`; of a Jepsen history the key in EDN"),
    "offset": (
        "int64",
        True,
        "log offset; of end_offset the one after the last, of start_offset the first that is kept, "
        "of commit_offset and fetch_offset the next to be read; null: unknown, or none committed",
    ),
    "value": ("string", True, "sent or polled; unique among sends to the key that did not fail"),
    "error": ("string", True, "why the operation did not end ok"),
    "transactional_id": ("string", True, "of a transaction (txn) and of init_producer"),
    "group": ("string", True, "whose offsets it commits or fetches, or as whose member it polls"),
    "isolation": (
        "string",
        True,
        "read_committed or read_uncommitted, of its polls and end offsets; null: as declared",
    ),
    "end_asked_ns": (
        "int64",
        True,
        "of a transaction: the clock when its commit or abort was asked for; null: unknown",
    ),
}
NEW_IN_2: Final = ("transactional_id", "group", "isolation", "end_asked_ns")


@dataclass(frozen=True, slots=True)
class Send:
    """A record sent; its offset is None when the acknowledgement did not arrive or did not tell."""

    key: str
    value: str
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Poll:
    """A record that a consumer was given; its offset is None when the consumer did not tell."""

    key: str
    offset: int | None
    value: str


@dataclass(frozen=True, slots=True)
class EndOffset:
    """What a client was told is the end of the log: the offset that the next record would get.

    At `read_committed` it is the last stable offset, else the high watermark.
    """

    key: str
    offset: int


@dataclass(frozen=True, slots=True)
class StartOffset:
    """What a client was told is the start of the log: what lies below was deleted, legally."""

    key: str
    offset: int


@dataclass(frozen=True, slots=True)
class Assigned:
    """The operation (assign, subscribe) left the consumer of its process with this key."""

    key: str


@dataclass(frozen=True, slots=True)
class Rebalanced:
    """A rebalance gave or took this key while the operation ran: its polls need not follow on."""

    key: str


@dataclass(frozen=True, slots=True)
class CommitOffset:
    """The operation moves the committed offset of its group: it reads on from there.

    Inside a transaction it takes effect with the transaction.
    """

    key: str
    offset: int


@dataclass(frozen=True, slots=True)
class FetchOffset:
    """What a client was told is the committed offset of its group; None: none was committed."""

    key: str
    offset: int | None


MicroOperation = (
    Send | Poll | EndOffset | StartOffset | Assigned | Rebalanced | CommitOffset | FetchOffset
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call of a client, from invocation to completion; times in ns of one monotonic clock."""

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
    end_asked_ns: int | None = None  # of a transaction: when its commit or abort was asked for


History = tuple[Operation, ...]


def topic_of(key: str) -> str:
    """The topic of a topic partition; keys that do not end in a number share a nameless one.

    >>> topic_of("orders-by-day-0"), topic_of("17")
    ('orders-by-day', '')
    """
    topic, _, partition = key.rpartition("-")
    return topic if partition.isdigit() else ""
