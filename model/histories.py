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
SCHEMA_VERSION: Final = 1

# column -> (Arrow type, whether it may be null, meaning)
COLUMNS: Final = {
    "op": ("int64", False, "number of the operation in completion order, from 0"),
    "process": ("int64", False, "the thread that invoked it; at most one operation open at a time"),
    "f": ("string", False, "send, poll, txn, end_offset, assign, subscribe, or another name"),
    "outcome": ("string", False, "ok: it happened; fail: it did not; info: nobody knows"),
    "invoked_ns": ("int64", False, "monotonic clock of the recorder at the invocation, ns"),
    "completed_ns": ("int64", True, "the same at the completion; null: it never completed"),
    "position": ("int32", False, "of the micro-operation inside its operation, from 0"),
    "kind": (
        "string",
        False,
        "send, poll, end_offset; none: an operation without micro-operations",
    ),
    "key": ("string", True, "topic partition `orders-0`; of a Jepsen history the key in EDN"),
    "offset": ("int64", True, "log offset; of end_offset the one after the last; null: unknown"),
    "value": ("string", True, "sent or polled; unique among sends to the key that did not fail"),
    "error": ("string", True, "why the operation did not end ok"),
}


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
    """What a client was told is the end of the log: the offset that the next record would get."""

    key: str
    offset: int


MicroOperation = Send | Poll | EndOffset


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


History = tuple[Operation, ...]
