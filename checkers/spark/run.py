"""The analysis of a history on Spark: the same words as in-process, said to Spark's pieces."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import from_arrow_schema

from checkers.histories.analysis import Analysis, analysis_of
from checkers.histories.pieces import Progress, silent
from checkers.histories.reading import as_parts
from checkers.histories.recorded import SCHEMA
from checkers.spark.pieces import SparkPieces
from checkers.spark.session import session
from properties.anomalies.catalogue import named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def analyze_on_spark(
    history: Path,
    *,
    anomalies: tuple[str, ...] = (),
    master: str | None = None,
    progress: Progress | None = None,
) -> Analysis:
    """The verdict on the history, of these anomalies or of all, decided on Spark.

    UnreadableHistory, UnknownName for an anomaly that there is not, NoJava.
    """
    chosen = named(anomalies)
    told = progress or silent
    with tempfile.TemporaryDirectory(prefix="urteil-history-") as folder:
        told("reading")
        parts = as_parts(history, Path(folder))
        told("spark: starting")
        spark = session(master)
        pieces = SparkPieces(read(spark, parts), SCHEMA, told)
        found = analysis_of(pieces, chosen, name=str(history))
        spark.catalog.clearCache()
    return found


def read(spark: SparkSession, parts: list[Path]) -> DataFrame:
    """The Parquet parts of a history as they are; without parts no rows."""
    if not parts:
        return spark.createDataFrame([], from_arrow_schema(SCHEMA))
    return spark.read.parquet(*map(str, parts))
