"""The appends of a leader: producers' batches, and the markers of transaction coordinators.

    produce -> valid? -> in sequence? -> transaction open here, or none? -> append
                             |                  | no
                             v                  v
                         duplicate       verify at the coordinator -> guard still there? -> append

The leader verifies the first batch of a transaction: the transaction coordinator must confirm that
the transaction contains the partition, or a marker might never be written here (a hanging
transaction, KIP-890). For a V2 producer the verification also adds the partition. Later batches of
the producer wait. The guard is the id of the verification request; a marker removes it, so a late
response appends nothing.

Source: KIP-98, KIP-890, KIP-1228; docs/kafka-rules.md A1, C1, D5, D8.
Simplified: one record batch per request, as clients have sent since Kafka 0.11. A retry of a batch
that is in the log is not verified again.
"""

from __future__ import annotations

from dataclasses import replace

from model.vocabulary import NO_PRODUCER_ID, Offset
from reference_impl.log import transaction_marker
from reference_impl.log.producer_state import Duplicate, InSequence, Rejected, SequenceCheck
from reference_impl.log.record_batch import CorruptBatch, Header, batches, stamped, verified
from reference_impl.log.segment import Batch
from reference_impl.log.transaction_marker import Marker
from reference_impl.node.bugs import LOST_EVERY, Bug
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, Send, StepResult
from reference_impl.partition.leader import (
    AppendOrigin,
    Leader,
    PendingVerification,
    WaitingProduce,
    acknowledge,
    advance_high_watermark,
    reject_unverified,
    wake_by,
)
from reference_impl.protocol.messages import (
    ACKS_ALL,
    ACKS_LEADER,
    ACKS_NONE,
    ErrorCode,
    Produce,
    Produced,
)
from reference_impl.protocol.transactions import (
    AddedPartitionsToTxn,
    AddPartitionsToTxn,
    WriteTxnMarker,
)


def produce(
    leader: Leader, context: Context, requester: Requester, request: Produce
) -> StepResult[Leader]:
    """Handles a Produce request: appends, verifies, acknowledges or rejects its batch."""
    head = _acceptable(leader, request)
    if isinstance(head, ErrorCode):
        return leader, _unless_acks_none(request, requester, head)
    for entry in leader.unverified:
        if (entry.producer_id, entry.producer_epoch) == (head.producer_id, head.producer_epoch):
            after = entry._replace(waiting=(*entry.waiting, (requester, request)))
            return _with_unverified(leader, entry, after), ()
    match _checked(leader, head, context):
        case Rejected(error):
            return leader, _unless_acks_none(request, requester, error)
        case Duplicate(batch):
            # A duplicate waits like the original: it may not be replicated yet.
            appended = AppendOrigin(requester, request.acks, request.timeout_ms)
            return _await_replication(
                leader, context, appended, batch.base_offset, batch.next_offset
            )
        case InSequence():
            needs = head.is_transactional and not leader.producers.is_open(head)
            verifies = Bug.LATE_PRODUCE_ACCEPTED not in context.bugs
            if needs and verifies and context.verifies_transactions:
                return _verify(leader, context, requester, request, head)
            return _append_if_valid(leader, context, requester, request)


def _acceptable(leader: Leader, request: Produce) -> Header | ErrorCode:
    """Returns the header of the only batch in the request, or the error that rejects it."""
    if request.acks not in {ACKS_NONE, ACKS_LEADER, ACKS_ALL}:
        return ErrorCode.INVALID_REQUIRED_ACKS
    if request.acks == ACKS_ALL and leader.in_sync.below_minimum:
        # Rejected before anything is written: the broker gives up availability, not durability.
        return ErrorCode.NOT_ENOUGH_REPLICAS
    try:
        heads = [verified(batch) for batch in batches(request.batches)]
    except CorruptBatch:
        return ErrorCode.CORRUPT_MESSAGE
    if len(heads) != 1:
        return ErrorCode.INVALID_RECORD
    (head,) = heads
    is_idempotent = head.producer_id != NO_PRODUCER_ID
    reasons = (
        (head.is_control, ErrorCode.INVALID_RECORD),
        (head.record_count != head.last_offset_delta + 1, ErrorCode.INVALID_RECORD),
        (head.is_transactional and not is_idempotent, ErrorCode.INVALID_RECORD),
        (is_idempotent and head.producer_epoch < 0, ErrorCode.INVALID_RECORD),
        (
            is_idempotent and head.base_sequence < 0 and not request.by_coordinator,
            ErrorCode.INVALID_RECORD,
        ),
    )
    return next((error for applies, error in reasons if applies), head)


def _checked(leader: Leader, head: Header, context: Context) -> SequenceCheck:
    if Bug.NO_DEDUP in context.bugs:
        return InSequence()
    return leader.producers.check_sequence(head, never_written=leader.log.end_offset == 0)


# ---------------------------------------------------------------- verification


def _verify(
    leader: Leader, context: Context, requester: Requester, request: Produce, head: Header
) -> StepResult[Leader]:
    """Sends the verification request to the transaction coordinator; the producer's batches wait.

    If the request has no transactional id, or no coordinator is known, the batch is rejected.
    """
    coordinator = context.coordinator_of_transaction(request.transactional_id)
    if request.transactional_id is None or coordinator is None:
        no_id = request.transactional_id is None
        error = ErrorCode.INVALID_TXN_STATE if no_id else ErrorCode.NOT_ENOUGH_REPLICAS
        return leader, _unless_acks_none(request, requester, error)
    deadline_ms = context.now_ms + context.timeouts.request_timeout_ms
    entry = PendingVerification(
        producer_id=head.producer_id,
        producer_epoch=head.producer_epoch,
        correlation=context.correlation,
        waiting=((requester, request),),
        deadline_ms=deadline_ms,
    )
    question = AddPartitionsToTxn(
        transactional_id=request.transactional_id,
        producer_id=head.producer_id,
        producer_epoch=head.producer_epoch,
        topic_partitions=(leader.topic_partition,),
        verify_only=not request.adds_partition,
    )
    leader, woken = wake_by(_with_unverified(leader, None, entry), deadline_ms)
    return leader, (Send(coordinator, context.correlation, question), *woken)


def on_verified(
    leader: Leader, context: Context, correlation: int, answer: AddedPartitionsToTxn
) -> StepResult[Leader]:
    """Appends each batch that waited for this verification after another check, or rejects it.

    If a marker has removed the guard, nothing happens.
    """
    found = [entry for entry in leader.unverified if entry.correlation == correlation]
    if not found:
        return leader, ()
    (entry,) = found
    leader = _with_unverified(leader, entry, None)
    if answer.error is not ErrorCode.NONE:
        adds = any(request.adds_partition for _, request in entry.waiting)
        return leader, reject_unverified([entry], _produce_error(answer.error, adds=adds))
    effects: Effects = ()
    for requester, request in entry.waiting:
        head = _acceptable(leader, request)
        judgement = head if isinstance(head, ErrorCode) else _checked(leader, head, context)
        if isinstance(judgement, InSequence):
            leader, some = _append_if_valid(leader, context, requester, request)
        elif isinstance(judgement, Duplicate):
            leader, some = produce(leader, context, requester, request)
        else:
            error = judgement.error if isinstance(judgement, Rejected) else judgement
            some = _unless_acks_none(request, requester, error)
        effects += some
    return leader, effects


def _produce_error(error: ErrorCode, *, adds: bool) -> ErrorCode:
    """Returns the producer's error after a failed verification: abort, retry or stop."""
    match error:
        case ErrorCode.INVALID_TXN_STATE:
            return ErrorCode.TRANSACTION_ABORTABLE if adds else ErrorCode.INVALID_TXN_STATE
        case ErrorCode.PRODUCER_FENCED | ErrorCode.INVALID_PRODUCER_EPOCH:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        case ErrorCode.CONCURRENT_TRANSACTIONS if adds:
            return ErrorCode.CONCURRENT_TRANSACTIONS
        case ErrorCode.INVALID_PRODUCER_ID_MAPPING:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
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
    of_before = [e for e in leader.unverified if e.producer_id == request.producer_id]
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
    leader: Leader, context: Context, requester: Requester, request: Produce
) -> StepResult[Leader]:
    """Appends the batch. A coordinator on this broker may reject its own batch at this moment: its
    state may have changed since it sent the batch.
    """
    error = ErrorCode.NONE
    if request.by_coordinator:
        error = context.append_error(leader.topic_partition, requester.correlation)
    if error is not ErrorCode.NONE:
        return leader, _unless_acks_none(request, requester, error)
    return _append(leader, context, requester, request)


def _append(
    leader: Leader, context: Context, requester: Requester, request: Produce
) -> StepResult[Leader]:
    appended = AppendOrigin(requester, request.acks, request.timeout_ms)
    return _written(leader, context, appended, request.batches)


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


def _unless_acks_none(request: Produce, requester: Requester, error: ErrorCode) -> Effects:
    return () if request.acks == ACKS_NONE else (requester.reply(Produced(error=error)),)
