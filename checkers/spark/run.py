"""Analyzes a history on Spark: tasks reduce the history's partitions to small tables.

If a history has only one partition, one task does the whole analysis.
"""

from __future__ import annotations

import errno
import os
import pickle
import re
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
from pyspark import cloudpickle

from checkers.histories.analysis import Analysis, Decision, analysis_of, partitioned
from checkers.histories.io.locations import Location
from checkers.histories.io.partitions import ROWS_PER_PARTITION, HistoryPartition
from checkers.histories.io.unreadable import UnreadableHistory
from checkers.histories.plan.in_process import LocalDataset
from checkers.progress import Progress, Watcher, unwatched
from checkers.spark.connect import is_local
from checkers.spark.dataset import SparkDataset
from checkers.spark.sent_files import sent
from checkers.spark.session import is_running, session, ui_address
from checkers.spark.watching import described, relayed
from model.faults import InputFault
from properties.anomalies.catalogue import named
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ResultT = TypeVar("ResultT")
IN_ONE_TASK: Final = "every stage in one task"  # of a history with one partition
dumps: Final[Any] = (
    cloudpickle.dumps
)  # unlike pickle, it also pickles functions with their parameters


def unnoted(text: str) -> None:
    del text


def analyze_on_spark(
    history: Location,
    *,
    master: str | None = None,
    anomalies: tuple[str, ...] = (),
    declared: Declarations = NOTHING_DECLARED,
    watch: Watcher = unwatched,
    folder: Path | None = None,
    decided: Callable[[Decision], None] | None = None,
    rows_per_partition: int | None = None,
    shuffle_partitions: int | None = None,
    ui: bool = False,
    note: Callable[[str], None] = unnoted,
) -> Analysis:
    """Analyzes a history on Spark, and returns the verdicts on its anomalies.

    With `ui`, Spark serves its web UI during the analysis. `note` is called with messages for the
    user. Raises UnreadableHistory, UnknownName for an unknown anomaly, or InputFault for a missing
    Java, master or file.
    """
    chosen = named(anomalies, declared)
    with tempfile.TemporaryDirectory(prefix="urteil-history-") as temporary:
        watch(Progress(stage="reading the history"))
        path = (
            history.absolute() if master and isinstance(history, Path) else history
        )  # workers run in other folders
        # a second worker costs more than it saves for fewer rows
        size = rows_per_partition or ROWS_PER_PARTITION
        partitions = partitioned(path, folder or Path(temporary), size)
        watch(Progress(stage="starting Spark"))
        starts, began = not is_running(), time.perf_counter()
        with session(master, ui=ui) as spark, errors_of_tasks():
            if ui:
                note(f"Spark's web UI: {ui_address(spark)}")
            partitions = sent(spark, partitions, Path(tempfile.mkdtemp(dir=temporary)))
            analyse = partial(
                analysis_of,
                chosen=chosen,
                name=str(history),
                declared=declared,
                shuffle_partitions=shuffle_partitions,
            )
            if len(partitions) > 1:
                analysis = analyse(SparkDataset(spark, partitions, watch), decided=decided)
            else:
                with relayed(spark, watch) as relay, described(spark, IN_ONE_TASK):
                    watch(Progress(stage=IN_ONE_TASK, done=0, total=1))
                    work = partial(_analyse_locally, analyse, partitions, relay)
                    analysis = in_one_task(spark, work)
                for decision in analysis.decisions:
                    if decided:
                        decided(decision)
            total_s = time.perf_counter() - began
    local_s = sum(task.seconds for one in analysis.passes for task in one.tasks)
    if starts and total_s > 2 * local_s:
        note(
            f"the analysis took {local_s:.1f} s and Spark {total_s - local_s:.1f} s more: "
            "--engine local needs no Spark"
        )
    return analysis


def _analyse_locally(
    analyse: Callable[[LocalDataset], Analysis],
    partitions: tuple[HistoryPartition, ...],
    watch: Watcher,
) -> Analysis:
    return analyse(LocalDataset(partitions, watch))


@contextmanager
def errors_of_tasks() -> Generator[None]:
    """If a Spark task in the `with` block fails, raises the error of the task with its original
    type. Spark itself returns only the text of the error.

    Two errors are recognized: an UnreadableHistory, and the OSError of a full disk.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if os.strerror(errno.ENOSPC) in str(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        found = re.findall(rf"^\S*\b{UnreadableHistory.__name__}: (.+)$", str(error), re.MULTILINE)
        if not found:
            raise
        raise UnreadableHistory(found[0]) from error


def require_visible(spark: SparkSession, paths: Iterable[str]) -> None:
    """Raises InputFault if the cluster's workers cannot read one of the files. The message names
    the first such file. With a local master, nothing is checked.
    """
    if is_local(spark):
        return
    missing = in_one_task(spark, partial(_first_missing, sorted(paths)))
    if missing:
        raise InputFault(
            f"{missing}: the cluster's workers do not find this file; put the input (a history as "
            "Parquet) where the workers and this process can read it under the same path"
        )


def _first_missing(paths: Iterable[str]) -> str | None:
    return next((path for path in paths if not Path(path).exists()), None)


def in_one_task(spark: SparkSession, work: Callable[[], ResultT]) -> ResultT:
    """Runs `work` in one Spark task, and returns its result. Raises InputFault if `work` raises
    InputFault in the task.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            try:
                result: ResultT | InputFault = work()
            except InputFault as fault:
                result = fault
            pickled: bytes = dumps(result)
            yield pa.RecordBatch.from_pydict({"result": [pickled]})

    (row,) = spark.range(0, 1, 1, 1).mapInArrow(run, "result binary").toArrow().to_pylist()
    result: ResultT | InputFault = pickle.loads(row["result"])
    if isinstance(result, InputFault):
        raise result
    return result
