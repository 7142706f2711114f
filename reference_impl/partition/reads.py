"""Handles the requests of followers and consumers that read from a leader.

If the logs of a follower and its leader diverge, the response to the follower's fetch contains the
diverging epoch. Otherwise the leader records the end offset of the follower. This may advance the
high watermark. If the leader responds at once, the response has the high watermark as it was before
the fetch.

Source: KIP-207, KIP-320, KIP-595, KIP-903, KAFKA-13141, KAFKA-15221; docs/kafka-rules.md A2, A6,
A7, A9.
Simplified: if a consumer fetches from a follower, the follower responds at once.
"""

from __future__ import annotations

from model.vocabulary import UNKNOWN_LEADER_EPOCH, LeaderEpoch, Offset
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.record_batch import decode
from reference_impl.node.bugs import STALE_EVERY, Bug
from reference_impl.node.context import Context, Requester
from reference_impl.node.step import Effects, StepResult
from reference_impl.partition.follower import Follower
from reference_impl.partition.in_sync_replicas import RemoteReplica
from reference_impl.partition.isr_proposals import propose
from reference_impl.partition.leader import (
    Leader,
    advance_high_watermark,
    fetch_response,
    last_stable_offset,
    read,
    record_sent_high_watermark,
    wake_by,
)
from reference_impl.partition.waiting import LocalLog, WaitingFetch
from reference_impl.protocol import messages
from reference_impl.protocol.messages import (
    CONSUMER,
    LATEST_TIMESTAMP,
    UNKNOWN_BROKER_EPOCH,
    UNKNOWN_OFFSET,
    EpochEndOffset,
    ErrorCode,
    Fetch,
    Fetched,
    ListedOffsets,
    ListOffsets,
    OffsetForLeaderEpoch,
    OffsetOfLeaderEpoch,
)
from reference_impl.protocol.replacing import replace


def epoch_error(requested: LeaderEpoch, mine: LeaderEpoch) -> ErrorCode | None:
    """Returns the error if the leader epoch of the request differs from the replica's leader epoch
    `mine`.

    Returns None if the two epochs are equal, or if the request has no leader epoch.
    """
    if requested in {UNKNOWN_LEADER_EPOCH, mine}:
        return None
    return ErrorCode.FENCED_LEADER_EPOCH if requested < mine else ErrorCode.UNKNOWN_LEADER_EPOCH


# ---------------------------------------------------------------- fetches


def fetch(
    leader: Leader, context: Context, requester: Requester, request: Fetch
) -> StepResult[Leader]:
    """Handles a fetch: responds with data, lets the request wait for data, or rejects it."""
    error = epoch_error(request.current_leader_epoch, leader.state.leader_epoch)
    if error is not None:
        return leader, _refused(leader, requester, error)
    if request.replica_id >= 0:
        return _fetch_of_follower(leader, context, requester, request)
    end = _end_of_epoch(leader, request.last_fetched_epoch)
    stopped = _unreadable_position(leader, context, request, end)
    if stopped is not None:
        return leader, (requester.reply(stopped),)
    return _answer_or_wait(
        leader, context, requester, request, leader.log.high_watermark, at_once=False
    )


def fetch_from_follower(
    follower: Follower, context: Context, requester: Requester, request: Fetch
) -> Effects:
    """Handles a consumer's fetch from a follower. The follower responds at once, with records below
    its high watermark.
    """
    # Kafka: since version 11 of Fetch (KIP-392; FetchParams.fetchOnlyLeader).
    error = epoch_error(request.current_leader_epoch, follower.state.leader_epoch)
    if error is not None:
        return _refused(follower, requester, error)
    end = follower.log.end_of_epoch(request.last_fetched_epoch)
    fetched = _unreadable_position(follower, context, request, end)
    if fetched is None:
        fetched = fetch_response(follower, context, request, follower.log.high_watermark)
    return (requester.reply(fetched),)


def _unreadable_position(
    replica: LocalLog, context: Context, request: Fetch, end: EpochEndOffset
) -> Fetched | None:
    log = replica.log
    # `end` is where the epoch of the consumer's last record ends in this log.
    diverging = _diverging(log, request, end)
    if isinstance(diverging, ErrorCode):
        return _refusal(replica, diverging)
    if diverging is None:
        return None
    return Fetched(
        topic_partition=replica.topic_partition,
        high_watermark=log.high_watermark,
        last_stable_offset=last_stable_offset(replica, context, log.high_watermark),
        log_start_offset=log.log_start,
        diverging_epoch=diverging,
    )


def _fetch_of_follower(
    leader: Leader, context: Context, requester: Requester, request: Fetch
) -> StepResult[Leader]:
    remote = leader.in_sync.remotes.get(request.replica_id)
    if remote is None:
        return leader, _refused(leader, requester, ErrorCode.UNKNOWN_LEADER_EPOCH)
    end = _end_of_epoch(leader, request.last_fetched_epoch)
    diverging = _diverging(leader.log, request, end)
    if isinstance(diverging, ErrorCode):
        return leader, _refused(leader, requester, diverging)
    if diverging is not None:
        # The follower's end offset is not recorded: its last records are not in the leader's log.
        fetched = Fetched(
            topic_partition=leader.topic_partition,
            high_watermark=leader.log.high_watermark,
            log_start_offset=leader.log.log_start,
            diverging_epoch=diverging,
        )
        return leader, (requester.reply(fetched),)
    known = context.brokers.get(request.replica_id)
    known_epoch = known.broker_epoch if known is not None else UNKNOWN_BROKER_EPOCH
    if UNKNOWN_BROKER_EPOCH < request.replica_epoch < known_epoch:
        return leader, _refused(leader, requester, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    high_watermark = leader.log.high_watermark
    leader, noted = _record_fetch_position(leader, context, request, remote)
    is_news = remote.sent_high_watermark < high_watermark
    leader, answered = _answer_or_wait(
        leader, context, requester, request, high_watermark, at_once=is_news
    )
    return leader, noted + answered


def _diverging(
    log: PartitionLog, request: Fetch, end: EpochEndOffset
) -> EpochEndOffset | ErrorCode | None:
    in_range = log.log_start <= request.fetch_offset
    if request.last_fetched_epoch == UNKNOWN_LEADER_EPOCH:
        in_range = in_range and request.fetch_offset <= log.end_offset
        return None if in_range else ErrorCode.OFFSET_OUT_OF_RANGE
    if end.leader_epoch == UNKNOWN_LEADER_EPOCH or not in_range:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    parts = end.leader_epoch < request.last_fetched_epoch or end.end_offset < request.fetch_offset
    return end if parts else None


def _end_of_epoch(leader: Leader, leader_epoch: LeaderEpoch) -> EpochEndOffset:
    own, log = leader.state.leader_epoch, leader.log
    if not 0 <= leader_epoch <= own:
        return EpochEndOffset()
    # the leader's own epoch ends at the log end, even if it has no record yet
    if leader_epoch == own:
        return EpochEndOffset(leader_epoch=own, end_offset=log.end_offset)
    # all older epochs end where the leader's own begins
    if not log.epochs:
        return EpochEndOffset(leader_epoch=leader_epoch, end_offset=leader.epoch_start)
    return log.end_of_epoch(leader_epoch)


def _record_fetch_position(
    leader: Leader, context: Context, request: Fetch, remote: RemoteReplica
) -> StepResult[Leader]:
    follower = request.replica_id
    remote = remote.after_fetch(
        request.fetch_offset,
        request.replica_epoch,
        leader.log.end_offset,
        context.now_ms,
        log_start=request.log_start_offset,
    )
    # A follower has one fetch in flight. An older fetch that still waits has timed out there.
    waiting = tuple(
        waiting for waiting in leader.waiting_fetches if waiting.request.replica_id != follower
    )
    in_sync = leader.in_sync.with_remote(follower, remote)
    leader = replace(leader, in_sync=in_sync, waiting_fetches=waiting)
    sent: Effects = ()
    if in_sync.may_join(follower, leader.log.high_watermark, leader.epoch_start, context):
        leader, sent = propose(leader, context, (*in_sync.state.isr, follower))
    leader, settled = advance_high_watermark(leader, context)
    return leader, sent + settled


def _answer_or_wait(
    leader: Leader,
    context: Context,
    requester: Requester,
    request: Fetch,
    high_watermark: Offset,
    *,
    at_once: bool,
) -> StepResult[Leader]:
    may_wait = not at_once and request.max_wait_ms > 0
    if may_wait and not read(leader, context, request):
        waiting = WaitingFetch(requester, request, context.now_ms + request.max_wait_ms)
        leader = replace(leader, waiting_fetches=(*leader.waiting_fetches, waiting))
        return wake_by(leader, waiting.deadline_ms)
    leader = record_sent_high_watermark(leader, request, high_watermark)
    return leader, (requester.reply(fetch_response(leader, context, request, high_watermark)),)


def _refused(replica: LocalLog, requester: Requester, error: ErrorCode) -> Effects:
    return (requester.reply(_refusal(replica, error)),)


def _refusal(replica: LocalLog, error: ErrorCode) -> Fetched:
    log = replica.log
    return Fetched(
        topic_partition=replica.topic_partition,
        error=error,
        high_watermark=log.high_watermark,
        log_start_offset=log.log_start,
        log_end_offset=log.end_offset,
    )


# ---------------------------------------------------------------- offsets


def list_offsets(
    leader: Leader, context: Context, requester: Requester, request: ListOffsets
) -> StepResult[Leader]:
    """Handles a ListOffsets request to a leader.

    A new leader may respond OFFSET_NOT_AVAILABLE until its high watermark reaches the start of its
    leader epoch. Until then, its high watermark may be lower than an offset that a client has seen,
    and a search by time may miss committed records.
    """
    is_consumer = request.replica_id == CONSUMER
    lags = is_consumer and leader.log.high_watermark < leader.epoch_start
    end = _readable_end(leader, context, request)
    if request.timestamp == LATEST_TIMESTAMP and not lags:
        leader, end = _listed_end_offset(leader, context, end)
    listed = _listed(leader, leader.state.leader_epoch, request, end, lags=lags)
    return leader, (requester.reply(listed),)


def list_offsets_of_follower(
    follower: Follower, context: Context, requester: Requester, request: ListOffsets
) -> Effects:
    """Handles a ListOffsets request of a debugging consumer (replica id -2) to a follower.

    Kafka: ReplicaManager.fetchOffset.
    """
    end = _readable_end(follower, context, request)
    listed = _listed(follower, follower.state.leader_epoch, request, end, lags=False)
    return (requester.reply(listed),)


def _listed(
    replica: LocalLog, leader_epoch: LeaderEpoch, request: ListOffsets, end: Offset, *, lags: bool
) -> ListedOffsets:
    # A search by timestamp finds only offsets below `end`.
    # `lags`: a new leader's high watermark is below its epoch's start.
    log = replica.log
    error = epoch_error(request.current_leader_epoch, leader_epoch)
    if error is not None:
        return ListedOffsets(error=error)
    match request.timestamp:
        case messages.EARLIEST_TIMESTAMP | messages.EARLIEST_LOCAL_TIMESTAMP:
            first_epoch = log.epochs[0].leader_epoch if log.epochs else leader_epoch
            return ListedOffsets(offset=log.log_start, leader_epoch=first_epoch)
        case messages.LATEST_TIERED_TIMESTAMP | messages.EARLIEST_PENDING_UPLOAD_TIMESTAMP:
            return ListedOffsets()
        case messages.LATEST_TIMESTAMP:
            listed = ListedOffsets(offset=end, leader_epoch=leader_epoch)
            return ListedOffsets(error=ErrorCode.OFFSET_NOT_AVAILABLE) if lags else listed
        case _:
            find = (
                _first_of_largest_timestamp
                if request.timestamp == messages.MAX_TIMESTAMP
                else _first_since
            )
            listed = find(replica, request.timestamp)
            if listed.offset >= end:
                listed = ListedOffsets()
            if lags and listed.offset == UNKNOWN_OFFSET:
                return ListedOffsets(error=ErrorCode.OFFSET_NOT_AVAILABLE)
            return listed


def _readable_end(replica: LocalLog, context: Context, request: ListOffsets) -> Offset:
    log = replica.log
    if request.replica_id != CONSUMER:
        return log.end_offset
    if request.read_committed:
        return last_stable_offset(replica, context, log.high_watermark)
    return log.high_watermark


def _listed_end_offset(leader: Leader, context: Context, end: Offset) -> tuple[Leader, Offset]:
    questions = leader.end_offset_requests + 1
    if Bug.STALE_END_OFFSET in context.bugs and questions % STALE_EVERY == 0:
        end = Offset(max(leader.log.log_start, end - 1))
    return replace(leader, end_offset_requests=questions), end


def _first_since(replica: LocalLog, timestamp_ms: int) -> ListedOffsets:
    for batch in replica.log.batches():
        if batch.header.max_timestamp_ms >= timestamp_ms:
            for offset, record in decode(batch.data):
                if record.timestamp_ms >= timestamp_ms and offset >= replica.log.log_start:
                    return ListedOffsets(
                        offset=offset,
                        timestamp=record.timestamp_ms,
                        leader_epoch=batch.header.leader_epoch,
                    )
    return ListedOffsets()


def _first_of_largest_timestamp(replica: LocalLog, timestamp_ms: int) -> ListedOffsets:
    # Kafka: UnifiedLog.fetchOffsetByTimestamp.
    del timestamp_ms
    timestamps = [batch.header.max_timestamp_ms for batch in replica.log.batches()]
    return _first_since(replica, max(timestamps)) if timestamps else ListedOffsets()


def offset_for_leader_epoch(
    leader: Leader, context: Context, requester: Requester, request: OffsetForLeaderEpoch
) -> StepResult[Leader]:
    del context
    error = epoch_error(request.current_leader_epoch, leader.state.leader_epoch)
    if error is not None:
        response = OffsetOfLeaderEpoch(topic_partition=leader.topic_partition, error=error)
    else:
        end = _end_of_epoch(leader, request.leader_epoch)
        response = OffsetOfLeaderEpoch(topic_partition=leader.topic_partition, end=end)
    return leader, (requester.reply(response),)
