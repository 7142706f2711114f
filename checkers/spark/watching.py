"""The progress of Spark jobs while they run: the number of finished tasks, and their rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from checkers.progress import Progress, Watcher
from checkers.spark.connect import is_connected, reported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERVAL_S: Final = 0.25


@contextmanager
def watched(
    spark: SparkSession, stage: str, rows: Sequence[int], watch: Watcher
) -> Generator[None]:
    """Reports the progress of the Spark jobs in the `with` block.

    The caller gives the number of rows of each task, in the order of the tasks. Spark reports how
    many tasks have ended, but not which ones. So after n tasks, the rows of the first n tasks are
    reported, as an estimate.
    """
    rows_done = [0, *accumulate(rows)]
    watch(Progress(stage=stage, done=0, total=len(rows)))
    reported_tasks = 0

    def report(done: int) -> None:
        nonlocal reported_tasks
        if reported_tasks < done < len(rows_done):
            reported_tasks = done
            watch(Progress(stage=stage, done=done, total=len(rows), rows=rows_done[done]))

    with reported(spark, report) if is_connected(spark) else _polled(spark, report):
        yield
    watch(Progress(stage=stage, done=len(rows), total=len(rows), rows=rows_done[-1]))


@contextmanager
def _polled(spark: SparkSession, report: Callable[[int], None]) -> Generator[None]:
    over = threading.Event()
    tracker = spark.sparkContext.statusTracker()

    def poll() -> None:
        while not over.wait(INTERVAL_S):
            infos = (tracker.getStageInfo(number) for number in tracker.getActiveStageIds())
            report(max((info.numCompletedTasks for info in infos if info is not None), default=0))

    poller = threading.Thread(target=poll, daemon=True)
    poller.start()
    try:
        yield
    finally:
        over.set()
        poller.join()
