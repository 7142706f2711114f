"""A replica's log as columns: its batches in the order of the files, ready for NumPy.

What the literal definitions call neighbours and stretches are here numbers of rows: a row is
`joined` if it and the one before it are neighbours, and rows of one stretch have one number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from checkers.histories.columnar.rows import schema_of
from checkers.log_dirs.records import Flags, Ints
from checkers.log_dirs.segments import (
    BATCHES,
    CONTROL,
    NO_FAULT,
    NO_MARKER,
    OLD,
    TRANSACTIONAL,
)
from properties.log_audit.check import Place
from properties.log_audit.log import Beside, base_offset

Columns = dict[str, Ints]
_NUMBERS: Final = [name for name in BATCHES.names if name not in ("partition", "log")]


class Log:
    """A replica's log; every attribute that is an array has an element for each row."""

    def __init__(self, beside: Beside, first_segment: int, rows: pa.Table) -> None:
        """The rows of BATCHES of this log, in any order; its first segment has that number."""
        columns: Columns = {n: rows[n].to_numpy().astype(np.int64) for n in _NUMBERS}
        order = np.lexsort((columns["position"], columns["segment"]))
        self.beside = beside
        self.of: Columns = {name: column[order] for name, column in columns.items()}
        self.segment: Ints = self.of["segment"] - first_segment  # of this log
        self.names = np.array(beside.segments, dtype=object)
        self.base, self.last = self.of["base_offset"], self.of["last_offset"]
        self.is_batch: Flags = self.of["fault"] <= OLD
        self.is_sound: Flags = self.of["fault"] == NO_FAULT
        self.is_marker: Flags = self.of["marker"] != NO_MARKER
        self.is_control: Flags = self.of["attributes"] & CONTROL != 0
        self.is_data: Flags = (self.of["attributes"] & TRANSACTIONAL != 0) & ~self.is_control

    @cached_property
    def sound(self) -> Ints:
        """The rows whose header can be believed."""
        return np.flatnonzero(self.is_sound)

    @cached_property
    def joined(self) -> Flags:
        """Whether nothing lies between a row and the one before it, whatever their offsets."""
        before: Flags = np.append(False, self.is_sound[:-1])[: len(self.base)]
        return self.is_sound & before

    @cached_property
    def next_offset(self) -> Ints:
        """Behind the row before each row; 0 before the first."""
        return np.append(0, self.last[:-1] + 1)[: len(self.base)]

    @cached_property
    def stretch(self) -> Ints:
        """The number of the stretch of each sound row."""
        return np.cumsum(~(self.joined & (self.base == self.next_offset)))

    @cached_property
    def stretch_base(self) -> Ints:
        """The offset at which the stretch of each row begins."""
        _, first, of = np.unique(self.stretch, return_index=True, return_inverse=True)
        return self.base[first][of]

    @cached_property
    def thinned(self) -> bool:
        """Whether a batch lacks records, as compaction leaves it."""
        room = self.last - self.base + 1
        return bool((self.of["record_count"] < room)[self.sound].any())

    @cached_property
    def ascends(self) -> bool:
        """Whether no two sound batches overlap, and they lie in the order of their offsets."""
        return bool((self.base[self.sound[1:]] > self.last[self.sound[:-1]]).all())

    def covering(self, offset: int) -> Ints:
        """The sound rows that have the offset between their first and their last."""
        rows = self.sound
        if self.ascends:  # so there is at most one, and it is found at once
            at = int(np.searchsorted(self.base[rows], offset, side="right"))
            rows = rows[max(at - 1, 0) : at]
        return rows[(self.base[rows] <= offset) & (self.last[rows] >= offset)]

    @property
    def newest_base(self) -> int:
        return base_offset(self.beside.segments[-1])

    @cached_property
    def end(self) -> tuple[int, int, str]:
        """The offset that comes next, and the byte and the segment behind the last batch."""
        batches = np.flatnonzero(self.is_batch)
        if not len(batches):
            return self.newest_base, 0, self.beside.segments[-1]
        last = batches[-1]
        position = int(self.of["position"][last] + self.of["size"][last])
        return int(self.last[last]) + 1, position, str(self.names[self.segment[last]])

    def by_producer(self, rows: Ints) -> Ints:
        """The rows of producers, those of one producer id together, in their order."""
        rows = rows[self.of["producer_id"][rows] >= 0]
        return rows[np.argsort(self.of["producer_id"][rows], kind="stable")]

    def successive(self, rows: Ints) -> tuple[Ints, Ints]:
        """Of these rows any two of a producer with none of it between them."""
        rows = self.by_producer(rows)
        same = self.of["producer_id"][rows[1:]] == self.of["producer_id"][rows[:-1]]
        return rows[:-1][same], rows[1:][same]

    def place(self, at: Ints) -> dict[str, Any]:
        """The columns of a Place for these rows."""
        return {
            "partition": [self.beside.partition] * len(at),
            "offset": self.base[at],
            "replica": [self.beside.replica] * len(at),
            "segment": self.names[self.segment[at]].tolist(),
            "position": self.of["position"][at],
        }

    def rows(self, row: type[Place], at: Ints, **more: npt.NDArray[Any] | list[str]) -> pa.Table:
        """Rows of this dataclass, at these places."""
        return pa.table({**self.place(at), **more}, schema=row_schema(row))


def row_schema(row: type[Place]) -> pa.Schema:
    """The columns of a row of a check."""
    known: Any = row  # a class can be hashed, whatever mypy thinks of it
    return schema_of(known)


def as_table(rows: Iterable[Any], row: type[Place]) -> pa.Table:
    """Rows that are dataclasses, as a table of their columns."""
    return pa.Table.from_pylist([asdict(one) for one in rows], schema=row_schema(row))
