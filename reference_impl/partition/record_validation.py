"""The checks of a producer's record batch that need only the batch, and not the state of its
producer. They are made in this order:

    request -> one batch of version 2 -> size, checksum, header -> each record -> producer state

The request must have exactly one record batch, and its version must be 2. This check is made before
the verification of a transaction. The other checks of this module are made just before the append.
Another module then checks the state of the producer.

Source: ProduceRequest.validateRecords, UnifiedLog.analyzeAndValidateRecords, UnifiedLog.append,
LogValidator.
Simplified: a batch may be larger than segment.bytes. A compressed record must be well-formed as a
whole, whereas Kafka skips its key and value. If compressed records have more than 100 MiB after
decompression, they are rejected with MESSAGE_TOO_LARGE. Kafka has no such limit.

If the offset deltas of an uncompressed batch are not 0, 1, 2 and so on, they are not changed.
Readers then get other offsets than the producer, as in Kafka. A compressed batch with such offset
deltas is rebuilt.

Deviates: two kinds of batches, which no client sends, are rejected by this module. Kafka appends
them.

- A batch with a producer id, but without a producer epoch.
- A transactional batch without a producer id.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from model.vocabulary import NO_PRODUCER_ID
from reference_impl.log.consecutive_batches import whole_batches
from reference_impl.log.recompression import is_rebuilt, rebuilt
from reference_impl.log.record_batch import (
    MAGIC,
    CorruptBatch,
    Header,
    has_valid_checksum,
    with_timestamp,
)
from reference_impl.log.segment import Batch
from reference_impl.log.validation import TooManyBytes, Undecompressable, scan, scan_each
from reference_impl.protocol.messages import NO_TIMESTAMP, ErrorCode
from reference_impl.protocol.record_facts import RecordFacts
from reference_impl.protocol.topic_config import LARGEST_MS, LogConfig, TimestampType

_MAGIC_AT: Final = 16


class BatchError(NamedTuple):
    """An error, and the positions of the invalid records in the batch (KIP-467)."""

    error: ErrorCode
    records: tuple[int, ...] = ()


VALID: Final = BatchError(ErrorCode.NONE)


def only_batch(data: bytes) -> Batch | ErrorCode:
    """Returns the only record batch in the request, or the error that rejects the request.

    Kafka: ProduceRequest.validateRecords.
    """
    try:
        found = [*whole_batches(data)]
    except CorruptBatch:
        return ErrorCode.CORRUPT_MESSAGE
    if found and found[0][_MAGIC_AT] > MAGIC:
        return ErrorCode.CORRUPT_MESSAGE
    if len(found) != 1 or found[0][_MAGIC_AT] < MAGIC:
        return ErrorCode.INVALID_RECORD
    try:
        return Batch.of(found[0])
    except CorruptBatch:
        return ErrorCode.INVALID_RECORD  # a negative number of records or of offsets


def scanned(batch: Batch, *, each: bool = False) -> RecordFacts | ErrorCode:
    """Returns the facts about the records of a batch, or an error if the records are unreadable.

    If `each` is True, the facts include the timestamps of all records, and the positions of the
    records without a key.
    """
    try:
        return (scan_each if each else scan)(batch.data, batch.header)
    except TooManyBytes:
        return ErrorCode.MESSAGE_TOO_LARGE
    except Undecompressable:
        return ErrorCode.UNKNOWN_SERVER_ERROR  # a KafkaException, which has no code of its own
    except CorruptBatch:
        return ErrorCode.INVALID_RECORD  # the checksum is right, so the producer sent these bytes


def batch_error(
    batch: Batch, facts: RecordFacts | ErrorCode, config: LogConfig, now_ms: int
) -> BatchError:
    """Returns the error of the first check that fails, or `VALID`. The checks are made in Kafka's
    order.

    Kafka: UnifiedLog.analyzeAndValidateRecords, then LogValidator.validateBatch and validateRecord.
    """
    refused = _header_error(batch, config)
    if refused is not None:
        return BatchError(refused)
    if isinstance(facts, ErrorCode):
        return BatchError(facts)
    return _records_error(batch, facts, config, now_ms)


def appendable(batch: Batch, facts: RecordFacts, config: LogConfig) -> bytes | None:
    """Returns the bytes that the leader appends for a valid batch. The batch is rebuilt if this is
    necessary. Returns None if the rebuilt batch is larger than max.message.bytes.

    Kafka: LogValidator.assignOffsetsNonCompressed and validateMessagesAndAssignOffsetsCompressed;
    UnifiedLog.append.
    """
    after = batch
    if is_rebuilt(batch.header, facts, config):
        after = Batch.of(rebuilt(batch.data, batch.header, facts, config))
        if after.header.size > config.max_message_bytes:
            return None
    # A producer's header may have a wrong timestamp and a wrong timestamp type.
    newest_ms = max(_newest_ms(batch, facts), NO_TIMESTAMP)
    return with_timestamp(after.data, after.header, newest_ms)


def _newest_ms(batch: Batch, facts: RecordFacts) -> int:
    # If the bit of LogAppendTime is set, each record has the time of its batch.
    head = batch.header
    return head.max_timestamp_ms if head.is_log_append_time else facts.max_timestamp_ms


def _header_error(batch: Batch, config: LogConfig) -> ErrorCode | None:
    head = batch.header
    if head.base_offset != 0:
        return ErrorCode.INVALID_RECORD
    if head.size > config.max_message_bytes:
        return ErrorCode.MESSAGE_TOO_LARGE
    if not has_valid_checksum(batch.data, head):
        return ErrorCode.CORRUPT_MESSAGE
    is_idempotent = head.producer_id != NO_PRODUCER_ID
    reasons = (
        (not head.has_known_compression, ErrorCode.UNKNOWN_SERVER_ERROR),
        (head.record_count != head.last_offset_delta + 1, ErrorCode.INVALID_RECORD),
        (head.is_control, ErrorCode.INVALID_RECORD),
        (is_idempotent and head.base_sequence < 0, ErrorCode.INVALID_RECORD),
        (is_idempotent and head.producer_epoch < 0, ErrorCode.INVALID_RECORD),
        (head.is_transactional and not is_idempotent, ErrorCode.INVALID_RECORD),
    )
    return next((error for applies, error in reasons if applies), None)


def _records_error(batch: Batch, facts: RecordFacts, config: LogConfig, now_ms: int) -> BatchError:
    # Kafka: LogValidator.validateRecord and processRecordErrors.
    needs_key = config.cleanup_policy.compacts
    if _is_timely(batch, facts, config, now_ms) and not (needs_key and facts.lacks_keys):
        return VALID
    head = batch.header
    each = facts.each or scan_each(batch.data, head).each
    assert each is not None
    without = frozenset(each.keyless if needs_key else ())
    times_ms = each.timestamps_ms
    if head.is_log_append_time:
        times_ms = (head.max_timestamp_ms,) * head.record_count
    untimely = {
        at for at, time_ms in enumerate(times_ms) if not _may_have(time_ms, head, config, now_ms)
    } - without
    if not untimely | without:
        return VALID
    error = ErrorCode.INVALID_TIMESTAMP if untimely else ErrorCode.INVALID_RECORD
    return BatchError(error, tuple(sorted(untimely | without)))


def _is_timely(batch: Batch, facts: RecordFacts, config: LogConfig, now_ms: int) -> bool:
    # Returns False if the single records must be checked: the facts lack the oldest timestamp.
    is_of_producer = config.timestamp_type is TimestampType.CREATE_TIME
    if is_of_producer and config.timestamp_before_max_ms != LARGEST_MS:
        return False
    return _may_have(_newest_ms(batch, facts), batch.header, config, now_ms)


def _may_have(time_ms: int, head: Header, config: LogConfig, now_ms: int) -> bool:
    # Kafka: LogValidator.validateTimestamp. With LogAppendTime the producer's times do not matter.
    if config.timestamp_type is TimestampType.CREATE_TIME and time_ms != NO_TIMESTAMP:
        earliest_ms = now_ms - config.timestamp_before_max_ms
        return earliest_ms <= time_ms <= now_ms + config.timestamp_after_max_ms
    return not head.is_log_append_time
