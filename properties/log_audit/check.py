"""A check of the audit: a statement about logs, the functions that find violations, and their text.

Each module of checks is about one subject, such as `transactions`. The module defines these parts:

    dataclasses   the fields of a violation
    functions     that find the violations
    `observed`    which counts the checked objects, such as batches
    `explain`     which returns the text of a violation
    `CHECKS`      the entries of the catalogue
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from properties.log_audit.log import Batch, Logs, ReplicaLog


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Location:
    """The location of a violation: a byte of a segment file, and an offset of the log.

    `offset` is the base offset of the batch that begins at `position`. If no batch begins there, it
    is the offset that the next record would have.
    """

    partition: str
    offset: int
    replica: str
    segment: str
    position: int  # in bytes

    def __str__(self) -> str:
        return f"{self.replica}/{self.partition}/{self.segment} byte {self.position}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A statement that must be true of logs, and the function that finds its violations.

    - `observed` returns the number of cases in which the statement could have been false.
    - `observes` is a noun for these cases, such as `producers of transactions`.
    - `permits` has the conditions under which a finding is no violation. It maps each condition to
      the reason.
    - `permitted` returns the condition that permits a finding, or None.
    - `unread` is True if a finding means only that a part of the log was not audited.
    """

    id: str
    statement: str
    rule: str
    explanation: str
    source: str
    observes: str
    row: type[Location]
    find: Callable[[Logs], tuple[Any, ...]]  # rows of type `row`, sorted
    observed: Callable[[Logs], int]
    explain: Callable[[Any], str]
    permits: Mapping[str, str] = field(default_factory=dict[str, str])
    permitted: Callable[[Any], str | None] = lambda _row: None
    unread: bool = False


def location(log: ReplicaLog, batch: Batch) -> dict[str, Any]:
    return {
        "partition": log.metadata.partition,
        "offset": batch.base_offset,
        "replica": log.metadata.replica,
        "segment": batch.segment,
        "position": batch.position,
    }


def count(logs: Logs, counts: Callable[[Batch], bool]) -> int:
    return sum(counts(batch) for log in logs.replicas for batch in log.batches)


def many(number: int, noun: str) -> str:
    """Returns the number with its noun, which is in the plural unless the number is 1: `1 byte`,
    `6,010 bytes`.
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
