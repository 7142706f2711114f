"""Verifies a transaction at the transaction coordinator, before the first batch of the transaction
is appended:

    first batch -> verification request -> response: guard still there? -> check and append

The coordinator must confirm that the transaction contains the partition. Without this confirmation,
a late batch could begin a transaction that nobody ends (KIP-890). For a producer that uses V2 of
the transaction protocol, the verification also adds the partition to the transaction. Until the
response arrives, later batches of the producer wait.

The leader remembers the id of the verification request as a *guard*. A transaction marker removes
the guard. If a positive response arrives after the guard was removed, nothing is appended. If the
response is an error, the batch is rejected with this error, even without a guard.

Source: KIP-890; ReplicaManager.handleProduceAppend, UnifiedLog.maybeStartTransactionVerification;
docs/kafka-rules.md D8.
Simplified: the leader sends one request for each partition. Kafka sends one request for all
partitions of a producer's request. After a failed verification, the leader forgets the sequence
numbers of the batches that waited. Kafka remembers the lowest of these sequence numbers, and
rejects a first batch with a higher number. This leader may append such a batch.
"""

from __future__ import annotations

from typing import Final

from model.vocabulary import NO_PRODUCER_ID
from reference_impl.log.producer_state import Verification
from reference_impl.log.record_batch import Header
from reference_impl.log.segment import Batch
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, Send, StepResult
from reference_impl.partition.checked_append import check_and_append, refusal
from reference_impl.partition.leader import Leader, wake_by
from reference_impl.partition.waiting import PendingVerification, reject_unverified
from reference_impl.protocol.messages import ErrorCode, Produce, Produced
from reference_impl.protocol.replacing import replace
from reference_impl.protocol.transactions import AddedPartitionsToTxn, AddPartitionsToTxn

ADDS_AGAIN_AFTER_MS: Final = 20  # add.partitions.to.txn.retry.backoff.ms
# Kafka: add.partitions.to.txn.retry.backoff.max.ms, 100. Longer here, because the partitions of a
# producer's request are added one after the other: 30 of them may wait for each other.
ADDS_AGAIN_WITHIN_MS: Final = 1_000


def needs_verification(leader: Leader, head: Header) -> bool:
    """Returns True if the record batch would open a transaction in this topic partition."""
    is_idempotent = head.producer_id != NO_PRODUCER_ID
    return is_idempotent and head.is_transactional and not leader.producers.is_open(head)


def verify(
    leader: Leader, context: Context, requester: Requester, request: Produce, head: Header
) -> StepResult[Leader]:
    """Sends a verification request to the transaction coordinator, and lets the batch wait for the
    response. The batch is rejected at once in three cases: its producer epoch is old, the Produce
    request has no transactional id, or the coordinator is unknown.

    Kafka: UnifiedLog.maybeStartTransactionVerification.
    """
    known = leader.producers.producers.get(head.producer_id)
    if known is not None and head.producer_epoch < known.producer_epoch:
        stale = ErrorCode.INVALID_PRODUCER_EPOCH
        return leader, refusal(requester, stale)
    coordinator = context.coordinator_of_transaction(request.transactional_id)
    if request.transactional_id is None or coordinator is None:
        no_id = request.transactional_id is None
        error = ErrorCode.INVALID_TXN_STATE if no_id else ErrorCode.NOT_ENOUGH_REPLICAS
        return leader, refusal(requester, error)
    deadline_ms = context.now_ms + context.broker_settings.request_timeout_ms
    question = AddPartitionsToTxn(
        transactional_id=request.transactional_id,
        producer_id=head.producer_id,
        producer_epoch=head.producer_epoch,
        topic_partitions=(leader.topic_partition,),
        verify_only=not request.adds_partition,
    )
    entry = PendingVerification(
        producer_id=head.producer_id,
        producer_epoch=head.producer_epoch,
        correlation=context.correlation,
        waiting=((requester, request),),
        deadline_ms=deadline_ms,
        question=question,
        started_ms=context.now_ms,
    )
    leader, woken = wake_by(with_unverified(leader, None, entry), deadline_ms)
    return leader, (Send(coordinator, context.correlation, question), *woken)


def on_verified(
    leader: Leader, context: Context, correlation: int, answer: AddedPartitionsToTxn
) -> StepResult[Leader]:
    """Appends or rejects each batch that waited for this verification. If a transaction marker was
    written in the meantime, no batch is appended.

    If the coordinator still writes the markers of the previous transaction, the leader repeats the
    verification request for some time.

    Kafka: ReplicaManager.handleProduceAppend.
    """
    found = [entry for entry in leader.unverified if entry.correlation == correlation]
    if not found:
        return leader, ()
    (entry,) = found
    if answer.error is ErrorCode.CONCURRENT_TRANSACTIONS and _is_patient(entry, context):
        again_ms = context.now_ms + ADDS_AGAIN_AFTER_MS
        leader = with_unverified(leader, entry, entry._replace(again_ms=again_ms))
        return wake_by(leader, again_ms)
    leader = with_unverified(leader, entry, None)
    if answer.error is not ErrorCode.NONE:
        return leader, tuple(
            requester.reply(Produced(error=_produce_error(answer.error, request)))
            for requester, request in entry.waiting
        )
    if not entry.is_guarded:
        return leader, reject_unverified((entry,), ErrorCode.INVALID_TXN_STATE)
    waiting = [(*one, Batch.of(one[1].batches)) for one in entry.waiting]
    verification = Verification(
        lowest_sequence=min(batch.header.base_sequence for _, _, batch in waiting),
        adds_partition=any(request.adds_partition for _, request in entry.waiting),
    )
    effects: Effects = ()
    for requester, request, batch in waiting:
        first = verification if needs_verification(leader, batch.header) else None
        leader, some = check_and_append(leader, context, requester, request, batch, first)
        effects += some
    return leader, effects


def _is_patient(entry: PendingVerification, context: Context) -> bool:
    (_, request), *_ = entry.waiting
    adds = not entry.question.verify_only and not request.by_coordinator
    return adds and context.now_ms - entry.started_ms < ADDS_AGAIN_WITHIN_MS


def _produce_error(error: ErrorCode, request: Produce) -> ErrorCode:
    # Kafka: AddPartitionsToTxnManager.AddPartitionsToTxnHandler,
    # ReplicaManager.handleProduceAppend.
    knows_abortable = request.adds_partition or request.knows_abortable
    match error:
        case ErrorCode.INVALID_TXN_STATE if knows_abortable:
            return ErrorCode.TRANSACTION_ABORTABLE
        case ErrorCode.INVALID_TXN_STATE:
            return ErrorCode.INVALID_TXN_STATE
        case ErrorCode.PRODUCER_FENCED | ErrorCode.INVALID_PRODUCER_EPOCH:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        case ErrorCode.CONCURRENT_TRANSACTIONS if request.adds_partition:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        case ErrorCode.INVALID_PRODUCER_ID_MAPPING | ErrorCode.INVALID_REQUEST:
            return error
        case _:
            return ErrorCode.NOT_ENOUGH_REPLICAS  # each producer retries it


def with_unverified(
    leader: Leader, old: PendingVerification | None, new: PendingVerification | None
) -> Leader:
    """Returns the leader with the pending verification `new` instead of `old`. If `old` is None,
    `new` is added. If `new` is None, `old` is removed.
    """
    kept = [new if entry is old else entry for entry in leader.unverified]
    if old is None:
        kept.append(new)
    return replace(leader, unverified=tuple(entry for entry in kept if entry is not None))
