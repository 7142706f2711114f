"""`analyze_on_spark`: the same analysis as in one process, its pieces looked at by Spark.

What comes to the driver is small: summaries, suspects, strays, offending rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from checkers.histories.analysis import Analysis, Decision, analysis_of, stored
from checkers.progress import Progress, Watcher, unwatched
from checkers.spark.pieces import SparkPieces
from checkers.spark.session import session
from properties.anomalies.catalogue import named
from properties.anomalies.declared import NOTHING, Declared


def analyze_on_spark(
    history: Path,
    *,
    master: str | None = None,
    anomalies: tuple[str, ...] = (),
    declared: Declared = NOTHING,
    watch: Watcher = unwatched,
    folder: Path | None = None,
    decided: Callable[[Decision], None] | None = None,
    rows_per_chunk: int | None = None,
    groups: int | None = None,
) -> Analysis:
    """The verdict on the history, on Spark; all cores of this machine without a master.

    A history that is not Parquet is written as Parquet parts into the folder first, without one
    into one that is removed after. UnreadableHistory, UnknownName, or InputFault when there is no
    Java.
    """
    chosen = named(anomalies, declared)
    with tempfile.TemporaryDirectory(prefix="urteil-history-") as removed:
        watch(Progress(stage="reading"))
        chunks = stored(history, folder or Path(removed), rows_per_chunk)
        watch(Progress(stage="starting Spark"))
        with session(master) as spark:
            return analysis_of(
                SparkPieces(spark, chunks, watch),
                chosen,
                name=str(history),
                declared=declared,
                groups=groups,
                decided=decided,
            )
