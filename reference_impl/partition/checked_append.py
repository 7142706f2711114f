"""Checks a producer's record batch, and appends the batch to the leader's log, in these steps:

    batch -> valid? -> in sequence? -> append -> acks=all? -> wait for the high watermark
               | no         |
               v            v
            error       duplicate

With acks=0, a Produce request has a response only if the batch is rejected. The TCP server does not
send this response, but closes the connection, as Kafka does.

Source: KIP-98, KIP-1228; Partition.appendRecordsToLeader, UnifiedLog.append; docs/kafka-rules.md
A1, C1.
"""

from __future__ import annotations

from typing import Final

from model.vocabulary import Offset
from reference_impl.log.producer_state import (
    Duplicate,
    InSequence,
    Rejected,
    SequenceCheck,
    Verification,
)
from reference_impl.log.record_batch import Header, header, stamped, with_timestamp
from reference_impl.log.segment import Batch
from reference_impl.node.bugs import LOST_EVERY, Bug
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, StepResult
from reference_impl.partition.leader import Leader, acknowledge, advance_high_watermark, wake_by
from reference_impl.partition.record_validation import (
    VALID,
    BatchError,
    appendable,
    batch_error,
    scanned,
)
from reference_impl.partition.waiting import AppendOrigin, WaitingProduce
from reference_impl.protocol.coordinators import INTERNAL_TOPICS
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
from reference_impl.protocol.topic_config import TimestampType

# Errors of an append whose response has no log start: ReplicaManager.appendToLocalLog.
WITHOUT_LOG_START: Final = frozenset({
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.INVALID_REQUIRED_ACKS,
})  # fmt: skip


def check_and_append(
    leader: Leader,
    context: Context,
    requester: Requester,
    request: Produce,
    batch: Batch,
    verification: Verification | None = None,
) -> StepResult[Leader]:
    """Appends a producer's record batch, acknowledges a duplicate, or rejects an invalid batch.

    The first batches of a transaction wait until the transaction is verified. For such a batch,
    `verification` is the completed verification. For all other batches, it is None.
    """
    facts = _facts(leader, request, batch)
    error, records = _error(leader, context, request, batch, facts)
    log_start = UNKNOWN_OFFSET if error in WITHOUT_LOG_START else leader.log.log_start
    if error is not ErrorCode.NONE:
        return leader, refusal(requester, error, log_start, records)
    match _checked(leader, batch.header, verification, context):
        case Rejected(refused):
            return leader, refusal(requester, refused, log_start)
        case Duplicate(known):
            # A duplicate waits like the original batch, which may not be replicated yet.
            appended = AppendOrigin(
                requester, request.acks, request.timeout_ms, append_time_ms=known.timestamp_ms
            )
            return _await_replication(
                leader, context, appended, known.base_offset, known.next_offset
            )
        case InSequence():
            return _append_if_valid(leader, context, requester, request, batch, facts)


def _facts(leader: Leader, request: Produce, batch: Batch) -> RecordFacts | ErrorCode:
    if request.scanned is not None:
        return request.scanned
    # The records of a coordinator's batch are not checked.
    if request.by_coordinator:
        return ErrorCode.NONE
    if batch.header.size > leader.state.log_config.max_message_bytes:
        # The records are not even read.
        return ErrorCode.MESSAGE_TOO_LARGE
    return scanned(batch)


def _error(
    leader: Leader,
    context: Context,
    request: Produce,
    batch: Batch,
    facts: RecordFacts | ErrorCode,
) -> BatchError:
    # These checks need no producer state.
    if request.acks not in {ACKS_NONE, ACKS_LEADER, ACKS_ALL}:
        return BatchError(ErrorCode.INVALID_REQUIRED_ACKS)
    if leader.topic_partition.topic in INTERNAL_TOPICS and not request.by_coordinator:
        # Kafka: ReplicaManager.appendRecordsToLeader; clients named __admin_client are excepted.
        return BatchError(ErrorCode.INVALID_TOPIC_EXCEPTION)
    if request.acks == ACKS_ALL and leader.in_sync.below_minimum:
        # The request is rejected before the append: durability is preferred to availability.
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


def _append_if_valid(
    leader: Leader,
    context: Context,
    requester: Requester,
    request: Produce,
    batch: Batch,
    facts: RecordFacts | ErrorCode,
) -> StepResult[Leader]:
    error = ErrorCode.NONE
    if request.by_coordinator:
        # The coordinator's state may have changed since, for example during a verification.
        error = context.append_error(leader.topic_partition, requester.correlation)
    if error is not ErrorCode.NONE:
        return leader, refusal(requester, error)
    appended = AppendOrigin(requester, request.acks, request.timeout_ms)
    data: bytes | None = batch.data
    if isinstance(facts, RecordFacts):
        data = appendable(batch, facts, leader.state.log_config)
    if data is None:
        return leader, refusal(requester, ErrorCode.MESSAGE_TOO_LARGE)
    return write(leader, context, appended, data)


def write(
    leader: Leader, context: Context, appended: AppendOrigin, data: bytes
) -> StepResult[Leader]:
    """Appends a valid record batch. The sender gets the response now, or when the batch is
    replicated.

    If the topic's timestamp type is LogAppendTime, the batch gets the present time.
    """
    base_offset, config = leader.log.end_offset, leader.state.log_config
    if config.timestamp_type is TimestampType.LOG_APPEND_TIME:
        data = with_timestamp(data, header(data), context.now_ms, log_append_time=True)
        appended = appended._replace(append_time_ms=context.now_ms)
    batch = Batch.of(stamped(data, base_offset=base_offset, leader_epoch=leader.state.leader_epoch))
    appends = leader.appends + 1
    producers = leader.producers.after(batch)
    if Bug.LOST_APPEND in context.bugs and appends % LOST_EVERY == 0:
        log = leader.log.leave_hole(batch.header.record_count)
        leader = replace(leader, log=log, producers=producers, appends=appends)
        return acknowledge(leader, context, appended, base_offset)
    log = leader.log.append(batch, before=leader.producers, config=config)
    leader = replace(leader, log=log, producers=producers, appends=appends)
    # Without followers the batch is now replicated, and its sender need not wait.
    leader, settled = advance_high_watermark(leader, context)
    leader, answered = _await_replication(
        leader, context, appended, base_offset, batch.header.next_offset
    )
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


def refusal(
    requester: Requester,
    error: ErrorCode,
    log_start: Offset = UNKNOWN_OFFSET,
    records: tuple[int, ...] = (),
) -> Effects:
    # With acks=0 the server closes the connection instead, as Kafka does.
    refused = Produced(error=error, log_start_offset=log_start, record_errors=records)
    return (requester.reply(refused),)
