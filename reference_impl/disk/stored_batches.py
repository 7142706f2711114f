"""The batches of a closed segment, which leave the memory and are read again from their file.

A closed segment never changes in place on disk. So its batches can be read from the file when a
slow consumer, a compaction or a truncation needs them. The offsets and the size of the segment stay
in memory, so a search and retention read no file.

Source: LogSegment, FileRecords of Kafka.
Simplified: a segment is read as a whole. The segments that were read last stay in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, takewhile
from pathlib import Path
from typing import Final, overload

from reference_impl.disk.log_folder import segment_path
from reference_impl.log.chain import Chain
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import batches
from reference_impl.log.segment import Batch, Segment

IN_MEMORY: Final = 8  # closed segments of a log
IN_MEMORY_BYTES: Final = 4 * 2**20  # of the closed segments of a log
READ_SEGMENTS: Final = 32  # of all logs
_NUMBERS: Final = count()


@dataclass(frozen=True, slots=True, eq=False)
class StoredBatches(Sequence[Batch]):
    """The batches in a segment file; a sequence like the tuple of these batches."""

    path: Path
    size: int
    number: int  # unique: a file of the same name may get other content later

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, at: int) -> Batch: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Batch]: ...
    def __getitem__(self, at: int | slice) -> Batch | Sequence[Batch]:
        return _read(self.path, self.number)[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def stored(segment: Segment, folder: Path) -> Segment:
    """Returns the segment with its batches on disk only: they are read from the file when needed.

    The file must already contain the whole segment.
    """
    if isinstance(segment.batches, StoredBatches):
        return segment
    path = segment_path(folder, segment.base_offset)
    return segment._replace(batches=StoredBatches(path, len(segment.batches), next(_NUMBERS)))


def with_stored_segments(log: PartitionLog, folder: Path) -> PartitionLog:
    """Returns the log with fewer batches in memory, if its closed segments need much memory.

    This happens when 8 closed segments, or 4 MiB of them, are in memory. The batches of all closed
    segments are then only in their files. The last segment is not closed, and stays in memory.
    """
    closed = len(log.segments) - 1
    in_memory = [
        *takewhile(
            lambda segment: not isinstance(segment.batches, StoredBatches),
            (log.segments[at] for at in range(closed - 1, -1, -1)),
        )
    ]
    size = sum(segment.size for segment in in_memory)
    if len(in_memory) < IN_MEMORY and size < IN_MEMORY_BYTES:
        return log
    segments = [stored(segment, folder) for segment in log.segments[:-1]]
    return replace(log, segments=Chain((*segments, log.segments[-1])))


@lru_cache(maxsize=READ_SEGMENTS)
def _read(path: Path, _number: int) -> tuple[Batch, ...]:
    return tuple(Batch.of(data) for data in batches(path.read_bytes()))
