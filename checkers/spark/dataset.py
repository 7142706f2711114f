"""A history as a Spark dataset, whose partitions are processed by Spark tasks.

A partition is a part of the history's rows, not a Kafka partition. Tasks return Arrow tables. Each
table is one byte string in a cell of a DataFrame, so Spark does not convert rows or texts. With a
local master, tasks exchange tables through files instead.
"""

from __future__ import annotations

import pickle
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from checkers.histories.plan.column_cache import CachedPartition, ColumnCache
from checkers.histories.plan.cost import Measured, TaskCost, measured_pass, unmeasured
from checkers.histories.plan.dataset import Dataset
from checkers.histories.plan.kernel import Kernel, titles
from checkers.histories.plan.partition import Partition
from checkers.histories.plan.spill import OnDisk, codec_for, mapped_file
from checkers.histories.plan.stage import Source
from checkers.progress import Watcher, unwatched
from checkers.spark.cells import COLUMNS, COST, FAULT, no_fault, table_of
from checkers.spark.connect import is_local, parallelism
from checkers.spark.shared_files import run_shared, shared
from checkers.spark.tasks import (
    Part,
    merge_cells,
    merge_files,
    process,
    process_cells,
    write_parts,
)
from checkers.spark.watching import watched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_InArrow = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
TASKS_PER_CORE: Final = 4
ROWS_PER_TASK: Final = 4_000_000  # a task costs 40 ms by itself


@dataclass(frozen=True, slots=True)
class SparkDataset:
    spark: SparkSession
    partitions: tuple[Partition, ...]
    watch: Watcher = unwatched
    hash_seed: int = 0
    source: Source = Source.OPERATIONS
    measured: Measured = unmeasured

    @property
    def rows(self) -> int:
        return sum(partition.rows for partition in self.partitions)

    def with_hash_seed(self, hash_seed: int) -> SparkDataset:
        return replace(self, hash_seed=hash_seed)

    def measured_by(self, measured: Measured) -> SparkDataset:
        return replace(self, measured=measured)

    @contextmanager
    def cached(self, *, on_disk: bool) -> Generator[SparkDataset]:
        """Yields this dataset with a cache of its columns on disk. If `on_disk` is False or the
        master is not local, yields this dataset without a cache.
        """
        if not on_disk or not is_local(self.spark):
            yield self
            return
        with tempfile.TemporaryDirectory(prefix="urteil-cache-") as folder:
            codec = codec_for(self.rows, Path(folder))
            cache_ = ColumnCache(Path(folder), room=0, codec=codec)
            partitions = (
                CachedPartition(partition, number, cache_)
                for number, partition in enumerate(self.partitions)
            )
            yield replace(self, partitions=tuple(partitions))

    def collect(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        """Applies each kernel (a function from rows of the history to a table) to the partitions
        that the kernel needs. Returns one table for each kernel.
        """
        needed = tuple(
            (number, partition)
            for number, partition in enumerate(self.partitions)
            if any(kernel.needs(number, partition) for kernel in kernels)
        )
        if not needed:
            return [kernel.schema.empty_table() for kernel in kernels]
        some = replace(self, partitions=tuple(partition for _, partition in needed))
        with some._watched(titles(kernels)), self._shared_folder() as folder:
            codec = codec_for(self.rows, folder) if folder else None
            run = partial(process, needed, tuple(kernels), self.hash_seed, None, folder, codec)
            task = partial(run_shared, shared(run, folder / "task")) if folder else run
            # Tables that are not compressed stay mapped into memory after their files are removed.
            return _collected(some._tasks(task), kernels, self.measured, self.source)

    @contextmanager
    def _shared_folder(self) -> Generator[Path | None]:
        # Only the tasks of a local master see the files of the driver.
        if not is_local(self.spark):
            yield None
            return
        with tempfile.TemporaryDirectory(prefix="urteil-pass-") as folder:
            yield Path(folder)

    @contextmanager
    def shuffle(
        self, kernels: Mapping[Source, Kernel], partitions: int
    ) -> Generator[Mapping[Source, Dataset]]:
        if is_local(self.spark):
            with tempfile.TemporaryDirectory(prefix="urteil-shuffle-") as folder:
                yield self._shuffle_through_files(kernels, partitions, Path(folder))
            return
        from pyspark import StorageLevel

        task = partial(
            process,
            tuple(enumerate(self.partitions)),
            tuple(kernels.values()),
            self.hash_seed,
            partitions,
            None,
            None,
        )
        tasks = self._tasks_for(partitions)
        about = [self.rows // tasks] * tasks  # rows of each task that reads the result
        cells = self._tasks(task).repartition(tasks, "target")
        cells = cells.sortWithinPartitions("kernel", "target", "origin")
        merged = partial(merge_cells, tuple(kernels.values()))
        cells = cells.mapInArrow(merged, COLUMNS).persist(StorageLevel.DISK_ONLY)
        try:
            with self._measured_shuffle(kernels) as costs:
                costs += _costs(_in_order(cells.where(cells["kernel"].isin(COST, FAULT))))
            yield {
                source: ShuffledDataset(
                    self.spark,
                    cells,
                    number,
                    about,
                    self.watch,
                    self.hash_seed,
                    source,
                    self.measured,
                )
                for number, source in enumerate(kernels)
            }
        finally:
            cells.unpersist()

    def _shuffle_through_files(
        self, kernels: Mapping[Source, Kernel], partitions: int, folder: Path
    ) -> Mapping[Source, SparkDataset]:
        # Two jobs: tasks write a file for each target partition, then other tasks merge them.
        ordered = tuple(kernels.values())
        in_transit = Path(tempfile.mkdtemp(dir=folder))
        codec = codec_for(self.rows, folder)
        write = partial(
            write_parts,
            tuple(enumerate(self.partitions)),
            ordered,
            self.hash_seed,
            partitions,
            in_transit,
            codec,
        )
        parts: list[list[Part]] = [[] for _ in range(partitions)]
        files: list[list[Partition]] = [[] for _ in ordered]
        with self._measured_shuffle(kernels) as costs:
            rows = _in_order(self._tasks(write))
            costs += _costs(rows)
            for row in _tables(rows):
                written: dict[int, OnDisk] = pickle.loads(row["cell"])
                for target, part in written.items():
                    parts[target].append((row["kernel"], part))
            merge = partial(merge_files, ordered, parts, folder, codec)
            targets = self.spark.range(0, partitions, 1, self._tasks_for(partitions))
            for row in _in_order(targets.mapInArrow(merge, COLUMNS)):
                files[row["kernel"]].append(pickle.loads(row["cell"]))
        shutil.rmtree(in_transit)
        return {
            source: replace(self, partitions=tuple(some), source=source)
            for source, some in zip(kernels, files, strict=True)
        }

    @contextmanager
    def _measured_shuffle(self, kernels: Mapping[Source, Kernel]) -> Generator[list[TaskCost]]:
        into = tuple(source.value for source in kernels)
        with (
            self._watched(titles(kernels.values())),
            measured_pass(self.measured, self.source.value, into) as costs,
        ):
            yield costs

    def _watched(self, title: str) -> AbstractContextManager[None]:
        count = len(self.partitions)
        tasks = self._tasks_for(count)
        bounds = pairwise(count * task // tasks for task in range(tasks + 1))
        rows = [sum(it.rows for it in self.partitions[first:end]) for first, end in bounds]
        return watched(self.spark, title, rows, self.watch)

    def _tasks_for(self, partitions: int) -> int:
        cores = parallelism(self.spark)
        tasks = min(max(cores, self.rows // ROWS_PER_TASK), TASKS_PER_CORE * cores)
        return max(1, min(partitions, tasks))

    def _tasks(self, task: _InArrow) -> DataFrame:
        count = len(self.partitions)
        return self.spark.range(0, count, 1, self._tasks_for(count)).mapInArrow(task, COLUMNS)


@dataclass(frozen=True, slots=True)
class ShuffledDataset:
    """Tables that tasks have computed, and that a shuffle has brought together by shuffle
    partition. A row of the data frame `cells` has the table of one kernel and one shuffle
    partition.
    """

    spark: SparkSession
    cells: DataFrame
    kernel: int
    rows: Sequence[int]
    watch: Watcher
    hash_seed: int
    source: Source
    measured: Measured

    def collect(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        task = partial(process_cells, tuple(kernels), self.hash_seed)
        own = self.cells.where(self.cells["kernel"].isin(self.kernel, FAULT))
        cells = own.mapInArrow(task, COLUMNS)
        with watched(self.spark, titles(kernels), self.rows, self.watch):
            return _collected(cells, kernels, self.measured, self.source)


# ---------------------------------------------------------------- to the driver


def _collected(
    cells: DataFrame, kernels: Sequence[Kernel], measured: Measured, source: Source
) -> list[pa.Table]:
    results: list[list[pa.Table]] = [[kernel.schema.empty_table()] for kernel in kernels]
    mapped = cache(mapped_file)  # each file once
    with measured_pass(measured, source.value) as costs:
        rows = _in_order(cells)
        costs += _costs(rows)
    for row in _tables(rows):
        results[row["kernel"]].append(table_of(row, mapped))
    return [pa.concat_tables(tables) for tables in results]


def _costs(rows: Iterable[dict[str, Any]]) -> list[TaskCost]:
    return [pickle.loads(row["cell"]) for row in rows if row["kernel"] == COST]


def _tables(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (row for row in rows if row["kernel"] != COST)


def _in_order(cells: DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        cells.toArrow().sort_by([("kernel", "ascending"), ("origin", "ascending")]).to_pylist()
    )
    return [no_fault(row) for row in rows]
