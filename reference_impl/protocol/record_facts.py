"""Facts about the records of a producer's record batch."""

from __future__ import annotations

from typing import NamedTuple


class EachRecord(NamedTuple):
    """The timestamps of the records in a batch, and the positions of the records without a key.
    With them, the leader finds the positions of the invalid records for the response (KIP-467).
    """

    timestamps_ms: tuple[int, ...]  # of at least one record
    keyless: tuple[int, ...]  # positions of the records without a key


class RecordFacts(NamedTuple):
    max_timestamp_ms: int
    lacks_keys: bool  # True if a record has no key
    # True if each record's offset delta is its position, counted from 0.
    is_in_sequence: bool
    each: EachRecord | None = None  # None: to name a record, the leader must read the records again
