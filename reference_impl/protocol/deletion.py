"""DeleteRecords: what is said to a leader whose records are to be deleted.

Source: KIP-107.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.vocabulary import Offset, TopicPartition
from reference_impl.protocol.messages import UNKNOWN_OFFSET, ErrorCode

TO_HIGH_WATERMARK: Final = Offset(-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecords:
    """Delete every record below the offset, on all replicas that live."""

    topic_partition: TopicPartition
    before: Offset = TO_HIGH_WATERMARK
    timeout_ms: int = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRecords:
    """The low watermark: no replica that lives has a record below it."""

    topic_partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    low_watermark: Offset = UNKNOWN_OFFSET
