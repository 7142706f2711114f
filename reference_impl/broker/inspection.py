"""The responses to an administrator's requests that describe a broker's producers, log sizes and
transactions.

Source: KIP-113, KIP-664; Partition.activeProducerState, ReplicaManager.describeLogDirs,
TransactionCoordinator.handleDescribeTransactions and handleListTransactions of Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from model.vocabulary import TopicPartition
from reference_impl.broker.coordinators import LocalCoordinators
from reference_impl.node.context import Context
from reference_impl.partition.roles import Replica
from reference_impl.protocol.coordinators import TRANSACTION_STATE
from reference_impl.protocol.inspection import (
    DescribedLogs,
    DescribedProducers,
    DescribedSettings,
    DescribedTransaction,
    DescribeLogs,
    DescribeProducers,
    DescribeSettings,
    DescribeTransaction,
    InspectionRequest,
    InspectionResponse,
    ListedTransactions,
    ListTransactions,
    ProducerDescription,
    TransactionDescription,
)
from reference_impl.protocol.messages import UNKNOWN_OFFSET, ErrorCode
from reference_impl.transactions.coordinator import TransactionCoordinator
from reference_impl.transactions.metadata import TransactionMetadata

Replicas = Mapping[TopicPartition, Replica]


def answer(
    request: InspectionRequest,
    context: Context,
    replicas: Replicas,
    coordinators: LocalCoordinators,
) -> InspectionResponse:
    match request:
        case DescribeProducers(topic_partition=place):
            return _producers(place, context, replicas)
        case DescribeLogs():
            return DescribedLogs(logs=tuple(map(_log, replicas.values())))
        case DescribeTransaction(transactional_id=transactional_id):
            return _transaction(transactional_id, context, coordinators)
        case ListTransactions():
            if coordinators.is_loading_any(TRANSACTION_STATE):
                return ListedTransactions(error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            found = (_described(one) for one in _transactions(coordinators))
            return ListedTransactions(now_ms=context.now_ms, transactions=tuple(found))
        case DescribeSettings():
            return DescribedSettings(
                times_ms=context.broker_settings.numbers,
                topic_defaults=context.broker_settings.own_topic_defaults,
                verifies_transactions=context.verifies_transactions,
            )


def _producers(place: TopicPartition, context: Context, replicas: Replicas) -> DescribedProducers:
    replica = replicas.get(place)
    if replica is None:
        is_elsewhere = place in context.coordinators.leaders
        elsewhere, unknown = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return DescribedProducers(error=elsewhere if is_elsewhere else unknown)
    opened = replica.producers.transactions.open
    return DescribedProducers(
        producers=tuple(
            ProducerDescription(
                producer_id=producer_id,
                producer_epoch=known.producer_epoch,
                last_sequence=known.batches[-1].last_sequence if known.batches else -1,
                last_timestamp_ms=known.timestamp_ms,
                coordinator_epoch=known.coordinator_epoch,
                transaction_start=opened.get(producer_id, UNKNOWN_OFFSET),
            )
            for producer_id, known in replica.producers.producers.items()
        )
    )


def _log(replica: Replica) -> tuple[TopicPartition, int, int]:
    log = replica.log
    size = sum(segment.size for segment in log.segments)
    return replica.topic_partition, size, max(log.high_watermark - log.end_offset, 0)


def _transaction(
    transactional_id: str, context: Context, coordinators: LocalCoordinators
) -> DescribedTransaction:
    if not transactional_id:
        return DescribedTransaction(error=ErrorCode.INVALID_REQUEST)
    place = context.coordinators.partition_for(TRANSACTION_STATE, transactional_id)
    if place in coordinators.loading:
        return DescribedTransaction(error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    role = None if place is None else coordinators.roles.get(place)
    if not isinstance(role, TransactionCoordinator):
        return DescribedTransaction(error=ErrorCode.NOT_COORDINATOR)
    known = role.transactions.get(transactional_id)
    if known is None:
        return DescribedTransaction(error=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    return DescribedTransaction(transaction=_described(known))


def _transactions(coordinators: LocalCoordinators) -> Iterable[TransactionMetadata]:
    for role in coordinators.roles.values():
        if isinstance(role, TransactionCoordinator):
            yield from role.transactions.values()


def _described(known: TransactionMetadata) -> TransactionDescription:
    return TransactionDescription(
        transactional_id=known.transactional_id,
        state=known.state.value,
        producer_id=known.producer_id,
        producer_epoch=known.producer_epoch,
        timeout_ms=known.timeout_ms,
        started_ms=known.started_ms,
        topic_partitions=known.topic_partitions,
    )
