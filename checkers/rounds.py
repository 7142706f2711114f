"""The interface between a search and a cluster: levels of partitioned data, and tasks on them.

In a round, a task for each partition of the newest level runs `send`, which sends bytes to
partitions. Then a task for each partition runs `collect`, which reads these bytes and returns the
partition of the next level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

REPORT: Final = -1  # instead of a partition: the driver
Sent = tuple[int, bytes]  # a partition, or REPORT, and what is sent there

Send = Callable[[Iterable[bytes]], Iterator[Sent]]  # from a partition of a level
# From what was sent to a partition and from all its levels, the newest last. What the function
# sends is kept in the partition, as the next level, unless it is a report.
Collect = Callable[[Iterable[bytes], Iterable[bytes]], Iterator[Sent]]


class Rounds(Protocol):
    """Partitioned data, which workers compute level by level.

    Lost data is computed again, so the functions must be deterministic. The data sent to a
    partition arrives in the order of the partitions that sent it.
    """

    @property
    def partitions(self) -> int: ...

    def on_workers(self, file: Path) -> Callable[[], str]:
        """Sends a file to all workers; the returned function returns the path on a worker."""
        ...

    def begin(self, sent: Sequence[Sent], collect: Collect) -> list[bytes]:
        """Makes the first level from the data `sent`; returns the reports of `collect`."""
        ...

    def advance(self, title: str, send: Send, collect: Collect) -> list[bytes]:
        """Makes the next level; returns the reports of both functions.

        `title` names the round, for example in Spark's UI.
        """
        ...

    def visit(self, title: str, level: int, send: Send) -> list[bytes]:
        """Runs `send` on each partition of one level; returns its reports, and ignores data that
        it sends.
        """
        ...
