"""Mutated batches of a producer are rejected with Kafka's errors."""

from __future__ import annotations

import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.vocabulary import Offset, ProducerEpoch, ProducerId, Sequence
from reference_impl.log.compression import COMPRESSIONS, DECOMPRESSED_BYTES, Compression, compress
from reference_impl.log.record import Record
from reference_impl.log.record_batch import (
    CorruptBatch,
    decode,
    encode,
    filter_records,
    header,
)
from reference_impl.log.segment import Batch
from reference_impl.log.validation import TooManyBytes, scan
from reference_impl.partition import record_validation
from reference_impl.partition.record_validation import (
    BatchError,
    appendable,
    batch_error,
    only_batch,
    scanned,
)
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.record_facts import RecordFacts
from reference_impl.protocol.topic_config import (
    DEFAULT_LOG_CONFIG,
    INTERNAL_LOG_CONFIG,
    LogConfig,
    TimestampType,
)

NOW_MS = 1_000_000
HOUR_MS = DEFAULT_LOG_CONFIG.timestamp_after_max_ms
BATCH = encode([Record(value=b"v", timestamp_ms=NOW_MS)] * 2)
ATTRIBUTES, LAST_OFFSET_DELTA, MAX_TIMESTAMP, COUNT, MAGIC = 22, 23, 35, 57, 16


def mutated(at: int, value: bytes, *, batch: bytes = BATCH) -> bytes:
    """Returns the batch with some bytes overwritten, and with a correct checksum."""
    data = bytearray(batch)
    data[at : at + len(value)] = value
    data[17:21] = google_crc32c.value(bytes(data[21:])).to_bytes(4, "big")
    return bytes(data)


ONE = encode([Record(value=b"v", timestamp_ms=NOW_MS)])


def with_offset_delta(delta: int, compression: Compression = "none") -> bytes:
    """Returns a batch of one record with the given offset delta."""
    kept = [(Offset(delta), Record(value=b"v", timestamp_ms=NOW_MS))]
    whole = encode([kept[0][1]], compression=compression)
    return filter_records(whole, kept, None)


def number(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def error_of(data: bytes, config: LogConfig = DEFAULT_LOG_CONFIG) -> ErrorCode:
    batch = only_batch(data)
    if isinstance(batch, ErrorCode):
        return batch
    return batch_error(batch, scanned(batch), config, NOW_MS).error


def appended(data: bytes) -> bytes:
    """Returns the bytes that the leader appends for a valid batch."""
    batch = Batch.of(data)
    facts = scanned(batch)
    assert isinstance(facts, RecordFacts)
    found = appendable(batch, facts, DEFAULT_LOG_CONFIG)
    assert found is not None
    return found


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
        (mutated(COUNT, number(0))[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE),
        (encode([Record(value=b"v")], base_offset=Offset(77)), ErrorCode.INVALID_RECORD),
        (encode([Record(value=bytes(1_200_000))]), ErrorCode.MESSAGE_TOO_LARGE),
        (encode([Record(value=bytes(DEFAULT_LOG_CONFIG.max_message_bytes - 100))]), ErrorCode.NONE),
    ],
)
def test_a_batch_with_a_wrong_size_checksum_or_base_offset_is_rejected(
    data: bytes, error: ErrorCode
) -> None:
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
        (HOUR_MS, ErrorCode.NONE),
        (HOUR_MS + 1, ErrorCode.INVALID_TIMESTAMP),
        (-NOW_MS, ErrorCode.NONE),
    ],
)
def test_a_timestamp_is_at_most_an_hour_ahead(ahead_ms: int, error: ErrorCode) -> None:
    """A record is rejected if its timestamp is more than an hour after the broker's time.

    Kafka: LogValidator.validateTimestamp.
    """
    assert error_of(encode([Record(value=b"v", timestamp_ms=NOW_MS + ahead_ms)])) is error


@pytest.mark.parametrize(
    ("times_ms", "refused"),
    [
        ((NOW_MS - 10, NOW_MS + 20), ()),
        ((NOW_MS - 11, NOW_MS + 20), (0,)),
        ((NOW_MS - 10, NOW_MS + 21), (1,)),
        ((NOW_MS + 21, NOW_MS, NOW_MS - 11), (0, 2)),
        ((-1, NOW_MS), ()),  # without a timestamp
    ],
)
def test_a_topic_limits_the_timestamps_of_its_records(
    times_ms: tuple[int, ...], refused: tuple[int, ...]
) -> None:
    """The limits are message.timestamp.before.max.ms and message.timestamp.after.max.ms (KIP-937).

    Kafka: LogValidator.recordHasInvalidTimestamp.
    """
    config = LogConfig(timestamp_before_max_ms=10, timestamp_after_max_ms=20)
    batch = Batch.of(encode([Record(value=b"v", timestamp_ms=at_ms) for at_ms in times_ms]))
    error = ErrorCode.INVALID_TIMESTAMP if refused else ErrorCode.NONE
    assert batch_error(batch, scanned(batch), config, NOW_MS) == BatchError(error, refused)


def test_with_log_append_time_the_timestamps_of_the_producer_have_no_limits() -> None:
    """The broker ignores the producer's timestamps. It refuses only a batch whose LogAppendTime bit
    is set, because a producer must not set this bit.

    Kafka: LogValidator.validateTimestamp.
    """
    config = LogConfig(timestamp_type=TimestampType.LOG_APPEND_TIME, timestamp_before_max_ms=0)
    assert error_of(encode([Record(value=b"v", timestamp_ms=5 * NOW_MS)]), config) is ErrorCode.NONE
    assert error_of(encode([Record(value=b"v", timestamp_ms=0)]), config) is ErrorCode.NONE
    assert error_of(mutated(ATTRIBUTES, b"\x08"), config) is ErrorCode.INVALID_TIMESTAMP


def test_the_bit_of_log_append_time_counts_only_without_a_timestamp() -> None:
    """A batch with the LogAppendTime bit is rejected only if its records have no timestamp.

    If they have timestamps, the broker appends the batch without the bit.

    Kafka: LogValidator.validateTimestamp.
    """
    assert error_of(mutated(ATTRIBUTES, b"\x08")) is ErrorCode.NONE
    without = encode([Record(value=b"v", timestamp_ms=-1)])
    assert error_of(mutated(ATTRIBUTES, b"\x08", batch=without)) is ErrorCode.INVALID_TIMESTAMP
    assert header(appended(mutated(ATTRIBUTES, b"\x08"))) == header(BATCH)


def test_the_appended_header_has_the_largest_timestamp_of_the_records() -> None:
    """The broker computes the header's largest timestamp from the records; it is at least -1.

    If the client set the LogAppendTime bit, the broker keeps the client's header timestamp. Kafka:
    LogValidator.assignOffsetsNonCompressed.
    """
    later = mutated(MAX_TIMESTAMP, (NOW_MS + 5).to_bytes(8, "big"))
    assert header(appended(later)).max_timestamp_ms == header(BATCH).max_timestamp_ms
    of_batch = mutated(ATTRIBUTES, b"\x08", batch=later)
    assert header(appended(of_batch)).max_timestamp_ms == NOW_MS + 5
    early = encode([Record(value=b"v", timestamp_ms=-5)])
    assert header(appended(early)).max_timestamp_ms == -1


def test_a_compacted_topic_requires_keys() -> None:
    """A batch with a record without a key is rejected on a compacted topic.

    If another record's timestamp is invalid too, the error is INVALID_TIMESTAMP. The response names
    all refused records (KIP-467).

    Kafka: LogValidator.validateKey and processRecordErrors.
    """
    keyed = Record(key=b"k", value=b"v")
    late = Record(key=b"k", value=b"v", timestamp_ms=NOW_MS + 2 * HOUR_MS)
    keyless = Record(value=b"v")
    for records, error, refused in (
        ([keyed], ErrorCode.NONE, ()),
        ([keyed, keyless], ErrorCode.INVALID_RECORD, (1,)),
        ([late, keyed, keyless], ErrorCode.INVALID_TIMESTAMP, (0, 2)),
    ):
        batch = Batch.of(encode(records))
        found = batch_error(batch, scanned(batch), INTERNAL_LOG_CONFIG, NOW_MS)
        assert found == BatchError(error, refused)


# ---------------------------------------------------------------- what the records declare


@pytest.mark.parametrize(
    "data",
    [
        mutated(COUNT, number(2**31 - 1), batch=ONE),
        mutated(LAST_OFFSET_DELTA, number(2**31 - 1), batch=ONE),
        mutated(
            COUNT, number(2**31 - 1), batch=mutated(LAST_OFFSET_DELTA, number(2**31 - 2), batch=ONE)
        ),
        mutated(COUNT, number(0), batch=ONE),
        mutated(COUNT, number(-1), batch=ONE),
    ],
)
def test_a_record_cannot_declare_more_offsets_than_records(data: bytes) -> None:
    """A batch is rejected if its record count, its offset range and its records disagree.

    Otherwise one record could move the log's end to 2**31 - 1. Kafka: LogValidator.validateBatch,
    DefaultRecordBatch.uncompressedIterator.
    """
    assert error_of(data) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_a_compressed_batch_is_renumbered(compression: Compression) -> None:
    """A compressed batch with other offset deltas is appended with the deltas 0, 1, 2 and so on.

    Kafka: LogValidator.validateMessagesAndAssignOffsetsCompressed and buildRecordsAndAssignOffsets.
    """
    data = with_offset_delta(2**31 - 1, compression)
    assert error_of(data) is ErrorCode.NONE
    assert decode(appended(data)) == decode(encode([Record(value=b"v", timestamp_ms=NOW_MS)]))
    assert header(appended(data)).compression == compression


@pytest.mark.parametrize("delta", [2**31 - 1, -1, 1])
def test_an_uncompressed_batch_keeps_its_offset_deltas(delta: int) -> None:
    """The broker appends an uncompressed batch as it is, even if its offset deltas are wrong.

    The log's end still moves by the number of records. A reader adds a record's delta to the base
    offset, so it gets an offset that the producer does not expect. Kafka:
    LogValidator.assignOffsetsNonCompressed.
    """
    data = with_offset_delta(delta)
    assert (error_of(data), appended(data)) == (ErrorCode.NONE, data)
    assert header(appended(data)).next_offset == 1


def test_the_header_gets_the_largest_timestamp_of_the_records() -> None:
    """The broker takes a batch's largest timestamp from the records and ignores the client's value.

    Otherwise a false timestamp could keep the batch from retention. Kafka:
    LogValidator.assignOffsetsNonCompressed, DefaultRecordBatch.setMaxTimestamp.
    """
    declared = mutated(MAX_TIMESTAMP, (2**62).to_bytes(8), batch=ONE)
    assert error_of(declared) is ErrorCode.NONE
    assert appended(declared) == ONE


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_decompress_to_a_limited_number_of_bytes(compression: Compression) -> None:
    """Decompression stops with an error if the result has more bytes than the limit.

    So a small batch cannot fill the broker's memory.
    """
    batch = Batch.of(encode([Record(value=bytes(200_000))], compression=compression))
    assert scan(batch.data, batch.header, 201_000)
    with pytest.raises(TooManyBytes):
        scan(batch.data, batch.header, 200_000)


def test_a_small_batch_of_a_huge_record_is_too_large() -> None:
    """A zstd batch of a few kilobytes that decompresses to more than 100 MiB is rejected.

    Kafka reads such records in a stream, and appends them.
    """
    bomb = encode([Record(value=bytes(DECOMPRESSED_BYTES))], compression="zstd")
    assert len(bomb) < 20_000
    assert error_of(bomb) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("compression", ["gzip", "lz4", "zstd"])
def test_records_that_cannot_be_decompressed_are_a_server_error(compression: Compression) -> None:
    """Truncated compressed data gets UNKNOWN_SERVER_ERROR.

    Kafka throws a KafkaException ("Failed to decompress record stream"), which has no code.
    """
    whole = encode([Record(value=b"v" * 100)], compression=compression)
    cut = mutated(8, number(len(whole) - 12 - 4), batch=whole[:-4])
    assert error_of(cut) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_topic_has_its_own_largest_batch() -> None:
    """A batch is rejected if it exceeds the topic's `max.message.bytes`, header included."""
    assert error_of(BATCH, LogConfig(max_message_bytes=len(BATCH))) is ErrorCode.NONE
    small = LogConfig(max_message_bytes=len(BATCH) - 1)
    assert error_of(BATCH, small) is ErrorCode.MESSAGE_TOO_LARGE


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40), st.integers(0, 3), st.sampled_from([0, 1, 2, 3, 4]))
def test_an_accepted_batch_can_be_decoded(records: bytes, count: int, codec: int) -> None:
    """Whatever bytes replace the records of a batch, it is rejected or can be decoded later.

    Otherwise a batch that one client appends would break the broker when it compacts the log.
    """
    packed = compress(COMPRESSIONS[codec], records)
    data = mutated(LAST_OFFSET_DELTA, number(count - 1), batch=ONE[:61] + packed)
    data = mutated(COUNT, number(count), batch=mutated(8, number(49 + len(packed)), batch=data))
    data = mutated(ATTRIBUTES, bytes([codec]), batch=data)
    if error_of(data) is ErrorCode.NONE:
        found = decode(appended(data))
        if codec:
            assert [offset for offset, _ in found] == list(range(count))
        assert header(appended(data)).next_offset == count


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_batch_is_rejected_or_can_be_decoded(data: st.DataObject) -> None:
    changed = bytearray(BATCH)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(BATCH) - 1))] = data.draw(st.integers(0, 255))
    damaged = mutated(0, b"", batch=bytes(changed))
    batch = only_batch(damaged)
    if isinstance(batch, Batch) and error_of(damaged) is ErrorCode.NONE:
        kept = appended(batch.data)
        assert decode(kept)
        assert header(kept).next_offset == header(kept).record_count


def test_a_scan_that_trusts_the_records_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the broker accepts a batch without reading its records, a test above fails.

    Here `scan`, the function that reads the records, is replaced by one that accepts everything.
    """
    trusting = RecordFacts(NOW_MS, lacks_keys=False, is_in_sequence=True)
    monkeypatch.setattr(record_validation, "scan", lambda *_: trusting)
    with pytest.raises(CorruptBatch):
        test_an_accepted_batch_can_be_decoded.hypothesis.inner_test(b"\x02", 1, 0)  # type: ignore[attr-defined]
    wrong = with_offset_delta(2**31 - 1, "gzip")
    assert decode(appended(wrong)) != decode(encode([Record(value=b"v", timestamp_ms=NOW_MS)]))
