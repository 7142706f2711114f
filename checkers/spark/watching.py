"""How far Spark is with a job, told while it runs: the tasks done, and the rows behind them."""

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

EVERY_S: Final = 0.25


@contextmanager
def watched(
    spark: SparkSession, stage: str, rows: Sequence[int], watch: Watcher
) -> Generator[None]:
    """Tells of the jobs of the block; `rows` are those of each task, in the order of their start.

    Tasks that run at once may end in another order, so the rows are about right.
    """
    behind = [0, *accumulate(rows)]
    watch(Progress(stage=stage, done=0, total=len(rows)))
    told = 0

    def tell(done: int) -> None:
        nonlocal told
        if told < done < len(behind):
            told = done
            watch(Progress(stage=stage, done=done, total=len(rows), rows=behind[done]))

    with reported(spark, tell) if is_connected(spark) else _looked_at(spark, tell):
        yield
    watch(Progress(stage=stage, done=len(rows), total=len(rows), rows=behind[-1]))


@contextmanager
def _looked_at(spark: SparkSession, tell: Callable[[int], None]) -> Generator[None]:
    """Asks again and again how many tasks of the stage that is running are done."""
    over = threading.Event()
    tracker = spark.sparkContext.statusTracker()

    def look() -> None:
        while not over.wait(EVERY_S):
            infos = (tracker.getStageInfo(number) for number in tracker.getActiveStageIds())
            tell(max((info.numCompletedTasks for info in infos if info is not None), default=0))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
