"""Compaction: in the closed segments of a log, only the newest record of each key is retained. The
log has these parts:

    [ cleaned before ][ dirty: closed, and stable ]  last stable offset  [ ... the last segment ]
    '------------ keys are compared here ----------'

A segment is closed if it is not the last segment. It is stable if it ends below the last stable
offset. Records of aborted transactions are removed. A compaction removes a tombstone if
delete.retention.ms have passed since the first compaction that found the tombstone. A log is
compacted if its dirty part is large enough, or if the oldest record of this part is older than
max.compaction.lag.ms. Compaction stops at a segment with a record younger than
min.compaction.lag.ms.

Source: KIP-58, KIP-354, KIP-534, KAFKA-13194; docs/kafka-rules.md D9;
LogCleanerManager.cleanableOffsets and maxCompactionDelay of Apache Kafka.
Simplified: a segment is compacted as a whole or not at all. Compacted segments are not merged.
Transaction markers are never removed. A record batch that has no records any more is removed,
because the snapshots contain the producer state. Kafka retains the newest empty batch of each
producer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from model.vocabulary import Offset
from reference_impl.log.chain import Chain
from reference_impl.log.open_transactions import Ended
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import decode, filter_records
from reference_impl.log.segment import Batch, Segment
from reference_impl.protocol.topic_config import LogConfig


def compacted(
    log: PartitionLog, aborted: Sequence[Ended], config: LogConfig, *, stable: Offset, now_ms: int
) -> PartitionLog:
    """Returns the log after compaction. Returns the same log if the topic is not compacted, or if
    no compaction is due.

    `aborted` has the aborted transactions of the log, and `stable` is its last stable offset.
    """
    if not config.cleanup_policy.compacts:
        return log
    stays_from_ms = now_ms - config.min_compaction_lag_ms if config.min_compaction_lag_ms else None

    def is_cleanable(segment: Segment) -> bool:
        is_young = stays_from_ms is not None and segment.max_timestamp_ms > stays_from_ms
        return segment.next_offset <= stable and not (is_young and log.is_dirty(segment))

    closed = tuple(takewhile(is_cleanable, log.segments[:-1]))
    dirty = [segment for segment in closed if log.is_dirty(segment)]
    if not dirty or not (_is_large(dirty, closed, config) or _is_overdue(dirty, config, now_ms)):
        return log
    latest = _latest((batch for segment in closed for batch in segment.batches), aborted)
    horizon_ms = now_ms + config.delete_retention_ms
    cleaned = [
        Segment.of(
            tuple(
                left
                for batch in segment.batches
                for left in _cleaned(batch, latest, now_ms=now_ms, horizon_ms=horizon_ms)
            )
        )
        for segment in closed
    ]
    kept = tuple(segment for segment in cleaned if segment.batches)
    return replace(
        log,
        segments=Chain((*kept, *log.segments.since(len(closed)))),
        cleaned=closed[-1].next_offset,
    )


def _is_large(dirty: Iterable[Segment], closed: Iterable[Segment], config: LogConfig) -> bool:
    size = sum(segment.size for segment in closed)
    return sum(segment.size for segment in dirty) > size * config.min_cleanable_dirty_ratio


def _is_overdue(dirty: Iterable[Segment], config: LogConfig, now_ms: int) -> bool:
    lag_ms = max(config.max_compaction_lag_ms, config.min_compaction_lag_ms)
    times_ms = (segment.batches[0].header.max_timestamp_ms for segment in dirty)
    return any(0 < at_ms < now_ms - lag_ms for at_ms in times_ms)


def _latest(batches: Iterable[Batch], aborted: Sequence[Ended]) -> Mapping[bytes | None, Offset]:
    return {
        record.key: offset
        for batch in batches
        if not batch.header.is_control and not _is_aborted(batch, aborted)
        for offset, record in decode(batch.data)
    }


def _is_aborted(batch: Batch, aborted: Sequence[Ended]) -> bool:
    head = batch.header
    return head.is_transactional and any(
        ended.producer_id == head.producer_id
        and ended.first_offset <= head.base_offset < ended.marker_offset
        for ended in aborted
    )


def _cleaned(
    batch: Batch, latest: Mapping[bytes | None, Offset], *, now_ms: int, horizon_ms: int
) -> tuple[Batch, ...]:
    head = batch.header
    if head.is_control:
        return (batch,)
    earlier_ms = head.delete_horizon_ms
    is_over = earlier_ms is not None and earlier_ms <= now_ms
    records = decode(batch.data)
    kept = [
        (offset, record)
        for offset, record in records
        if latest.get(record.key) == offset and not (is_over and record.value is None)
    ]
    has_tombstone = any(record.value is None for _, record in kept)
    begins_delay = has_tombstone and earlier_ms is None
    if not kept:
        return ()
    if len(kept) == len(records) and not begins_delay:
        return (batch,)
    return (Batch.of(filter_records(batch.data, kept, horizon_ms if begins_delay else earlier_ms)),)
