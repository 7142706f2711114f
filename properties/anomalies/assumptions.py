"""The assumptions that every analysis of a history makes.

If a recorder breaks an assumption, a correct system may look broken. So if an assumption fails, the
analysis reports only this failure, and no anomalies.

Source: etcd's robustness tests, which report a broken assumption as a separate result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation, Send


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class RepeatedValue:
    """A value that was sent to one topic partition more than once, and the operations that sent the
    value.

    Sends that failed are not included.
    """

    key: str
    value: str
    sent_by: tuple[int, ...]  # ascending; an operation appears once for each send

    def __str__(self) -> str:
        ops = ", ".join(map(str, self.sent_by))
        return f"{self.value} was sent to {self.key} by operations {ops}"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OverlappingOperations:
    """An operation that a process invoked before its previous operation had completed."""

    process: int
    second_op: int
    first_op: int

    def __str__(self) -> str:
        return (
            f"process {self.process} invoked operation {self.second_op} while operation "
            f"{self.first_op} was open"
        )


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class BackwardsOperation:
    """An operation that completed before it was invoked."""

    op: int
    invoked_ns: int
    completed_ns: int

    def __str__(self) -> str:
        return (
            f"operation {self.op} completed at {self.completed_ns} ns, before its invocation at "
            f"{self.invoked_ns} ns"
        )


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class MixedOperation:
    """An operation whose rows in the recorded table repeat or contradict each other.

    The table has one row for each micro-operation (one send or poll inside an operation). All rows
    of an operation must have, for example, the same process and the same times.
    """

    op: int
    rows: int

    def __str__(self) -> str:
        return f"the {self.rows} rows of operation {self.op} repeat or contradict each other"


AssumptionRow = RepeatedValue | OverlappingOperations | BackwardsOperation | MixedOperation


def repeated_values(history: History) -> tuple[RepeatedValue, ...]:
    senders: dict[tuple[str, str], list[int]] = {}
    for number, operation in enumerate(history):
        for micro in operation.did:
            if isinstance(micro, Send) and operation.outcome != "fail":
                senders.setdefault((micro.key, micro.value), []).append(number)
    return tuple(
        RepeatedValue(key=key, value=value, sent_by=tuple(ops))
        for (key, value), ops in sorted(senders.items())
        if len(ops) > 1
    )


def overlapping_operations(history: History) -> tuple[OverlappingOperations, ...]:
    """Returns each operation that began before an earlier operation of the same process had
    completed.

    Each row also names the earlier operation that was still running when the later one began. If
    several were still running, the row names the one that completed last. An operation that never
    completed counts as the last.
    """

    def closes(operation: Operation) -> float:
        return float("inf") if operation.completed_ns is None else operation.completed_ns

    rows: list[OverlappingOperations] = []
    for number, second in enumerate(history):
        still_open = [
            (-closes(first), first.invoked_ns, earlier)
            for earlier, first in enumerate(history)
            if first.process == second.process
            if (first.invoked_ns, earlier) < (second.invoked_ns, number)
            if second.invoked_ns < closes(first)
        ]
        if still_open:
            rows.append(
                OverlappingOperations(
                    process=second.process, second_op=number, first_op=min(still_open)[2]
                )
            )
    return tuple(sorted(rows))


def backwards_operations(history: History) -> tuple[BackwardsOperation, ...]:
    return tuple(
        BackwardsOperation(
            op=number, invoked_ns=operation.invoked_ns, completed_ns=operation.completed_ns
        )
        for number, operation in enumerate(history)
        if operation.completed_ns is not None and operation.completed_ns < operation.invoked_ns
    )


def mixed_operations(history: History) -> tuple[MixedOperation, ...]:
    """Returns an empty tuple, because a `History` has exactly one object for each operation. A
    mixed operation is one whose rows contradict each other, for example about the process.

    Only a recorded file can have one, because there an operation consists of several rows.
    """
    del history
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    id: str
    statement: str
    find: Callable[[History], tuple[AssumptionRow, ...]]


ASSUMPTIONS: Final = (
    Assumption(
        id="whole-operations",
        statement=(
            "Each operation number names one operation, and its rows agree and differ in position."
        ),
        find=mixed_operations,
    ),
    Assumption(
        id="time-goes-forward",
        statement="No operation completes before it is invoked.",
        find=backwards_operations,
    ),
    Assumption(
        id="one-open-operation",
        statement="A process has at most one open operation; one that never completes stays open.",
        find=overlapping_operations,
    ),
    Assumption(
        id="values-are-unique",
        statement="A value is sent to a key at most once, not counting sends that failed.",
        find=repeated_values,
    ),
)
