"""Checks the records of a producer's batch, and returns what the leader needs to know about them.

`scan` returns three facts: the largest timestamp, whether a record has no key, and whether the
offset deltas are 0, 1, 2 and so on. Number and lengths of the records must be as declared; keys,
values and headers are not read.

    decompress, up to a limit -> each record within the batch? -> as many as declared? -> facts

`scan_each` is the definition, record by record, and also returns the facts about each record.
`scan` may use compiled C (module `compiled_scan`), with the same facts and errors.

`record_batch.decode` raises no exception for a batch that `scan` accepts.

Source: DefaultRecordBatch.iterator, DefaultRecord.readFrom, LogValidator.assignOffsetsNonCompressed
and validateMessagesAndAssignOffsetsCompressed; Kafka documentation, "Message Format".
Simplified: a compressed record must be well-formed as a whole, whereas Kafka skips the key and
value of the record. Kafka has no limit of decompressed bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.log.compiled_scan import facts_compiled
from reference_impl.log.compression import DECOMPRESSED_BYTES, BadCompression, TooLarge, decompress
from reference_impl.log.record_batch import HEADER_SIZE, CorruptBatch, Header
from reference_impl.log.varint import as_int64, read_varint, read_varlong
from reference_impl.protocol.messages import NO_TIMESTAMP
from reference_impl.protocol.record_facts import EachRecord, RecordFacts

_INT64: Final = 2**63


class Undecompressable(CorruptBatch):
    """The records cannot be decompressed."""


class TooManyBytes(CorruptBatch):
    """The records have more bytes, decompressed, than the limit permits."""


def scan(batch: bytes, head: Header, most_bytes: int = DECOMPRESSED_BYTES) -> RecordFacts:
    """Raises CorruptBatch for malformed records, Undecompressable, or TooManyBytes above
    `most_bytes` after decompression.
    """
    body = _records_of(batch, head, most_bytes)
    return _facts_compiled(body, head) or _facts(body, head)


def scan_quickly(
    batch: bytes, head: Header, most_bytes: int, most_records: int
) -> RecordFacts | None:
    """Returns the facts of `scan`; None for malformed records or a large batch.

    Large is more than `most_bytes` after decompression, and, if Python must read the records, more
    than `most_records`.
    """
    try:
        body = _records_of(batch, head, most_bytes)
        facts = _facts_compiled(body, head)
        return _facts(body, head) if facts is None and head.record_count <= most_records else facts
    except CorruptBatch:
        return None


def scan_each(batch: bytes, head: Header, most_bytes: int = DECOMPRESSED_BYTES) -> RecordFacts:
    """Returns the facts of `scan`, the timestamps of all records, and the records without a key.

    Slower than `scan`, with the same errors.
    """
    return _facts(_records_of(batch, head, most_bytes), head)


def _facts_compiled(body: bytes, head: Header) -> RecordFacts | None:
    return facts_compiled(body, head.record_count, head.base_timestamp_ms)


def _records_of(batch: bytes, head: Header, most_bytes: int) -> bytes:
    """Raises the errors of `scan`."""
    data = batch[HEADER_SIZE:]
    if len(data) > most_bytes:
        raise TooManyBytes(f"byte {HEADER_SIZE}: {len(data)} bytes of records")
    try:
        body = decompress(head.compression, data, most_bytes)
    except TooLarge as error:
        raise TooManyBytes(f"byte {HEADER_SIZE}: {head.compression} records: {error}") from error
    except BadCompression as error:
        raise Undecompressable(
            f"byte {HEADER_SIZE}: {head.compression} records: {error}"
        ) from error
    if head.record_count > len(body):
        raise CorruptBatch(f"byte 57: {head.record_count} records in {len(body)} bytes")
    return body


def _facts(body: bytes, head: Header) -> RecordFacts:
    timestamps_ms: list[int] = []
    keyless: list[int] = []
    is_in_sequence = True
    base_ms = head.base_timestamp_ms
    size = len(body)
    at = 0
    for number in range(head.record_count):
        try:
            length, at = _varint(body, at)
            end = at + length
            if end > size:
                raise IndexError(f"it claims {length} bytes, but only {size - at} are left")
            delta_ms, at = _varint(body, at + 1, read_varlong)  # behind the attributes
            offset_delta, at = _varint(body, at)
            key_length, at = _varint(body, at)
            value_length, at = _varint(body, at + key_length if key_length > 0 else at)
            headers, at = _varint(body, at + value_length if value_length > 0 else at)
            if headers:
                at = _after_headers(body, at, headers, end)
            if at != end:
                raise IndexError(f"it ends at byte {at} and claims to end at {end}")
        except IndexError as error:
            raise CorruptBatch(f"byte {at} of the records: record {number}: {error}") from error
        time_ms = base_ms + delta_ms
        timestamps_ms.append(time_ms if -_INT64 <= time_ms < _INT64 else as_int64(time_ms))
        if offset_delta != number:
            is_in_sequence = False
        if key_length < 0:
            keyless.append(number)
    if at != size:
        raise CorruptBatch(f"byte {at}: {size - at} bytes follow the last record")
    each = EachRecord(tuple(timestamps_ms), tuple(keyless))
    latest_ms = max(timestamps_ms, default=NO_TIMESTAMP)
    return RecordFacts(latest_ms, bool(keyless), is_in_sequence, each)


def _varint(
    body: bytes, at: int, longer: Callable[[bytes, int], tuple[int, int]] = read_varint
) -> tuple[int, int]:
    low = body[at]
    if low < 0x80:
        return (low >> 1) ^ -(low & 1), at + 1
    high = body[at + 1]
    if high < 0x80:
        both = low & 0x7F | high << 7
        return (both >> 1) ^ -(both & 1), at + 2
    # Nearly all numbers have one or two bytes, decoded above.
    return longer(body, at)


def _after_headers(body: bytes, at: int, count: int, end: int) -> int:
    if not 0 <= count <= end - at:
        raise IndexError(f"it claims {count} headers, but only {end - at} bytes are left")
    for _ in range(count):
        name_length, at = _varint(body, at)
        if name_length < 0:
            raise IndexError("a header has no key")
        value_length, at = _varint(body, at + name_length)
        at += value_length if value_length > 0 else 0
    return at
