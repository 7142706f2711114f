"""Reads large record batches in a thread, so that the brokers can do other work meanwhile.

A batch is large if it has many records, or if its decompressed records have many bytes. In the
event loop, such a batch would delay all other requests. The checks of a batch need only its bytes,
so they can run in a thread.
"""

from __future__ import annotations

from typing import Final

from reference_impl.log.record_batch import Header
from reference_impl.log.validation import scan_quickly
from reference_impl.partition.record_validation import only_batch, scanned
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.record_facts import RecordFacts
from reference_impl.wire.requests.broker.served_broker import ServedBroker

MANY_RECORDS: Final = 10_000  # Python reads them in 10 ms
MOST_RECORDS: Final = 20_000  # read in C; Python must read them again to name invalid ones
MANY_BYTES: Final = 1024 * 1024  # after decompression


def is_read_before(head: Header) -> bool:
    """Returns True if a batch has many records or is compressed. The records of such a batch are
    read before the broker handles the batch.

    Returns False if Kafka does not know the compression of the batch.
    """
    if not head.has_known_compression:
        return False
    return head.record_count > MANY_RECORDS or head.compression != "none"


async def scanned_before(
    broker: ServedBroker, data: bytes, head: Header
) -> RecordFacts | ErrorCode | None:
    """Returns the facts about the records of a batch, or the error that rejects the batch. The
    largest batches are read in a thread.

    `head` is the header of the first batch in `data`. The caller must first check that
    `is_read_before(head)` is True. The result is None if `data` is not exactly one valid batch. The
    leader rejects such data later.
    """
    batch = only_batch(data)
    if isinstance(batch, ErrorCode):
        return None
    if head.record_count <= MOST_RECORDS:
        facts = scan_quickly(batch.data, head, MANY_BYTES, MANY_RECORDS)
        if facts is not None:
            return facts
    return await broker.apart(lambda: scanned(batch, each=True))
