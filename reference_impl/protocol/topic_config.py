"""The log settings of a topic.

Source: Kafka documentation, "Topic Configs"; KIP-71. Each comment below names Kafka's setting.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

UNLIMITED: Final = -1
LARGEST_MS: Final = 2**63 - 1  # as a limit of a time: no limit
GZIP_LEVEL, LZ4_LEVEL, ZSTD_LEVEL = -1, 9, 3  # Kafka's default levels; -1: the codec's default


class CompressionType(Enum):
    """The values of compression.type. With PRODUCER, the leader retains the codec of the
    producer.
    """

    UNCOMPRESSED = "uncompressed"
    ZSTD = "zstd"
    LZ4 = "lz4"
    SNAPPY = "snappy"
    GZIP = "gzip"
    PRODUCER = "producer"


class TimestampType(Enum):
    """The values of message.timestamp.type. They decide who sets the timestamps: the producer, or
    the leader when it appends.
    """

    CREATE_TIME = "CreateTime"
    LOG_APPEND_TIME = "LogAppendTime"


class CleanupPolicy(Enum):
    """The values of cleanup.policy. `compact,delete` and `delete,compact` have the same effect.
    DescribeConfigs returns the value that was set.
    """

    DELETE = "delete"
    COMPACT = "compact"
    COMPACT_AND_DELETE = "compact,delete"
    DELETE_AND_COMPACT = "delete,compact"
    NEITHER = ""

    @property
    def compacts(self) -> bool:
        return "compact" in self.value

    @property
    def deletes(self) -> bool:
        return "delete" in self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """The values of a topic's log settings. Times are in ms, and sizes in bytes. The value -1 means
    that there is no limit.
    """

    cleanup_policy: CleanupPolicy = CleanupPolicy.DELETE
    retention_ms: int = 604_800_000  # retention.ms
    retention_bytes: int = UNLIMITED  # retention.bytes
    segment_bytes: int = 1_073_741_824  # segment.bytes
    segment_ms: int = 604_800_000  # segment.ms: the longest time between the records of a segment
    min_cleanable_dirty_ratio: float = 0.5  # min.cleanable.dirty.ratio
    min_compaction_lag_ms: int = 0  # min.compaction.lag.ms: how long a record is not compacted
    max_compaction_lag_ms: int = LARGEST_MS  # max.compaction.lag.ms: the latest compaction
    delete_retention_ms: int = 86_400_000  # delete.retention.ms: how long a tombstone stays
    file_delete_delay_ms: int = 60_000  # file.delete.delay.ms: until a deleted file disappears
    max_message_bytes: int = 1_048_588  # max.message.bytes: of a batch with its header
    flush_messages: int = 2**63 - 1  # flush.messages: records in the log between two flushes
    flush_ms: int = LARGEST_MS  # flush.ms: the longest time between two flushes
    compression_type: CompressionType = CompressionType.PRODUCER  # compression.type
    gzip_level: int = GZIP_LEVEL  # compression.gzip.level
    lz4_level: int = LZ4_LEVEL  # compression.lz4.level
    zstd_level: int = ZSTD_LEVEL  # compression.zstd.level
    timestamp_type: TimestampType = TimestampType.CREATE_TIME  # message.timestamp.type
    timestamp_before_max_ms: int = LARGEST_MS  # message.timestamp.before.max.ms
    timestamp_after_max_ms: int = 3_600_000  # message.timestamp.after.max.ms

    @property
    def conflict(self) -> str:
        """Kafka's error message if two settings contradict each other, otherwise "".

        Kafka: LogConfig.validateValues.
        """
        least_ms, most_ms = self.min_compaction_lag_ms, self.max_compaction_lag_ms
        if least_ms <= most_ms:
            return ""
        return (
            f"conflict topic config setting min.compaction.lag.ms ({least_ms})"
            f" > max.compaction.lag.ms ({most_ms})"
        )

    @property
    def max_segment_ms(self) -> int:
        """The longest time in ms between the first and the last record of a segment.

        Kafka: LogConfig.maxSegmentMs.
        """
        if self.cleanup_policy.compacts:
            return min(self.segment_ms, self.max_compaction_lag_ms)
        return self.segment_ms


DEFAULT_LOG_CONFIG: Final = LogConfig()
INTERNAL_LOG_CONFIG: Final = (
    LogConfig(  # offsets.topic.segment.bytes, transaction.state.log.segment.bytes
        cleanup_policy=CleanupPolicy.COMPACT, segment_bytes=104_857_600
    )
)
