"""Retention: each replica deletes its own old end, whole segments at a time.

A segment goes when it is the oldest and nothing of it is above the high watermark, and

    everything in it lies below the log start            (DeleteRecords, or the leader's log start)
    its youngest record is older than retention.ms
    the log is not smaller than retention.bytes without it

so a record stays at least as long as it is promised to, and mostly longer. Retention waits for no
consumer and no open transaction. The last segment may go too: another one is begun first.

Source: KIP-107; protocol rules A11.
Simplified: a segment that is deleted is gone at once.
"""

from __future__ import annotations

from model.vocabulary import Offset
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.protocol.topic_config import UNLIMITED, CleanupPolicy, LogConfig


def retained(
    log: PartitionLog,
    producers: ProducerStates,
    config: LogConfig,
    now_ms: int,
    bugs: Bugs = NO_BUGS,
) -> tuple[PartitionLog, ProducerStates]:
    """The log without the segments that are too old or too many."""
    replicated = log.end_offset if Bug.DELETES_UNCOMMITTED in bugs else log.high_watermark
    log = log.without_segments(_deletable(log, config, now_ms, replicated), producers)
    return log, producers.kept_from(log.first_offset)


def _deletable(log: PartitionLog, config: LogConfig, now_ms: int, replicated: Offset) -> int:
    """How many of the oldest segments may go."""
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
    is_limited = config.retention_ms != UNLIMITED and config.cleanup_policy is CleanupPolicy.DELETE
    return is_limited and now_ms - max_timestamp_ms > config.retention_ms


def _fits(size_without: int, config: LogConfig) -> bool:
    """What is left without the segment is as large as it has to be."""
    is_limited = (
        config.retention_bytes != UNLIMITED and config.cleanup_policy is CleanupPolicy.DELETE
    )
    return is_limited and size_without >= config.retention_bytes
