"""Stores tables on disk: data that does not fit into memory is written to files, and the files are
memory-mapped.

A file has tables in Arrow's stream format, one after the other. Integers are written in the
narrowest type that fits. If the disk has little free space, the tables are compressed with LZ4. The
compressed tables need a third of the space, and an analysis needs 6 % more CPU time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.plan.partition import InMemory, Partition

Codec = str | None  # the compression of a file, by Arrow's name; None: not compressed
BYTES_OF_ROW: Final = 150  # what uncompressed temporary files take for a row with a short value
_NARROW: Final = (np.int8, np.int16, np.int32)
_ONE_THREAD: Final = pa.ipc.IpcReadOptions(use_threads=False)  # faster: the reads are small


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A partition of a dataset whose rows are stored in a range of bytes of a file."""

    path: str
    at: int
    size: int  # bytes
    rows: int

    def may_contain(self, ops: Ints) -> bool:
        return len(ops) > 0

    def containing(self, ops: Sequence[Ints]) -> OnDisk:
        return self

    def read(self, columns: Sequence[str]) -> pa.Table:
        return self.within(mapped_file(self.path)).select(list(columns))

    def within(self, file: pa.Buffer) -> pa.Table:
        return _table(file.slice(self.at, self.size))


def read_in_turn(parts: Iterable[Partition], columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yields, for each partition in `parts`, one table with the columns `columns`."""
    path, file = "", pa.py_buffer(b"")
    for part in parts:
        if not isinstance(part, OnDisk):
            yield part.read(columns)
            continue
        # A file with consecutive partitions is mapped into memory only once.
        if part.path != path:
            path, file = part.path, mapped_file(part.path)
        yield part.within(file).select(list(columns))


def only_table_in(path: Path) -> pa.Table:
    return _table(mapped_file(str(path)))


def mapped_file(path: str) -> pa.Buffer:
    with pa.memory_map(path) as file:
        return file.read_buffer()


def _table(data: pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(data, options=_ONE_THREAD).read_all()


def codec_for(rows: int, folder: Path) -> Codec:
    """Returns the compression for the temporary files of a history with `rows` rows.

    The compression is LZ4 if the uncompressed files might not fit into the free space of the
    folder's disk. Otherwise the result is None: the files are not compressed.
    """
    return "lz4" if rows * BYTES_OF_ROW > shutil.disk_usage(folder).free else None


def spill(table: pa.Table, path: Path, codec: Codec = None) -> OnDisk:
    """Appends the table to a file, and returns a partition of a dataset that reads the table's
    rows from this file.
    """
    options = pa.ipc.IpcWriteOptions(compression=codec, use_threads=False)
    with pa.OSFile(str(path), "ab") as sink:
        at = sink.tell()
        with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
            stream.write_table(table)
        return OnDisk(str(path), at, sink.tell() - at, table.num_rows)


def spill_whole(table: pa.Table, path: Path, codec: Codec = None) -> OnDisk:
    """Writes a file that has only this table. The file gets its name only when it is complete."""
    incomplete = path.with_name(f"{path.name} of {os.getpid()}")
    incomplete.unlink(missing_ok=True)  # remains of an interrupted attempt
    spilled = spill(table, incomplete, codec)
    incomplete.replace(path)
    return replace(spilled, path=str(path))


def spilled_whole(path: Path) -> OnDisk:
    """Returns the partition of a dataset with the rows of a file that `spill_whole` wrote."""
    return OnDisk(str(path), 0, path.stat().st_size, only_table_in(path).num_rows)


@dataclass(slots=True)
class SpillStore:
    """Stores numbered lists of tables. Tables are stored in memory as long as their total size is
    at most `memory_bytes`.

    Every other table is appended to a file. There is one file for each list.
    """

    folder: Path
    memory_bytes: int
    codec: Codec = None
    used_bytes: int = 0

    def keep(self, number: int, table: pa.Table) -> Partition:
        """Stores a table in the list with the number `number`. Returns a partition of a dataset
        with the table's rows.
        """
        if self.used_bytes + table.nbytes <= self.memory_bytes:
            self.used_bytes += table.nbytes
            return InMemory(table)
        return spill(table, self._file(number), self.codec)

    def drop(self, number: int) -> None:
        self._file(number).unlink(missing_ok=True)

    def _file(self, number: int) -> Path:
        return self.folder / f"{number}.arrow"


def shrunk(table: pa.Table) -> pa.Table:
    return pa.table({name: shrunk_column(table[name]) for name in table.schema.names})


def shrunk_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns the column as a single chunk whose integers or dictionary indices have the narrowest
    type that fits.

    A column of integers with nulls keeps its type.
    """
    if pa.types.is_dictionary(column.type):
        whole = column.unify_dictionaries().combine_chunks()
        indices = whole.indices.cast(_width(0, len(whole.dictionary)), safe=False)  # they fit
        array = pa.DictionaryArray.from_arrays(indices, whole.dictionary, safe=False)
        return pa.chunked_array([array])
    whole = column.combine_chunks()
    if pa.types.is_integer(column.type) and len(column) and not column.null_count:
        numbers = whole.to_numpy()
        width = _width(int(numbers.min()), int(numbers.max()))
        return pa.chunked_array([whole.cast(width, safe=False)])
    return pa.chunked_array([whole], column.type)


def _width(low: int, high: int) -> pa.DataType:
    limits = (np.iinfo(width) for width in _NARROW)
    fitting = (limit.dtype for limit in limits if limit.min <= low and high <= limit.max)
    return pa.from_numpy_dtype(next(fitting, np.dtype(np.int64)))
