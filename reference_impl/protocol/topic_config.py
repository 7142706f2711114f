"""The log settings of a topic: which records are kept, and for how long.

Source: Kafka documentation, "Topic Configs". Each comment below names Kafka's setting.
Simplified: `cleanup.policy` is either delete or compact, not both.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

UNLIMITED: Final = -1


class CleanupPolicy(Enum):
    """What happens to old records: they are deleted, or compacted."""

    DELETE = "delete"
    COMPACT = "compact"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """The log settings of a topic. Times are in ms, sizes in bytes; -1 means no limit."""

    cleanup_policy: CleanupPolicy = CleanupPolicy.DELETE
    retention_ms: int = 604_800_000  # retention.ms
    retention_bytes: int = UNLIMITED  # retention.bytes
    segment_bytes: int = 1_073_741_824  # segment.bytes
    min_cleanable_dirty_ratio: float = 0.5  # min.cleanable.dirty.ratio
    delete_retention_ms: int = 86_400_000  # delete.retention.ms: how long a tombstone stays
    max_message_bytes: int = 1_048_588  # max.message.bytes: of a batch with its header
    flush_messages: int = 2**63 - 1  # flush.messages: records in the log between two flushes


DEFAULT_LOG_CONFIG: Final = LogConfig()
INTERNAL_LOG_CONFIG: Final = (
    LogConfig(  # offsets.topic.segment.bytes, transaction.state.log.segment.bytes
        cleanup_policy=CleanupPolicy.COMPACT, segment_bytes=104_857_600
    )
)
