"""The requests of transactions, which producers, transaction coordinators and partition leaders
send. Each line has the sender, the receiver and the requests:

    producer -> coordinator           InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn
    partition leader -> coordinator   AddPartitionsToTxn: verify that a transaction is open
    coordinator -> partition leader   WriteTxnMarker, one topic partition each

Source: KIP-98, KIP-360, KIP-890, KIP-1228; Kafka message schemas.
Simplified: as in `protocol/messages.py`. A WriteTxnMarker is for one topic partition. Kafka's
WriteTxnMarkers contains many topic partitions.
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
from reference_impl.protocol.messages import (
    NO_BROKER,
    NO_PRODUCER_EPOCH,
    ErrorCode,
    InitializedProducerId,
    InitProducerId,
)


class TxnResult(Enum):
    COMMIT = "commit"
    ABORT = "abort"


class TransactionVersion(IntEnum):
    """The version of the transaction protocol. The version of the client's request selects it."""

    V1 = 1  # the client adds partitions, the epoch stays for the whole session
    V2 = 2  # KIP-890: Produce adds partitions, each transaction has its own epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinator:
    key: str
    is_transactional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCoordinator:
    error: ErrorCode = ErrorCode.NONE
    broker_id: BrokerId = NO_BROKER


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxn:
    """A request that adds topic partitions to a transaction. With `verify_only`, it only checks
    that the transaction contains these topic partitions.
    """

    transactional_id: str
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    topic_partitions: tuple[TopicPartition, ...]
    verify_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedPartitionsToTxn:
    """The response to `AddPartitionsToTxn`. All topic partitions of the request have the same
    result.
    """

    topic_partitions: tuple[TopicPartition, ...]
    error: ErrorCode = ErrorCode.NONE

    @property
    def topic_partition(self) -> TopicPartition:
        """The first topic partition. A leader that verifies a transaction requests only one
        partition.
        """
        return self.topic_partitions[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOffsetsToTxn:
    transactional_id: str
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedOffsetsToTxn:
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTxn:
    transactional_id: str
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    result: TxnResult
    version: TransactionVersion = TransactionVersion.V1


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedTxn:
    """The response to `EndTxn`. In V2 of the transaction protocol, it has the producer id and the
    producer epoch of the next transaction.
    """

    error: ErrorCode = ErrorCode.NONE
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTxnMarker:
    topic_partition: TopicPartition
    transactional_id: str  # echoed in the response
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    coordinator_epoch: int
    result: TxnResult
    version: TransactionVersion = TransactionVersion.V1


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTxnMarker:
    """The response to `WriteTxnMarker`. If there is no error, the marker is in the log of every
    in-sync replica.
    """

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
CoordinatorRequest = InitProducerId | AddPartitionsToTxn | AddOffsetsToTxn | EndTxn
CoordinatorResponse = InitializedProducerId | AddedPartitionsToTxn | AddedOffsetsToTxn | EndedTxn


def refusal(request: CoordinatorRequest, error: ErrorCode) -> CoordinatorResponse:
    match request:
        case InitProducerId():
            return InitializedProducerId(error=error)
        case AddPartitionsToTxn(topic_partitions=topic_partitions):
            return AddedPartitionsToTxn(topic_partitions=topic_partitions, error=error)
        case AddOffsetsToTxn():
            return AddedOffsetsToTxn(error=error)
        case EndTxn():
            return EndedTxn(error=error)
