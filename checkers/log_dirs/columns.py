"""The log of one replica as columns: NumPy arrays with one element for each record batch, in
file order.
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
from properties.log_audit.check import Location
from properties.log_audit.log import LogMetadata, base_offset

Columns = dict[str, Ints]
_NUMBERS: Final = [name for name in BATCHES.names if name not in ("partition", "log")]


class Log:
    """The log of one replica as a table of arrays. Each row is a record batch.

    A batch is *sound* if it has no fault: its format is known, its checksum is right, and its
    records are well-formed. Adjacent sound batches form a *range* if no offset is missing between
    them. Each batch that is not sound is a range of its own.
    """

    def __init__(self, metadata: LogMetadata, first_segment: int, rows: pa.Table) -> None:
        columns: Columns = {n: rows[n].to_numpy().astype(np.int64) for n in _NUMBERS}
        order = np.lexsort((columns["position"], columns["segment"]))
        self.metadata = metadata
        self.of: Columns = {name: column[order] for name, column in columns.items()}
        self.segment: Ints = self.of["segment"] - first_segment  # of this log
        self.names = np.array(metadata.segments, dtype=object)
        self.base, self.last = self.of["base_offset"], self.of["last_offset"]
        self.is_batch: Flags = self.of["fault"] <= OLD
        self.is_sound: Flags = self.of["fault"] == NO_FAULT
        self.is_marker: Flags = self.of["marker"] != NO_MARKER
        self.is_control: Flags = self.of["attributes"] & CONTROL != 0
        self.is_data: Flags = (self.of["attributes"] & TRANSACTIONAL != 0) & ~self.is_control

    @cached_property
    def sound(self) -> Ints:
        return np.flatnonzero(self.is_sound)

    @cached_property
    def joined(self) -> Flags:
        """A flag for each batch: True for a sound batch that directly follows another sound
        batch.
        """
        before: Flags = np.append(False, self.is_sound[:-1])[: len(self.base)]
        return self.is_sound & before

    @cached_property
    def next_offset(self) -> Ints:
        """For each batch, the offset that follows the previous batch. It is 0 for the first
        batch.
        """
        return np.append(0, self.last[:-1] + 1)[: len(self.base)]

    @cached_property
    def range_number(self) -> Ints:
        return np.cumsum(~(self.joined & (self.base == self.next_offset)))

    @cached_property
    def range_base(self) -> Ints:
        """For each batch, the first offset of its range. All batches with the same `range_number`
        form one range.
        """
        _, first, of = np.unique(self.range_number, return_index=True, return_inverse=True)
        return self.base[first][of]

    @cached_property
    def compacted(self) -> bool:
        """True if some sound batch has fewer records than offsets. Compaction makes such
        batches.
        """
        room = self.last - self.base + 1
        return bool((self.of["record_count"] < room)[self.sound].any())

    @cached_property
    def ascends(self) -> bool:
        """True if the sound batches are in offset order and do not overlap."""
        return bool((self.base[self.sound[1:]] > self.last[self.sound[:-1]]).all())

    def covering(self, offset: int) -> Ints:
        """Returns the row numbers of the sound batches whose offsets include `offset`."""
        rows = self.sound
        if self.ascends:  # at most one batch covers the offset, found by binary search
            at = int(np.searchsorted(self.base[rows], offset, side="right"))
            rows = rows[max(at - 1, 0) : at]
        return rows[(self.base[rows] <= offset) & (self.last[rows] >= offset)]

    @property
    def newest_base(self) -> int:
        return base_offset(self.metadata.segments[-1])

    @cached_property
    def end(self) -> tuple[int, int, str]:
        """The end of the log: the log end offset, its byte position, and the name of its segment
        file.

        A log without batches ends at the base offset of its newest segment, at byte 0.
        """
        batches = np.flatnonzero(self.is_batch)
        if not len(batches):
            return self.newest_base, 0, self.metadata.segments[-1]
        last = batches[-1]
        position = int(self.of["position"][last] + self.of["size"][last])
        return int(self.last[last]) + 1, position, str(self.names[self.segment[last]])

    def by_producer(self, rows: Ints) -> Ints:
        """Returns those of `rows` whose batch has a producer id. They are sorted by producer id.
        Rows with the same producer id are in log order.
        """
        rows = rows[self.of["producer_id"][rows] >= 0]
        return rows[np.argsort(self.of["producer_id"][rows], kind="stable")]

    def successive(self, rows: Ints) -> tuple[Ints, Ints]:
        """Returns all pairs of consecutive batches of the same producer among `rows`. The first
        array has the earlier batch of each pair, and the second array has the later batch.
        """
        rows = self.by_producer(rows)
        same = self.of["producer_id"][rows[1:]] == self.of["producer_id"][rows[:-1]]
        return rows[:-1][same], rows[1:][same]

    def place(self, at: Ints) -> dict[str, Any]:
        return {
            "partition": [self.metadata.partition] * len(at),
            "offset": self.base[at],
            "replica": [self.metadata.replica] * len(at),
            "segment": self.names[self.segment[at]].tolist(),
            "position": self.of["position"][at],
        }

    def rows(self, row: type[Location], at: Ints, **more: npt.NDArray[Any] | list[str]) -> pa.Table:
        """Returns a table with one violation for each batch in `at`, an array of row numbers.

        The columns of the table are the fields of the dataclass `row`. The first columns are the
        location of the batch, and the other columns come from `more`.
        """
        return pa.table({**self.place(at), **more}, schema=row_schema(row))


def row_schema(row: type[Location]) -> pa.Schema:
    dataclass_type: Any = row  # mypy does not accept a class as a Hashable
    return schema_of(dataclass_type)


def as_table(rows: Iterable[Any], row: type[Location]) -> pa.Table:
    return pa.Table.from_pylist([asdict(one) for one in rows], schema=row_schema(row))
