"""What a leader requires of a producer's batch before it looks at the producer's state.

    request -> one batch of version 2 -> size, checksum, header -> each record -> in sequence?

The first check concerns the request, so it comes before the verification of a transaction. The
other checks belong to the append.

Source: ProduceRequest.validateRecords, UnifiedLog.analyzeAndValidateRecords, LogValidator.
Simplified: max.message.bytes and message.timestamp.after.max.ms have their defaults, and the
timestamp type is always CreateTime. A batch may be larger than segment.bytes. A compressed record
must be well-formed as a whole, whereas Kafka skips its key and value. Deviates: a batch with a
producer id and no producer epoch, or transactional without a producer id, is rejected; no client
sends one, and Kafka would append it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from model.vocabulary import NO_PRODUCER_ID
from reference_impl.log.record import Record
from reference_impl.log.record_batch import (
    MAGIC,
    CorruptBatch,
    Header,
    records_in,
    verified,
    whole_batches,
)
from reference_impl.log.segment import Batch
from reference_impl.protocol.messages import NO_TIMESTAMP, ErrorCode
from reference_impl.protocol.topic_config import CleanupPolicy, LogConfig

MAX_MESSAGE_BYTES: Final = 1_048_588  # max.message.bytes
TIMESTAMP_AFTER_MAX_MS: Final = 3_600_000  # message.timestamp.after.max.ms
_MAGIC_AT: Final = 16
# A batch has one error for all its invalid records. Kafka: LogValidator.processRecordErrors.
_WORST_FIRST: Final = (ErrorCode.INVALID_TIMESTAMP, ErrorCode.INVALID_RECORD)


class BatchError(NamedTuple):
    """The error that rejects a batch, and the positions of the records that cause it.

    There are no positions if the batch as a whole is invalid (KIP-467).
    """

    error: ErrorCode
    records: tuple[int, ...] = ()


VALID: Final = BatchError(ErrorCode.NONE)


def only_batch(data: bytes) -> Batch | ErrorCode:
    """Returns the only batch in the request, or the error that rejects the request.

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


def batch_error(batch: Batch, config: LogConfig, now_ms: int) -> BatchError:
    """Returns the error that rejects a client's batch, or `VALID`.

    The checks run in Kafka's order, and the first failed one decides.

    Kafka: UnifiedLog.analyzeAndValidateRecords, then LogValidator.validateBatch and validateRecord.
    """
    head = batch.header
    if head.base_offset != 0:
        return BatchError(ErrorCode.INVALID_RECORD)
    if head.size > MAX_MESSAGE_BYTES:
        return BatchError(ErrorCode.MESSAGE_TOO_LARGE)
    try:
        verified(batch.data)
    except CorruptBatch:
        return BatchError(ErrorCode.CORRUPT_MESSAGE)
    is_idempotent = head.producer_id != NO_PRODUCER_ID
    reasons = (
        (not head.has_known_compression, ErrorCode.UNKNOWN_SERVER_ERROR),
        (head.record_count != head.last_offset_delta + 1, ErrorCode.INVALID_RECORD),
        (head.is_control, ErrorCode.INVALID_RECORD),
        (is_idempotent and head.base_sequence < 0, ErrorCode.INVALID_RECORD),
        (is_idempotent and head.producer_epoch < 0, ErrorCode.INVALID_RECORD),
        (head.is_transactional and not is_idempotent, ErrorCode.INVALID_RECORD),
    )
    refused = next((error for applies, error in reasons if applies), None)
    if refused is not None:
        return BatchError(refused)
    try:
        records = [record for _, record in records_in(batch.data, head)]
    except CorruptBatch:
        # The checksum is right, so the producer sent it so.
        return BatchError(ErrorCode.INVALID_RECORD)
    needs_key = config.cleanup_policy is CleanupPolicy.COMPACT
    errors = [_record_error(record, head, now_ms, needs_key=needs_key) for record in records]
    worst = next((error for error in _WORST_FIRST if error in errors), None)
    if worst is None:
        return VALID
    return BatchError(worst, tuple(at for at, error in enumerate(errors) if error is not None))


def _record_error(
    record: Record, head: Header, now_ms: int, *, needs_key: bool
) -> ErrorCode | None:
    """Returns the error of one record, or None.

    First the key is checked, if the topic requires keys, then the timestamp. Kafka:
    LogValidator.validateRecord.
    """
    if needs_key and record.key is None:
        return ErrorCode.INVALID_RECORD
    # With the bit of LogAppendTime each record has the time of its batch.
    time_ms = head.max_timestamp_ms if head.is_log_append_time else record.timestamp_ms
    is_early = time_ms == NO_TIMESTAMP and head.is_log_append_time
    is_invalid = time_ms > now_ms + TIMESTAMP_AFTER_MAX_MS or is_early
    return ErrorCode.INVALID_TIMESTAMP if is_invalid else None
