"""The progress of a long computation: a worker reports it, and a reporter displays it.

    watch(Progress(stage="operations are whole", done=3, total=16, rows=1_200_000))

A stage is a part of the computation. A worker reports a stage when the stage begins, and after each
of its tasks: a file, a batch, a Spark task. The name identifies the stage, so it must not change
until the stage ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of one part of a computation: finished tasks, and processed rows.

    So far, `done` of `total` tasks are finished. `total` and `rows` are None if unknown.
    """

    stage: str
    done: int = 0
    total: int | None = None
    rows: int | None = None

    def __str__(self) -> str:
        """Returns the progress as text, such as `reading segments  3 of 16 tasks, 1,200,000 rows`.

        A number that is unknown is left out.
        """
        tasks = f"{self.done:,} of {self.total:,} tasks" if self.total is not None else ""
        if self.total is None and self.done:
            tasks = f"{self.done:,} task{'' if self.done == 1 else 's'}"
        rows = f"{self.rows:,} rows" if self.rows is not None else ""
        return "  ".join(filter(None, (self.stage, ", ".join(filter(None, (tasks, rows))))))


Watcher = Callable[[Progress], None]


def unwatched(progress: Progress) -> None:
    """Ignores the reported progress, for a caller that displays no progress."""
    del progress
