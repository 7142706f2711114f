"""The functions that Spark tasks run in mapInArrow, on partitions of a history or on shuffle
partitions.

A task runs *kernels* (functions from rows of a history to a table), or it merges the tables of
kernels. It yields rows with one cell each: a table, the files that the task wrote, the cost of the
task, or an error.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial, wraps
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final, ParamSpec

import pyarrow as pa

from checkers.histories.columnar.memory import keep_freed
from checkers.histories.plan.batch import Batch
from checkers.histories.plan.combining import combined_tables, combiners
from checkers.histories.plan.cost import Meter
from checkers.histories.plan.kernel import Kernel, run_kernels
from checkers.histories.plan.partition import Partition
from checkers.histories.plan.shuffle import Outgoing, merged, shuffled_schema, split_by_key
from checkers.histories.plan.spill import (
    Codec,
    OnDisk,
    read_in_turn,
    spill,
    spill_whole,
    spilled_whole,
)
from checkers.spark.cells import (
    COST,
    FAULT,
    IN_FILE,
    cell_row,
    cost_cell,
    no_fault,
    table_cell,
    table_of,
)
from model.faults import InputFault

TaskP = ParamSpec("TaskP")
Part = tuple[int, OnDisk]  # the number of a kernel, and rows that it returned
LARGE: Final = 1 << 16  # bytes of a table that goes through a file
_Numbered = tuple[int, Partition]  # a partition and its number


def _faults_as_rows(
    task: Callable[TaskP, Iterator[pa.RecordBatch]],
) -> Callable[TaskP, Iterator[pa.RecordBatch]]:
    # Spark would run a task that raises again, and report a traceback of the worker.
    @wraps(task)
    def guarded(*given: TaskP.args, **named: TaskP.kwargs) -> Iterator[pa.RecordBatch]:
        try:
            yield from task(*given, **named)
        except InputFault as fault:
            yield cell_row(FAULT, 0, 0, str(fault).encode())

    return guarded


@cache
def prepare_worker(modules: int) -> None:
    """Prepares a worker process, so that later tasks need less CPU time. The worker retains freed
    memory, and garbage collection ignores the objects that exist now.

    `modules` is the number of imported modules. The function acts again only when this number has
    changed.
    """
    del modules
    keep_freed()
    # saves 40 ms of CPU in each task
    gc.freeze()


@_faults_as_rows
def process(
    partitions: Sequence[_Numbered],
    kernels: Sequence[Kernel],
    hash_seed: int,
    targets: int | None,  # the number of shuffle partitions; None: the driver collects the results
    folder: Path | None,  # where large tables go, if the driver can read files here
    codec: Codec,  # the compression of these files
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Runs the functions `kernels` on some partitions of a history. Yields a row for each table,
    and at the end a row with the cost of the task.

    `batches` has the indexes of the partitions of this task. If `targets` is not None, each table
    is split by the shuffle key into at most `targets` tables.
    """
    prepare_worker(len(sys.modules))
    meter = Meter()
    combined = combiners(kernel.combine for kernel in kernels) if targets is None else {}
    for number, partition in map(partitions.__getitem__, _numbers(batches)):
        results = run_kernels(kernels, partition, number, hash_seed, meter)
        for kernel, result in enumerate(results):
            if targets is not None:
                for target, table in split_by_key(result, targets):
                    yield table_cell(kernel, target, number, table)
            elif kernel in combined:
                combined[kernel].add(result)
            else:
                yield _result(kernel, number, result, folder, codec)
    for kernel, whole in combined_tables(combined):
        yield _result(kernel, 0, whole, folder, codec)
    yield cost_cell(meter)


def _result(
    kernel: int, number: int, table: pa.Table, folder: Path | None, codec: Codec
) -> pa.RecordBatch:
    if folder is None or table.nbytes <= LARGE:
        return table_cell(kernel, 0, number, table)
    file = spill(table, folder / f"{kernel}-of-{os.getpid()}.arrow", codec)
    return cell_row(kernel, IN_FILE, number, pickle.dumps(file))


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    return (number for batch in batches for number in batch.column(0).to_pylist())


@_faults_as_rows
def merge_cells(
    kernels: Sequence[Kernel], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yields one row with the merged table for each pair of a kernel and a shuffle partition. Also
    yields each row that has the cost of a task, unchanged.

    The rows must be sorted by kernel and shuffle partition.
    """
    prepare_worker(len(sys.modules))
    rows = (no_fault(row) for batch in batches for row in batch.to_pylist())
    for (kernel, target), cells in groupby(rows, key=itemgetter("kernel", "target")):
        if kernel == COST:
            yield from (cell_row(COST, 0, 0, row["cell"]) for row in cells)
            continue
        table = merged(map(table_of, cells), kernels[kernel])
        yield table_cell(kernel, target, target, table)


@_faults_as_rows
def write_parts(
    partitions: Sequence[_Numbered],
    kernels: Sequence[Kernel],
    hash_seed: int,
    targets: int,
    folder: Path,
    codec: Codec,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Runs the functions `kernels`, and appends their rows to files. A process has one file for
    each kernel and shuffle partition. Yields rows that name these files, and at the end a row with
    the cost of the task.
    """
    prepare_worker(len(sys.modules))
    pid = os.getpid()  # no other process writes to these files
    meter = Meter()
    outgoing = [Outgoing(targets) for _ in kernels]
    number = 0

    def written(kernel: int, parts: Iterator[tuple[int, pa.Table]]) -> Iterator[pa.RecordBatch]:
        files = {
            target: spill(part, folder / f"{kernel}-{target}-of-{pid}.arrow", codec)
            for target, part in parts
        }
        if files:
            yield cell_row(kernel, 0, number, pickle.dumps(files))

    for number, partition in map(partitions.__getitem__, _numbers(batches)):
        results = run_kernels(kernels, partition, number, hash_seed, meter)
        for kernel, result in enumerate(results):
            yield from written(kernel, outgoing[kernel].add(result))
    for kernel, last in enumerate(outgoing):
        yield from written(kernel, last.rest())
    yield cost_cell(meter)


def merge_files(
    kernels: Sequence[Kernel],
    parts: Sequence[Sequence[Part]],
    folder: Path,
    codec: Codec,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Merges the files of each shuffle partition into one file for each kernel (a function from
    rows of a history to a table). Then removes the files that it merged.

    If Spark runs a task a second time, the task uses the files that its first run made.
    """
    prepare_worker(len(sys.modules))
    for target in _numbers(batches):
        for number, kernel in enumerate(kernels):
            some = [part for of_kernel, part in parts[target] if of_kernel == number]
            if not some:
                continue
            file = folder / f"{number}-{target}.arrow"
            if file.exists():
                whole = spilled_whole(file)
            else:
                table = merged(read_in_turn(some, shuffled_schema(kernel).names), kernel)
                whole = spill_whole(table, file, codec)
            for path in {part.path for part in some}:
                Path(path).unlink(missing_ok=True)
            yield cell_row(number, target, target, pickle.dumps(whole))


@_faults_as_rows
def process_cells(
    kernels: Sequence[Kernel], hash_seed: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Runs the functions `kernels` on shuffle partitions. Each row of `batches` is one shuffle
    partition.
    """
    prepare_worker(len(sys.modules))
    meter = Meter()
    meter.begin(kernel.title for kernel in kernels)
    combined = combiners(kernel.combine for kernel in kernels)
    for cells in batches:
        for row in map(no_fault, cells.to_pylist()):
            batch = Batch(meter.read(partial(table_of, row)), row["origin"], hash_seed)
            meter.rows += len(batch)
            for number, kernel in enumerate(kernels):
                table = meter.kept(kernel.title, partial(kernel, batch))
                if number in combined:
                    combined[number].add(table)
                else:
                    yield table_cell(number, 0, batch.number, table)
    for number, whole in combined_tables(combined):
        yield table_cell(number, 0, 0, whole)
    yield cost_cell(meter)
