"""What a leader must know about the records in a producer's batch."""

from __future__ import annotations

from typing import NamedTuple


class RecordFacts(NamedTuple):
    """What a leader must know about the records of one batch; positions count from 0.

    `is_in_sequence` is true if the offset delta of each record is the record's position.
    """

    timestamps_ms: tuple[int, ...]  # of at least one record
    keyless: tuple[int, ...]  # positions of the records without a key
    is_in_sequence: bool

    @property
    def max_timestamp_ms(self) -> int:
        return max(self.timestamps_ms)
