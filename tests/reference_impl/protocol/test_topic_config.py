"""The defaults of topic settings are those of Apache Kafka 4.3."""

from __future__ import annotations

from dataclasses import asdict

from reference_impl.protocol.topic_config import (
    INTERNAL_LOG_CONFIG,
    CleanupPolicy,
    CompressionType,
    LogConfig,
    TimestampType,
)

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
MIB, GIB = 1_048_576, 1_073_741_824

# Each with the setting of Kafka.
LOG = {
    "cleanup_policy": ("cleanup.policy", CleanupPolicy.DELETE),
    "retention_ms": ("retention.ms", 7 * DAY),
    "retention_bytes": ("retention.bytes", -1),
    "segment_bytes": ("segment.bytes", GIB),
    "min_cleanable_dirty_ratio": ("min.cleanable.dirty.ratio", 0.5),
    "delete_retention_ms": ("delete.retention.ms", DAY),
    "file_delete_delay_ms": ("file.delete.delay.ms", MINUTE),
    "max_message_bytes": ("max.message.bytes", MIB + 12),
    "flush_messages": ("flush.messages", 9_223_372_036_854_775_807),
    "flush_ms": ("flush.ms", 9_223_372_036_854_775_807),
    "compression_type": ("compression.type", CompressionType.PRODUCER),
    "gzip_level": ("compression.gzip.level", -1),
    "lz4_level": ("compression.lz4.level", 9),
    "zstd_level": ("compression.zstd.level", 3),
    "segment_ms": ("segment.ms", 7 * DAY),
    "min_compaction_lag_ms": ("min.compaction.lag.ms", 0),
    "max_compaction_lag_ms": ("max.compaction.lag.ms", 9_223_372_036_854_775_807),
    "timestamp_type": ("message.timestamp.type", TimestampType.CREATE_TIME),
    "timestamp_before_max_ms": ("message.timestamp.before.max.ms", 9_223_372_036_854_775_807),
    "timestamp_after_max_ms": ("message.timestamp.after.max.ms", HOUR),
}


def test_the_settings_of_a_topic_are_those_of_kafka() -> None:
    assert asdict(LogConfig()) == {name: value for name, (_, value) in LOG.items()}
    internal = {"cleanup_policy": CleanupPolicy.COMPACT, "segment_bytes": 100 * MIB}
    assert asdict(INTERNAL_LOG_CONFIG) == asdict(LogConfig()) | internal


def test_a_cleanup_policy_deletes_or_compacts_by_its_name() -> None:
    both = CleanupPolicy.COMPACT_AND_DELETE, CleanupPolicy.DELETE_AND_COMPACT
    assert {one for one in CleanupPolicy if one.deletes} == {CleanupPolicy.DELETE, *both}
    assert {one for one in CleanupPolicy if one.compacts} == {CleanupPolicy.COMPACT, *both}
