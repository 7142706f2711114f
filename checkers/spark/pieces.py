"""A history in pieces that Spark looks at: a task for each chunk, a shuffle for what is exchanged.

What a task is given is the place of its chunk; it reads the columns that its kernels need from the
files itself, as in one process. What goes through Spark are tables of Arrow, whole, as bytes: what
kernels say to the driver, and what they deal out to the groups of an exchange. So neither rows nor
texts are converted on the way, and a shuffle moves few large cells.

Kernels run under mapInArrow. The files must be readable under the same path wherever tasks run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from checkers.histories.memory import keep_freed
from checkers.histories.piece import Piece
from checkers.histories.pieces import (
    Kernel,
    Pieces,
    Readable,
    columns_of,
    dealt,
    put_together,
    said,
)
from checkers.progress import Watcher, unwatched
from checkers.spark.connect import parallelism
from checkers.spark.watching import watched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_Run = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
TASKS_PER_CORE: Final = 4
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

    def gather(self, kernels: Sequence[Kernel]) -> list[pa.Table]:
        """What each kernel says of all chunks, in their order."""
        run = partial(_of_chunks, self.chunks, tuple(kernels), self.salt, None)
        rows = [chunk.rows for chunk in self.chunks]
        with watched(self.spark, _says(kernels), rows, self.watch):
            return _collected(self._each(run), kernels)

    @contextmanager
    def exchange(
        self, kernels: Mapping[str, Kernel], groups: int
    ) -> Generator[Mapping[str, Pieces]]:
        """What is dealt out is kept on the executors' disks until the block ends."""
        from pyspark import StorageLevel

        run = partial(_of_chunks, self.chunks, tuple(kernels.values()), self.salt, groups)
        tasks = min(groups, TASKS_PER_CORE * parallelism(self.spark))
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

    def _each(self, run: _Run) -> DataFrame:
        """A task for each chunk."""
        count = len(self.chunks)
        return self.spark.range(0, count, 1, max(1, count)).mapInArrow(run, _COLUMNS)


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


def _of_chunks(
    chunks: Sequence[Readable],
    kernels: Sequence[Kernel],
    salt: int,
    groups: int | None,  # None: what the kernels say is for the driver
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    keep_freed()
    for batch in batches:
        for number in batch.column(0).to_pylist():
            piece = Piece(chunks[number].read(columns_of(kernels)), number, salt)
            for which, made in enumerate(said(kernels, piece)):
                parts = iter([(0, made)]) if groups is None else dealt(made, groups)
                for part, table in parts:
                    yield _cell(which, part, number, table)


def _put_together(
    kernels: Sequence[Kernel], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    keep_freed()
    rows = (row for batch in batches for row in batch.to_pylist())
    for (which, part), cells in groupby(rows, key=itemgetter("kernel", "part")):
        yield _cell(which, part, part, put_together(map(_in_cell, cells), kernels[which]))


def _of_groups(
    kernels: Sequence[Kernel], salt: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    keep_freed()
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
    columns = [[kernel], [part], [piece], [sink.getvalue().to_pybytes()]]
    arrays = [pa.array(cell, field.type) for cell, field in zip(columns, _CELL, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_CELL)


def _in_cell(row: Mapping[str, Any]) -> pa.Table:
    return pa.ipc.open_stream(row["cell"]).read_all()


# ---------------------------------------------------------------- to the driver


def _collected(cells: DataFrame, kernels: Sequence[Kernel]) -> list[pa.Table]:
    """What each kernel said, in the order of the pieces."""
    told = cells.toArrow().sort_by([("kernel", "ascending"), ("piece", "ascending")])
    made: list[list[pa.Table]] = [[kernel.schema.empty_table()] for kernel in kernels]
    for row in told.to_pylist():
        made[row["kernel"]].append(_in_cell(row))
    return [pa.concat_tables(tables) for tables in made]


def _says(kernels: Sequence[Kernel]) -> str:
    return "spark: " + "; ".join(dict.fromkeys(kernel.says for kernel in kernels))
