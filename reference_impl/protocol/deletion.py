"""The request DeleteRecords to the leader of a partition, and its response.

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
    """A request that deletes all records below the offset `before`, on all live replicas."""

    topic_partition: TopicPartition
    before: Offset = TO_HIGH_WATERMARK
    timeout_ms: int = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRecords:
    """The response to `DeleteRecords`. The low watermark is the lowest log start among the live
    replicas.
    """

    topic_partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    low_watermark: Offset = UNKNOWN_OFFSET
