"""The result of a request: its response frame, and whether the connection is closed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from reference_impl.wire.requests.records.produce import PartitionProduce


@dataclass(frozen=True, slots=True)
class Handled:
    """The result of a request: the response frame (or None), and the record batches that were
    appended.
    """

    frame: bytes | None
    appended: tuple[PartitionProduce, ...] = ()
    # If true, the connection is closed.
    closes: bool = False
    is_answered: bool = True
    # If set, the connection is silent until this ends, and is then closed.
    silence: Callable[[], Awaitable[None]] | None = None

    @property
    def is_applied(self) -> bool:
        """True if the request has no record batches, or if the broker acknowledged at least one
        of them.
        """
        return not self.appended or any(one.is_applied for one in self.appended)
