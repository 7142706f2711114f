"""The log of a replica after a power loss: the flushed part, and the unflushed bytes that reached
the disk.

The unflushed bytes end at any position, perhaps within a batch, and the final bytes may be
corrupted. The restarted broker reads the log up to the first batch with a wrong length or a wrong
checksum.

Source: docs/kafka-rules.md B9; Pillai et al., All File Systems Are Not Created Equal (OSDI 2014).
Simplified: sectors reach the disk in order, so a power loss removes only the end of a log.
"""

from __future__ import annotations

from typing import Final

from model.vocabulary import Offset
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import CorruptBatch, verified

GARBLED: Final = 8  # corrupted bytes at the end


def after_power_loss(log: PartitionLog, *, kept_percent: int, garbled: bool) -> PartitionLog:
    """Returns the log after a power loss, in which `kept_percent` of the unflushed bytes reached
    the disk.

    If `garbled` is True, the last of these bytes are corrupted; the constant `GARBLED` is their
    number. The log ends before the first batch that is incomplete or corrupt.
    """
    tail = b"".join(batch.data for batch in log.batches(log.flushed))
    kept = tail[: len(tail) * kept_percent // 100]
    if garbled:
        kept = kept[:-GARBLED] + bytes(byte ^ 0xFF for byte in kept[-GARBLED:])
    return log.after_power_loss(_readable(kept, log.flushed))


def _readable(tail: bytes, start: Offset) -> Offset:
    end = start
    try:
        for batch in batches(tail):
            end = verified(batch).next_offset
    except CorruptBatch:
        pass  # the log ends here: later bytes were never flushed, hence never guaranteed
    return end
