"""A history in pieces that Spark looks at: a task for each chunk, a shuffle for what is exchanged.

What a task is given is the place of its chunk; it reads the columns that its kernels need from the
files itself, as in one process. What goes through Spark are tables of Arrow, whole, as bytes: what
kernels say to the driver, and what they deal out to the groups of an exchange. So neither rows nor
texts are converted on the way, and a shuffle moves few large cells. On this machine nothing is
shuffled: tasks find what others dealt out in files.

Kernels run under mapInArrow. The files must be readable under the same path wherever tasks run.
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
from functools import cache, partial
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from checkers.histories.columnar.memory import keep_freed
from checkers.histories.plan.batch import Piece, Readable
from checkers.histories.plan.batches import (
    Kernel,
    Pieces,
    dealt,
    put_together,
    said,
    without_group,
)
from checkers.histories.plan.column_cache import Shelf, Unpacked
from checkers.histories.plan.spill import read_in_turn, spill
from checkers.progress import Watcher, unwatched
from checkers.spark.connect import is_local, parallelism
from checkers.spark.watching import watched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_Run = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_Numbered = tuple[int, Readable]  # a chunk, and its place among all
_Part = tuple[int, Readable]  # of which kernel, and where it lies
TASKS_PER_CORE: Final = 4
ROWS_PER_TASK: Final = 4_000_000  # where there are as many: a task costs 40 ms by itself
# a table as bytes: of which kernel it is, for which group, and made of which piece
_COLUMNS: Final = "kernel int, part int, piece int, cell binary"
_CELL: Final = pa.schema(
    [("kernel", pa.int32()), ("part", pa.int32()), ("piece", pa.int32()), ("cell", pa.binary())]
)


@dataclass(frozen=True, slots=True)
class SparkPieces:
    """The chunks of a history."""

    spark: SparkSession
    chunks: tuple[Readable, ...]
    watch: Watcher = unwatched
    salt: int = 0

    @property
    def rows(self) -> int:
        return sum(chunk.rows for chunk in self.chunks)

    def salted(self, salt: int) -> SparkPieces:
        return replace(self, salt=salt)

    @contextmanager
    def unpacked(self, *, on_disk: bool) -> Generator[SparkPieces]:
        """What tasks read on this machine is kept on its disk; elsewhere each look unpacks anew."""
        if not on_disk or not is_local(self.spark):
            yield self
            return
        with tempfile.TemporaryDirectory(prefix="urteil-unpacked-") as folder:
            shelf = Shelf(Path(folder), room=0)
            chunks = (Unpacked(chunk, at, shelf) for at, chunk in enumerate(self.chunks))
            yield replace(self, chunks=tuple(chunks))

    def gather(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        """What each kernel says of all chunks, in their order; tasks get those that any needs."""
        numbered = tuple(
            (number, chunk)
            for number, chunk in enumerate(self.chunks)
            if any(kernel.needs(number, chunk) for kernel in kernels)
        )
        if not numbered:
            return [kernel.schema.empty_table() for kernel in kernels]
        run = partial(_of_chunks, numbered, tuple(kernels), self.salt, None)
        some = replace(self, chunks=tuple(chunk for _, chunk in numbered))
        with some._watched(_says(kernels)):
            return _collected(some._each(run), kernels)

    @contextmanager
    def exchange(
        self, kernels: Mapping[str, Kernel], groups: int
    ) -> Generator[Mapping[str, Pieces]]:
        """What is dealt out is kept on disk until the block ends.

        On this machine it lies in files that tasks map; elsewhere Spark keeps what it shuffled.
        """
        if is_local(self.spark):
            with tempfile.TemporaryDirectory(prefix="urteil-exchange-") as folder:
                yield self._on_disk(kernels, groups, Path(folder))
            return
        from pyspark import StorageLevel

        run = partial(
            _of_chunks, tuple(enumerate(self.chunks)), tuple(kernels.values()), self.salt, groups
        )
        tasks = self._tasks_for(groups)
        about = [self.rows // tasks] * tasks  # of each task that looks at what was dealt
        cells = self._each(run).repartition(tasks, "part")
        cells = cells.sortWithinPartitions("kernel", "part", "piece")
        together = partial(_put_together, tuple(kernels.values()))
        cells = cells.mapInArrow(together, _COLUMNS).persist(StorageLevel.DISK_ONLY)
        try:
            yield {
                name: Exchanged(self.spark, cells, number, about, self.watch, self.salt)
                for number, name in enumerate(kernels)
            }
        finally:
            cells.unpersist()

    def _on_disk(
        self, kernels: Mapping[str, Kernel], groups: int, folder: Path
    ) -> Mapping[str, SparkPieces]:
        """Under each name the files of its groups, which tasks have written."""
        asked = tuple(kernels.values())
        passing = Path(tempfile.mkdtemp(dir=folder))
        dealing = partial(
            _dealt_out, tuple(enumerate(self.chunks)), asked, self.salt, groups, passing
        )
        parts: list[list[_Part]] = [[] for _ in range(groups)]
        with self._watched(_says(asked)):
            for row in _in_order(self._each(dealing)):
                dealt_out: dict[int, Readable] = pickle.loads(row["cell"])
                for part, readable in dealt_out.items():
                    parts[part].append((row["kernel"], readable))
        laying = partial(_laid_down, asked, parts, folder)
        laid = self.spark.range(0, groups, 1, self._tasks_for(groups)).mapInArrow(laying, _COLUMNS)
        files: list[list[Readable]] = [[] for _ in asked]
        for row in _in_order(laid):
            files[row["kernel"]].append(pickle.loads(row["cell"]))
        shutil.rmtree(passing)
        return {
            name: replace(self, chunks=tuple(some))
            for name, some in zip(kernels, files, strict=True)
        }

    def _watched(self, says: str) -> AbstractContextManager[None]:
        count = len(self.chunks)
        tasks = self._tasks_for(count)
        bounds = pairwise(count * task // tasks for task in range(tasks + 1))
        rows = [sum(it.rows for it in self.chunks[first:end]) for first, end in bounds]
        return watched(self.spark, says, rows, self.watch)

    def _tasks_for(self, pieces: int) -> int:
        """One for each core, and several where rows are many."""
        cores = parallelism(self.spark)
        tasks = min(max(cores, self.rows // ROWS_PER_TASK), TASKS_PER_CORE * cores)
        return max(1, min(pieces, tasks))

    def _each(self, run: _Run) -> DataFrame:
        count = len(self.chunks)
        return self.spark.range(0, count, 1, self._tasks_for(count)).mapInArrow(run, _COLUMNS)


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What a kernel dealt out: a piece for each group."""

    spark: SparkSession
    cells: DataFrame
    kernel: int
    rows: Sequence[int]
    watch: Watcher
    salt: int

    def gather(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        """What each kernel says of all groups, in their order."""
        run = partial(_of_groups, tuple(kernels), self.salt)
        ours = self.cells.where(self.cells["kernel"] == self.kernel)
        with watched(self.spark, _says(kernels), self.rows, self.watch):
            return _collected(ours.mapInArrow(run, _COLUMNS), kernels)


# ---------------------------------------------------------------- in a task


@cache
def _settled(modules: int) -> None:
    """What so many modules made is never garbage: after each task all else is searched for it.

    The search of it all costs 40 ms of CPU a task.
    """
    del modules
    keep_freed()
    gc.freeze()


def _of_chunks(
    chunks: Sequence[_Numbered],
    kernels: Sequence[Kernel],
    salt: int,
    groups: int | None,  # None: what the kernels say is for the driver
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    _settled(len(sys.modules))
    for number, chunk in map(chunks.__getitem__, _numbers(batches)):
        for which, made in enumerate(said(kernels, chunk, number, salt)):
            parts = iter([(0, made)]) if groups is None else dealt(made, groups)
            for part, table in parts:
                yield _cell(which, part, number, table)


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """What a task was given: the places of what it is to look at."""
    return (number for batch in batches for number in batch.column(0).to_pylist())


def _put_together(
    kernels: Sequence[Kernel], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for which, part, table in _groups(kernels, batches):
        yield _cell(which, part, part, table)


def _dealt_out(
    chunks: Sequence[_Numbered],
    kernels: Sequence[Kernel],
    salt: int,
    groups: int,
    folder: Path,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Writes what a kernel deals out to files of its groups; in a piece's cell is where it lies."""
    _settled(len(sys.modules))
    ours = os.getpid()  # nobody else writes to these files
    for number, chunk in map(chunks.__getitem__, _numbers(batches)):
        for which, made in enumerate(said(kernels, chunk, number, salt)):
            lie = {
                group: spill(part, folder / f"{which}-{group}-of-{ours}.arrow")
                for group, part in dealt(made, groups)
            }
            if lie:
                yield _row(which, 0, number, pickle.dumps(lie))


def _laid_down(
    kernels: Sequence[Kernel],
    parts: Sequence[Sequence[_Part]],
    folder: Path,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Writes what was dealt to each group to a file for each kernel; in its cell is which."""
    _settled(len(sys.modules))
    for group in _numbers(batches):
        for which, kernel in enumerate(kernels):
            columns = without_group(kernel).names
            some = (part for number, part in parts[group] if number == which)
            table = put_together(read_in_turn(some, columns), kernel)
            if table.num_rows:
                laid = spill(table, folder / f"{which}-{group}.arrow")
                yield _row(which, group, group, pickle.dumps(laid))


def _groups(
    kernels: Sequence[Kernel], batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[int, int, pa.Table]]:
    _settled(len(sys.modules))
    rows = (row for batch in batches for row in batch.to_pylist())
    for (which, part), cells in groupby(rows, key=itemgetter("kernel", "part")):
        yield which, part, put_together(map(_in_cell, cells), kernels[which])


def _of_groups(
    kernels: Sequence[Kernel], salt: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    _settled(len(sys.modules))
    for batch in batches:
        for row in batch.to_pylist():
            piece = Piece(_in_cell(row), row["piece"], salt)
            for which, kernel in enumerate(kernels):
                yield _cell(which, 0, piece.number, kernel(piece))


def _cell(kernel: int, part: int, piece: int, table: pa.Table) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
        stream.write_table(table)
    return _row(kernel, part, piece, sink.getvalue().to_pybytes())


def _row(kernel: int, part: int, piece: int, cell: bytes) -> pa.RecordBatch:
    columns = [[kernel], [part], [piece], [cell]]
    arrays = [pa.array(cell, field.type) for cell, field in zip(columns, _CELL, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_CELL)


def _in_cell(row: Mapping[str, Any]) -> pa.Table:
    return pa.ipc.open_stream(row["cell"]).read_all()


# ---------------------------------------------------------------- to the driver


def _collected(cells: DataFrame, kernels: Sequence[Kernel]) -> list[pa.Table]:
    """What each kernel said, in the order of the pieces."""
    made: list[list[pa.Table]] = [[kernel.schema.empty_table()] for kernel in kernels]
    for row in _in_order(cells):
        made[row["kernel"]].append(_in_cell(row))
    return [pa.concat_tables(tables) for tables in made]


def _in_order(cells: DataFrame) -> list[dict[str, Any]]:
    """The cells as they came to the driver, by kernel and piece."""
    told: list[dict[str, Any]] = (
        cells.toArrow().sort_by([("kernel", "ascending"), ("piece", "ascending")]).to_pylist()
    )
    return told


def _says(kernels: Sequence[Kernel]) -> str:
    return "spark: " + "; ".join(dict.fromkeys(kernel.says for kernel in kernels))
