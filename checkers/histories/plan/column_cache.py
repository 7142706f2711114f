"""A piece that is unpacked once: what was read of it, or made of a column, is kept for later looks.

An analysis of everything looks at a history twenty times, and each look would unpack its columns
again. So a column is kept as it was first read: in memory as long as there is room, past that in a
file that is mapped, of which only the pages that are looked at cost anything. Numbers, and those of
few texts, are as narrow as they allow: 73 bytes a row in all, of which 14 are texts of values.

What is written is complete when it appears, so that several processes may share a folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa

from checkers.histories.columnar.fingerprints import Ints
from checkers.histories.plan.batch import Readable, as_ints
from checkers.histories.plan.spill import alone_in, narrow, spill

_MUCH: Final = 2  # times as many rows are worth being unpacked once more


@dataclass(slots=True)
class Shelf:
    """Columns by name, in memory or in a folder."""

    folder: Path | None
    room: int  # bytes; what is more lies in the folder, without one it is not kept
    held: dict[str, pa.ChunkedArray] = field(default_factory=dict[str, pa.ChunkedArray])

    def column(self, name: str) -> pa.ChunkedArray | None:
        """The column; None if it was not kept."""
        if name in self.held or not self.folder or not (path := self.folder / name).exists():
            return self.held.get(name)
        return alone_in(path)[0]

    def keep(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """The column, which is kept from now on."""
        fits = column.nbytes <= self.room
        if not fits and not self.folder:
            return column
        column = narrow(column)
        if fits:
            self.room -= column.nbytes
            self.held[name] = column
        elif self.folder:
            whole = self.folder / f"{name} of {os.getpid()}"
            whole.unlink(missing_ok=True)  # of an attempt that was cut short
            spill(pa.table({"column": column}), whole)
            whole.replace(self.folder / name)
        return column


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A piece, and what is kept of it on a shelf that it may share with others."""

    of: Readable
    number: int
    shelf: Shelf

    @property
    def rows(self) -> int:
        return self.of.rows

    def may_have(self, ops: Ints) -> bool:
        return self.of.may_have(ops)

    def having(self, ops: Sequence[Ints]) -> Readable:
        """What lies in the piece itself, if that is much less than what is unpacked anyway."""
        near = self.of.having(ops)
        return self if self.shelf.folder or near.rows * _MUCH > self.rows else near

    def read(self, columns: Sequence[str]) -> pa.Table:
        kept = {name: self.shelf.column(self._name(name)) for name in columns}
        if fresh := [name for name, column in kept.items() if column is None]:
            table = self.of.read(fresh)
            kept |= {name: self.shelf.keep(self._name(name), table[name]) for name in fresh}
        return pa.table(kept)

    def kept(self, what: str, make: Callable[[], Ints]) -> Ints:
        """Numbers made of the piece: when they are first asked for, and never again."""
        column = self.shelf.column(self._name(what))
        if column is None:
            column = self.shelf.keep(self._name(what), pa.chunked_array([pa.array(make())]))
        return as_ints(column)

    def _name(self, column: str) -> str:
        return f"{self.number}-{column}"
