"""`analyze_on_spark`: the same analysis as in one process, its pieces looked at by Spark.

What comes to the driver is small: summaries, suspects, strays, offending rows. A history that is
one piece is one task.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
from pyspark import cloudpickle

from checkers.histories.analysis import Analysis, Decision, analysis_of, stored
from checkers.histories.plan.batches import LocalPieces
from checkers.histories.plan.partitions import ROWS_PER_CHUNK, Chunk, RowGroup
from checkers.progress import Progress, Watcher, unwatched
from checkers.spark.connect import is_local
from checkers.spark.pieces import SparkPieces
from checkers.spark.session import session
from model.faults import InputFault
from properties.anomalies.catalogue import named
from properties.anomalies.declarations import NOTHING_DECLARED, Declarations

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ResultT = TypeVar("ResultT")
dumps: Final[Any] = cloudpickle.dumps  # functions of ours and their parameters too


def analyze_on_spark(
    history: Path,
    *,
    master: str | None = None,
    anomalies: tuple[str, ...] = (),
    declared: Declarations = NOTHING_DECLARED,
    watch: Watcher = unwatched,
    folder: Path | None = None,
    decided: Callable[[Decision], None] | None = None,
    rows_per_chunk: int | None = None,
    groups: int | None = None,
) -> Analysis:
    """The verdict on the history, on Spark; all cores of this machine without a master.

    A history that is not Parquet is written as Parquet parts into the folder first, without one
    into one that is removed after. UnreadableHistory, UnknownName, or InputFault when there is no
    Java, no such master, or its workers do not find the history.
    """
    chosen = named(anomalies, declared)
    with tempfile.TemporaryDirectory(prefix="urteil-history-") as removed:
        watch(Progress(stage="reading"))
        at = history.absolute() if master else history  # workers are in folders of their own
        # a second worker costs more than it saves where one chunk is enough
        chunks = stored(at, folder or Path(removed), rows_per_chunk or ROWS_PER_CHUNK)
        watch(Progress(stage="starting Spark"))
        with session(master) as spark:
            stretches = (stretch for chunk in chunks for stretch in chunk.stretches)
            refuse_unseen(spark, {one.path for one in stretches if isinstance(one, RowGroup)})
            judge = partial(
                analysis_of, chosen=chosen, name=str(history), declared=declared, groups=groups
            )
            if len(chunks) > 1:
                return judge(SparkPieces(spark, chunks, watch), decided=decided)
            watch(Progress(stage="spark: all of it in one task", done=0, total=1))
            analysis = in_one_task(spark, partial(_of_one_piece, judge, chunks))
            for decision in analysis.decisions:
                if decided:
                    decided(decision)
            return analysis


def _of_one_piece(judge: Callable[[LocalPieces], Analysis], chunks: tuple[Chunk, ...]) -> Analysis:
    return judge(LocalPieces(chunks))


def refuse_unseen(spark: SparkSession, paths: Iterable[str]) -> None:
    """InputFault for the first file that is here, and not where the tasks of a cluster run."""
    if is_local(spark):
        return
    unseen = in_one_task(spark, partial(_unseen, sorted(paths)))
    if unseen:
        raise InputFault(
            f"{unseen}: the cluster's workers do not find it; put what is to be judged (a history "
            "as Parquet) where they and this process have it under one path"
        )


def _unseen(paths: Iterable[str]) -> str | None:
    return next((path for path in paths if not Path(path).exists()), None)


def in_one_task(spark: SparkSession, work: Callable[[], ResultT]) -> ResultT:
    """What the work returns, done by one task; the InputFault that it raises."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            try:
                told: ResultT | InputFault = work()
            except InputFault as fault:
                told = fault
            pickled: bytes = dumps(told)
            yield pa.RecordBatch.from_pydict({"told": [pickled]})

    (cell,) = spark.range(0, 1, 1, 1).mapInArrow(run, "told binary").toArrow()["told"].to_pylist()
    told: ResultT | InputFault = pickle.loads(cell)
    if isinstance(told, InputFault):
        raise told
    return told
