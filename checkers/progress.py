"""How far a long piece of work is, for those who wait: whoever works tells it, reporters show it.

    told(Progress(stage="operations are whole", done=3, total=16, rows=1_200_000))

A stage is told when it begins and after each of its chunks: a file, a piece, a Spark task. Its name
is its identity, so it does not change while it lasts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """A stage of the work, with `done` of its `total` chunks and `rows` behind it.

    `total` and `rows` are None where nobody knows.
    """

    stage: str
    done: int = 0
    total: int | None = None
    rows: int | None = None

    def __str__(self) -> str:
        """`operations are whole  3 of 16 chunks, 1,200,000 rows`: only what is known."""
        chunks = f"{self.done:,} of {self.total:,} chunks" if self.total is not None else ""
        if self.total is None and self.done:
            chunks = f"{self.done:,} chunk{'' if self.done == 1 else 's'}"
        rows = f"{self.rows:,} rows" if self.rows is not None else ""
        return "  ".join(filter(None, (self.stage, ", ".join(filter(None, (chunks, rows))))))


Watcher = Callable[[Progress], None]


def unwatched(progress: Progress) -> None:
    """Progress that nobody watches."""
    del progress
