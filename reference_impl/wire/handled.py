"""The result of a request: its response frame, and what becomes of its connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from reference_impl.wire.produce import PartitionProduce


@dataclass(frozen=True, slots=True)
class Handled:
    """The result of a request: its response frame (None without a response) and appended batches.

    If `closes` is true, the connection is closed. If `silence` is set, nothing more is read or
    written on the connection until the silence ends; then the connection is closed.
    """

    frame: bytes | None
    appended: tuple[PartitionProduce, ...] = ()
    closes: bool = False
    is_answered: bool = True
    silence: Callable[[], Awaitable[None]] | None = None

    @property
    def is_applied(self) -> bool:
        """False if the request has batches and all of them were rejected."""
        return not self.appended or any(one.is_applied for one in self.appended)
