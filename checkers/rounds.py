"""The interface between a state search and the cluster that runs it. The data has levels, and each
level is divided into partitions.

A round computes the next level from the newest one. First, a task for each partition of the newest
level runs `send`, which sends bytes to partitions of the next level. Then, a task for each
partition runs `collect`, which reads the bytes that were sent to the partition. The result of
`collect` is the partition of the next level.
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
    """Partitioned data that workers compute level by level.

    The cluster computes lost data again, so the functions `send` and `collect` must be
    deterministic. A partition receives data in the order of the partitions that sent the data.
    """

    @property
    def partitions(self) -> int: ...

    def on_workers(self, file: Path) -> Callable[[], str]:
        """Sends a file to all workers. Returns a function that a worker calls to get the path of
        its copy.
        """
        ...

    def begin(self, sent: Sequence[Sent], collect: Collect) -> list[bytes]:
        """Computes the first level from the data `sent`. Returns the reports: the bytes that
        `collect` sends to the driver.
        """
        ...

    def advance(self, title: str, send: Send, collect: Collect) -> list[bytes]:
        """Computes the next level, and returns the reports (the bytes that `send` and `collect`
        send to the driver).

        `title` is a name for the round. Spark's UI displays it.
        """
        ...

    def visit(self, title: str, level: int, send: Send) -> list[bytes]:
        """Runs `send` on each partition of the level number `level`, and returns the reports: the
        bytes that `send` sends to the driver. Bytes that `send` sends to partitions are ignored.
        """
        ...
