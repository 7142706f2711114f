"""A history as a Spark dataset, whose partitions are processed by Spark tasks.

A partition is a part of the history's rows, not a Kafka partition. A kernel is a function from a
partition to an Arrow table. Each task reads only the columns that its kernels need, directly from
the files, by path or by address. Files that only the driver has are sent (`sent_files`).

A task returns each Arrow table as one byte string, in a cell of a DataFrame. Spark moves these
cells to the driver, and in a shuffle to other tasks. So no rows or texts are converted. With a
local master, tasks exchange tables through files instead.
"""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial, wraps
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import pyarrow as pa

from checkers.histories.columnar.memory import keep_freed
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.column_cache import CachedPartition, ColumnCache
from checkers.histories.plan.dataset import Dataset
from checkers.histories.plan.kernel import Kernel, run_kernels, titles
from checkers.histories.plan.partition import Partition
from checkers.histories.plan.shuffle import merged, shuffled_schema, split_by_key
from checkers.histories.plan.spill import read_in_turn, spill
from checkers.progress import Watcher, unwatched
from checkers.spark.connect import is_local, parallelism
from checkers.spark.watching import watched
from model.faults import InputFault

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NameT = TypeVar("NameT")
TaskP = ParamSpec("TaskP")
FAULT: Final = -1  # in the column `kernel`: the cell is the message of an InputFault
_InArrow = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_Numbered = tuple[int, Partition]  # a partition and its number
_Part = tuple[int, Partition]  # the number of a kernel, and rows that it returned
TASKS_PER_CORE: Final = 4
ROWS_PER_TASK: Final = 4_000_000  # a task costs 40 ms by itself
# a row is a table as bytes: the kernel that returned it, the shuffle partition that it is for, and
# the partition that it was computed from
_COLUMNS: Final = "kernel int, target int, origin int, cell binary"
_CELL: Final = pa.schema(
    [
        ("kernel", pa.int32()),
        ("target", pa.int32()),
        ("origin", pa.int32()),
        ("cell", pa.binary()),
    ]
)


@dataclass(frozen=True, slots=True)
class SparkDataset:
    """A dataset whose partitions are read by Spark tasks."""

    spark: SparkSession
    partitions: tuple[Partition, ...]
    watch: Watcher = unwatched
    hash_seed: int = 0

    @property
    def rows(self) -> int:
        return sum(partition.rows for partition in self.partitions)

    def with_hash_seed(self, hash_seed: int) -> SparkDataset:
        return replace(self, hash_seed=hash_seed)

    @contextmanager
    def cached(self, *, on_disk: bool) -> Generator[SparkDataset]:
        """Yields this dataset with a cache on disk.

        If `on_disk` is false or the master is not local, yields the dataset without a cache.
        """
        if not on_disk or not is_local(self.spark):
            yield self
            return
        with tempfile.TemporaryDirectory(prefix="urteil-cache-") as folder:
            cache_ = ColumnCache(Path(folder), room=0)
            partitions = (
                CachedPartition(partition, number, cache_)
                for number, partition in enumerate(self.partitions)
            )
            yield replace(self, partitions=tuple(partitions))

    def collect(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        """Applies each kernel to the dataset's partitions; returns one table for each kernel.

        A kernel is a function from a partition to a table, and skips partitions that it does not
        need. The tables of all partitions are concatenated.
        """
        needed = tuple(
            (number, partition)
            for number, partition in enumerate(self.partitions)
            if any(kernel.needs(number, partition) for kernel in kernels)
        )
        if not needed:
            return [kernel.schema.empty_table() for kernel in kernels]
        task = partial(_process, needed, tuple(kernels), self.hash_seed, None)
        some = replace(self, partitions=tuple(partition for _, partition in needed))
        with some._watched(_title(kernels)):
            return _collected(some._tasks(task), kernels)

    @contextmanager
    def shuffle(
        self, kernels: Mapping[NameT, Kernel], partitions: int
    ) -> Generator[Mapping[NameT, Dataset]]:
        if is_local(self.spark):
            with tempfile.TemporaryDirectory(prefix="urteil-shuffle-") as folder:
                yield self._shuffle_through_files(kernels, partitions, Path(folder))
            return
        from pyspark import StorageLevel

        task = partial(
            _process,
            tuple(enumerate(self.partitions)),
            tuple(kernels.values()),
            self.hash_seed,
            partitions,
        )
        tasks = self._tasks_for(partitions)
        about = [self.rows // tasks] * tasks  # rows of each task that reads the result
        cells = self._tasks(task).repartition(tasks, "target")
        cells = cells.sortWithinPartitions("kernel", "target", "origin")
        merge = partial(_merge, tuple(kernels.values()))
        cells = cells.mapInArrow(merge, _COLUMNS).persist(StorageLevel.DISK_ONLY)
        try:
            yield {
                name: ShuffledDataset(self.spark, cells, number, about, self.watch, self.hash_seed)
                for number, name in enumerate(kernels)
            }
        finally:
            cells.unpersist()

    def _shuffle_through_files(
        self, kernels: Mapping[NameT, Kernel], partitions: int, folder: Path
    ) -> Mapping[NameT, SparkDataset]:
        # Two jobs: tasks write a file for each target partition, then other tasks merge them.
        ordered = tuple(kernels.values())
        in_transit = Path(tempfile.mkdtemp(dir=folder))
        write = partial(
            _write_parts,
            tuple(enumerate(self.partitions)),
            ordered,
            self.hash_seed,
            partitions,
            in_transit,
        )
        parts: list[list[_Part]] = [[] for _ in range(partitions)]
        with self._watched(_title(ordered)):
            for row in _in_order(self._tasks(write)):
                written: dict[int, Partition] = pickle.loads(row["cell"])
                for target, part in written.items():
                    parts[target].append((row["kernel"], part))
        merge = partial(_merge_files, ordered, parts, folder)
        targets = self.spark.range(0, partitions, 1, self._tasks_for(partitions))
        files: list[list[Partition]] = [[] for _ in ordered]
        for row in _in_order(targets.mapInArrow(merge, _COLUMNS)):
            files[row["kernel"]].append(pickle.loads(row["cell"]))
        shutil.rmtree(in_transit)
        return {
            name: replace(self, partitions=tuple(some))
            for name, some in zip(kernels, files, strict=True)
        }

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
        return self.spark.range(0, count, 1, self._tasks_for(count)).mapInArrow(task, _COLUMNS)


@dataclass(frozen=True, slots=True)
class ShuffledDataset:
    """The rows that one kernel returned, after a shuffle: one DataFrame cell for each partition.

    A kernel is a function from a batch of rows to a table.
    """

    spark: SparkSession
    cells: DataFrame
    kernel: int
    rows: Sequence[int]
    watch: Watcher
    hash_seed: int

    def collect(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        task = partial(_process_cells, tuple(kernels), self.hash_seed)
        own = self.cells.where(self.cells["kernel"].isin(self.kernel, FAULT))
        with watched(self.spark, _title(kernels), self.rows, self.watch):
            return _collected(own.mapInArrow(task, _COLUMNS), kernels)


# ---------------------------------------------------------------- in a task


def _faults_as_rows(
    task: Callable[TaskP, Iterator[pa.RecordBatch]],
) -> Callable[TaskP, Iterator[pa.RecordBatch]]:
    # Spark would run a task that raises again, and report a traceback of the worker.
    @wraps(task)
    def guarded(*given: TaskP.args, **named: TaskP.kwargs) -> Iterator[pa.RecordBatch]:
        try:
            yield from task(*given, **named)
        except InputFault as fault:
            yield _row(FAULT, 0, 0, str(fault).encode())

    return guarded


@cache
def _prepare_worker(modules: int) -> None:
    del modules
    keep_freed()
    # saves 40 ms of CPU in each task
    gc.freeze()


@_faults_as_rows
def _process(
    partitions: Sequence[_Numbered],
    kernels: Sequence[Kernel],
    hash_seed: int,
    targets: int | None,  # the number of shuffle partitions; None: the driver collects the results
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    _prepare_worker(len(sys.modules))
    for number, partition in map(partitions.__getitem__, _numbers(batches)):
        for kernel, result in enumerate(run_kernels(kernels, partition, number, hash_seed)):
            parts = iter([(0, result)]) if targets is None else split_by_key(result, targets)
            for target, table in parts:
                yield _cell(kernel, target, number, table)


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    return (number for batch in batches for number in batch.column(0).to_pylist())


@_faults_as_rows
def _merge(
    kernels: Sequence[Kernel], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    _prepare_worker(len(sys.modules))
    rows = (_no_fault(row) for batch in batches for row in batch.to_pylist())
    for (kernel, target), cells in groupby(rows, key=itemgetter("kernel", "target")):
        table = merged(map(_table_of, cells), kernels[kernel])
        yield _cell(kernel, target, target, table)


@_faults_as_rows
def _write_parts(
    partitions: Sequence[_Numbered],
    kernels: Sequence[Kernel],
    hash_seed: int,
    targets: int,
    folder: Path,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    _prepare_worker(len(sys.modules))
    pid = os.getpid()  # no other process writes to these files
    for number, partition in map(partitions.__getitem__, _numbers(batches)):
        for kernel, result in enumerate(run_kernels(kernels, partition, number, hash_seed)):
            written = {
                target: spill(part, folder / f"{kernel}-{target}-of-{pid}.arrow")
                for target, part in split_by_key(result, targets)
            }
            if written:
                yield _row(kernel, 0, number, pickle.dumps(written))


def _merge_files(
    kernels: Sequence[Kernel],
    parts: Sequence[Sequence[_Part]],
    folder: Path,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    _prepare_worker(len(sys.modules))
    for target in _numbers(batches):
        for number, kernel in enumerate(kernels):
            columns = shuffled_schema(kernel).names
            some = (part for of_kernel, part in parts[target] if of_kernel == number)
            table = merged(read_in_turn(some, columns), kernel)
            if table.num_rows:
                file = spill(table, folder / f"{number}-{target}.arrow")
                yield _row(number, target, target, pickle.dumps(file))


@_faults_as_rows
def _process_cells(
    kernels: Sequence[Kernel], hash_seed: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    _prepare_worker(len(sys.modules))
    for cells in batches:
        for row in map(_no_fault, cells.to_pylist()):
            batch = Batch(_table_of(row), row["origin"], hash_seed)
            for number, kernel in enumerate(kernels):
                yield _cell(number, 0, batch.number, kernel(batch))


def _cell(kernel: int, target: int, origin: int, table: pa.Table) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
        stream.write_table(table)
    return _row(kernel, target, origin, sink.getvalue().to_pybytes())


def _row(kernel: int, target: int, origin: int, cell: bytes) -> pa.RecordBatch:
    columns = [[kernel], [target], [origin], [cell]]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _CELL, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_CELL)


def _no_fault(row: dict[str, Any]) -> dict[str, Any]:
    if row["kernel"] == FAULT:
        raise InputFault(row["cell"].decode())
    return row


def _table_of(row: Mapping[str, Any]) -> pa.Table:
    return pa.ipc.open_stream(row["cell"]).read_all()


# ---------------------------------------------------------------- to the driver


def _collected(cells: DataFrame, kernels: Sequence[Kernel]) -> list[pa.Table]:
    results: list[list[pa.Table]] = [[kernel.schema.empty_table()] for kernel in kernels]
    for row in _in_order(cells):
        results[row["kernel"]].append(_table_of(row))
    return [pa.concat_tables(tables) for tables in results]


def _in_order(cells: DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        cells.toArrow().sort_by([("kernel", "ascending"), ("origin", "ascending")]).to_pylist()
    )
    return [_no_fault(row) for row in rows]


def _title(kernels: Sequence[Kernel]) -> str:
    return f"spark: {titles(kernels)}"
