"""Tables that are kept for later looks: in memory, and past what there is room for on disk.

On disk a table lies as Arrow sends it, one behind the other in a file. It is mapped, so nothing is
unpacked and only the pages that are looked at cost anything. Numbers are as narrow as they allow:
what is not written costs nothing. Compressing the rest would cost more than it saves, since most of
it is fingerprints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.plan.batch import Readable

_NARROW: Final = (np.int8, np.int16, np.int32)
_IN_TURN: Final = pa.ipc.IpcReadOptions(use_threads=False)  # nothing is worth waking a thread


@dataclass(frozen=True, slots=True)
class Held:
    """A piece in memory."""

    table: pa.Table

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    def may_have(self, ops: Ints) -> bool:
        return len(ops) > 0

    def having(self, ops: Sequence[Ints]) -> Held:
        return self

    def read(self, columns: Sequence[str]) -> pa.Table:
        return self.table.select(list(columns))


@dataclass(frozen=True, slots=True)
class Spilled:
    """A piece that is a stretch of a file on disk."""

    path: str
    at: int
    size: int  # bytes
    rows: int

    def may_have(self, ops: Ints) -> bool:
        return len(ops) > 0

    def having(self, ops: Sequence[Ints]) -> Spilled:
        return self

    def read(self, columns: Sequence[str]) -> pa.Table:
        return self.within(_mapped(self.path)).select(list(columns))

    def within(self, file: pa.Buffer) -> pa.Table:
        """All of it, from its file."""
        return _table(file.slice(self.at, self.size))


def read_in_turn(parts: Iterable[Readable], columns: Sequence[str]) -> Iterator[pa.Table]:
    """These columns of each; a file is mapped once for those that follow each other in it."""
    path, file = "", pa.py_buffer(b"")
    for part in parts:
        if not isinstance(part, Spilled):
            yield part.read(columns)
            continue
        if part.path != path:
            path, file = part.path, _mapped(part.path)
        yield part.within(file).select(list(columns))


def alone_in(path: Path) -> pa.Table:
    """The table that is all there is in the file."""
    return _table(_mapped(str(path)))


def _mapped(path: str) -> pa.Buffer:
    with pa.memory_map(path) as file:
        return file.read_buffer()


def _table(stretch: pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(stretch, options=_IN_TURN).read_all()


def spill(table: pa.Table, path: Path) -> Spilled:
    """Writes the table behind what is in the file."""
    with pa.OSFile(str(path), "ab") as sink:
        at = sink.tell()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return Spilled(str(path), at, sink.tell() - at, table.num_rows)


@dataclass(slots=True)
class Store:
    """Tables of some numbers, in memory, and past so many bytes on disk: a file for each number."""

    folder: Path
    held_bytes: int
    held: int = 0

    def keep(self, number: int, table: pa.Table) -> Readable:
        """The table, one of this number."""
        if self.held + table.nbytes <= self.held_bytes:
            self.held += table.nbytes
            return Held(table)
        return spill(table, self._file(number))

    def drop(self, number: int) -> None:
        """Whatever lies on disk of this number is not needed any more."""
        self._file(number).unlink(missing_ok=True)

    def _file(self, number: int) -> Path:
        return self.folder / f"{number}.arrow"


def narrowed(table: pa.Table) -> pa.Table:
    """The same rows, each column as narrow as it allows."""
    return pa.table({name: narrow(table[name]) for name in table.schema.names})


def narrow(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in one chunk: whole numbers, or those of a dictionary, as narrow as they allow.

    Where some are missing they stay as they are.
    """
    if pa.types.is_dictionary(column.type):
        whole = column.unify_dictionaries().combine_chunks()
        indices = whole.indices.cast(_width(0, len(whole.dictionary)), safe=False)  # they fit
        return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, whole.dictionary)])
    whole = column.combine_chunks()
    if pa.types.is_integer(column.type) and len(column) and not column.null_count:
        numbers = whole.to_numpy()
        width = _width(int(numbers.min()), int(numbers.max()))
        return pa.chunked_array([whole.cast(width, safe=False)])
    return pa.chunked_array([whole], column.type)


def _width(low: int, high: int) -> pa.DataType:
    widths = (np.iinfo(it) for it in _NARROW)
    fitting = (it.dtype for it in widths if it.min <= low and high <= it.max)
    return pa.from_numpy_dtype(next(fitting, np.dtype(np.int64)))
