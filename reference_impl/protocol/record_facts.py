"""Facts about the records of a producer's batch: timestamps, missing keys and offset order."""

from __future__ import annotations

from typing import NamedTuple


class RecordFacts(NamedTuple):
    """Facts about the records of one batch, which a leader needs to accept the batch.

    The position of a record in the batch counts from 0. `is_in_sequence` is true if the offset
    delta of each record is its position.
    """

    timestamps_ms: tuple[int, ...]  # of at least one record
    keyless: tuple[int, ...]  # positions of the records without a key
    is_in_sequence: bool

    @property
    def max_timestamp_ms(self) -> int:
        return max(self.timestamps_ms)
