"""`analyze_on_spark`: the same analysis as in one process, its pieces held by Spark.

What comes to the driver is small: summaries, suspects, offending rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from pyspark.sql.pandas.types import from_arrow_schema

from checkers.histories.analysis import Analysis, Decision, analysis_of
from checkers.histories.pieces import Progress, silent
from checkers.histories.reading import parquet_parts, refuse_odd_rows
from checkers.histories.recorded import SCHEMA
from checkers.spark.pieces import SparkPieces
from checkers.spark.session import session
from properties.anomalies.catalogue import named


def analyze_on_spark(
    history: Path,
    *,
    master: str | None = None,
    anomalies: tuple[str, ...] = (),
    progress: Progress | None = None,
    folder: Path | None = None,
    decided: Callable[[Decision], None] | None = None,
    pieces: int | None = None,
) -> Analysis:
    """The verdict on the history, on Spark; all cores of this machine without a master.

    A history that is not Parquet is written as Parquet parts into the folder first, without one
    into one that is removed after. `pieces` deals the rows out to so many Spark partitions.
    UnreadableHistory, UnknownName, or InputFault when there is no Java.
    """
    chosen = named(anomalies)
    told = progress or silent
    with tempfile.TemporaryDirectory(prefix="urteil-history-") as removed:
        told("reading")
        parts = parquet_parts(history, folder or Path(removed))
        told("starting Spark")
        with session(master) as spark:
            frame = spark.read.schema(from_arrow_schema(SCHEMA)).parquet(*map(str, parts))
            if pieces is not None:
                frame = frame.repartition(pieces)
            held = SparkPieces(frame, SCHEMA, told)
            refuse_odd_rows(held, history)
            try:
                return analysis_of(held, chosen, name=str(history), decided=decided)
            finally:
                spark.catalog.clearCache()
