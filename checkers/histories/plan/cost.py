"""Measures the cost of a pass over a source: rows, bytes and seconds, for each task and each stage.

A *stage* is a step of a query plan. A *task* processes some partitions of the source: it is a Spark
task, or the work on one partition in this process. The time to derive a column, such as the hashes
of texts, is added to the first stage that needs the column.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

import numpy as np
import pyarrow as pa

READING: Final = "reading columns"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageCost:
    seconds: float = 0.0
    rows: int = 0
    bytes: int = 0

    def __add__(self, other: StageCost) -> StageCost:
        return StageCost(
            seconds=self.seconds + other.seconds,
            rows=self.rows + other.rows,
            bytes=self.bytes + other.bytes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCost:
    rows: int
    bytes: int
    seconds: float
    stages: dict[str, StageCost]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassCost:
    """The cost of a pass. `seconds` is the wall time from the start of the pass to the result of
    its last task.
    """

    source: str
    into: tuple[str, ...] = ()
    seconds: float
    tasks: tuple[TaskCost, ...]

    @property
    def rows(self) -> int:
        return sum(task.rows for task in self.tasks)

    @property
    def bytes(self) -> int:
        return sum(task.bytes for task in self.tasks)

    @property
    def skew(self) -> float:
        """The seconds of the longest task, divided by the median over all tasks with rows. The
        skew is 1 if no task had rows.
        """
        seconds = [task.seconds for task in self.tasks if task.rows]
        return max(seconds) / float(np.median(seconds)) if seconds else 1.0

    def stages(self) -> dict[str, StageCost]:
        """Returns the cost of each stage (step of the query plan), summed over all tasks."""
        total: dict[str, StageCost] = {}
        for task in self.tasks:
            for name, cost in task.stages.items():
                total[name] = total.get(name, StageCost()) + cost
        return total


Measured = Callable[[PassCost], None]


def unmeasured(cost: PassCost) -> None:
    del cost


@dataclass(slots=True)
class Meter:
    """Measures a task while it runs: its rows and bytes, and the cost of each stage (step of the
    query plan).
    """

    rows: int = 0
    bytes: int = 0
    began: float = field(default_factory=perf_counter)
    stages: dict[str, StageCost] = field(default_factory=dict[str, StageCost])

    def begin(self, stages: Iterable[str]) -> None:
        """Adds each stage with a cost of zero, so that the costs of all tasks list the stages in
        the same order.
        """
        for stage in (READING, *stages):
            self._add(stage, StageCost())

    def read(self, read: Callable[[], pa.Table]) -> pa.Table:
        """Calls `read` and returns its table.

        The time of the call is added to the cost of the stage `reading columns`, and the bytes of
        the table are added to the cost of the task.
        """
        began = perf_counter()
        table = read()
        self.bytes += table.nbytes
        self._add(READING, StageCost(seconds=perf_counter() - began))
        return table

    def kept(self, stage: str, compute: Callable[[], pa.Table]) -> pa.Table:
        """Calls `compute` and returns its table.

        The time of the call, and the rows and bytes of the table, are added to the cost of `stage`.
        """
        began = perf_counter()
        table = compute()
        seconds = perf_counter() - began
        self._add(stage, StageCost(seconds=seconds, rows=table.num_rows, bytes=table.nbytes))
        return table

    def _add(self, stage: str, cost: StageCost) -> None:
        self.stages[stage] = self.stages.get(stage, StageCost()) + cost

    def task(self) -> TaskCost:
        return TaskCost(
            rows=self.rows,
            bytes=self.bytes,
            seconds=perf_counter() - self.began,
            stages=self.stages,
        )


@contextmanager
def measured_pass(
    measured: Measured, source: str, into: tuple[str, ...] = ()
) -> Generator[list[TaskCost]]:
    """Measures the execution of the `with` block as one pass over the dataset with the name
    `source`. `into` has the names of the datasets that the pass writes by a shuffle.

    The block must add the cost of each task to the list that this context manager yields. At the
    end, `measured` is called with the cost of the pass.
    """
    tasks: list[TaskCost] = []
    began = perf_counter()
    yield tasks
    seconds = perf_counter() - began
    measured(PassCost(source=source, into=into, seconds=seconds, tasks=tuple(tasks)))
