"""Retention: each replica deletes the oldest segments of its log.

The oldest segment is deleted first, and only if it is completely below the high watermark. In
addition, one of these conditions must be true:

    the whole segment is below the log start     (DeleteRecords, or the leader's log start)
    its newest record is older than retention.ms
    the log without this segment still has at least retention.bytes

The last two conditions apply only if cleanup.policy contains `delete`.

If all segments are deleted, the log starts at its former end.

Source: KIP-107; docs/kafka-rules.md A11.
"""

from __future__ import annotations

from model.vocabulary import Offset
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.protocol.topic_config import UNLIMITED, LogConfig


def retained(
    log: PartitionLog,
    producers: ProducerStates,
    config: LogConfig,
    now_ms: int,
    bugs: Bugs = NO_BUGS,
) -> tuple[PartitionLog, ProducerStates]:
    replicated = log.end_offset if Bug.DELETES_UNCOMMITTED in bugs else log.high_watermark
    log = log.without_segments(_deletable(log, config, now_ms, replicated), producers)
    return log, producers.kept_from(log.first_offset)


def _deletable(log: PartitionLog, config: LogConfig, now_ms: int, replicated: Offset) -> int:
    size = sum(segment.size for segment in log.segments)
    for number, segment in enumerate(log.segments):
        is_last = number + 1 == len(log.segments)
        end = log.end_offset if is_last else log.segments[number + 1].base_offset
        size -= segment.size
        is_deleted = end <= log.log_start and not is_last
        if end > replicated or not (
            is_deleted or _is_old(segment.max_timestamp_ms, config, now_ms) or _fits(size, config)
        ):
            return number
    return len(log.segments)


def _is_old(max_timestamp_ms: int, config: LogConfig, now_ms: int) -> bool:
    is_limited = config.retention_ms != UNLIMITED and config.cleanup_policy.deletes
    return is_limited and now_ms - max_timestamp_ms > config.retention_ms


def _fits(size_without: int, config: LogConfig) -> bool:
    is_limited = config.retention_bytes != UNLIMITED and config.cleanup_policy.deletes
    return is_limited and size_without >= config.retention_bytes
