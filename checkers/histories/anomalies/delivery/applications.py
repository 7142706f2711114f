"""Defines the delivery statistics of an application: a group, or a process without a group.

    c1 poll -> ok k=a@0
    c1 poll -> ok k=a@0 k=c@2     process c1: 2 records, 1 of them repeated

Source: `properties.delivery`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from checkers.histories.anomalies.delivery.delivery_kernels import (
    LOW,
    OK,
)
from checkers.histories.columnar.bitset import count
from checkers.histories.columnar.fingerprints import NULL, Ints
from checkers.histories.columnar.sorting import run_lengths, run_starts
from checkers.histories.facts.owner_offsets import OwnerOffsets
from checkers.histories.plan.batch import Batch

DeliveredAt = tuple[int, int, int]  # operation, position, offset (may be UNKNOWN_OFFSET)


@dataclass(frozen=True, slots=True)
class Repeated:
    """A record that an application received twice. `first` is None until the first delivery has
    been looked up.
    """

    second: DeliveredAt
    first: DeliveredAt | None
    key: int
    value: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that an application skipped. `value` is NULL until the value has been looked up."""

    key: int
    offset: int
    value: int = NULL
    writer_op: int = -1


@dataclass(slots=True)
class Application:
    group: int
    process: int
    records: int = 0
    repeated: int = 0
    skipped: int = 0
    repetition: Repeated | None = None  # the earliest
    skips: list[Skipped] = field(default_factory=list[Skipped])  # at least the lowest of each key

    def keep_earliest(self, repetition: Repeated) -> None:
        if self.repetition is None or repetition.second < self.repetition.second:
            self.repetition = repetition


def applications_of(reach: Batch, polls: Batch) -> dict[int, Application]:
    """Returns an `Application` with counts of 0 for each owner that received a record. An owner is
    a consumer group, or a process without a group.

    `reach` has the highest delivered offset of each owner in each topic partition. `polls` has the
    polls of two kinds of records: unconfirmed records, and records that share an offset with
    another record. A record is unconfirmed if it was polled at an offset where no send of the
    record was acknowledged.
    """
    applications: dict[int, Application] = {}
    for of, ended_ok in (
        (reach, reach.ints("high") != LOW),
        (polls, polls.ints("outcome") == OK),
    ):
        some = of.where(ended_ok)
        for owner, group, process in zip(
            *(some.ints(name).tolist() for name in ("owner", "group", "process")), strict=True
        ):
            applications.setdefault(owner, Application(group, process))
    return applications


def count_records(applications: dict[int, Application], delivered: OwnerOffsets) -> None:
    for owner, rows in rows_by_owner(delivered.owner):
        applications[owner].records += count(delivered.bits[rows])
        applications[owner].repeated += count(delivered.repeated[rows])


def rows_by_owner(owner: Ints) -> list[tuple[int, slice]]:
    """Returns each owner (a consumer group or a process) with the range of its rows in `owner`.

    The rows of an owner must be adjacent.
    """
    starts = run_starts(owner)
    ends = starts + run_lengths(starts, len(owner))
    return [
        (int(owner[first]), slice(first, end))
        for first, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
