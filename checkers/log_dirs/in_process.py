"""The work on every topic partition, one after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from checkers.log_dirs import judging, segments
from checkers.log_dirs.folders import LogDirs
from checkers.log_dirs.judging import FOUND

Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class InProcess:
    """Reads and judges; `told` hears which file is read."""

    dirs: LogDirs
    told: Told

    def judged(self) -> pa.Table:
        """`judging.judged` of every topic partition."""
        return _together(
            judging.judged(number, self._batches(number), self.dirs)
            for number in range(len(self.dirs.partitions))
        )

    def compared(self, suspects: pa.Table) -> pa.Table:
        """`judging.compared` of every topic partition that has suspects."""
        positions = positions_of(suspects)
        return _together(
            judging.compared(number, self._records(number, positions), suspects, self.dirs)
            for number in sorted(set(suspects["partition"].to_pylist()))
        )

    def _batches(self, partition: int) -> pa.Table:
        rows: list[pa.RecordBatch] = []
        for number in self.dirs.partitions[partition].segments:
            segment = self.dirs.segments[number]
            self.told(f"reading {segment.path}")
            rows += segments.batches(segment)
        return pa.Table.from_batches(rows, segments.BATCHES)

    def _records(self, partition: int, positions: Mapping[int, set[int]]) -> pa.Table:
        rows: list[pa.RecordBatch] = []
        for number in self.dirs.partitions[partition].segments:
            if number in positions:
                segment = self.dirs.segments[number]
                self.told(f"comparing {segment.path}")
                rows += segments.records(segment, positions[number])
        return pa.Table.from_batches(rows, segments.RECORDS)


def _together(tables: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables([FOUND.empty_table(), *tables])


def positions_of(suspects: pa.Table) -> Mapping[int, set[int]]:
    """The bytes at which suspect batches begin, by the number of their segment."""
    found: dict[int, set[int]] = {}
    numbers, positions = suspects["segment"].to_pylist(), suspects["position"].to_pylist()
    for number, position in zip(numbers, positions, strict=True):
        found.setdefault(number, set()).add(position)
    return found
