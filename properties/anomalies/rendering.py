"""Renders operations for explanations: the process, the times, and the relevant micro-operations.

A micro-operation is one part of an operation, such as a send or a poll of one record.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from model.histories import Operation
from model.history_notation import show

if TYPE_CHECKING:
    from collections.abc import Mapping

NS_PER_MS = 1_000_000


def in_ms(time_ns: int | None) -> str:
    """Returns a time of the history as text in milliseconds, or `never` if `time_ns` is None."""
    return "never" if time_ns is None else f"{time_ns / NS_PER_MS:.6f} ms"


def render(
    operations: Mapping[int, Operation],
    number: int,
    key: str,
    *,
    offset: int | None = None,
    value: str | None = None,
) -> str:
    """Returns the operation in history notation, with only its micro-operations on `key`.

    If `offset` is set, the text has only micro-operations with this offset. If `value` is set, the
    text has only micro-operations with this value.
    """
    did = tuple(
        micro
        for micro in operations[number].did
        if micro.key == key
        if offset is None or getattr(micro, "offset", None) == offset
        if value is None or getattr(micro, "value", None) == value
    )
    return render_whole({number: replace(operations[number], did=did)}, number)


def render_whole(operations: Mapping[int, Operation], number: int) -> str:
    """Returns the operation in history notation with all of its micro-operations."""
    operation = operations[number]
    return (
        f"operation {number}, process {operation.process}: {show(operation)}"
        f"  [{in_ms(operation.invoked_ns)} .. {in_ms(operation.completed_ns)}]"
    )
