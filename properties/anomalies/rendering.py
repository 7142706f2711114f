"""How an explanation tells of an operation: who, when, and only what concerns the anomaly."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from model.histories import Operation
from model.history_notation import show

if TYPE_CHECKING:
    from collections.abc import Mapping

NS_PER_MS = 1_000_000


def at(time_ns: int | None) -> str:
    """A time of the history in milliseconds; `never` for what did not complete."""
    return "never" if time_ns is None else f"{time_ns / NS_PER_MS:.6f} ms"


def told(
    operations: Mapping[int, Operation],
    number: int,
    key: str,
    *,
    offset: int | None = None,
    value: str | None = None,
) -> str:
    """The operation in notation, cut to the micro-operations on the key that the anomaly is of."""
    did = tuple(
        micro
        for micro in operations[number].did
        if micro.key == key
        if offset is None or getattr(micro, "offset", None) == offset
        if value is None or getattr(micro, "value", None) == value
    )
    return whole({number: replace(operations[number], did=did)}, number)


def whole(operations: Mapping[int, Operation], number: int) -> str:
    """The operation in notation, with all that it did."""
    operation = operations[number]
    return (
        f"operation {number}, process {operation.process}: {show(operation)}"
        f"  [{at(operation.invoked_ns)} .. {at(operation.completed_ns)}]"
    )
