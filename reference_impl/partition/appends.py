"""The appends of a leader: producers' batches, and the markers of transaction coordinators.

    produce -> one batch? -> first batch of a transaction? -> valid? -> in sequence? -> append
                                      | yes              no                  |
                                      v                                      v
                         verify at the coordinator                       duplicate
                                      |
                                      v
                            guard still there? -> valid? -> in sequence? -> append

The leader verifies the first batch of a transaction: the transaction coordinator must confirm that
the transaction contains the partition, or a marker might never be written here (a hanging
transaction, KIP-890). For a V2 producer the verification also adds the partition. Later batches of
the producer wait. The guard is the id of the verification request; a marker removes it, so a late
response appends nothing.

A Produce request with acks=0 gets a response only if it is rejected. The TCP server does not send
this response, but closes the connection, as Kafka does.

Source: KIP-98, KIP-890, KIP-1228; ReplicaManager.handleProduceAppend,
Partition.appendRecordsToLeader, UnifiedLog.append; docs/kafka-rules.md A1, C1, D5, D8.
Simplified: after a failed verification the leader forgets the lowest sequence number of the batches
that waited.
"""

from __future__ import annotations

from typing import Final

from model.vocabulary import NO_PRODUCER_ID, Offset
from reference_impl.log import transaction_marker
from reference_impl.log.producer_state import (
    Duplicate,
    InSequence,
    Rejected,
    SequenceCheck,
    Verification,
)
from reference_impl.log.record_batch import Header, stamped
from reference_impl.log.segment import Batch
from reference_impl.log.transaction_marker import Marker
from reference_impl.node.bugs import LOST_EVERY, Bug
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, Send, StepResult
from reference_impl.partition.leader import Leader, acknowledge, advance_high_watermark, wake_by
from reference_impl.partition.record_validation import (
    VALID,
    BatchError,
    appendable,
    batch_error,
    only_batch,
    scanned,
)
from reference_impl.partition.waiting import (
    AppendOrigin,
    PendingVerification,
    WaitingProduce,
    reject_unverified,
)
from reference_impl.protocol.messages import (
    ACKS_ALL,
    ACKS_LEADER,
    ACKS_NONE,
    UNKNOWN_OFFSET,
    ErrorCode,
    Produce,
    Produced,
)
from reference_impl.protocol.record_facts import RecordFacts
from reference_impl.protocol.replacing import replace
from reference_impl.protocol.transactions import (
    AddedPartitionsToTxn,
    AddPartitionsToTxn,
    WriteTxnMarker,
)

# Errors of an append whose response has no log start: ReplicaManager.appendToLocalLog.
WITHOUT_LOG_START: Final = frozenset({
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.INVALID_REQUIRED_ACKS,
})  # fmt: skip

ADDS_AGAIN_AFTER_MS: Final = 20  # add.partitions.to.txn.retry.backoff.ms
ADDS_AGAIN_WITHIN_MS: Final = 100  # add.partitions.to.txn.retry.backoff.max.ms


def produce(
    leader: Leader, context: Context, requester: Requester, request: Produce
) -> StepResult[Leader]:
    """Handles a Produce request: appends its batch, first verifies its transaction, or rejects it.

    A batch that is already in the log is acknowledged again.
    """
    batch = only_batch(request.batches)
    if isinstance(batch, ErrorCode):
        return leader, _refusal(requester, batch)
    if len(batch.data) < len(request.batches):
        request = replace(request, batches=batch.data)  # a truncated rest is ignored
    head = batch.header
    for entry in leader.unverified:
        if (entry.producer_id, entry.producer_epoch) == (head.producer_id, head.producer_epoch):
            after = entry._replace(waiting=(*entry.waiting, (requester, request)))
            return _with_unverified(leader, entry, after), ()
    verifies = context.verifies_transactions or request.adds_partition
    if Bug.LATE_PRODUCE_ACCEPTED in context.bugs:
        verifies = False
    if verifies and _needs_verification(leader, head):
        return _verify(leader, context, requester, request, head)
    return _check_and_append(leader, context, requester, request, batch)


def _needs_verification(leader: Leader, head: Header) -> bool:
    is_idempotent = head.producer_id != NO_PRODUCER_ID
    return is_idempotent and head.is_transactional and not leader.producers.is_open(head)


def _check_and_append(
    leader: Leader,
    context: Context,
    requester: Requester,
    request: Produce,
    batch: Batch,
    verification: Verification | None = None,
) -> StepResult[Leader]:
    """Checks and appends a batch whose transaction, if any, needs no further verification.

    A duplicate is acknowledged with its first offset; an invalid batch is rejected.
    """
    facts = _facts(leader, request, batch)
    error, records = _error(leader, context, request, batch, facts)
    log_start = UNKNOWN_OFFSET if error in WITHOUT_LOG_START else leader.log.log_start
    if error is not ErrorCode.NONE:
        return leader, _refusal(requester, error, log_start, records)
    match _checked(leader, batch.header, verification, context):
        case Rejected(refused):
            return leader, _refusal(requester, refused, log_start)
        case Duplicate(known):
            # A duplicate waits like the original: it may not be replicated yet.
            appended = AppendOrigin(
                requester, request.acks, request.timeout_ms, duplicate_ms=known.timestamp_ms
            )
            return _await_replication(
                leader, context, appended, known.base_offset, known.next_offset
            )
        case InSequence():
            return _append_if_valid(leader, context, requester, request, batch, facts)


def _facts(leader: Leader, request: Produce, batch: Batch) -> RecordFacts | ErrorCode:
    """Returns the facts of a client's records (`scan`), or the error if they are invalid.

    Does not read a batch that is too large. A coordinator's batch is valid and gets NONE.
    """
    if request.scanned is not None:
        return request.scanned
    if request.by_coordinator:
        return ErrorCode.NONE
    if batch.header.size > leader.state.log_config.max_message_bytes:
        return ErrorCode.MESSAGE_TOO_LARGE
    return scanned(batch)


def _error(
    leader: Leader,
    context: Context,
    request: Produce,
    batch: Batch,
    facts: RecordFacts | ErrorCode,
) -> BatchError:
    """Returns the first error of the checks that need no producer state; `VALID` if there is none.

    First the value of acks is checked, then with acks=all the size of the ISR, then the batch.
    """
    if request.acks not in {ACKS_NONE, ACKS_LEADER, ACKS_ALL}:
        return BatchError(ErrorCode.INVALID_REQUIRED_ACKS)
    if request.acks == ACKS_ALL and leader.in_sync.below_minimum:
        # Rejected before anything is written: the broker gives up availability, not durability.
        return BatchError(ErrorCode.NOT_ENOUGH_REPLICAS)
    if request.by_coordinator:
        return VALID
    return batch_error(batch, facts, leader.state.log_config, context.now_ms)


def _checked(
    leader: Leader, head: Header, verification: Verification | None, context: Context
) -> SequenceCheck:
    if Bug.NO_DEDUP in context.bugs:
        return InSequence()
    return leader.producers.check_sequence(head, verification)


# ---------------------------------------------------------------- verification


def _verify(
    leader: Leader, context: Context, requester: Requester, request: Produce, head: Header
) -> StepResult[Leader]:
    """Sends the verification request to the transaction coordinator; the producer's batches wait.

    The batch is rejected if its producer epoch is stale, the request has no transactional id, or no
    coordinator is known. Kafka: UnifiedLog.maybeStartTransactionVerification.
    """
    known = leader.producers.producers.get(head.producer_id)
    if known is not None and head.producer_epoch < known.producer_epoch:
        stale = ErrorCode.INVALID_PRODUCER_EPOCH
        return leader, _refusal(requester, stale)
    coordinator = context.coordinator_of_transaction(request.transactional_id)
    if request.transactional_id is None or coordinator is None:
        no_id = request.transactional_id is None
        error = ErrorCode.INVALID_TXN_STATE if no_id else ErrorCode.NOT_ENOUGH_REPLICAS
        return leader, _refusal(requester, error)
    deadline_ms = context.now_ms + context.timeouts.request_timeout_ms
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
    leader, woken = wake_by(_with_unverified(leader, None, entry), deadline_ms)
    return leader, (Send(coordinator, context.correlation, question), *woken)


def on_verified(
    leader: Leader, context: Context, correlation: int, answer: AddedPartitionsToTxn
) -> StepResult[Leader]:
    """Handles the response to a verification: checks, then appends or rejects each waiting batch.

    The guard is the id of the verification request; nothing happens if a marker has removed it. A
    request that also adds the partition is repeated for some time while markers of the previous
    transaction are unwritten. Kafka: ReplicaManager.handleProduceAppend.
    """
    found = [entry for entry in leader.unverified if entry.correlation == correlation]
    if not found:
        return leader, ()
    (entry,) = found
    if answer.error is ErrorCode.CONCURRENT_TRANSACTIONS and _is_patient(entry, context):
        again_ms = context.now_ms + ADDS_AGAIN_AFTER_MS
        leader = _with_unverified(leader, entry, entry._replace(again_ms=again_ms))
        return wake_by(leader, again_ms)
    leader = _with_unverified(leader, entry, None)
    if answer.error is not ErrorCode.NONE:
        return leader, tuple(
            requester.reply(Produced(error=_produce_error(answer.error, request)))
            for requester, request in entry.waiting
        )
    waiting = [(*one, Batch.of(one[1].batches)) for one in entry.waiting]
    verification = Verification(
        lowest_sequence=min(batch.header.base_sequence for _, _, batch in waiting),
        adds_partition=any(request.adds_partition for _, request in entry.waiting),
    )
    effects: Effects = ()
    for requester, request, batch in waiting:
        first = verification if _needs_verification(leader, batch.header) else None
        leader, some = _check_and_append(leader, context, requester, request, batch, first)
        effects += some
    return leader, effects


def _is_patient(entry: PendingVerification, context: Context) -> bool:
    """Returns True if the leader may request again that the partition is added to the transaction.

    This holds for a producer's own request, for a short time after the first attempt.
    """
    (_, request), *_ = entry.waiting
    adds = not entry.question.verify_only and not request.by_coordinator
    return adds and context.now_ms - entry.started_ms < ADDS_AGAIN_WITHIN_MS


def _produce_error(error: ErrorCode, request: Produce) -> ErrorCode:
    """Returns the error that the producer gets after a failed verification.

    The error makes the producer abort its transaction, retry the batch, or stop.
    Kafka: AddPartitionsToTxnManager.AddPartitionsToTxnHandler, ReplicaManager.handleProduceAppend.
    """
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


def _with_unverified(
    leader: Leader, old: PendingVerification | None, new: PendingVerification | None
) -> Leader:
    kept = [new if entry is old else entry for entry in leader.unverified]
    if old is None:
        kept.append(new)
    return replace(leader, unverified=tuple(entry for entry in kept if entry is not None))


# ---------------------------------------------------------------- markers


def write_marker(
    leader: Leader, context: Context, requester: Requester, request: WriteTxnMarker
) -> StepResult[Leader]:
    """Appends the transaction marker, or rejects it.

    The marker ends the producer's open transaction on this topic partition, if there is one.
    """
    appended = AppendOrigin(requester, ACKS_ALL, context.timeouts.request_timeout_ms, request)
    if leader.in_sync.below_minimum:
        return leader, (appended.reply(leader, error=ErrorCode.NOT_ENOUGH_REPLICAS),)
    strict = Bug.LATE_MARKER_ACCEPTED not in context.bugs
    error = leader.producers.marker_error(request, strict=strict)
    if error is not ErrorCode.NONE:
        return leader, (appended.reply(leader, error=error),)
    data = transaction_marker.encoded(
        Marker(request.result, request.coordinator_epoch),
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        timestamp_ms=context.now_ms,
    )
    of_before = [
        entry
        for entry in leader.unverified
        if entry.producer_id == request.producer_id and entry.again_ms is None
    ]
    if Bug.GUARD_OUTLIVES_MARKER in context.bugs:
        of_before = []
    leader = replace(
        leader, unverified=tuple(entry for entry in leader.unverified if entry not in of_before)
    )
    refused = reject_unverified(of_before, ErrorCode.INVALID_TXN_STATE)
    leader, effects = _written(leader, context, appended, data)
    return leader, refused + effects


# ---------------------------------------------------------------- the log


def _append_if_valid(
    leader: Leader,
    context: Context,
    requester: Requester,
    request: Produce,
    batch: Batch,
    facts: RecordFacts | ErrorCode,
) -> StepResult[Leader]:
    """Appends the batch, unless it comes from a coordinator that no longer wants the append.

    A coordinator on this broker sends its records to the leader as a batch. The state of the
    coordinator may change before the append, for example while a transaction is verified.
    """
    error = ErrorCode.NONE
    if request.by_coordinator:
        error = context.append_error(leader.topic_partition, requester.correlation)
    if error is not ErrorCode.NONE:
        return leader, _refusal(requester, error)
    appended = AppendOrigin(requester, request.acks, request.timeout_ms)
    data = appendable(batch, facts) if isinstance(facts, RecordFacts) else batch.data
    return _written(leader, context, appended, data)


def _written(
    leader: Leader, context: Context, appended: AppendOrigin, data: bytes
) -> StepResult[Leader]:
    base_offset = leader.log.end_offset
    batch = Batch.of(stamped(data, base_offset=base_offset, leader_epoch=leader.state.leader_epoch))
    appends = leader.appends + 1
    producers = leader.producers.after(batch)
    if Bug.LOST_APPEND in context.bugs and appends % LOST_EVERY == 0:
        log = leader.log.leave_hole(batch.header.record_count)
        leader = replace(leader, log=log, producers=producers, appends=appends)
        return acknowledge(leader, context, appended, base_offset)
    log = leader.log.append(
        batch, before=leader.producers, segment_bytes=leader.state.log_config.segment_bytes
    )
    leader = replace(leader, log=log, producers=producers, appends=appends)
    leader, answered = _await_replication(
        leader, context, appended, base_offset, batch.header.next_offset
    )
    leader, settled = advance_high_watermark(leader, context)
    return leader, answered + settled


def _await_replication(
    leader: Leader,
    context: Context,
    appended: AppendOrigin,
    base_offset: Offset,
    next_offset: Offset,
) -> StepResult[Leader]:
    at_once = appended.acks != ACKS_ALL or leader.log.high_watermark >= next_offset
    if at_once or Bug.ACK_BEFORE_REPLICATION in context.bugs:
        return acknowledge(leader, context, appended, base_offset)
    deadline_ms = context.now_ms + appended.timeout_ms
    waiting = WaitingProduce(appended, base_offset, next_offset, deadline_ms)
    leader = replace(leader, waiting_produces=(*leader.waiting_produces, waiting))
    return wake_by(leader, deadline_ms)


def _refusal(
    requester: Requester,
    error: ErrorCode,
    log_start: Offset = UNKNOWN_OFFSET,
    records: tuple[int, ...] = (),
) -> Effects:
    """Returns the effect that sends an error response.

    A request with acks=0 gets this response too. The TCP server does not send it to the client, but
    closes the connection, as Kafka does.
    """
    refused = Produced(error=error, log_start_offset=log_start, record_errors=records)
    return (requester.reply(refused),)
