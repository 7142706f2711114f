"""The requests by which administrators inspect a broker.

Source: KIP-113 (DescribeLogDirs), KIP-664 (producers and transactions), KIP-994, KIP-1152; Kafka
message schemas.
Simplified: as in `protocol/messages.py`. A request names one topic partition or one transactional
id, or asks for all logs or all transactions of the broker.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.vocabulary import NO_PRODUCER_ID, Offset, ProducerEpoch, ProducerId, TopicPartition
from reference_impl.protocol.messages import NO_PRODUCER_EPOCH, UNKNOWN_OFFSET, ErrorCode
from reference_impl.protocol.topic_settings import TopicSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeProducers:
    """A request that returns the producers of a topic partition. Not only the leader, but any
    replica responds.
    """

    topic_partition: TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerDescription:
    """The description of a producer. A field is -1 if it has no value."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    last_sequence: int = -1
    last_timestamp_ms: int = -1
    coordinator_epoch: int = -1  # of its last marker
    transaction_start: Offset = UNKNOWN_OFFSET  # the first offset of its open transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedProducers:
    """The response to `DescribeProducers`. It has all producers that have not expired."""

    error: ErrorCode = ErrorCode.NONE
    producers: tuple[ProducerDescription, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeLogs:
    """A request that returns the size of each log on this broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedLogs:
    """The response to `DescribeLogs`. For each log, it has the topic partition, the size in bytes,
    and the lag. The lag is the high watermark minus the log end offset, but at least 0.
    """

    logs: tuple[tuple[TopicPartition, int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransaction:
    transactional_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionDescription:
    """The newest transaction of a transactional id. If no transaction is open, `started_ms` is
    -1.
    """

    transactional_id: str
    state: str
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    timeout_ms: int = 0
    started_ms: int = -1
    topic_partitions: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTransaction:
    error: ErrorCode = ErrorCode.NONE
    transaction: TransactionDescription | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTransactions:
    """A request that returns the transactional ids whose coordinator is this broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTransactions:
    """The response to `ListTransactions`. It has the transactional ids of all coordinators on this
    broker, at the time `now_ms`.
    """

    now_ms: int = -1
    error: ErrorCode = ErrorCode.NONE
    transactions: tuple[TransactionDescription, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeSettings:
    """A request that returns the settings with which this broker was started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedSettings:
    """The response to `DescribeSettings`. The settings of a broker do not change while it runs."""

    times_ms: tuple[tuple[str, int], ...]  # the timeouts, intervals and limits, by name
    topic_defaults: TopicSettings
    verifies_transactions: bool


InspectionRequest = (
    DescribeProducers | DescribeLogs | DescribeTransaction | ListTransactions | DescribeSettings
)
InspectionResponse = (
    DescribedProducers | DescribedLogs | DescribedTransaction | ListedTransactions
    | DescribedSettings
)  # fmt: skip
