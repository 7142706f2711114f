"""The progress of a long computation. A worker reports the progress, and a reporter displays it.

    watch(Progress(stage="operations are whole", done=3, total=16, rows=1_200_000))

The text `stage` identifies a part of the computation, so it must not change until this part ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of one part of a computation: `done` of `total` tasks are complete, and `rows`
    rows were processed.

    `stage` is a text that identifies the part, so it must not change. `total` is None if the number
    of tasks is unknown. `rows` is None if the number of rows is unknown.
    """

    stage: str
    done: int = 0
    total: int | None = None
    rows: int | None = None

    def __str__(self) -> str:
        """Returns a text such as `reading segments 3 of 16 tasks, 1,200,000 rows`."""
        tasks = f"{self.done:,} of {self.total:,} tasks" if self.total is not None else ""
        if self.total is None and self.done:
            tasks = f"{self.done:,} task{'' if self.done == 1 else 's'}"
        rows = f"{self.rows:,} rows" if self.rows is not None else ""
        return "  ".join(filter(None, (self.stage, ", ".join(filter(None, (tasks, rows))))))


Watcher = Callable[[Progress], None]


def unwatched(progress: Progress) -> None:
    del progress
