"""Tables that are kept for later looks: in memory, and past what there is room for on disk.

On disk a table lies as Arrow sends it, several in one file. It is mapped, so that of a column
nothing is unpacked and only the pages that are looked at cost anything. Numbers are as narrow as
they allow: what is not written costs nothing. Compressing the rest would cost more than it saves,
since it is fingerprints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.histories.columns.fingerprints import Ints
from checkers.histories.pieces.piece import Readable

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
        with pa.memory_map(self.path) as file:
            file.seek(self.at)
            stretch = file.read_buffer(self.size)
        return pa.ipc.open_stream(stretch, options=_IN_TURN).read_all().select(list(columns))


def spilled(tables: Mapping[int, pa.Table], path: Path) -> dict[int, Spilled]:
    """The tables under their numbers, one behind the other in this file."""
    lie: dict[int, Spilled] = {}
    with pa.OSFile(str(path), "wb") as sink:
        for number, table in tables.items():
            at = sink.tell()
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
            lie[number] = Spilled(str(path), at, sink.tell() - at, table.num_rows)
    return lie


@dataclass(slots=True)
class Store:
    """Tables in memory, and past so many bytes on disk."""

    folder: Path
    held_bytes: int
    held: int = 0
    files: int = 0

    def keep(self, tables: Mapping[int, pa.Table]) -> Mapping[int, Readable]:
        """The tables under their numbers; those that come together lie in one file."""
        size = sum(table.nbytes for table in tables.values())
        if not tables or self.held + size <= self.held_bytes:
            self.held += size
            return {number: Held(table) for number, table in tables.items()}
        self.files += 1
        return spilled(tables, self.folder / f"{self.files}.arrow")


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
