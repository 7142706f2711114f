"""Mutations of transactions in a run: of decisions, of committed records, of responses.

A mutation alters the state after one event. If it undoes all changes of this event, the changes
seem to come with the broker's next event. Such a mutant may be a possible run (see `runs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from model.vocabulary import ProducerEpoch, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.log import transaction_marker
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import stamped
from reference_impl.log.segment import Batch
from reference_impl.node.step import ResponseReceived
from reference_impl.partition.leader import Leader
from reference_impl.protocol.messages import ErrorCode, InitializedProducerId
from reference_impl.protocol.transactions import EndedTxn, TxnResult
from reference_impl.simulation.trace import Traced
from reference_impl.transactions.coordinator import TransactionCoordinator
from reference_impl.transactions.metadata import TransactionMetadata, TxnState
from tests.properties.refinement.mutants.runs import Alteration, Mutations, Node

_EPOCH_AT: Final = 51  # where the two bytes of a batch's producer epoch begin
_OPPOSITE: Final[Mapping[TxnState, TxnState]] = {
    TxnState.PREPARE_COMMIT: TxnState.PREPARE_ABORT,
    TxnState.PREPARE_ABORT: TxnState.PREPARE_COMMIT,
    TxnState.COMPLETE_COMMIT: TxnState.COMPLETE_ABORT,
    TxnState.COMPLETE_ABORT: TxnState.COMPLETE_COMMIT,
}
_TOO_EARLY: Final[Mapping[TxnState, TxnState]] = {
    TxnState.PREPARE_COMMIT: TxnState.COMPLETE_COMMIT,
    TxnState.PREPARE_ABORT: TxnState.COMPLETE_ABORT,
}
_OTHER: Final[Mapping[TxnResult, TxnResult]] = {
    TxnResult.COMMIT: TxnResult.ABORT,
    TxnResult.ABORT: TxnResult.COMMIT,
}


def mutations_of(topic_partitions: tuple[TopicPartition, ...]) -> Mutations:
    def visible(node: Node) -> object:
        if not isinstance(node, Broker):
            return None
        leaders = (node.replicas.get(topic_partition) for topic_partition in topic_partitions)
        marks = {
            leader.topic_partition: leader.log.high_watermark
            for leader in leaders
            if isinstance(leader, Leader) and leader.log.high_watermark
        }
        return _transactions(node), marks

    return Mutations(
        visible=visible,
        is_part=lambda before, altered, _: visible(before) == visible(altered),
        is_private=lambda before, after: False,
        of_steps={
            **{kind: partial(_coordinated, change) for kind, change in OF_COORDINATORS.items()},
            **{
                kind: partial(_committed, change, topic_partitions)
                for kind, change in OF_LOGS.items()
            },
        },
        of_responses=OF_RESPONSES,
    )


def _transactions(broker: Broker) -> dict[TopicPartition, Mapping[str, TransactionMetadata]]:
    return {
        topic_partition: role.transactions
        for topic_partition, role in broker.local_coordinators.roles.items()
        if isinstance(role, TransactionCoordinator) and role.transactions
    }


# ---------------------------------------------------------------- decisions of a coordinator

Change = Callable[[TransactionMetadata], TransactionMetadata | None]


def _coordinated(change: Change, traced: Traced) -> Traced | None:
    broker = traced.after
    if not isinstance(broker, Broker):
        return None
    for topic_partition, role in broker.local_coordinators.roles.items():
        if not isinstance(role, TransactionCoordinator):
            continue
        for id_, transaction in role.transactions.items():
            changed = change(transaction)
            if changed is not None:
                wrong = replace(role, transactions={**role.transactions, id_: changed})
                roles = {**broker.local_coordinators.roles, topic_partition: wrong}
                local_coordinators = replace(broker.local_coordinators, roles=roles)
                return traced._replace(after=replace(broker, local_coordinators=local_coordinators))
    return None


def _in_state(states: Mapping[TxnState, TxnState]) -> Change:
    def changed(transaction: TransactionMetadata) -> TransactionMetadata | None:
        state = states.get(transaction.state)
        return None if state is None else replace(transaction, state=state)

    return changed


def _in_epoch(by: int) -> Change:
    def changed(transaction: TransactionMetadata) -> TransactionMetadata | None:
        epoch = transaction.producer_epoch + by
        return replace(transaction, producer_epoch=ProducerEpoch(epoch)) if epoch >= 0 else None

    return changed


def _without_place(transaction: TransactionMetadata) -> TransactionMetadata | None:
    is_open = transaction.state is TxnState.ONGOING and len(transaction.topic_partitions) > 1
    return (
        replace(transaction, topic_partitions=transaction.topic_partitions[1:]) if is_open else None
    )


# ---------------------------------------------------------------- committed records of a leader


def _committed(
    change: Callable[[Batch], Iterable[bytes] | None],
    topic_partitions: Iterable[TopicPartition],
    traced: Traced,
) -> Traced | None:
    broker = traced.after
    if not isinstance(broker, Broker):
        return None
    for topic_partition in topic_partitions:
        leader = broker.replicas.get(topic_partition)
        if not isinstance(leader, Leader):
            continue
        log = _with_last(leader.log, change)
        if log is not None:
            replicas = {**broker.replicas, topic_partition: replace(leader, log=log)}
            return traced._replace(after=replace(broker, replicas=replicas))
    return None


def _with_last(
    log: PartitionLog, change: Callable[[Batch], Iterable[bytes] | None]
) -> PartitionLog | None:
    below = [b for b in log.batches() if b.header.next_offset <= log.high_watermark]
    for last in below[-1:]:
        changed = change(last)
        if changed is None:
            return None
        wrong = log.truncate_to(last.header.base_offset)
        behind = [b for b in log.batches() if b.header.base_offset > last.header.base_offset]
        for batch in (*(Batch.of(data) for data in changed), *behind):
            hole = batch.header.base_offset - wrong.end_offset
            wrong = wrong.leave_hole(hole).append(batch)
        return replace(wrong, end_offset=log.end_offset, high_watermark=log.high_watermark)
    return None


def _marker(batch: Batch, *, is_opposite: bool = False, by: int = 0) -> Iterable[bytes] | None:
    """Returns a copy of the marker with a changed producer epoch or result.

    Returns None if the batch is no marker, or if the changed epoch would be negative.
    """
    head, epoch = batch.header, batch.header.producer_epoch + by
    if not head.is_control or epoch < 0:
        return None
    was = transaction_marker.read(batch.data)
    wrong = transaction_marker.encoded(
        was._replace(result=_OTHER[was.result] if is_opposite else was.result),
        producer_id=head.producer_id,
        producer_epoch=ProducerEpoch(epoch),
        timestamp_ms=head.max_timestamp_ms,
    )
    return (stamped(wrong, base_offset=head.base_offset, leader_epoch=head.leader_epoch),)


def _record(batch: Batch, *, by: int) -> Iterable[bytes] | None:
    head, epoch = batch.header, batch.header.producer_epoch + by
    if head.is_control or epoch < 0:
        return None
    data = batch.data
    return (data[:_EPOCH_AT] + epoch.to_bytes(2, "big") + data[_EPOCH_AT + 2 :],)


def _is_missing(batch: Batch) -> Iterable[bytes] | None:
    return () if batch.header.is_control else None


# ---------------------------------------------------------------- responses to clients


def _epoch_received(by: int) -> Alteration:
    def changed(traced: Traced) -> Traced | None:
        match traced.event:
            case (
                ResponseReceived(
                    response=InitializedProducerId(error=ErrorCode.NONE)
                    | EndedTxn(error=ErrorCode.NONE) as response
                ) as received
            ) if response.producer_epoch + by >= 0:
                epoch = ProducerEpoch(response.producer_epoch + by)
                changed_response = replace(response, producer_epoch=epoch)
                return traced._replace(event=replace(received, response=changed_response))
            case _:
                return None

    return changed


OF_COORDINATORS: Final[Mapping[str, Change]] = {
    "decided the other way": _in_state(_OPPOSITE),
    "complete too early": _in_state(_TOO_EARLY),
    "producer in the next epoch": _in_epoch(+1),
    "producer in the epoch before": _in_epoch(-1),
    "without a topic partition": _without_place,
}
OF_LOGS: Final[Mapping[str, Callable[[Batch], Iterable[bytes] | None]]] = {
    "marker with the opposite result": partial(_marker, is_opposite=True),
    "marker of the next epoch": partial(_marker, by=+1),
    "marker of the epoch before": partial(_marker, by=-1),
    "marker missing": _is_missing,
    "record of the next producer epoch": partial(_record, by=+1),
    "record of the producer epoch before": partial(_record, by=-1),
}
OF_RESPONSES: Final[Mapping[str, Alteration]] = {
    "response with the next epoch": _epoch_received(+1),
    "response with the epoch before": _epoch_received(-1),
}
