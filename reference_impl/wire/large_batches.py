"""Reads large batches in a thread, so that the brokers can do other work meanwhile.

A batch is large if it has many records, or if its records decompress to many bytes. If the leader
read such a batch in the event loop of the brokers, all other requests would wait. The checks of the
batch need only its bytes, so a thread can make them before the leader handles the batch.
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
    """Returns the facts about a batch's records, or the error of invalid records.

    The facts are the timestamps, which records lack a key, and whether the offset deltas are 0, 1,
    2 and so on. A large batch is read in a thread. Returns None if the leader may read the batch
    itself.
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
