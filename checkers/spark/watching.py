"""Reports the progress of Spark jobs while they run, and gives them a name in Spark's web UI."""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checkers.progress import Progress, Watcher, unwatched
from checkers.spark.connect import is_connected, is_local, reported, tagged
from checkers.spark.lost import is_unanswered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERVAL_S: Final = 0.25
_OF_JOBS: Final = ("spark.job.description", "spark.jobGroup.id")  # of this thread's jobs


@contextmanager
def watched(
    spark: SparkSession, stage: str, rows: Sequence[int], watch: Watcher
) -> Generator[None]:
    """Calls `watch` with the progress of the Spark jobs in the `with` block. Spark's web UI shows
    these jobs under the name `stage`.

    Spark reports how many tasks have ended, but it does not report which tasks. So the reported
    number of rows is an estimate: after n tasks, it is the number of rows of the first n tasks.
    """
    rows_done = [0, *accumulate(rows)]
    watch(Progress(stage=stage, done=0, total=len(rows)))
    reported_tasks = 0

    def report(done: int) -> None:
        nonlocal reported_tasks
        if reported_tasks < done < len(rows_done):
            reported_tasks = done
            watch(Progress(stage=stage, done=done, total=len(rows), rows=rows_done[done]))

    with (
        described(spark, stage),
        reported(spark, report) if is_connected(spark) else _polled(spark, report),
    ):
        yield
    watch(Progress(stage=stage, done=len(rows), total=len(rows), rows=rows_done[-1]))


@contextmanager
def described(spark: SparkSession, name: str) -> Generator[None]:
    """Makes `name` the description of the Spark jobs of the `with` block in Spark's web UI, and the
    name of their job group.

    With Spark Connect, the name is a tag of the jobs, because the server sets their descriptions.
    """
    if is_connected(spark):
        with tagged(spark, name):
            yield
        return
    context = spark.sparkContext
    context.setJobGroup(name, name)
    try:
        yield
    finally:
        for local in _OF_JOBS:
            context.setLocalProperty(local, None)  # type: ignore[arg-type]


@contextmanager
def _polled(spark: SparkSession, report: Callable[[int], None]) -> Generator[None]:
    tracker = spark.sparkContext.statusTracker()

    def poll() -> None:
        infos = (tracker.getStageInfo(number) for number in tracker.getActiveStageIds())
        report(max((info.numCompletedTasks for info in infos if info is not None), default=0))

    with _repeated(poll):
        yield


@contextmanager
def relayed(spark: SparkSession, watch: Watcher) -> Generator[Watcher]:
    """Yields a function that a Spark task calls with its progress. In the driver, `watch` is called
    with this progress.

    This works only with a local master. On a cluster, the function does nothing.
    """
    if not is_local(spark):
        yield unwatched
        return
    with tempfile.TemporaryDirectory(prefix="urteil-progress-") as folder:
        relay = Relay(Path(folder) / "progress")
        with _repeated(partial(relay.forward, watch)):
            yield relay


@dataclass(frozen=True, slots=True)
class Relay:
    """A function that writes the latest progress to a file, so that another process can read it."""

    file: Path

    def __call__(self, progress: Progress) -> None:
        written = self.file.with_suffix(f".{os.getpid()}")
        written.write_bytes(pickle.dumps(progress))
        written.replace(self.file)

    def forward(self, watch: Watcher) -> None:
        if self.file.exists():
            watch(pickle.loads(self.file.read_bytes()))


@contextmanager
def _repeated(act: Callable[[], None]) -> Generator[None]:
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(INTERVAL_S):
            try:
                act()
            except KeyboardInterrupt:  # a watcher raises it; the main thread has it too
                return
            except Exception as error:
                if is_unanswered(error):  # the main thread has such an error too
                    return
                raise

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
