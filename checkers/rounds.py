"""What a search in rounds needs of a cluster: data in partitions, and tasks on the partitions.

A round spreads the newest level, which is divided into partitions: each task sends bytes to
partitions. Then a task gathers what was sent to its partition, and what is kept of the next level.
All levels stay where they were gathered. Tasks return reports to the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

REPORT: Final = -1  # instead of a partition: the driver
Sent = tuple[int, bytes]  # a partition, or REPORT, and what is sent there

Spread = Callable[[Iterable[bytes]], Iterator[Sent]]  # from a partition of a level
# From what was sent to a partition and from all its levels, the newest last. What the function
# sends is kept in the partition, as the next level, unless it is a report.
Gather = Callable[[Iterable[bytes], Iterable[bytes]], Iterator[Sent]]


class Rounds(Protocol):
    """Levels of data in partitions. Functions must be deterministic: lost data is computed again.

    What was sent to a partition arrives in the order of the partitions from which it was sent.
    """

    @property
    def partitions(self) -> int: ...

    def on_workers(self, file: Path) -> Callable[[], str]:
        """Returns a function that returns the path of the file on each worker."""
        ...

    def begin(self, sent: Sequence[Sent], gather: Gather) -> list[bytes]:
        """Gathers the first level from what the driver sends; returns the reports."""
        ...

    def advance(self, title: str, spread: Spread, gather: Gather) -> list[bytes]:
        """Gathers a level from what the newest one sends; returns the reports of both functions."""
        ...

    def visit(self, title: str, level: int, spread: Spread) -> list[bytes]:
        """Returns the reports of a function of an earlier level, without anything else it sends."""
        ...
