"""The end of a transaction: the coordinator's reaction to EndTxn, and the transaction markers. Each
line has an event and the reaction:

    EndTxn for the open transaction  -> PREPARE_COMMIT or PREPARE_ABORT
    EndTxn for the ended transaction -> a retry: the same response again
    PREPARE_* -> a marker to the leader of each topic partition, resent until the leader responds

In V2 of the transaction protocol, the producer epoch in EndTxn identifies the transaction. In V1,
many transactions have the same producer epoch.

In V2, the coordinator checks for CONCURRENT_TRANSACTIONS before it checks the epoch. A client that
already uses the next epoch is therefore not fenced while its markers are being written
(KAFKA-18464).

Source: KIP-98, KIP-890, KAFKA-17754, KAFKA-18464; TransactionCoordinator.endTransaction and
TransactionCoordinator.endTransactionWithTV1 of Apache Kafka; docs/kafka-rules.md D4, D5.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from model.vocabulary import LeaderEpoch, TopicPartition
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.node.context import Context
from reference_impl.node.step import Send, StepResult
from reference_impl.protocol.messages import NO_BROKER, ErrorCode, NodeId
from reference_impl.protocol.transactions import (
    EndedTxn,
    EndTxn,
    TransactionVersion,
    TxnResult,
    WriteTxnMarker,
)
from reference_impl.transactions.metadata import LAST_EPOCH, RESULTS, TransactionMetadata, TxnState

COMMIT, ABORT = TxnResult.COMMIT, TxnResult.ABORT


class EndDecision(Enum):
    """The coordinator's reaction to a valid EndTxn request."""

    PREPARE = "the transaction moves to PREPARE_COMMIT or PREPARE_ABORT"
    ALREADY_COMPLETE = "a retry: the transaction has already ended with this result"


# V1: the request does not identify a transaction within a producer epoch, so a delayed request may
# end the next transaction (KAFKA-17754).
ENDS_V1: Final[Mapping[tuple[TxnState, TxnResult], EndDecision | ErrorCode]] = {
    (TxnState.ONGOING, COMMIT): EndDecision.PREPARE,
    (TxnState.ONGOING, ABORT): EndDecision.PREPARE,
    (TxnState.COMPLETE_COMMIT, COMMIT): EndDecision.ALREADY_COMPLETE,
    (TxnState.COMPLETE_ABORT, ABORT): EndDecision.ALREADY_COMPLETE,
}
# V2: by the epoch the coordinator knows whether the request is for an earlier transaction.
ENDS_V2_FIRST: Final[Mapping[tuple[TxnState, TxnResult], EndDecision | ErrorCode]] = {
    (TxnState.ONGOING, COMMIT): EndDecision.PREPARE,
    (TxnState.ONGOING, ABORT): EndDecision.PREPARE,
    (TxnState.EMPTY, ABORT): EndDecision.PREPARE,
    (TxnState.COMPLETE_COMMIT, ABORT): EndDecision.PREPARE,
    (TxnState.COMPLETE_ABORT, ABORT): EndDecision.PREPARE,
}
ENDS_V2_RETRY: Final[Mapping[tuple[TxnState, TxnResult], EndDecision | ErrorCode]] = {
    (TxnState.COMPLETE_COMMIT, COMMIT): EndDecision.ALREADY_COMPLETE,
    (TxnState.COMPLETE_ABORT, ABORT): EndDecision.ALREADY_COMPLETE,
}


class MarkerAttempt(NamedTuple):
    """The latest attempt to write a marker that is not written yet, with the time and the
    correlation id of the request.
    """

    correlation: int | None = None  # None: not sent, or rejected with a retriable error
    at_ms: int = 0


Markers = Mapping[TopicPartition, MarkerAttempt]
_NEVER: Final = MarkerAttempt(None, -1)


def end_decision(
    known: TransactionMetadata, request: EndTxn, bugs: Bugs, *, is_busy: bool
) -> EndDecision | ErrorCode:
    """Returns the reaction to EndTxn, or the error that rejects the request.

    `is_busy` is True while a change of the transactional id is being appended, and while its
    markers are being written.
    """
    is_v2 = request.version is TransactionVersion.V2
    is_retry = is_v2 and _is_retry(known, request)
    is_same_id = known.producer_id == request.producer_id
    is_current = is_same_id and known.producer_epoch == request.producer_epoch
    if Bug.DELAYED_END_ACCEPTED in bugs and known.state is TxnState.ONGOING:
        is_current = is_same_id and request.producer_epoch <= known.producer_epoch
    reasons = (
        (is_v2 and is_busy, ErrorCode.CONCURRENT_TRANSACTIONS),
        (not (is_same_id or is_retry), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (not (is_current or is_retry), ErrorCode.PRODUCER_FENCED),
        (is_busy, ErrorCode.CONCURRENT_TRANSACTIONS),
    )
    for applies, error in reasons:
        if applies:
            return error
    table = ENDS_V2_RETRY if is_retry else ENDS_V2_FIRST if is_v2 else ENDS_V1
    return table.get((known.state, request.result), ErrorCode.INVALID_TXN_STATE)


def _is_retry(known: TransactionMetadata, request: EndTxn) -> bool:
    if known.state in (TxnState.EMPTY, TxnState.ONGOING):
        return False
    same_id = request.producer_id == known.producer_id
    after_last = (
        request.producer_id == known.previous_producer_id
        and request.producer_epoch == LAST_EPOCH
        and known.producer_epoch == 0
    )
    return (same_id and request.producer_epoch == known.producer_epoch - 1) or after_last


def end_response(transaction: TransactionMetadata, request: EndTxn) -> EndedTxn:
    if request.version is TransactionVersion.V1:
        return EndedTxn()
    producer_id, producer_epoch = transaction.next_producer
    return EndedTxn(producer_id=producer_id, producer_epoch=producer_epoch)


# ---------------------------------------------------------------- markers


def pending_markers(transaction: TransactionMetadata, context: Context) -> Markers:
    """Returns the markers of a prepared transaction, one for each of its topic partitions. None of
    these markers was sent yet.
    """
    places = transaction.topic_partitions
    if Bug.MARKER_ON_ONE_PARTITION in context.bugs:
        places = places[:1]
    return dict.fromkeys(places, _NEVER)


def send_markers(
    transaction: TransactionMetadata,
    unwritten: Markers,
    coordinator_epoch: LeaderEpoch,
    context: Context,
    *,
    again: bool,
) -> StepResult[Markers]:
    """Sends the markers that were never sent. If `again` is True, rejected and lost markers are
    sent again.

    Returns all markers that are not written yet.
    """
    effects: list[Send] = []
    left: dict[TopicPartition, MarkerAttempt] = {}
    for topic_partition, sent in unwritten.items():
        leader = context.coordinators.leaders.get(topic_partition)
        if leader is None:
            continue  # the topic does not exist any more
        is_lost = context.now_ms - sent.at_ms > context.broker_settings.request_timeout_ms
        is_due = sent.at_ms < 0 or (again and (sent.correlation is None or is_lost))
        if leader == NO_BROKER or not is_due:
            left[topic_partition] = sent
            continue
        left[topic_partition] = MarkerAttempt(context.correlation, context.now_ms)
        marker = WriteTxnMarker(
            topic_partition=topic_partition,
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            coordinator_epoch=coordinator_epoch,
            result=RESULTS[transaction.state],
            version=transaction.version,
        )
        effects.append(Send(NodeId(leader), context.correlation, marker))
    return left, tuple(effects)
