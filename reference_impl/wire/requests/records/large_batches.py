"""Reads large batches in a thread, so that the brokers can do other work meanwhile.

A batch is large if it has many records, or if its records decompress to many bytes. If the leader
read such a batch in the event loop of the brokers, all other requests would wait. The checks of a
batch need only its bytes. So a thread can make these checks before the leader handles the batch.
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
    """Returns True if `scanned_before` must read the batch, before the leader handles it.

    Such a batch has many records, or is compressed in a way that Kafka knows.
    """
    if not head.has_known_compression:
        return False
    return head.record_count > MANY_RECORDS or head.compression != "none"


async def scanned_before(
    broker: ServedBroker, data: bytes, head: Header
) -> RecordFacts | ErrorCode | None:
    """Returns facts about the records of a batch, or the error that rejects it.

    The batch is large or compressed (`is_read_before`), and is read before the leader checks it.
    `head` is the header of the first batch in `data`. The largest batches are read in another
    thread. If `data` is not exactly one valid batch, the result is None, and the leader then
    rejects the data.
    """
    batch = only_batch(data)
    if isinstance(batch, ErrorCode):
        return None
    if head.record_count <= MOST_RECORDS:
        facts = scan_quickly(batch.data, head, MANY_BYTES, MANY_RECORDS)
        if facts is not None:
            return facts
    return await broker.apart(lambda: scanned(batch, each=True))
