"""The interface between a search and a cluster: levels of partitioned data, and tasks on them.

The newest level is divided into partitions. In a round, one task for each partition runs `send`,
which sends bytes to partitions. Then one task for each partition runs `collect`, which reads the
bytes sent to its partition, and returns this partition of the next level. All levels stay on the
workers. Tasks return reports to the driver.
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
    """Partitioned data, which workers compute level by level; each level depends on earlier levels.

    Lost data is computed again, so the functions must be deterministic. The data sent to a
    partition arrives in the order of the partitions that sent it.
    """

    @property
    def partitions(self) -> int: ...

    def on_workers(self, file: Path) -> Callable[[], str]:
        """Sends a file to all workers, and returns a function for the file's path.

        A worker calls this function to get the path of its copy.
        """
        ...

    def begin(self, sent: Sequence[Sent], collect: Collect) -> list[bytes]:
        """Runs `collect` on the data `sent`; the data that `collect` returns becomes the first
        level.

        Returns the reports that `collect` sends to the driver.
        """
        ...

    def advance(self, title: str, send: Send, collect: Collect) -> list[bytes]:
        """Makes the next level: runs `send` on each partition of the newest level, then `collect`
        on the data sent to each partition.

        The data that `collect` returns becomes the next level. Returns the reports that both
        functions send to the driver. `title` names the round, for example in Spark's UI.
        """
        ...

    def visit(self, title: str, level: int, send: Send) -> list[bytes]:
        """Runs `send` on each partition of one level; returns the reports that `send` sends to the
        driver.

        Level 0 is the first level. Data that `send` sends to partitions is ignored.
        """
        ...
