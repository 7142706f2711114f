"""Computes how the state of a transactional id changes by a request or in the course of time. Each
request, and the time, has the following effect:

    InitProducerId       fences the open transaction, or begins the next producer instance
    AddPartitionsToTxn   adds topic partitions; the first request opens the transaction
    AddOffsetsToTxn      adds the partition that stores the group's offsets
    EndTxn               decides the result (module `end_txn`)
    the time             aborts an overdue transaction, or expires an inactive transactional id

A change takes effect when its append to the coordinator's log is replicated.

Source: TransactionCoordinator.handleInitProducerId, handleAddPartitionsToTransaction and
endTransaction of Apache Kafka; docs/kafka-rules.md D1 to D4.
Simplified: the coordinator itself aborts a transaction after a timeout, or if a new producer
instance begins. For these aborts it always uses V2 of the transaction protocol, as Kafka does with
transaction.version=2.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from reference_impl.node.bugs import Bug
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects
from reference_impl.protocol.coordinators import CONSUMER_OFFSETS
from reference_impl.protocol.messages import ErrorCode, InitializedProducerId, InitProducerId
from reference_impl.protocol.transactions import (
    AddedOffsetsToTxn,
    AddedPartitionsToTxn,
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    CoordinatorRequest,
    CoordinatorResponse,
    EndedTxn,
    EndTxn,
    TransactionVersion,
    TxnResult,
    refusal,
)
from reference_impl.transactions.end_txn import EndDecision, end_decision, end_response
from reference_impl.transactions.metadata import TransactionMetadata, TxnState
from reference_impl.transactions.producer_epochs import is_newest_instance, next_instance

ABORT: Final = TxnResult.ABORT


class Change(NamedTuple):
    """The next state of a transactional id, while the append of this state is in progress. A
    request may wait for the change.
    """

    after: TransactionMetadata
    response: CoordinatorResponse | None = None
    requester: Requester | None = None  # None: a change of the coordinator's own
    request: CoordinatorRequest | None = None

    def reply(self, error: ErrorCode = ErrorCode.NONE) -> Effects:
        """Returns the response to the request that caused the change, or () if no request waits for
        the change. If `error` is set, the response has this error.
        """
        if self.requester is None or self.request is None or self.response is None:
            return ()
        return (self.requester.reply(refusal(self.request, error) if error else self.response),)


def change_by_request(
    known: TransactionMetadata | None,
    request: CoordinatorRequest,
    context: Context,
    *,
    is_busy: bool,
) -> Change | CoordinatorResponse:
    """Returns the change that the request causes, or a response if the request changes nothing.

    `known` is the present state of the transactional id, or None if the id is unknown. `is_busy` is
    True while a change of the id is being appended, and while its markers are being written.
    """
    match request:
        case InitProducerId():
            return _init_producer_id(known, request, context, is_busy=is_busy)
        case AddPartitionsToTxn():
            return _add_partitions(known, request, context, is_busy=is_busy)
        case AddOffsetsToTxn():
            return _add_offsets(known, request, context, is_busy=is_busy)
        case EndTxn():
            return _end_txn(known, request, context, is_busy=is_busy)


def _init_producer_id(
    known: TransactionMetadata | None, request: InitProducerId, context: Context, *, is_busy: bool
) -> Change | CoordinatorResponse:
    known = known or TransactionMetadata(
        transactional_id=request.transactional_id or "",
        producer_id=context.new_producer_id,
        timeout_ms=request.timeout_ms,
    )
    if not 0 < request.timeout_ms <= context.broker_settings.transaction_max_ms:
        return InitializedProducerId(error=ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    if is_busy:
        return InitializedProducerId(error=ErrorCode.CONCURRENT_TRANSACTIONS)
    if not is_newest_instance(known, request):
        return InitializedProducerId(error=ErrorCode.PRODUCER_FENCED)
    if known.state is TxnState.ONGOING and Bug.ZOMBIE_NOT_FENCED not in context.bugs:
        # No client gets the epoch of this fence. The client retries, and gets the next epoch.
        return Change(
            known.prepared(ABORT, TransactionVersion.V2, context.new_producer_id),
            response=InitializedProducerId(error=ErrorCode.CONCURRENT_TRANSACTIONS),
        )
    after = next_instance(known, request, context)
    if after is None:
        return InitializedProducerId(error=ErrorCode.PRODUCER_FENCED)
    response = InitializedProducerId(
        producer_id=after.producer_id, producer_epoch=after.producer_epoch
    )
    return response if after == known else Change(after, response=response)


def _add_partitions(
    known: TransactionMetadata | None,
    request: AddPartitionsToTxn,
    context: Context,
    *,
    is_busy: bool,
) -> Change | AddedPartitionsToTxn:
    added = AddedPartitionsToTxn(topic_partitions=request.topic_partitions)
    error = _producer_error(known, request, waits=is_busy and not request.verify_only)
    if known is None or error is not ErrorCode.NONE:
        return replace(added, error=error)
    is_open = known.state is TxnState.ONGOING
    if is_open and set(request.topic_partitions) <= set(known.topic_partitions):
        return added
    if request.verify_only:
        return replace(added, error=ErrorCode.INVALID_TXN_STATE)
    return Change(known.with_partitions(request.topic_partitions, context.now_ms), response=added)


def _producer_error(
    known: TransactionMetadata | None, request: AddPartitionsToTxn, *, waits: bool
) -> ErrorCode:
    if known is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    reasons = (
        (waits, "CONCURRENT_TRANSACTIONS"),
        (known.producer_id != request.producer_id, "INVALID_PRODUCER_ID_MAPPING"),
        (known.producer_epoch != request.producer_epoch, "PRODUCER_FENCED"),
        (known.is_prepared, "CONCURRENT_TRANSACTIONS"),
    )
    return next((ErrorCode[error] for applies, error in reasons if applies), ErrorCode.NONE)


def _add_offsets(
    known: TransactionMetadata | None, request: AddOffsetsToTxn, context: Context, *, is_busy: bool
) -> Change | CoordinatorResponse:
    place = context.coordinators.partition_for(CONSUMER_OFFSETS, request.group)
    if place is None:
        return AddedOffsetsToTxn(error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    as_partition = AddPartitionsToTxn(
        transactional_id=request.transactional_id,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        topic_partitions=(place,),
    )
    result = _add_partitions(known, as_partition, context, is_busy=is_busy)
    if isinstance(result, Change):
        return result._replace(response=AddedOffsetsToTxn())
    return AddedOffsetsToTxn(error=result.error)


def _end_txn(
    known: TransactionMetadata | None, request: EndTxn, context: Context, *, is_busy: bool
) -> Change | CoordinatorResponse:
    if known is None:
        return EndedTxn(error=ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    match end_decision(known, request, context.bugs, is_busy=is_busy):
        case ErrorCode() as error:
            return EndedTxn(error=error)
        case EndDecision.PREPARE:
            after = known.prepared(request.result, request.version, context.new_producer_id)
            return Change(after, response=end_response(after, request))
        case EndDecision.ALREADY_COMPLETE:
            return end_response(known, request)


def change_by_time(transaction: TransactionMetadata, context: Context) -> Change | None:
    """Returns the abort of an overdue transaction, or the expiry of an inactive transactional id.
    Returns None if neither is due at this time.
    """
    if transaction.state is TxnState.ONGOING:
        if context.now_ms - transaction.started_ms <= transaction.timeout_ms:
            return None
        return Change(transaction.prepared(ABORT, TransactionVersion.V2, context.new_producer_id))
    rested_ms = context.now_ms - transaction.updated_ms
    if (
        transaction.is_prepared
        or rested_ms < context.broker_settings.transactional_id_expiration_ms
    ):
        return None
    return Change(transaction.moved(TxnState.DEAD))
