"""A segment of a log: consecutive record batches, which are deleted and compacted together.

Records are appended only to the last segment. All earlier segments are closed, and their record
batches may be in a file (module `stored_batches`). A segment's offsets, size and newest timestamp
are always in memory. To find a segment or to apply retention, no batch is read.

Source: docs/kafka-rules.md A11.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

from model.vocabulary import Offset
from reference_impl.log.record_batch import Header, header

NEVER_MS: Final = -1
NO_OFFSET: Final = Offset(-1)


class Batch(NamedTuple):
    header: Header
    data: bytes

    @classmethod
    def of(cls, data: bytes) -> Batch:
        return cls(header(data), data)


class Segment(NamedTuple):
    """Consecutive record batches. A closed segment has at least one batch."""

    batches: Sequence[Batch] = ()
    size: int = 0  # bytes
    max_timestamp_ms: int = NEVER_MS  # the newest timestamp, set by the producer
    base_offset: Offset = NO_OFFSET
    last_offset: Offset = NO_OFFSET

    @classmethod
    def of(cls, batches: tuple[Batch, ...]) -> Segment:
        return cls(
            batches,
            sum(len(batch.data) for batch in batches),
            max((batch.header.max_timestamp_ms for batch in batches), default=NEVER_MS),
            batches[0].header.base_offset if batches else NO_OFFSET,
            batches[-1].header.last_offset if batches else NO_OFFSET,
        )

    def append(self, batch: Batch) -> Segment:
        return Segment(
            (*self.batches, batch),
            self.size + len(batch.data),
            max(self.max_timestamp_ms, batch.header.max_timestamp_ms),
            self.base_offset if self.batches else batch.header.base_offset,
            batch.header.last_offset,
        )

    @property
    def next_offset(self) -> Offset:
        return Offset(self.last_offset + 1)

    def position(self, offset: Offset) -> int:
        """Returns the index of the first record batch that contains or follows the offset. If there
        is no such batch, returns the number of batches.
        """
        return bisect_left(self.batches, offset, key=lambda batch: batch.header.last_offset)
