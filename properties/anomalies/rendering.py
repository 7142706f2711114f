"""Renders operations for explanations: process, times, and the relevant micro-operations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from model.histories import Operation
from model.history_notation import show

if TYPE_CHECKING:
    from collections.abc import Mapping

NS_PER_MS = 1_000_000


def in_ms(time_ns: int | None) -> str:
    """Returns a time of the history as text in milliseconds; `never` if there is no time."""
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

    With `offset` or `value`, only micro-operations with that offset or value are shown.
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
