"""A history in pieces that Spark looks at: a task for each chunk, a shuffle for what is exchanged.

What a task is given is the place of its chunk; it reads the columns that its kernels need from the
files itself, as in one process. What goes through Spark are tables of Arrow, whole, as bytes: what
kernels say to the driver, and what they deal out to the groups of an exchange. So neither rows nor
texts are converted on the way, and a shuffle moves few large cells.

Kernels run under mapInArrow. The files must be readable under the same path wherever tasks run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from checkers.histories.columns.fingerprints import Ints
from checkers.histories.columns.memory import keep_freed
from checkers.histories.pieces.piece import Piece, Readable
from checkers.histories.pieces.pieces import (
    Kernel,
    Pieces,
    Spilled,
    columns_of,
    dealt,
    looked_at,
    put_together,
    said,
    spilled,
)
from checkers.histories.pieces.unpacked import Shelf, Unpacked
from checkers.progress import Watcher, unwatched
from checkers.spark.connect import is_local, parallelism
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

    def having(self, ops: Ints) -> SparkPieces:
        return replace(self, chunks=tuple(it for it in self.chunks if it.may_have(ops)))

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
        """What each kernel says of all chunks, in their order."""
        run = partial(_of_chunks, self.chunks, tuple(kernels), self.salt, None)
        count, tasks = len(self.chunks), self._tasks
        bounds = pairwise(count * task // tasks for task in range(tasks + 1))
        rows = [sum(it.rows for it in self.chunks[first:end]) for first, end in bounds]
        with watched(self.spark, _says(kernels), rows, self.watch):
            return _collected(self._each(run), kernels)

    @contextmanager
    def exchange(
        self, kernels: Mapping[str, Kernel], groups: int
    ) -> Generator[Mapping[str, Pieces]]:
        """What is dealt out is kept on disk until the block ends.

        On this machine it lies in files that tasks map; elsewhere Spark keeps what it shuffled.
        """
        from pyspark import StorageLevel

        run = partial(_of_chunks, self.chunks, tuple(kernels.values()), self.salt, groups)
        tasks = min(groups, TASKS_PER_CORE * parallelism(self.spark))
        about = [self.rows // tasks] * tasks  # of each task that looks at what was dealt
        cells = self._each(run).repartition(tasks, "part")
        cells = cells.sortWithinPartitions("kernel", "part", "piece")
        if is_local(self.spark):
            with tempfile.TemporaryDirectory(prefix="urteil-exchange-") as folder:
                lay = partial(_laid_down, tuple(kernels.values()), Path(folder))
                yield self._mapped(cells.mapInArrow(lay, _COLUMNS), tuple(kernels))
            return
        together = partial(_put_together, tuple(kernels.values()))
        cells = cells.mapInArrow(together, _COLUMNS).persist(StorageLevel.DISK_ONLY)
        try:
            yield {
                name: Exchanged(self.spark, cells, number, about, self.watch, self.salt)
                for number, name in enumerate(kernels)
            }
        finally:
            cells.unpersist()

    def _mapped(self, laid: DataFrame, names: Sequence[str]) -> Mapping[str, SparkPieces]:
        """Under each name the files of its groups, which tasks have written."""
        told = laid.toArrow().sort_by([("kernel", "ascending"), ("part", "ascending")])
        files: list[list[Readable]] = [[] for _ in names]
        for row in told.to_pylist():
            files[row["kernel"]].append(Spilled(row["cell"].decode(), 0, row["piece"]))
        return {
            name: replace(self, chunks=tuple(some)) for name, some in zip(names, files, strict=True)
        }

    @property
    def _tasks(self) -> int:
        """A task has several chunks, where there are many."""
        return max(1, min(len(self.chunks), TASKS_PER_CORE * parallelism(self.spark)))

    def _each(self, run: _Run) -> DataFrame:
        return self.spark.range(0, len(self.chunks), 1, self._tasks).mapInArrow(run, _COLUMNS)


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
            piece = looked_at(chunks[number], columns_of(kernels), number, salt)
            for which, made in enumerate(said(kernels, piece)):
                parts = iter([(0, made)]) if groups is None else dealt(made, groups)
                for part, table in parts:
                    yield _cell(which, part, number, table)


def _put_together(
    kernels: Sequence[Kernel], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for which, part, table in _groups(kernels, batches):
        yield _cell(which, part, part, table)


def _laid_down(
    kernels: Sequence[Kernel], folder: Path, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Writes each group to a file; in its cell is the path, and as its piece how many rows."""
    for which, part, table in _groups(kernels, batches):
        path = folder / f"{which}-{part}.arrow"
        spilled({part: table}, path)
        yield _row(which, part, table.num_rows, str(path).encode())


def _groups(
    kernels: Sequence[Kernel], batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[int, int, pa.Table]]:
    keep_freed()
    rows = (row for batch in batches for row in batch.to_pylist())
    for (which, part), cells in groupby(rows, key=itemgetter("kernel", "part")):
        yield which, part, put_together(map(_in_cell, cells), kernels[which])


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
    told = cells.toArrow().sort_by([("kernel", "ascending"), ("piece", "ascending")])
    made: list[list[pa.Table]] = [[kernel.schema.empty_table()] for kernel in kernels]
    for row in told.to_pylist():
        made[row["kernel"]].append(_in_cell(row))
    return [pa.concat_tables(tables) for tables in made]


def _says(kernels: Sequence[Kernel]) -> str:
    return "spark: " + "; ".join(dict.fromkeys(kernel.says for kernel in kernels))
