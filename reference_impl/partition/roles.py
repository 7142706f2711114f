"""The role of a broker for one topic partition: leader or follower. Each line has an event, and the
reaction of the roles:

    metadata of a newer leader epoch -> a leader resigns; the broker becomes leader or follower
    a request                        -> a leader handles it; a follower lets some consumers read
    a response                       -> only the role that sends such requests handles it
    a timer                          -> a leader handles it; a follower ignores it

Source: docs/kafka-rules.md A7, A8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from model.vocabulary import TopicPartition
from reference_impl.log.partition_log import PartitionLog
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
    DEBUGGING_CONSUMER,
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
    """Returns the leader or follower after the newer partition registration `state`.

    `known` is the replica before this registration. If it is None, the new replica begins with the
    log `stored`.
    """
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
    # A consumer may also wait at a follower, and must learn of the new leader epoch.
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


def answer_of_follower(
    follower: Follower, context: Context, requester: Requester, request: LeaderRequest
) -> Effects:
    """Responds to a request that a follower receives. A consumer may fetch from a follower
    (KIP-392). A debugging consumer (replica id -2) may also list the offsets of a follower. Any
    other request gets an error.
    """
    match request:
        case Fetch(any_replica=True):
            return reads.fetch_from_follower(follower, context, requester, request)
        case ListOffsets(replica_id=replica) if replica == DEBUGGING_CONSUMER:
            return reads.list_offsets_of_follower(follower, context, requester, request)
        case _:
            # A stale leader epoch is the more precise error.
            here = follower.state.leader_epoch
            fenced = reads.epoch_error(getattr(request, "current_leader_epoch", here), here)
            return refusal(request, requester, fenced or ErrorCode.NOT_LEADER_OR_FOLLOWER)


def no_replica_error(*, exists: bool) -> ErrorCode:
    """Returns the error for a request about a partition that has no replica on this broker.
    `exists` is True if other brokers have replicas of this partition.
    """
    # If another broker has the partition, the client must refresh its metadata.
    known, unknown = ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return known if exists else unknown


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
