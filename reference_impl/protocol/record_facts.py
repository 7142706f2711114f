"""What a leader needs to know of the records of a producer's batch."""

from __future__ import annotations

from typing import NamedTuple


class RecordFacts(NamedTuple):
    """The facts of the records of one batch; positions count from 0.

    `is_in_sequence` is true if the record at each position has this position as its offset delta.
    """

    timestamps_ms: tuple[int, ...]  # of at least one record
    keyless: tuple[int, ...]  # positions of the records without a key
    is_in_sequence: bool

    @property
    def max_timestamp_ms(self) -> int:
        return max(self.timestamps_ms)
