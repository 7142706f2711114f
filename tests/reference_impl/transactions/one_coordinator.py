"""A transaction coordinator by itself: its log, its steps, and what it sends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from model.vocabulary import (
    BrokerId,
    LeaderEpoch,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
)
from reference_impl.log.coordinator_log import append, read_batches
from reference_impl.log.coordinator_records import Entry
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import decode, encode
from reference_impl.log.segment import Batch
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, Reply, Send, StepResult
from reference_impl.protocol.coordinators import TRANSACTION_STATE, Coordinators
from reference_impl.protocol.messages import FIRST_CLIENT, ErrorCode, Produce, Produced
from reference_impl.protocol.transactions import (
    CoordinatorRequest,
    TransactionVersion,
    WriteTxnMarker,
    WrittenTxnMarker,
)
from reference_impl.transactions.coordinator import TransactionCoordinator
from reference_impl.transactions.metadata import TransactionMetadata, TxnState
from tests.reference_impl.contexts import BROKER_1

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
STATE, OFFSETS = TopicPartition(TRANSACTION_STATE, 0), TopicPartition("__consumer_offsets", 0)
LEADERS = {A: BrokerId(2), B: BrokerId(3), STATE: BrokerId(1), OFFSETS: BrokerId(1)}
COORDINATOR_EPOCH = LeaderEpoch(6)
CLIENT = Requester(FIRST_CLIENT, 70)
PRODUCER: dict[str, Any] = {
    "transactional_id": "t",
    "producer_id": ProducerId(7),
    "producer_epoch": ProducerEpoch(3),
}


def at(
    now_ms: int = 0, correlation: int = 1, leaders: dict[TopicPartition, BrokerId] = LEADERS
) -> Context:
    coordinators = Coordinators(leaders)
    return replace(BROKER_1, now_ms=now_ms, correlation=correlation, coordinators=coordinators)


def metadata(
    state: TxnState,
    *places: TopicPartition,
    version: TransactionVersion = TransactionVersion.V2,
    **changes: Any,
) -> TransactionMetadata:
    return TransactionMetadata(
        **{
            **PRODUCER,
            "timeout_ms": 60_000,
            "state": state,
            "topic_partitions": places,
            "version": version,
            "started_ms": 0,
            "updated_ms": 0,
            **changes,
        }
    )


def logged(*entries: Entry) -> PartitionLog:
    """Returns a log of `__transaction_state` with these records, each in a batch of its own."""
    log = PartitionLog()
    for entry in entries:
        produced = append(at(), STATE, [entry]).request
        assert isinstance(produced, Produce)
        records = [record for _, record in decode(produced.batches)]
        log = log.append(Batch.of(encode(records, base_offset=log.end_offset)))
    return log


def loaded(
    *entries: Entry | TransactionMetadata, context: Context | None = None
) -> StepResult[TransactionCoordinator]:
    """Returns the coordinator that has read these records, and what it sends at once."""
    log = logged(*(one.entry() if isinstance(one, TransactionMetadata) else one for one in entries))
    return TransactionCoordinator.load(STATE, COORDINATOR_EPOCH, log, context or at())


def markers(effects: Effects) -> list[tuple[int, WriteTxnMarker]]:
    """Returns (broker, marker) for each marker that is sent to a broker."""
    sent = [(it.to, it.request) for it in effects if isinstance(it, Send)]
    return [(to, request) for to, request in sent if isinstance(request, WriteTxnMarker)]


def appended(effects: Effects) -> list[Entry]:
    """Returns the records that the coordinator appends to its log."""
    sent = [it.request for it in effects if isinstance(it, Send)]
    return [
        entry
        for request in sent
        if isinstance(request, Produce)
        for batch in read_batches(PartitionLog().append(Batch.of(request.batches)))
        for entry in batch.entries
    ]


def replies(effects: Effects) -> list[Any]:
    return [effect.response for effect in effects if isinstance(effect, Reply)]


def answers(
    coordinator: TransactionCoordinator, request: CoordinatorRequest, context: Context | None = None
) -> list[ErrorCode]:
    """Returns the error codes of immediate responses; empty if a change must be appended first."""
    _, effects = coordinator.on_request(context or at(), CLIENT, request)
    assert bool(appended(effects)) != bool(replies(effects))
    return [response.error for response in replies(effects)]


def written(
    coordinator: TransactionCoordinator,
    place: TopicPartition,
    correlation: int,
    error: ErrorCode = ErrorCode.NONE,
    context: Context | None = None,
) -> StepResult[TransactionCoordinator]:
    """Delivers the response to a WriteTxnMarkers request."""
    answer = WrittenTxnMarker(topic_partition=place, transactional_id="t", error=error)
    return coordinator.on_marker_response(context or at(correlation=50), correlation, answer)


def replicated(
    coordinator: TransactionCoordinator, error: ErrorCode = ErrorCode.NONE
) -> StepResult[TransactionCoordinator]:
    """Delivers the response to the only append that the coordinator waits for."""
    (correlation,) = coordinator.changes
    return coordinator.on_append_response(at(correlation=90), correlation, Produced(error=error))
