"""Reads large batches in a thread, so that the brokers can do other work meanwhile.

A batch is large if it has many records, or decompresses to many bytes: in the event loop, it would
delay all other requests. The checks need only its bytes.
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
    """True for a batch with many records, or compressed in a way that Kafka knows."""
    if not head.has_known_compression:
        return False
    return head.record_count > MANY_RECORDS or head.compression != "none"


async def scanned_before(
    broker: ServedBroker, data: bytes, head: Header
) -> RecordFacts | ErrorCode | None:
    """The facts about a batch of `is_read_before`, or the error that rejects it; the largest are
    read in a thread.

    `head` is the header of the first batch in `data`. None means that `data` is not exactly one
    valid batch, which the leader then rejects.
    """
    batch = only_batch(data)
    if isinstance(batch, ErrorCode):
        return None
    if head.record_count <= MOST_RECORDS:
        facts = scan_quickly(batch.data, head, MANY_BYTES, MANY_RECORDS)
        if facts is not None:
            return facts
    return await broker.apart(lambda: scanned(batch, each=True))
