"""What producers, transaction coordinators and partition leaders say to each other about
transactions.

    producer -> coordinator       InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn
    partition leader -> coordinator   AddPartitionsToTxn: is this batch part of a transaction?
    coordinator -> partition leader   WriteTxnMarker, one topic partition each

Source: KIP-98, KIP-360, KIP-890, KIP-1228; the message schemas of Apache Kafka.
Simplified: as in `messages`; WriteTxnMarkers of the wire carries many topic partitions, and brokers
never speak it on the wire here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from model.vocabulary import (
    NO_PRODUCER_ID,
    BrokerId,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
)
from reference_impl.protocol.messages import NO_BROKER, NO_PRODUCER_EPOCH, ErrorCode


class TxnResult(Enum):
    """How a transaction ends."""

    COMMIT = "commit"
    ABORT = "abort"


class TransactionVersion(IntEnum):
    """The protocol that a request speaks; the client chooses, by the version of its request."""

    V1 = 1  # partitions are added by the client, the epoch stays for the whole session
    V2 = 2  # KIP-890: partitions are added by what is produced, each transaction has its own epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinator:
    """Which broker coordinates this group, or this transactional id?"""

    key: str
    is_transactional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCoordinator:
    """It is the leader of the key's partition of the internal topic."""

    error: ErrorCode = ErrorCode.NONE
    broker_id: BrokerId = NO_BROKER


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxn:
    """The transaction will write here too; or, with `verify_only`: does it?"""

    transactional_id: str
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    topic_partitions: tuple[TopicPartition, ...]
    verify_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedPartitionsToTxn:
    """All of them, or none."""

    topic_partitions: tuple[TopicPartition, ...]
    error: ErrorCode = ErrorCode.NONE

    @property
    def topic_partition(self) -> TopicPartition:
        """The one that a leader asked about."""
        return self.topic_partitions[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOffsetsToTxn:
    """The transaction will commit offsets of this group."""

    transactional_id: str
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedOffsetsToTxn:
    """The group's partition of `__consumer_offsets` is part of the transaction."""

    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTxn:
    """Commit the transaction, or abort it."""

    transactional_id: str
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    result: TxnResult
    version: TransactionVersion = TransactionVersion.V1


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedTxn:
    """It is decided; V2 tells the producer id and epoch of the next transaction."""

    error: ErrorCode = ErrorCode.NONE
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTxnMarker:
    """The transaction has ended so: append a marker."""

    topic_partition: TopicPartition
    transactional_id: str  # for whoever sent it
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    coordinator_epoch: int
    result: TxnResult
    version: TransactionVersion = TransactionVersion.V1


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTxnMarker:
    """The marker is in the log of every in-sync replica."""

    topic_partition: TopicPartition
    transactional_id: str
    error: ErrorCode = ErrorCode.NONE


TransactionRequest = (
    FindCoordinator
    | AddPartitionsToTxn
    | AddOffsetsToTxn
    | EndTxn
    | WriteTxnMarker
)  # fmt: skip
TransactionResponse = (
    FoundCoordinator
    | AddedPartitionsToTxn
    | AddedOffsetsToTxn
    | EndedTxn
    | WrittenTxnMarker
)  # fmt: skip
