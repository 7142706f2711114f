from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from checkers.log_dirs import partition_checks, segments
from checkers.log_dirs.folders import LogDirs
from checkers.log_dirs.partition_checks import FOUND
from checkers.progress import Progress, Watcher


@dataclass(frozen=True, slots=True)
class InProcess:
    """Checks every topic partition in this process. It calls `watch` before it reads each
    segment.
    """

    dirs: LogDirs
    watch: Watcher

    def judged(self) -> pa.Table:
        tables = self._tables("reading segments", range(len(self.dirs.partitions)), None)
        return _together(
            partition_checks.check_partition(number, rows, self.dirs) for number, rows in tables
        )

    def compared(self, suspects: pa.Table) -> pa.Table:
        partitions = sorted(set(suspects["partition"].to_pylist()))
        tables = self._tables("comparing records", partitions, positions_of(suspects))
        return _together(
            partition_checks.compare_records(number, rows, suspects, self.dirs)
            for number, rows in tables
        )

    def _tables(
        self, stage: str, partitions: Iterable[int], positions: Mapping[int, set[int]] | None
    ) -> Iterator[tuple[int, pa.Table]]:
        chosen = {number: self._chosen(number, positions) for number in partitions}
        total = sum(map(len, chosen.values()))
        done = rows = 0
        for partition, numbers in chosen.items():
            read: list[pa.RecordBatch] = []
            for number in numbers:
                self.watch(Progress(stage=stage, done=done, total=total, rows=rows))
                segment = self.dirs.segments[number]
                if positions is None:
                    read += segments.batches(segment)
                else:
                    read += segments.records(segment, positions[number])
                done += 1
            schema = segments.BATCHES if positions is None else segments.RECORDS
            table = pa.Table.from_batches(read, schema)
            rows += table.num_rows
            yield partition, table

    def _chosen(self, partition: int, positions: Collection[int] | None) -> list[int]:
        of_partition = self.dirs.partitions[partition].segments
        return [number for number in of_partition if positions is None or number in positions]


def _together(tables: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables([FOUND.empty_table(), *tables])


def positions_of(suspects: pa.Table) -> Mapping[int, set[int]]:
    """Returns the byte positions at which suspect record batches begin, for each segment number.

    A batch is suspect if it differs between replicas.
    """
    found: dict[int, set[int]] = {}
    numbers, positions = suspects["segment"].to_pylist(), suspects["position"].to_pylist()
    for number, position in zip(numbers, positions, strict=True):
        found.setdefault(number, set()).add(position)
    return found
