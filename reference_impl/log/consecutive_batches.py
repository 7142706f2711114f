"""The bytes of record batches, one after the other: those of a request, of a fetch or of a segment.

Only the prefix of each batch is read: its base offset and its length.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.log.record_batch import (
    HEADER_SIZE,
    MAGIC,
    PREFIX,
    Header,
    corrupt,
    header,
    unchecked_header,
)


def batches(data: bytes) -> Iterator[bytes]:
    """The bytes of each batch; raises CorruptBatch if the last one is cut off."""
    at = 0
    while at < len(data):
        if len(data) - at < PREFIX.size:
            corrupt(at, f"only {len(data) - at} bytes are left, too few for a batch")
        _, length = PREFIX.unpack_from(data, at)
        end = at + PREFIX.size + length
        if length < HEADER_SIZE - PREFIX.size or end > len(data):
            corrupt(at + 8, f"a batch of {length + PREFIX.size} bytes, {len(data) - at} are left")
        yield data[at:end]
        at = end


def whole_batches(data: bytes) -> Iterator[bytes]:
    """The bytes of each complete batch, without one that is cut off at the end.

    Raises CorruptBatch for a batch shorter than a header.

    Kafka: ByteBufferLogInputStream.nextBatch.
    """
    at = 0
    while len(data) - at >= PREFIX.size:
        _, length = PREFIX.unpack_from(data, at)
        if length < HEADER_SIZE - PREFIX.size:
            corrupt(at + 8, f"a batch of {length + PREFIX.size} bytes, less than a header")
        end = at + PREFIX.size + length
        if end > len(data):
            return
        yield data[at:end]
        at = end


def last_header(data: bytes) -> Header:
    """The header of the last complete batch; raises CorruptBatch if there is none."""
    start = end = 0
    while len(data) - end >= PREFIX.size:
        _, length = PREFIX.unpack_from(data, end)
        if end + PREFIX.size + length > len(data) or length < HEADER_SIZE - PREFIX.size:
            break
        start, end = end, end + PREFIX.size + length
    return header(data[start:end])


def first_header(data: bytes) -> Header | None:
    """The header of the first batch, without a check of its checksum.

    None if there are no bytes, or if the batch is cut off or its header is malformed.
    """
    if len(data) < HEADER_SIZE:
        return None
    head = unchecked_header(data)
    is_whole = HEADER_SIZE <= head.size <= len(data)
    is_valid = head.magic == MAGIC and head.last_offset_delta >= 0 and head.record_count >= 0
    return head if is_whole and is_valid else None
