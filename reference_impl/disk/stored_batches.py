"""The record batches of a closed segment, which are read from their file when they are needed, and
not stored in memory.

The segment's offsets and size are still in memory, so neither a search by offset nor retention
reads a file.

Source: LogSegment, FileRecords of Kafka.
Simplified: a segment is read as a whole. A cache stores the most recently read segments, up to 32
MiB.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Final, overload

from reference_impl.disk.log_folder import segment_path
from reference_impl.disk.stored_producers import without_producers
from reference_impl.log.chain import Chain
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.segment import Batch, Segment

IN_MEMORY: Final = 8  # closed segments of a log
IN_MEMORY_BYTES: Final = 4 * 2**20  # of the closed segments of a log
READ_BYTES: Final = 32 * 2**20  # of the most recently read segments of all logs
_NUMBERS: Final = count()


@dataclass(frozen=True, slots=True, eq=False)
class StoredBatches(Sequence[Batch]):
    """The record batches of a segment. Each access reads the segment file, or finds its batches in
    a cache.
    """

    folder: Path
    base_offset: int
    size: int
    number: int  # unique, because a file of the same name may get other content

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, at: int) -> Batch: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Batch]: ...
    def __getitem__(self, at: int | slice) -> Batch | Sequence[Batch]:
        return _LAST_READ.batches(self)[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def stored(segment: Segment, folder: Path) -> Segment:
    """Returns the segment without record batches in memory. The segment's file must contain the
    whole segment.
    """
    if isinstance(segment.batches, StoredBatches):
        return segment
    batches = StoredBatches(folder, segment.base_offset, len(segment.batches), next(_NUMBERS))
    return segment._replace(batches=batches)


def with_stored_segments(log: PartitionLog, folder: Path, *, most: int = IN_MEMORY) -> PartitionLog:
    """Returns the log with the record batches of its closed segments on disk only. Returns the log
    unchanged while the closed segments in memory are few (fewer than `most`) and small (less than 4
    MiB).

    If segments move to disk, the log's producer snapshots move to disk, too, except the newest
    snapshot.
    """
    closed = first = max(0, len(log.segments) - 1)
    size = 0
    while first and not isinstance(log.segments[first - 1].batches, StoredBatches):
        first -= 1
        size += log.segments[first].size
    if closed - first < most and size < IN_MEMORY_BYTES:
        return log
    segments = [*log.segments]
    segments[first:-1] = [stored(segment, folder) for segment in segments[first:-1]]
    snapshots = [*log.snapshots]
    newer = slice(-1 - len(segments) + first, -1)  # older snapshots are on disk only already
    snapshots[newer] = [without_producers(kept, folder) for kept in snapshots[newer]]
    return replace(log, segments=Chain(segments), snapshots=Chain(snapshots))


@dataclass(slots=True)
class _LastRead:
    """A cache of decoded segments, shared by all logs of the process. If it has more than
    READ_BYTES bytes, it drops the least recently read segments.
    """

    _found: OrderedDict[int, tuple[Batch, ...]] = field(default_factory=OrderedDict)
    _size: int = 0  # bytes
    _lock: Lock = field(default_factory=Lock)  # two clusters of a process have separate threads

    def batches(self, stored: StoredBatches) -> tuple[Batch, ...]:
        with self._lock:
            if stored.number in self._found:
                self._found.move_to_end(stored.number)
                return self._found[stored.number]
            data = segment_path(stored.folder, stored.base_offset).read_bytes()
            read = self._found[stored.number] = tuple(Batch.of(one) for one in batches(data))
            self._size += len(data)
            while self._size > READ_BYTES and len(self._found) > 1:
                _, oldest = self._found.popitem(last=False)
                self._size -= sum(len(batch.data) for batch in oldest)
            return read


_LAST_READ: Final = _LastRead()
