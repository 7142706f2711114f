"""`analyze_on_spark`: the same analysis as in one process, its pieces held by Spark.

A piece is a Spark partition. `gather` is mapInArrow and a collect; `regroup` is mapInArrow and one
shuffle, kept while it is used. What is collected is small: summaries, suspects, offending rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from checkers.histories.analysis import Analysis, Decision, analysis_of
from checkers.histories.pieces import Kernel, Progress, silent
from checkers.histories.reading import parquet_parts, refuse_odd_rows
from checkers.histories.recorded import SCHEMA
from checkers.spark.session import session
from properties.anomalies.catalogue import named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TYPES: Final = {
    pa.int64(): "bigint",
    pa.int32(): "int",
    pa.string(): "string",
    pa.list_(pa.int64()): "array<bigint>",
    pa.list_(pa.string()): "array<string>",
}


@dataclass(frozen=True, slots=True)
class SparkPieces:
    """Rows of a schema, held by Spark."""

    frame: DataFrame
    schema: pa.Schema
    progress: Progress = field(default=silent)

    def gather(self, kernel: Kernel) -> pa.Table:
        self.progress(kernel.says)
        return _mapped(self, kernel).toArrow().cast(kernel.schema)

    def regroup(self, kernel: Kernel, by: tuple[str, ...]) -> SparkPieces:
        self.progress(kernel.says)
        moved = _mapped(self, kernel).repartition(*by).persist()
        return SparkPieces(moved, kernel.schema, self.progress)


def ddl(schema: pa.Schema) -> str:
    """The schema as Spark writes it."""
    return ", ".join(f"`{one.name}` {_TYPES[one.type]}" for one in schema)


def _mapped(pieces: SparkPieces, kernel: Kernel) -> DataFrame:
    return pieces.frame.mapInArrow(_on_batches(kernel, pieces.schema), ddl(kernel.schema))


def _on_batches(
    kernel: Kernel, schema: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        some = list(batches)
        if some:
            yield from kernel(pa.Table.from_batches(some).cast(schema)).to_batches()

    return run


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
            frame = spark.read.schema(ddl(SCHEMA)).parquet(*map(str, parts))
            if pieces is not None:
                frame = frame.repartition(pieces)
            held = SparkPieces(frame, SCHEMA, told)
            refuse_odd_rows(held, history)
            try:
                return analysis_of(held, chosen, name=str(history), decided=decided)
            finally:
                spark.catalog.clearCache()
