"""What a loss of power leaves of a log: its flushed part, and of the rest what reached the disk.

The bytes that were not flushed are cut at any place, which may tear a batch in two, and the last of
those that stay may be garbled. Then the log is read as a broker reads it when it starts: batch by
batch, up to the first whose length or checksum is wrong.

Source: protocol rule B9; Pillai et al., All File Systems Are Not Created Equal (OSDI 2014).
Simplified: sectors reach the disk in their order, so what was lost is the end of each log.
"""

from __future__ import annotations

from typing import Final

from model.vocabulary import Offset
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import CorruptBatch, batches, verified

GARBLED: Final = 8  # so many bytes at the end of what stays


def after_power_loss(log: PartitionLog, *, kept_percent: int, garbled: bool) -> PartitionLog:
    """The log as it is read again, with so many of its unflushed bytes kept."""
    tail = b"".join(batch.data for batch in log.batches(log.flushed))
    kept = tail[: len(tail) * kept_percent // 100]
    if garbled:
        kept = kept[:-GARBLED] + bytes(byte ^ 0xFF for byte in kept[-GARBLED:])
    return log.after_power_loss(_readable(kept, log.flushed))


def _readable(tail: bytes, start: Offset) -> Offset:
    """The offset behind the last batch that is whole and unharmed."""
    end = start
    try:
        for batch in batches(tail):
            end = verified(batch).next_offset
    except CorruptBatch:
        pass  # here the log ends: what follows was never flushed, hence never promised
    return end
