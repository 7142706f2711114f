"""Facts about the records of a producer's batch: timestamps, missing keys and offset order."""

from __future__ import annotations

from typing import NamedTuple


class RecordFacts(NamedTuple):
    """Facts about the records of one batch, which a leader needs to accept the batch."""

    timestamps_ms: tuple[int, ...]  # of at least one record
    keyless: tuple[int, ...]  # positions of the records without a key
    # True if each record's offset delta is its position, counted from 0.
    is_in_sequence: bool

    @property
    def max_timestamp_ms(self) -> int:
        return max(self.timestamps_ms)
