"""Sends files to the workers of a cluster, if only the driver can read them.

First, tasks check whether the workers see these files with the same size and modification time. If
one worker does not see them, each executor fetches each file once from the driver.

Simplified: an executor fetches all files that are sent, also the files that its tasks do not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from checkers.histories.io.locations import Version, file_or_folder, version
from checkers.histories.io.partitions import HistoryPartition, RowGroup, RowRange
from checkers.spark.connect import is_connected, is_local, parallelism

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SentRows:
    """A row group of a Parquet file. Spark has sent the file to the workers, as `name`."""

    name: str
    stored: RowGroup

    @property
    def rows(self) -> int:
        return self.stored.rows

    @property
    def first_op(self) -> int:
        return self.stored.first_op

    @property
    def last_op(self) -> int:
        return self.stored.last_op

    def read(self, columns: Sequence[str]) -> pa.Table:
        from pyspark import SparkFiles

        return replace(self.stored, path=SparkFiles.get(self.name), version=None).read(columns)


def sent(
    spark: SparkSession, partitions: tuple[HistoryPartition, ...], folder: Path
) -> tuple[HistoryPartition, ...]:
    """Returns the partitions, changed so that every worker can read their files.

    If some worker cannot see a local file, all local files are sent, through links in `folder`.
    With a local master, the partitions are returned unchanged.
    """
    if is_local(spark):
        return partitions
    ranges = [one for partition in partitions for one in partition.row_ranges]
    local = {
        one.path: one.version
        for one in ranges
        if isinstance(one, RowGroup) and isinstance(file_or_folder(one.path), Path)
    }
    if not local or not _unseen(spark, local):
        return partitions
    names = {path: f"{folder.name}-{n}.parquet" for n, path in enumerate(sorted(local))}
    folder.mkdir(parents=True, exist_ok=True)
    for path, name in names.items():
        (folder / name).symlink_to(Path(path).absolute())
        _send(spark, folder / name)

    def on_worker(one: RowRange) -> RowRange:
        name = names.get(one.path) if isinstance(one, RowGroup) else None
        return SentRows(name, cast("RowGroup", one)) if name else one

    return tuple(
        replace(partition, row_ranges=tuple(map(on_worker, partition.row_ranges)))
        for partition in partitions
    )


def _send(spark: SparkSession, file: Path) -> None:
    if is_connected(spark):
        cast("Any", spark).addArtifacts(str(file), file=True)
    else:
        spark.sparkContext.addFile(file.as_uri())


def _unseen(spark: SparkSession, files: Mapping[str, Version | None]) -> bool:
    tasks = 2 * parallelism(spark)
    seen = spark.range(0, tasks, 1, tasks).mapInArrow(partial(_check, files), "unseen boolean")
    return any(seen.toArrow()["unseen"].to_pylist())


def _check(
    files: Mapping[str, Version | None], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        unseen = any(version(Path(path)) != expected for path, expected in files.items())
        yield pa.RecordBatch.from_pydict({"unseen": [unseen]})
