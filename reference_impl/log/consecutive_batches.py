"""Splits bytes into consecutive record batches. The bytes come from a Produce request, from a fetch
response or from a segment.

To split the bytes, only the first fields of each batch are read: its base offset and its length.
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
    """Yields the bytes of each record batch. Raises CorruptBatch if the last batch is
    incomplete.
    """
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
    """Yields the bytes of each complete record batch. An incomplete batch at the end is ignored.

    Raises CorruptBatch if the length of a batch is less than the length of a header.

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
    """Returns the header of the last complete record batch. Raises CorruptBatch if there is no
    complete batch.
    """
    start = end = 0
    while len(data) - end >= PREFIX.size:
        _, length = PREFIX.unpack_from(data, end)
        if end + PREFIX.size + length > len(data) or length < HEADER_SIZE - PREFIX.size:
            break
        start, end = end, end + PREFIX.size + length
    return header(data[start:end])


def first_header(data: bytes) -> Header | None:
    """Returns the header of the first record batch. The checksum of the batch is not checked.

    Returns None if the batch is missing or incomplete, or if its header is malformed.
    """
    if len(data) < HEADER_SIZE:
        return None
    head = unchecked_header(data)
    is_whole = HEADER_SIZE <= head.size <= len(data)
    is_valid = head.magic == MAGIC and head.last_offset_delta >= 0 and head.record_count >= 0
    return head if is_whole and is_valid else None
