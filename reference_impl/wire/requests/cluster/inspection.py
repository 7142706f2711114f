"""Handles DescribeProducers, DescribeLogDirs, AlterReplicaLogDirs, DescribeTransactions,
ListTransactions, WriteTxnMarkers and DescribeQuorum requests.

A hanging transaction is open in a topic partition, but its coordinator does not know it. An
administrator may send WriteTxnMarkers to end the transaction.

Source: KIP-113, KIP-595 (DescribeQuorum), KIP-664, KIP-836, KIP-853, KIP-994, KIP-1152; KafkaApis,
TransactionStateManager.listTransactionStates of Apache Kafka.
Simplified: A broker has one log folder, `memory`, of unknown size. The quorum has one voter, the
controller, which has no listener. The transactional id pattern of ListTransactions is a regular
expression of Python.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from model.vocabulary import BrokerId, ProducerEpoch, ProducerId, TopicPartition
from reference_impl.protocol.inspection import (
    DescribedLogs,
    DescribedProducers,
    DescribedTransaction,
    DescribeLogs,
    DescribeProducers,
    DescribeTransaction,
    ListedTransactions,
    ListTransactions,
    TransactionDescription,
)
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.topic_names import invalid_name
from reference_impl.protocol.transactions import (
    TransactionVersion,
    TxnResult,
    WriteTxnMarker,
    WrittenTxnMarker,
)
from reference_impl.transactions.metadata import TxnState
from reference_impl.wire.messages.adapter import Call, span
from reference_impl.wire.requests.broker.served_broker import (
    ServedBroker,
    existing_partitions,
    image,
    request_core,
)

LOG_DIR: Final = "memory"
_FUTURE_SUFFIX: Final = len(".-future") + 32  # of the folder to which a replica moves
_LONGEST_NAME: Final = 255
UNKNOWN_BYTES: Final = -1
CLUSTER_METADATA: Final = TopicPartition("__cluster_metadata", 0)
CONTROLLER_ID: Final = BrokerId(3_000)  # brokers are numbered from 1
QUORUM_EPOCH: Final = 1  # the only controller is elected once
NO_DURATION: Final = -1
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
STATES: Final = frozenset(state.value for state in TxnState)


async def describe_producers(broker: ServedBroker, call: Call) -> bytes:
    topics = {place.topic for place in await existing_partitions(broker)}

    async def described(topic: str, index: int) -> Any:
        answer = DescribedProducers(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if invalid_name(topic):
            answer = DescribedProducers(error=ErrorCode.INVALID_TOPIC_EXCEPTION)
        elif topic in topics:
            request = DescribeProducers(topic_partition=TopicPartition(topic, index))
            answer = await request_core(broker, request, DescribedProducers)
        return call.make(
            "PartitionResponse",
            partition_index=index,
            error_code=answer.error,
            error_message=answer.error.name if answer.error else None,
            active_producers=tuple(
                call.make(
                    "ProducerState",
                    producer_id=one.producer_id,
                    producer_epoch=one.producer_epoch,
                    last_sequence=one.last_sequence,
                    last_timestamp=one.last_timestamp_ms,
                    coordinator_epoch=one.coordinator_epoch,
                    current_txn_start_offset=one.transaction_start,
                )
                for one in answer.producers
            ),
        )

    rows = [
        call.make(
            "TopicResponse",
            name=topic.name,
            partitions=tuple([await described(topic.name, at) for at in topic.partition_indexes]),
        )
        for topic in call.body.topics
    ]
    return call.respond(topics=tuple(rows))


async def alter_replica_log_dirs(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to AlterReplicaLogDirs. A broker has one log folder, so a replica can
    only be moved to the folder that it already has.

    Kafka: ReplicaManager.alterReplicaLogDirs.
    """
    folders = {
        TopicPartition(topic.name, at): folder.path
        for folder in call.body.dirs
        for topic in folder.topics
        for at in topic.partitions
    }
    existing = await existing_partitions(broker)

    def error(place: TopicPartition, folder: str) -> ErrorCode:
        reasons = (
            (
                len(f"{place.topic}-{place.index}") + _FUTURE_SUFFIX > _LONGEST_NAME,
                ErrorCode.INVALID_TOPIC_EXCEPTION,
            ),
            (folder != LOG_DIR, ErrorCode.LOG_DIR_NOT_FOUND),
            (place not in existing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (broker.replica(place) is None, ErrorCode.REPLICA_NOT_AVAILABLE),
        )
        return next((error for applies, error in reasons if applies), ErrorCode.NONE)

    by_topic: dict[str, list[Any]] = {}
    for place, folder in folders.items():
        made = call.make(
            "AlterReplicaLogDirPartitionResult",
            partition_index=place.index,
            error_code=error(place, folder),
        )
        by_topic.setdefault(place.topic, []).append(made)
    return call.respond(
        results=tuple(
            call.make(
                "AlterReplicaLogDirTopicResult", topic_name=topic, partitions=tuple(partitions)
            )
            for topic, partitions in by_topic.items()
        )
    )


async def describe_log_dirs(broker: ServedBroker, call: Call) -> bytes:
    logs = (await request_core(broker, DescribeLogs(), DescribedLogs)).logs
    wanted = None
    if call.body.topics is not None:
        wanted = {
            TopicPartition(topic.topic, at) for topic in call.body.topics for at in topic.partitions
        }
    by_topic: dict[str, list[tuple[int, int, int]]] = {}
    for place, size, lag in sorted(logs):
        if wanted is None or place in wanted:
            by_topic.setdefault(place.topic, []).append((place.index, size, lag))
    topics = tuple(
        call.make(
            "DescribeLogDirsTopic",
            name=topic,
            partitions=tuple(
                call.make(
                    "DescribeLogDirsPartition",
                    partition_index=index,
                    partition_size=size,
                    offset_lag=lag,
                    is_future_key=False,
                )
                for index, size, lag in rows
            ),
        )
        for topic, rows in by_topic.items()
    )
    result = call.make(
        "DescribeLogDirsResult",
        error_code=0,
        log_dir=LOG_DIR,
        topics=topics,
        total_bytes=UNKNOWN_BYTES,
        usable_bytes=UNKNOWN_BYTES,
        is_cordoned=False,
    )
    return call.respond(error_code=0, results=(result,))


# ---------------------------------------------------------------- transactions


async def describe_transactions(broker: ServedBroker, call: Call) -> bytes:
    async def described(transactional_id: str) -> Any:
        request = DescribeTransaction(transactional_id=transactional_id)
        answer = await request_core(broker, request, DescribedTransaction)
        found = answer.transaction
        started_ms = 0
        if found is None:
            found = TransactionDescription(
                transactional_id=transactional_id,
                state="",
                producer_id=ProducerId(0),
                producer_epoch=ProducerEpoch(0),
            )
        else:
            started_ms = found.started_ms
        by_topic: dict[str, list[int]] = {}
        for place in found.topic_partitions:
            by_topic.setdefault(place.topic, []).append(place.index)
        return call.make(
            "TransactionState",
            error_code=answer.error,
            transactional_id=transactional_id,
            transaction_state=found.state,
            transaction_timeout=span(found.timeout_ms),
            transaction_start_time=EPOCH + timedelta(milliseconds=started_ms),
            producer_id=found.producer_id,
            producer_epoch=found.producer_epoch,
            topics=tuple(
                call.make("TopicData", topic=topic, partitions=tuple(indexes))
                for topic, indexes in by_topic.items()
            ),
        )

    found = [await described(one) for one in call.body.transactional_ids]
    return call.respond(transaction_states=tuple(found))


async def list_transactions(broker: ServedBroker, call: Call) -> bytes:
    body = call.body
    answer = await request_core(broker, ListTransactions(), ListedTransactions)
    if answer.error:
        return call.respond(
            error_code=answer.error, unknown_state_filters=(), transaction_states=()
        )
    text = getattr(body, "transactional_id_pattern", None)
    try:
        pattern = re.compile(text) if text else None
    except re.error:
        invalid = ErrorCode.INVALID_REGULAR_EXPRESSION
        return call.respond(error_code=invalid, unknown_state_filters=(), transaction_states=())
    duration_ms = getattr(body, "duration_filter", NO_DURATION)

    def matches(one: TransactionDescription) -> bool:
        return (
            (not body.producer_id_filters or one.producer_id in body.producer_id_filters)
            and (not body.state_filters or one.state in body.state_filters)
            and (duration_ms < 0 or answer.now_ms - one.started_ms > duration_ms)
            and (pattern is None or pattern.fullmatch(one.transactional_id) is not None)
        )

    return call.respond(
        error_code=0,
        unknown_state_filters=tuple(one for one in body.state_filters if one not in STATES),
        transaction_states=tuple(
            call.make(
                "TransactionState",
                transactional_id=one.transactional_id,
                producer_id=one.producer_id,
                transaction_state=one.state,
            )
            for one in answer.transactions
            if matches(one)
        ),
    )


async def write_txn_markers(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to WriteTxnMarkers, after the markers are replicated.

    A topic partition without a replica on this broker gets UNKNOWN_TOPIC_OR_PARTITION.
    """
    states = dict((await image(broker)).topic_partitions)

    async def written(marker: Any, place: TopicPartition) -> ErrorCode:
        state = states.get(place)
        if state is None or broker.broker_id not in state.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        version = getattr(marker, "transaction_version", TransactionVersion.V1)
        is_v2 = version >= TransactionVersion.V2
        request = WriteTxnMarker(
            topic_partition=place,
            transactional_id="",
            producer_id=ProducerId(marker.producer_id),
            producer_epoch=ProducerEpoch(marker.producer_epoch),
            coordinator_epoch=marker.coordinator_epoch,
            result=TxnResult.COMMIT if marker.transaction_result else TxnResult.ABORT,
            version=TransactionVersion.V2 if is_v2 else TransactionVersion.V1,
        )
        return (await request_core(broker, request, WrittenTxnMarker)).error

    wanted = [
        (marker, TopicPartition(topic.name, index))
        for marker in call.body.markers
        for topic in marker.topics
        for index in topic.partition_indexes
    ]
    errors = await asyncio.gather(*(written(*one) for one in wanted))
    by_producer: dict[int, dict[TopicPartition, ErrorCode]] = {}
    for (marker, place), error in zip(wanted, errors, strict=True):
        by_producer.setdefault(marker.producer_id, {})[place] = error
    return call.respond(
        markers=tuple(
            call.make(
                "WritableTxnMarkerResult",
                producer_id=producer_id,
                topics=tuple(_marker_topics(call, found)),
            )
            for producer_id, found in by_producer.items()
        )
    )


def _marker_topics(call: Call, found: Mapping[TopicPartition, ErrorCode]) -> Iterable[Any]:
    for topic in dict.fromkeys(place.topic for place in found):
        yield call.make(
            "WritableTxnMarkerTopicResult",
            name=topic,
            partitions=tuple(
                call.make(
                    "WritableTxnMarkerPartitionResult",
                    partition_index=place.index,
                    error_code=error,
                )
                for place, error in found.items()
                if place.topic == topic
            ),
        )


# ---------------------------------------------------------------- the quorum


async def describe_quorum(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to DescribeQuorum. Only the cluster metadata have a quorum, with one
    voter, and with all brokers as observers.
    """
    seen = await image(broker)

    def replica(identity: BrokerId) -> Any:
        return call.make(
            "ReplicaState",
            replica_id=identity,
            replica_directory_id=None,
            log_end_offset=seen.version,
            last_fetch_timestamp=-1,
            last_caught_up_timestamp=-1,
        )

    wanted = [
        TopicPartition(topic.topic_name, one.partition_index)
        for topic in call.body.topics
        for one in topic.partitions
    ]
    is_known = wanted == [CLUSTER_METADATA]

    def partition(index: int) -> Any:
        return call.make(
            "PartitionData",
            partition_index=index,
            error_code=0 if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            error_message=None,
            leader_id=CONTROLLER_ID if is_known else 0,
            leader_epoch=QUORUM_EPOCH if is_known else 0,
            high_watermark=seen.version if is_known else 0,
            current_voters=(replica(CONTROLLER_ID),) if is_known else (),
            observers=tuple(replica(one.broker_id) for one in seen.brokers) if is_known else (),
        )

    nodes = (call.make("Node", node_id=CONTROLLER_ID, listeners=()),) if call.version >= 2 else ()
    return call.respond(
        error_code=0,
        error_message=None,
        topics=tuple(
            call.make(
                "TopicData",
                topic_name=topic.topic_name,
                partitions=tuple(partition(one.partition_index) for one in topic.partitions),
            )
            for topic in call.body.topics
        ),
        nodes=nodes if is_known else (),
    )
