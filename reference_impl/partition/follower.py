"""A follower of a topic partition. It fetches records from the leader, and truncates its log if the
two logs diverge. Each line has the result of a fetch and the follower's reaction:

    fetch -> records            -> append, adopt the high watermark                 -> fetch
          -> diverging epoch    -> truncate to the offset where the logs diverge    -> fetch
          -> the leader's log ends before the fetch offset
                                -> truncate to the end of the leader's log          -> fetch
          -> the leader's log begins after the fetch offset
                                -> truncate fully, start at the leader's log start  -> fetch
          -> error, no response -> back off                                         -> fetch

If the logs differ below the fetch offset, the response has no records, but a *diverging epoch*.
This is the largest epoch of the leader's log that is not above the follower's last epoch, with the
offset where this epoch ends.

Older versions of Kafka used other protocols (module `truncation`): the follower first requests the
end offset of its last epoch, or truncates its log without a request.

A follower has at most one request in flight. It ignores the responses to earlier requests.

Source: KIP-101, KIP-107, KIP-279, KIP-320, KIP-595 (as in Kafka 2.7), KAFKA-9491;
docs/kafka-rules.md A3, A8, A11.
Simplified: a fetch has only one topic partition, and followers use no fetch sessions.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.vocabulary import UNKNOWN_LEADER_EPOCH, Offset, TopicPartition
from reference_impl.log.consecutive_batches import batches
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.log.record_batch import verified
from reference_impl.log.segment import Batch
from reference_impl.node.bugs import Bug
from reference_impl.node.context import Context
from reference_impl.node.step import Readable, Send, SetTimer, StepResult, Timer, TimerKind
from reference_impl.partition.weakly_referenced import WeaklyReferenced
from reference_impl.protocol.controller import PartitionState
from reference_impl.protocol.messages import (
    NO_BROKER,
    UNKNOWN_OFFSET,
    EpochEndOffset,
    ErrorCode,
    Fetch,
    Fetched,
    NodeId,
    OffsetForLeaderEpoch,
    OffsetOfLeaderEpoch,
)
from reference_impl.protocol.replacing import replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower(WeaklyReferenced):
    topic_partition: TopicPartition
    log: PartitionLog
    producers: ProducerStates
    state: PartitionState
    is_truncating: bool = False  # the divergence point is not yet found
    awaits: int | None = None  # correlation of the request in flight
    fetches_ms: int = 0  # when to fetch again, after a timeout or a backoff


def become_follower(
    topic_partition: TopicPartition,
    log: PartitionLog,
    producers: ProducerStates,
    state: PartitionState,
    context: Context,
) -> StepResult[Follower]:
    """Returns a follower in a new leader epoch, and the follower's first request to the leader.

    Kafka: makeFollower.
    """
    follower = Follower(topic_partition=topic_partition, log=log, producers=producers, state=state)
    rules = context.truncation.rules
    asks_nobody = not (rules.requests_epoch_end or rules.sends_last_fetched_epoch)
    if Bug.TRUNCATE_TO_HIGH_WATERMARK in context.bugs or asks_nobody or not log.epochs:
        follower = _truncated(follower, log.high_watermark, context)
    elif rules.requests_epoch_end:
        follower = replace(follower, is_truncating=True)
    return fetch_again(follower, context)


def fetch_again(follower: Follower, context: Context) -> StepResult[Follower]:
    """Sends the follower's next request, which is normally a fetch. If the partition has no leader,
    nothing is sent.

    In old versions of the truncation protocol, the request is OffsetForLeaderEpoch until the
    follower has found where the logs diverge.
    """
    if follower.state.leader == NO_BROKER:
        return replace(follower, awaits=None), ()
    rules = context.truncation.rules
    leader_epoch = follower.state.leader_epoch if rules.sends_leader_epoch else UNKNOWN_LEADER_EPOCH
    tells_epoch = (
        rules.sends_last_fetched_epoch and Bug.TRUNCATE_TO_HIGH_WATERMARK not in context.bugs
    )
    request: Fetch | OffsetForLeaderEpoch
    if follower.is_truncating:
        request = OffsetForLeaderEpoch(
            topic_partition=follower.topic_partition,
            leader_epoch=follower.log.last_epoch,
            current_leader_epoch=leader_epoch,
        )
    else:
        request = Fetch(
            topic_partition=follower.topic_partition,
            fetch_offset=follower.log.end_offset,
            replica_id=context.broker_id,
            replica_epoch=context.broker_epoch,
            log_start_offset=follower.log.log_start,
            current_leader_epoch=leader_epoch,
            last_fetched_epoch=follower.log.last_epoch if tells_epoch else UNKNOWN_LEADER_EPOCH,
            max_wait_ms=context.broker_settings.replica_fetch_wait_ms,
        )
    at_ms = context.now_ms + context.broker_settings.replica_fetch_timeout_ms
    timer = Timer(TimerKind.FETCH, follower.topic_partition)
    return replace(follower, awaits=context.correlation, fetches_ms=at_ms), (
        Send(NodeId(follower.state.leader), context.correlation, request),
        SetTimer(timer, at_ms),
    )


def on_fetch_timer(follower: Follower, context: Context) -> StepResult[Follower]:
    return (
        (follower, ()) if context.now_ms < follower.fetches_ms else fetch_again(follower, context)
    )


def on_fetched(
    follower: Follower, context: Context, correlation: int, answer: Fetched
) -> StepResult[Follower]:
    if correlation != follower.awaits:
        return follower, ()
    if answer.error is ErrorCode.OFFSET_OUT_OF_RANGE:
        return _out_of_range(follower, answer, context)
    if answer.error is not ErrorCode.NONE:
        return _fetch_later(follower, context)
    if answer.diverging_epoch is not None:
        divergence_point = _divergence_point(follower.log, answer.diverging_epoch)
        return fetch_again(_truncated(follower, divergence_point, context), context)
    after, effects = fetch_again(_appended(follower, answer, context), context)
    advances = after.log.high_watermark > follower.log.high_watermark
    return after, (*effects, Readable(follower.topic_partition)) if advances else effects


def on_epoch_end(
    follower: Follower, context: Context, correlation: int, answer: OffsetOfLeaderEpoch
) -> StepResult[Follower]:
    if correlation != follower.awaits or not follower.is_truncating:
        return follower, ()
    if answer.error is not ErrorCode.NONE:
        return _fetch_later(follower, context)
    log, end = follower.log, answer.end
    if end.end_offset == UNKNOWN_OFFSET:
        divergence_point, is_found = log.high_watermark, True
    elif not context.truncation.rules.response_has_epoch:
        divergence_point, is_found = end.end_offset, True
    else:
        divergence_point = _divergence_point(log, end)
        is_found = log.end_of_epoch(end.leader_epoch).leader_epoch == end.leader_epoch
    follower = _truncated(follower, divergence_point, context)
    # If this log lacks the epoch, no later record is common: request the end of the next epoch.
    follower = replace(follower, is_truncating=bool(follower.log.epochs) and not is_found)
    return fetch_again(follower, context)


def _out_of_range(follower: Follower, answer: Fetched, context: Context) -> StepResult[Follower]:
    if answer.log_end_offset < follower.log.end_offset:
        # No leader epoch is common, so the leader's end offset is the best bound.
        return fetch_again(_truncated(follower, answer.log_end_offset, context), context)
    if answer.log_start_offset > follower.log.end_offset:
        # The leader's log begins after the fetch offset.
        log = follower.log.truncate_fully_and_start_at(answer.log_start_offset)
        if Bug.HIGH_WATERMARK_LEFT_BEHIND in context.bugs:
            log = replace(log, high_watermark=follower.log.high_watermark)
        return fetch_again(replace(follower, log=log, producers=ProducerStates()), context)
    return _fetch_later(follower, context)


def _appended(follower: Follower, answer: Fetched, context: Context) -> Follower:
    log, producers = follower.log, follower.producers
    for data in batches(answer.batches):
        verified(data)
        batch = Batch.of(data)
        log = log.append(batch, before=producers, config=follower.state.log_config)
        if Bug.DEDUP_LOST_ON_FAILOVER not in context.bugs:
            producers = producers.after(batch)
    if log.high_watermark != answer.high_watermark:
        log = log.with_high_watermark(answer.high_watermark)
        producers = producers.replicated_to(log.high_watermark)
    log = log.with_log_start(answer.log_start_offset)
    return replace(follower, log=log, producers=producers)


def _divergence_point(log: PartitionLog, diverging: EpochEndOffset) -> Offset:
    # The response names the leader epoch at which the two logs diverge.
    mine = log.end_of_epoch(diverging.leader_epoch)
    return min(mine.end_offset, diverging.end_offset)


def _truncated(follower: Follower, offset: Offset, context: Context) -> Follower:
    if offset >= follower.log.end_offset:
        return follower
    log = follower.log.truncate_to(offset)
    forgets = Bug.DEDUP_LOST_ON_FAILOVER in context.bugs
    producers = ProducerStates() if forgets else log.producers().replicated_to(log.high_watermark)
    return replace(follower, log=log, producers=producers)


def _fetch_later(follower: Follower, context: Context) -> StepResult[Follower]:
    at_ms = context.now_ms + context.broker_settings.replica_fetch_backoff_ms
    timer = Timer(TimerKind.FETCH, follower.topic_partition)
    return replace(follower, awaits=None, fetches_ms=at_ms), (SetTimer(timer, at_ms),)
