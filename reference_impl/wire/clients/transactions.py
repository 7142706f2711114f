"""Writes the requests of transactional producers, and reads their responses (see `dialogue`)."""

from __future__ import annotations

from typing import Any

from model.vocabulary import (
    BrokerId,
    ProducerEpoch,
    ProducerId,
)
from reference_impl.protocol.messages import (
    InitializedProducerId,
    InitProducerId,
)
from reference_impl.protocol.transactions import (
    AddedOffsetsToTxn,
    AddedPartitionsToTxn,
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndedTxn,
    EndTxn,
    FindCoordinator,
    FoundCoordinator,
    TxnResult,
)
from reference_impl.wire.clients.dialogue import (
    Names,
    Values,
    by_topic,
    error_code,
    optional_name,
    worst_of,
)
from reference_impl.wire.clients.frames import Writer
from reference_impl.wire.messages.adapter import span

GROUP, TRANSACTION = 0, 1  # key types of FindCoordinator


def init_producer_id(request: InitProducerId, _writer: Writer, names: Names) -> Values:
    return {
        "transactional_id": optional_name(request.transactional_id, names),
        "transaction_timeout": span(request.timeout_ms),
        "producer_id": request.producer_id,
        "producer_epoch": request.producer_epoch,
    }


def initialized(_request: InitProducerId, body: Any, _names: Names) -> InitializedProducerId:
    return InitializedProducerId(
        error=error_code(body.error_code),
        producer_id=ProducerId(body.producer_id),
        producer_epoch=ProducerEpoch(body.producer_epoch),
    )


def find_coordinator(request: FindCoordinator, _writer: Writer, names: Names) -> Values:
    return {
        "key": names.sent(request.key),
        "key_type": TRANSACTION if request.is_transactional else GROUP,
    }


def found_coordinator(_request: FindCoordinator, body: Any, _names: Names) -> FoundCoordinator:
    return FoundCoordinator(error=error_code(body.error_code), broker_id=BrokerId(body.node_id))


def add_partitions(request: AddPartitionsToTxn, writer: Writer, names: Names) -> Values:
    topics = tuple(
        writer.make("AddPartitionsToTxnTopic", name=names.sent(topic), partitions=indexes)
        for topic, indexes in by_topic(request.topic_partitions)
    )
    return {
        "v3_and_below_transactional_id": names.sent(request.transactional_id),
        "v3_and_below_producer_id": request.producer_id,
        "v3_and_below_producer_epoch": request.producer_epoch,
        "v3_and_below_topics": topics,
    }


def added_partitions(request: AddPartitionsToTxn, body: Any, _names: Names) -> AddedPartitionsToTxn:
    errors = (
        one.partition_error_code
        for topic in body.results_by_topic_v3_and_below
        for one in topic.results_by_partition
    )
    return AddedPartitionsToTxn(topic_partitions=request.topic_partitions, error=worst_of(errors))


def add_offsets(request: AddOffsetsToTxn, _writer: Writer, names: Names) -> Values:
    return {
        "transactional_id": names.sent(request.transactional_id),
        "producer_id": request.producer_id,
        "producer_epoch": request.producer_epoch,
        "group_id": names.sent(request.group),
    }


def added_offsets(_request: AddOffsetsToTxn, body: Any, _names: Names) -> AddedOffsetsToTxn:
    return AddedOffsetsToTxn(error=error_code(body.error_code))


def end_txn(request: EndTxn, _writer: Writer, names: Names) -> Values:
    return {
        "transactional_id": names.sent(request.transactional_id),
        "producer_id": request.producer_id,
        "producer_epoch": request.producer_epoch,
        "committed": request.result is TxnResult.COMMIT,
    }


def ended_txn(_request: EndTxn, body: Any, _names: Names) -> EndedTxn:
    return EndedTxn(
        error=error_code(body.error_code),
        producer_id=ProducerId(getattr(body, "producer_id", -1)),
        producer_epoch=ProducerEpoch(getattr(body, "producer_epoch", -1)),
    )
