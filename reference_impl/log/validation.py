"""Checks the records of a producer's record batch. Returns facts about the records, which the
leader needs for the append.

`scan` returns three facts: the largest timestamp, whether a record has no key, and whether the
offset deltas are 0, 1, 2 and so on. The number and the lengths of the records must agree with the
batch's header and with the length fields. The content of keys, values and headers is not read.
`scan` has these steps:

    decompress, up to a limit -> each record within the batch? -> as many as declared? -> facts

`scan_each` defines the facts. It reads record after record, and also returns facts about each
record. `scan` may use compiled C code (module `compiled_scan`), which finds the same facts and
errors.

If `scan` accepts a batch, `record_batch.decode` raises no exception for this batch.

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
    """Raised if the records cannot be decompressed."""


class TooManyBytes(CorruptBatch):
    """Raised if the decompressed records have more bytes than the limit permits."""


def scan(batch: bytes, head: Header, most_bytes: int = DECOMPRESSED_BYTES) -> RecordFacts:
    """Returns the facts about the records of the batch. Raises CorruptBatch if the records are
    malformed, Undecompressable if they cannot be decompressed, and TooManyBytes if they decompress
    to more than `most_bytes` bytes.
    """
    body = _records_of(batch, head, most_bytes)
    return _facts_compiled(body, head) or _facts(body, head)


def scan_quickly(
    batch: bytes, head: Header, most_bytes: int, most_records: int
) -> RecordFacts | None:
    """Returns the facts of `scan`, or None if the records are malformed or the batch is large.

    A batch is large if it has more than `most_bytes` bytes after decompression. If no compiled
    library is loaded, a batch with more than `most_records` records is large, too.
    """
    try:
        body = _records_of(batch, head, most_bytes)
        facts = _facts_compiled(body, head)
        return _facts(body, head) if facts is None and head.record_count <= most_records else facts
    except CorruptBatch:
        return None


def scan_each(batch: bytes, head: Header, most_bytes: int = DECOMPRESSED_BYTES) -> RecordFacts:
    """Returns the facts of `scan`, and also the timestamps of all records and the numbers of the
    records without a key.

    It is slower than `scan`, and raises the same errors.
    """
    return _facts(_records_of(batch, head, most_bytes), head)


def _facts_compiled(body: bytes, head: Header) -> RecordFacts | None:
    return facts_compiled(body, head.record_count, head.base_timestamp_ms)


def _records_of(batch: bytes, head: Header, most_bytes: int) -> bytes:
    """Returns the decompressed records of the batch. Raises the same errors as `scan`."""
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
            delta_ms, at = _varint(body, at + 1, read_varlong)  # after the attributes
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
