"""A segment of a log: record batches one behind the other, deleted and cleaned as a whole.

Only the last segment of a log grows. What retention asks, its size and its youngest record, is
known of each segment without a look at its batches.

Source: protocol rules A11.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, NamedTuple

from model.vocabulary import Offset
from reference_impl.log.record_batch import Header, header

NEVER_MS: Final = -1


class Batch(NamedTuple):
    """A record batch at its place in a log."""

    header: Header
    data: bytes

    @classmethod
    def of(cls, data: bytes) -> Batch:
        """The batch whose bytes these are; CorruptBatch."""
        return cls(header(data), data)


class Segment(NamedTuple):
    """Batches in the order of their offsets; a closed segment has at least one."""

    batches: tuple[Batch, ...] = ()
    size: int = 0  # bytes
    max_timestamp_ms: int = NEVER_MS  # of its youngest record, as its producer told

    @classmethod
    def of(cls, batches: tuple[Batch, ...]) -> Segment:
        """The segment of these batches."""
        return cls(
            batches,
            sum(len(batch.data) for batch in batches),
            max((batch.header.max_timestamp_ms for batch in batches), default=NEVER_MS),
        )

    def append(self, batch: Batch) -> Segment:
        """The segment with one more batch."""
        return Segment(
            (*self.batches, batch),
            self.size + len(batch.data),
            max(self.max_timestamp_ms, batch.header.max_timestamp_ms),
        )

    @property
    def base_offset(self) -> Offset:
        return self.batches[0].header.base_offset

    @property
    def last_offset(self) -> Offset:
        return self.batches[-1].header.last_offset

    @property
    def next_offset(self) -> Offset:
        return self.batches[-1].header.next_offset

    def position(self, offset: Offset) -> int:
        """How many batches end before the offset."""
        return bisect_left(self.batches, offset, key=lambda batch: batch.header.last_offset)
