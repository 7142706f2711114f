"""What a check of the audit is: a statement about logs, what finds its breaches, how to tell them.

Each module holds the checks of one concern: their rows, the literal definitions that find them,
what `observed` counts, how a row is told, and the checks as rows of the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from properties.log_audit.log import Batch, Logs, ReplicaLog


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Place:
    """Where something lies: `offset` is that of the first record there, or would be."""

    partition: str
    offset: int
    replica: str
    segment: str
    position: int  # in bytes

    def __str__(self) -> str:
        return f"{self.replica}/{self.partition}/{self.segment} byte {self.position}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that must be true of logs.

    `permits` are the conditions under which a row is no fault, and why; `permitted` says which of
    them a row meets. `observes` says what `observed` counts: what a verdict rests on. `unread`
    says that a row is no fault but a place of which nothing is known.
    """

    id: str
    statement: str
    rule: str
    explanation: str
    source: str
    observes: str
    row: type[Place]
    find: Callable[[Logs], tuple[Any, ...]]  # rows of `row`, in their order
    observed: Callable[[Logs], int]
    explain: Callable[[Any], str]
    permits: Mapping[str, str] = field(default_factory=dict[str, str])
    permitted: Callable[[Any], str | None] = lambda _row: None
    unread: bool = False


def place(log: ReplicaLog, batch: Batch) -> dict[str, Any]:
    """The fields of a Place that a batch has."""
    return {
        "partition": log.beside.partition,
        "offset": batch.base_offset,
        "replica": log.beside.replica,
        "segment": batch.segment,
        "position": batch.position,
    }


def count(logs: Logs, counts: Callable[[Batch], bool]) -> int:
    """How many batches are such."""
    return sum(counts(batch) for log in logs.replicas for batch in log.batches)


def many(number: int, what: str) -> str:
    """`1 byte`, `6,010 bytes`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
