"""Mutated batches of a producer are rejected with Kafka's errors."""

from __future__ import annotations

import google_crc32c
import pytest

from model.vocabulary import Offset, ProducerEpoch, ProducerId, Sequence
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode, header, with_create_time
from reference_impl.log.segment import Batch
from reference_impl.partition.record_validation import (
    MAX_MESSAGE_BYTES,
    TIMESTAMP_AFTER_MAX_MS,
    BatchError,
    batch_error,
    only_batch,
)
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.topic_config import DEFAULT_LOG_CONFIG, INTERNAL_LOG_CONFIG

NOW_MS = 1_000_000
BATCH = encode([Record(value=b"v", timestamp_ms=NOW_MS)] * 2)
ATTRIBUTES, LAST_OFFSET_DELTA, COUNT, MAGIC = 22, 23, 57, 16


def mutated(at: int, value: bytes, *, batch: bytes = BATCH) -> bytes:
    """Returns the batch with the bytes `value` at the position `at`, and with a correct
    checksum.
    """
    data = bytearray(batch)
    data[at : at + len(value)] = value
    data[17:21] = google_crc32c.value(bytes(data[21:])).to_bytes(4, "big")
    return bytes(data)


def number(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def error_of(batch: bytes) -> ErrorCode:
    found = only_batch(batch)
    if isinstance(found, ErrorCode):
        return found
    return batch_error(found, DEFAULT_LOG_CONFIG, NOW_MS).error


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (b"short", ErrorCode.INVALID_RECORD),
        (BATCH[:-3], ErrorCode.INVALID_RECORD),  # truncated: there is no batch
        (BATCH * 2, ErrorCode.INVALID_RECORD),
        (mutated(MAGIC, b"\x01"), ErrorCode.INVALID_RECORD),
        (mutated(MAGIC, b"\x03"), ErrorCode.CORRUPT_MESSAGE),
        (mutated(8, number(20))[:32], ErrorCode.CORRUPT_MESSAGE),
        (mutated(LAST_OFFSET_DELTA, number(-1)), ErrorCode.INVALID_RECORD),
        (BATCH + BATCH[:-1], ErrorCode.NONE),  # the truncated rest is ignored
    ],
)
def test_a_request_has_one_whole_batch(data: bytes, error: ErrorCode) -> None:
    """A produce request must have exactly one whole batch; truncated bytes after it are ignored.

    Kafka: ProduceRequest.validateRecords, ByteBufferLogInputStream.nextBatch.
    """
    assert error_of(data) is error


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (BATCH, ErrorCode.NONE),
        (BATCH[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE),
        (encode([Record(value=b"v")], base_offset=Offset(77)), ErrorCode.INVALID_RECORD),
        (encode([Record(value=bytes(1_200_000))]), ErrorCode.MESSAGE_TOO_LARGE),
        (encode([Record(value=bytes(MAX_MESSAGE_BYTES - 100))]), ErrorCode.NONE),
    ],
)
def test_size_checksum_and_base_offset(data: bytes, error: ErrorCode) -> None:
    """A batch that is too large, or has a wrong checksum or base offset, is rejected.

    The base offset of a producer's batch must be 0. Kafka: UnifiedLog.analyzeAndValidateRecords.
    """
    assert error_of(data) is error


@pytest.mark.parametrize(
    "data",
    [
        mutated(LAST_OFFSET_DELTA, number(99)),
        mutated(COUNT, number(99)),
        encode([Record(value=b"")], control=True),
        encode([Record(value=b"")], producer_id=ProducerId(7), producer_epoch=ProducerEpoch(0)),
        encode([Record(value=b"")], transactional=True),
        encode([Record(value=b"")], producer_id=ProducerId(7), base_sequence=Sequence(0)),
        mutated(len(BATCH) - 1, b"\x55"),  # a record's number of headers
    ],
)
def test_a_batch_is_rejected_by_its_header_or_its_records(data: bytes) -> None:
    """A batch is rejected if its header is invalid or one of its records cannot be parsed.

    Kafka: LogValidator.validateBatch, DefaultRecord.readFrom.
    """
    assert error_of(data) is ErrorCode.INVALID_RECORD


def test_an_unknown_compression_codec_is_a_server_error() -> None:
    """A batch with an unknown compression codec gets UNKNOWN_SERVER_ERROR.

    The reason is that Kafka's CompressionType.forId throws an IllegalArgumentException, which has
    no error code of its own.
    """
    assert error_of(mutated(ATTRIBUTES, b"\x07")) is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    ("ahead_ms", "error"),
    [
        (TIMESTAMP_AFTER_MAX_MS, ErrorCode.NONE),
        (TIMESTAMP_AFTER_MAX_MS + 1, ErrorCode.INVALID_TIMESTAMP),
        (-NOW_MS, ErrorCode.NONE),
    ],
)
def test_a_timestamp_is_at_most_an_hour_ahead(ahead_ms: int, error: ErrorCode) -> None:
    """A record is rejected if its timestamp is more than an hour after the broker's time.

    Kafka: LogValidator.validateTimestamp.
    """
    assert error_of(encode([Record(value=b"v", timestamp_ms=NOW_MS + ahead_ms)])) is error


def test_the_bit_of_log_append_time_counts_only_without_a_timestamp() -> None:
    """A batch with the LogAppendTime bit is rejected only if its records have no timestamp.

    If they have timestamps, the broker appends the batch without the bit.

    Kafka: LogValidator.validateTimestamp.
    """
    assert error_of(mutated(ATTRIBUTES, b"\x08")) is ErrorCode.NONE
    without = encode([Record(value=b"v", timestamp_ms=-1)])
    assert error_of(mutated(ATTRIBUTES, b"\x08", batch=without)) is ErrorCode.INVALID_TIMESTAMP
    assert header(with_create_time(mutated(ATTRIBUTES, b"\x08"))) == header(BATCH)


def test_a_compacted_topic_requires_keys() -> None:
    """A batch with a record without a key is rejected on a compacted topic.

    If another record's timestamp is invalid too, the error is INVALID_TIMESTAMP. The response names
    all refused records (KIP-467).

    Kafka: LogValidator.validateKey and processRecordErrors.
    """
    keyed = Record(key=b"k", value=b"v")
    late = Record(key=b"k", value=b"v", timestamp_ms=NOW_MS + 2 * TIMESTAMP_AFTER_MAX_MS)
    keyless = Record(value=b"v")
    for records, error, refused in (
        ([keyed], ErrorCode.NONE, ()),
        ([keyed, keyless], ErrorCode.INVALID_RECORD, (1,)),
        ([late, keyed, keyless], ErrorCode.INVALID_TIMESTAMP, (0, 2)),
    ):
        found = batch_error(Batch.of(encode(records)), INTERNAL_LOG_CONFIG, NOW_MS)
        assert found == BatchError(error, refused)
