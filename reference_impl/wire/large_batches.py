"""Batches with many records, or with records that decompress to many bytes, are read in a thread.

If the leader read such a batch in the event loop of the brokers, everything else would wait. The
checks depend on the bytes of the batch alone, so a thread can read it before the leader handles it.
"""

from __future__ import annotations

from typing import Final

from reference_impl.log.record_batch import CorruptBatch
from reference_impl.log.validation import TooManyBytes, scan
from reference_impl.partition.record_validation import only_batch, scanned
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.record_facts import RecordFacts
from reference_impl.wire.served_broker import ServedBroker

MANY_RECORDS: Final = 5_000  # 10 ms
MANY_BYTES: Final = 1024 * 1024  # after decompression


async def scanned_apart(broker: ServedBroker, data: bytes) -> RecordFacts | ErrorCode | None:
    """Returns what a batch's records declare, or their error; reads large batches in a thread.

    Returns None if the leader may read the batch itself.
    """
    batch = only_batch(data)
    if isinstance(batch, ErrorCode) or not batch.header.has_known_compression:
        return None
    if batch.header.record_count <= MANY_RECORDS:
        if batch.header.compression == "none":
            return None
        try:
            return scan(batch.data, batch.header, MANY_BYTES)
        except TooManyBytes:
            pass
        except CorruptBatch:
            return None
    return await broker.apart(lambda: scanned(batch))
