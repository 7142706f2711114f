"""Handles AddPartitionsToTxn, AddOffsetsToTxn, EndTxn and TxnOffsetCommit requests.

The version of a request selects the transaction protocol. From version 5 of EndTxn, version 5 of
TxnOffsetCommit and version 12 of Produce on, this is the protocol of KIP-890 (`transaction.version`
2).

As in Kafka, a handler checks whether the topic partitions exist, and replaces errors that old
clients do not know.

Source: KIP-98, KIP-360, KIP-447, KIP-890; KafkaApis of Apache Kafka.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from model.vocabulary import LeaderEpoch, Offset, ProducerEpoch, ProducerId, TopicPartition
from reference_impl.protocol.groups import CommitOffsets, CommittedOffset, CommittedOffsets
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.transactions import (
    AddedOffsetsToTxn,
    AddedPartitionsToTxn,
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndedTxn,
    EndTxn,
    FindCoordinator,
    FoundCoordinator,
    TransactionVersion,
    TxnResult,
)
from reference_impl.wire.messages.adapter import Call
from reference_impl.wire.requests.broker.served_broker import (
    ServedBroker,
    existing_partitions,
    request_core,
)

END_TXN_V2: Final = 5
TXN_OFFSET_COMMIT_V2: Final = 5
FIRST_BATCHED: Final = 4  # AddPartitionsToTxn: many transactions in one request
KNOWS_ABORTABLE: Final = 4  # TxnOffsetCommit: TRANSACTION_ABORTABLE
KNOWS_LOADING: Final = 2  # TxnOffsetCommit: COORDINATOR_LOAD_IN_PROGRESS (KAFKA-7296)
PRODUCER_FENCED_SINCE: Final = 2  # AddPartitionsToTxn, AddOffsetsToTxn and EndTxn
OPERATION_NOT_ATTEMPTED: Final = 55  # an error of the wire layer alone


def known_error(error: ErrorCode, version: int, since: int = PRODUCER_FENCED_SINCE) -> ErrorCode:
    """Returns `error` or, for an old client, an error that the client knows. Below version `since`,
    INVALID_PRODUCER_EPOCH replaces PRODUCER_FENCED (KIP-360).
    """
    if error is ErrorCode.PRODUCER_FENCED and version < since:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error


async def add_partitions_to_txn(broker: ServedBroker, call: Call) -> bytes:
    body = call.body
    if call.version < FIRST_BATCHED:
        results_by_topic = await _added(
            broker,
            call,
            body.v3_and_below_transactional_id,
            (body.v3_and_below_producer_id, body.v3_and_below_producer_epoch),
            body.v3_and_below_topics,
            verify_only=False,
        )
        return call.respond(results_by_topic_v3_and_below=results_by_topic)
    results = [
        call.make(
            "AddPartitionsToTxnResult",
            transactional_id=one.transactional_id,
            topic_results=await _added(
                broker,
                call,
                one.transactional_id,
                (one.producer_id, one.producer_epoch),
                one.topics,
                verify_only=one.verify_only,
            ),
        )
        for one in body.transactions
    ]
    return call.respond(error_code=0, results_by_transaction=tuple(results))


async def _added(
    broker: ServedBroker,
    call: Call,
    transactional_id: str,
    producer: tuple[int, int],
    topics: Any,
    *,
    verify_only: bool,
) -> tuple[Any, ...]:
    wanted = tuple(
        TopicPartition(topic.name, index) for topic in topics for index in topic.partitions
    )
    missing = frozenset(wanted) - await existing_partitions(broker)
    # the error of existing partitions if another one is missing
    error: int = OPERATION_NOT_ATTEMPTED
    if not missing:
        request = AddPartitionsToTxn(
            transactional_id=transactional_id,
            producer_id=ProducerId(producer[0]),
            producer_epoch=ProducerEpoch(producer[1]),
            topic_partitions=wanted,
            verify_only=verify_only,
        )
        answer = await request_core(broker, request, AddedPartitionsToTxn)
        error = known_error(answer.error, call.version)
        if verify_only and error == ErrorCode.INVALID_TXN_STATE:
            error = ErrorCode.TRANSACTION_ABORTABLE
    return tuple(
        call.make(
            "AddPartitionsToTxnTopicResult",
            name=topic.name,
            results_by_partition=tuple(
                call.make(
                    "AddPartitionsToTxnPartitionResult",
                    partition_index=index,
                    partition_error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    if TopicPartition(topic.name, index) in missing
                    else error,
                )
                for index in topic.partitions
            ),
        )
        for topic in topics
    )


async def add_offsets_to_txn(broker: ServedBroker, call: Call) -> bytes:
    body = call.body
    request = AddOffsetsToTxn(
        transactional_id=body.transactional_id,
        producer_id=ProducerId(body.producer_id),
        producer_epoch=ProducerEpoch(body.producer_epoch),
        group=body.group_id,
    )
    answer = await request_core(broker, request, AddedOffsetsToTxn)
    if answer.error is ErrorCode.COORDINATOR_NOT_AVAILABLE:
        # Creates __consumer_offsets, so that the client's next attempt succeeds.
        group = FindCoordinator(key=body.group_id, is_transactional=False)
        await request_core(broker, group, FoundCoordinator)
    return call.respond(error_code=known_error(answer.error, call.version))


async def end_txn(broker: ServedBroker, call: Call) -> bytes:
    body = call.body
    request = EndTxn(
        transactional_id=body.transactional_id,
        producer_id=ProducerId(body.producer_id),
        producer_epoch=ProducerEpoch(body.producer_epoch),
        result=TxnResult.COMMIT if body.committed else TxnResult.ABORT,
        version=TransactionVersion.V2 if call.version >= END_TXN_V2 else TransactionVersion.V1,
    )
    answer = await request_core(broker, request, EndedTxn)
    return call.respond(
        error_code=known_error(answer.error, call.version),
        producer_id=answer.producer_id,
        producer_epoch=answer.producer_epoch,
    )


async def txn_offset_commit(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to TxnOffsetCommit, after the offsets are in the log. Offsets of unknown
    topic partitions are not committed.

    Before version 2, COORDINATOR_NOT_AVAILABLE replaces COORDINATOR_LOAD_IN_PROGRESS.
    """
    body = call.body
    existing = await existing_partitions(broker)
    offsets = tuple(one for one in offsets_of(body.topics) if one[0] in existing)
    answer = CommittedOffsets()
    if offsets:
        request = CommitOffsets(
            group=body.group_id,
            offsets=offsets,
            generation=getattr(body, "generation_id", -1),
            member_id=getattr(body, "member_id", ""),
            instance_id=getattr(body, "group_instance_id", None),
            transactional_id=body.transactional_id,
            producer_id=ProducerId(body.producer_id),
            producer_epoch=ProducerEpoch(body.producer_epoch),
            adds_partition=call.version >= TXN_OFFSET_COMMIT_V2,
            knows_abortable=call.version >= KNOWS_ABORTABLE,
        )
        answer = await request_core(broker, request, CommittedOffsets)
        if answer.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and call.version < KNOWS_LOADING:
            answer = replace(answer, error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    topics = tuple(
        call.make(
            "TxnOffsetCommitResponseTopic",
            name=topic.name,
            partitions=tuple(
                call.make(
                    "TxnOffsetCommitResponsePartition",
                    partition_index=wanted.partition_index,
                    error_code=answer.error_of(place)
                    if place in existing
                    else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                )
                for wanted in topic.partitions
                for place in [TopicPartition(topic.name, wanted.partition_index)]
            ),
        )
        for topic in body.topics
    )
    return call.respond(topics=topics)


def offsets_of(
    topics: Any, names: dict[int, str] | None = None
) -> tuple[tuple[TopicPartition, CommittedOffset], ...]:
    """Returns the topic partitions of a request, each with the offset to commit.

    If the request contains topic ids, `names` maps the index of each topic in the request to its
    name, such as `{0: "a", 2: "b"}`. Topics without a name are omitted.
    """
    return tuple(
        (
            TopicPartition(names[at] if names is not None else topic.name, one.partition_index),
            CommittedOffset(
                offset=Offset(one.committed_offset),
                leader_epoch=LeaderEpoch(getattr(one, "committed_leader_epoch", -1)),
                metadata=one.committed_metadata or "",
            ),
        )
        for at, topic in enumerate(topics)
        if names is None or at in names
        for one in topic.partitions
    )
