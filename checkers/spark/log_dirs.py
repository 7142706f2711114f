"""Audits log directories on Spark: tasks read and check the segments.

A Python Data Source reads segments as one row for each record batch. One shuffle groups the rows by
topic partition, and moves about 100 bytes for each batch. Records are shuffled only for batches
that differ between replicas.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from checkers.log_dirs import partition_checks
from checkers.log_dirs.audit import Audit, audit_of
from checkers.log_dirs.folders import LogDirs, Segment, log_dirs
from checkers.log_dirs.in_process import positions_of
from checkers.log_dirs.partition_checks import FOUND
from checkers.log_dirs.segments import BATCHES, RECORDS
from checkers.progress import Progress, Watcher, unwatched
from checkers.spark.log_segments import FORMAT, LogSegments, listed, shares
from checkers.spark.run import require_visible
from checkers.spark.session import session
from checkers.spark.watching import watched
from properties.log_audit.catalogue import named

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def audit_on_spark(
    folders: Sequence[Path],
    *,
    master: str | None = None,
    checks: tuple[str, ...] = (),
    watch: Watcher = unwatched,
) -> Audit:
    """Audits the folders on Spark. If `master` is None, Spark runs on all local cores. If `checks`
    is empty, all checks run.

    Raises UnreadableLogDir for a folder that cannot be read, and UnknownName for an unknown check.
    Raises InputFault, for example, if Java is missing.
    """
    chosen = named(checks)
    dirs = log_dirs(folders)
    watch(Progress(stage="starting Spark"))
    with session(master, compiled=True) as spark:
        require_visible(spark, {str(one.path.absolute()) for one in dirs.segments})
        spark.dataSource.register(LogSegments)
        return audit_of(dirs, OnSpark(spark, dirs, watch), chosen)


@dataclass(frozen=True, slots=True)
class OnSpark:
    spark: SparkSession
    dirs: LogDirs
    watch: Watcher

    def judged(self) -> pa.Table:
        work = partial(_judged, self.dirs)
        found = self._each("reading segments", self.dirs.segments, work)
        seen = set(found["partition"].to_pylist())
        empty = [number for number in range(len(self.dirs.partitions)) if number not in seen]
        rest = [
            partition_checks.check_partition(number, BATCHES.empty_table(), self.dirs)
            for number in empty
        ]
        return pa.concat_tables([found.drop_columns(["partition"]), *rest])

    def compared(self, suspects: pa.Table) -> pa.Table:
        positions = positions_of(suspects)
        chosen = [self.dirs.segments[number] for number in sorted(positions)]
        if not chosen:
            return FOUND.empty_table()
        found = self._each(
            "comparing records",
            chosen,
            partial(_compared, self.dirs, suspects),
            rows="records",
            positions=json.dumps({number: sorted(at) for number, at in positions.items()}),
        )
        return found.drop_columns(["partition"])

    def _each(
        self,
        stage: str,
        of: Sequence[Segment],
        work: Callable[[int, pa.Table], pa.Table],
        **options: str,
    ) -> pa.Table:
        schema = pa.schema([("partition", pa.int32()), *FOUND])

        def run(key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
            number = key[0].as_py()
            found = work(number, rows)
            numbers = pa.array([number] * found.num_rows, pa.int32())
            return found.add_column(0, "partition", numbers)

        frame = self.spark.read.format(FORMAT).options(segments=listed(of), **options).load()
        made = frame.groupBy("partition").applyInArrow(run, from_arrow_schema(schema))
        with watched(self.spark, stage, [0] * len(shares(of)), self.watch):
            return made.toArrow().cast(schema)


def _judged(dirs: LogDirs, partition: int, rows: pa.Table) -> pa.Table:
    return partition_checks.check_partition(partition, rows.cast(BATCHES), dirs)


def _compared(dirs: LogDirs, suspects: pa.Table, partition: int, rows: pa.Table) -> pa.Table:
    return partition_checks.compare_records(partition, rows.cast(RECORDS), suspects, dirs)
