"""A send that began after another was acknowledged got no higher an offset.

Offsets given to acknowledged sends must agree with real time: the log is one object, and its end
only moves on. The sends may come from different processes; what overlaps in time may get its
offsets in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.histories import History, Operation, Send
from properties.anomalies.anomaly import Anomaly
from properties.anomalies.telling import at, told


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class OffsetOrderInversion:
    """The first send was acknowledged before the second was invoked, at an offset no lower."""

    key: str
    second_offset: int
    second_value: str
    second_op: int
    first_offset: int
    first_value: str
    first_op: int

    @property
    def size(self) -> int:
        """How far back the second offset lies."""
        return self.first_offset - self.second_offset

    @property
    def ops(self) -> tuple[int, ...]:
        return self.first_op, self.second_op


@dataclass(frozen=True, slots=True)
class _Acknowledged:
    key: str
    value: str
    offset: int
    op: int
    position: int
    invoked_ns: int
    completed_ns: int


def _acknowledged(history: History) -> list[_Acknowledged]:
    return [
        _Acknowledged(
            micro.key,
            micro.value,
            micro.offset,
            number,
            position,
            operation.invoked_ns,
            operation.completed_ns,
        )
        for number, operation in enumerate(history)
        for position, micro in enumerate(operation.did)
        if isinstance(micro, Send) and micro.offset is not None
        if operation.outcome == "ok" and operation.completed_ns is not None
    ]


def inversions(history: History) -> tuple[OffsetOrderInversion, ...]:
    """One row per second send, with the highest offset acknowledged before it began."""
    sends = _acknowledged(history)
    rows: list[OffsetOrderInversion] = []
    for second in sends:
        before = [
            first
            for first in sends
            if first.key == second.key
            if first.completed_ns < second.invoked_ns
            if first.offset >= second.offset
        ]
        if before:
            first = min(before, key=lambda s: (-s.offset, s.completed_ns, s.op, s.position))
            rows.append(
                OffsetOrderInversion(
                    key=second.key,
                    second_offset=second.offset,
                    second_value=second.value,
                    second_op=second.op,
                    first_offset=first.offset,
                    first_value=first.value,
                    first_op=first.op,
                )
            )
    return tuple(sorted(rows))


def observed(history: History) -> int:
    """How many sends were acknowledged at an offset."""
    return len(_acknowledged(history))


def explain(row: OffsetOrderInversion, operations: Mapping[int, Operation]) -> str:
    """Why this is an inversion, from the two operations."""
    first, second = operations[row.first_op], operations[row.second_op]
    return "\n".join(
        (
            f"key {row.key}: offset {row.first_offset} was acknowledged at "
            f"{at(first.completed_ns)}; a send that began after that, at "
            f"{at(second.invoked_ns)}, got offset {row.second_offset}, which is not higher.",
            f"  first   {told(operations, row.first_op, row.key, value=row.first_value)}",
            f"  second  {told(operations, row.second_op, row.key, value=row.second_value)}",
        )
    )


ANOMALY: Final = Anomaly(
    id="offset-order-inversion",
    statement="Offsets given to acknowledged sends agree with real time.",
    rule="ack(o1) completed before the send of o2 was invoked, same key, and o1 >= o2.",
    explanation=(
        "Appends of a partition log are ordered, and an acknowledged append is in it. One that "
        "begins later comes behind it. A lower offset means that the log lost its end, or that "
        "two leaders gave out offsets."
    ),
    permits={},
    source="claims: linearizable_offsets; Herlihy and Wing, linearizability",
    observes="sends acknowledged at an offset",
    row=OffsetOrderInversion,
    find=inversions,
    observed=observed,
    explain=explain,
)
