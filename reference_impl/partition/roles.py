"""The role of a broker for one topic partition, leader or follower, and what each role handles.

    metadata of a newer leader epoch -> a leader resigns; the broker becomes leader or follower
    a request                        -> a leader handles it; a follower rejects it
    a response                       -> only the role that sends such requests handles it
    a timer                          -> a leader handles it; a follower ignores it

Source: docs/kafka-rules.md A7, A8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from model.vocabulary import TopicPartition
from reference_impl.log.compaction import compacted
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.retention import retained
from reference_impl.node.bugs import Bug
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, Readable, StepResult, TimerKind
from reference_impl.partition import (
    appends,
    deletions,
    follower,
    isr_proposals,
    leader,
    reads,
    verification,
)
from reference_impl.partition.follower import Follower, become_follower
from reference_impl.partition.leader import Leader, become_leader, resign
from reference_impl.protocol.controller import AlteredPartition, PartitionState
from reference_impl.protocol.deletion import DeletedRecords, DeleteRecords
from reference_impl.protocol.messages import (
    ErrorCode,
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
    OffsetForLeaderEpoch,
    OffsetOfLeaderEpoch,
    Produce,
    Produced,
)
from reference_impl.protocol.requests import Response
from reference_impl.protocol.topic_config import LARGEST_MS
from reference_impl.protocol.transactions import (
    AddedPartitionsToTxn,
    WriteTxnMarker,
    WrittenTxnMarker,
)

Replica = Leader | Follower
LeaderRequest = (
    Produce | Fetch | ListOffsets | OffsetForLeaderEpoch | DeleteRecords | WriteTxnMarker
)


def apply_state(
    topic_partition: TopicPartition,
    known: Replica | None,
    stored: PartitionLog,
    state: PartitionState,
    context: Context,
) -> StepResult[Replica]:
    """Returns the replica after a newer partition registration, as leader or follower."""
    leads = state.leader == context.broker_id
    if known is None:
        become = become_leader if leads else become_follower
        producers = stored.producers()
        if Bug.SNAPSHOT_KEEPS_NEWEST in context.bugs:
            producers = producers.with_newest_batches()
        return become(topic_partition, stored, producers, state, context)
    if state.leader_epoch == known.state.leader_epoch:
        if isinstance(known, Leader):
            return isr_proposals.on_state(known, context, state)
        return replace(known, state=state), ()
    # A consumer may wait at a follower, too: it must learn of the new leader epoch.
    owed = resign(known) if isinstance(known, Leader) else (Readable(topic_partition),)
    become = become_leader if leads else become_follower
    replica, effects = become(topic_partition, known.log, known.producers, state, context)
    return replica, owed + effects


REQUEST_HANDLERS: Final[
    Mapping[type, Callable[[Leader, Context, Requester, Any], StepResult[Leader]]]
] = {
    Produce: appends.produce,
    Fetch: reads.fetch,
    ListOffsets: reads.list_offsets,
    OffsetForLeaderEpoch: reads.offset_for_leader_epoch,
    DeleteRecords: deletions.delete_records,
    WriteTxnMarker: appends.write_marker,
}
RESPONSE_HANDLERS: Final[Mapping[type, tuple[type, Callable[[Any, Context, int, Any], Any]]]] = {
    Fetched: (Follower, follower.on_fetched),
    OffsetOfLeaderEpoch: (Follower, follower.on_epoch_end),
    AlteredPartition: (Leader, isr_proposals.on_altered),
    AddedPartitionsToTxn: (Leader, verification.on_verified),
}
TIMER_HANDLERS: Final[Mapping[TimerKind, Callable[[Leader, Context], StepResult[Leader]]]] = {
    TimerKind.WAITS: leader.on_waits_timer,
    TimerKind.REPLICA_LAG: isr_proposals.on_lag_timer,
}


def retain(replica: Replica, context: Context) -> Replica:
    """Returns the replica after retention and the expiry of inactive producers.

    The function `compact` deletes the old records of a compacted log.

    Kafka: LogManager.cleanupLogs.
    """
    log, producers = replica.log, replica.producers
    if not replica.state.log_config.cleanup_policy.compacts:
        log, producers = _retained(replica, log, context)
    expiration_ms = context.timeouts.producer_expiration_ms
    return _with(replica, log, producers.unexpired(context.now_ms, expiration_ms))


def compact(replica: Replica, context: Context) -> Replica:
    """Returns the replica after compaction and retention, if its cleanup.policy has `compact`.

    Kafka: LogCleaner.CleanerThread.tryCleanFilthiestLog and cleanupLogs.
    """
    config, producers = replica.state.log_config, replica.producers
    if not config.cleanup_policy.compacts:
        return replica
    stable = producers.transactions.last_stable_offset(replica.log.high_watermark)
    if Bug.COMPACTS_UNCOMMITTED in context.bugs and not producers.open_ids:
        stable = replica.log.end_offset
    aborted = producers.transactions.aborted
    log = compacted(replica.log, aborted, config, stable=stable, now_ms=context.now_ms)
    return _with(replica, *_retained(replica, log, context))


def _retained(
    replica: Replica, log: PartitionLog, context: Context
) -> tuple[PartitionLog, ProducerStates]:
    config, now_ms = replica.state.log_config, context.now_ms
    log, producers = retained(log, replica.producers, config, now_ms, context.bugs)
    if Bug.PRODUCERS_GO_WITH_RECORDS in context.bugs:
        producers = producers.with_records_from(log.log_start)
    return log, producers


def _with(replica: Replica, log: PartitionLog, producers: ProducerStates) -> Replica:
    if log is replica.log and producers is replica.producers:
        return replica
    return replace(replica, log=log, producers=producers)


def flush_log(replica: Replica, context: Context) -> Replica:
    """Returns the replica after the flush that flush.ms requires, if it is due.

    Without flush.ms, the log is flushed at each check. Kafka: LogManager.flushDirtyLogs.
    """
    every_ms = replica.state.log_config.flush_ms
    log = replica.log.flushed_at(
        context.now_ms, context.timeouts.flush_check_ms if every_ms == LARGEST_MS else every_ms
    )
    return replica if log is replica.log else replace(replica, log=log)


def not_leader_error(replica: Replica | None, request: LeaderRequest, *, exists: bool) -> ErrorCode:
    if replica is None:
        # Another broker has the partition: the client must refresh its metadata.
        known, unknown = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return known if exists else unknown
    # A stale leader epoch is the more precise error.
    requested = getattr(request, "current_leader_epoch", replica.state.leader_epoch)
    fenced = reads.epoch_error(requested, replica.state.leader_epoch)
    return fenced or ErrorCode.NOT_LEADER_OR_FOLLOWER


def refusal(request: LeaderRequest, requester: Requester, error: ErrorCode) -> Effects:
    response: Response
    match request:
        case Produce():
            response = Produced(error=error)
        case Fetch(topic_partition=topic_partition):
            response = Fetched(topic_partition=topic_partition, error=error)
        case ListOffsets():
            response = ListedOffsets(error=error)
        case OffsetForLeaderEpoch(topic_partition=topic_partition):
            response = OffsetOfLeaderEpoch(topic_partition=topic_partition, error=error)
        case DeleteRecords(topic_partition=topic_partition):
            response = DeletedRecords(topic_partition=topic_partition, error=error)
        case WriteTxnMarker(topic_partition=topic_partition, transactional_id=transactional_id):
            response = WrittenTxnMarker(
                topic_partition=topic_partition, transactional_id=transactional_id, error=error
            )
    return (requester.reply(response),)
