"""The leader of a topic partition. It waits for its followers, and advances the high watermark, in
these steps:

    produce -> append -> wait until the high watermark passes -> acknowledge
    fetch of a follower -> record its end offset -> advance the high watermark -> respond

If a request with acks=all times out, or the leadership ends, the response is an error. The records
are not removed from the log, so the outcome of the request is unknown.

Source: KIP-101, KIP-966; docs/kafka-rules.md A1, A4, A7, A10, C1.
Simplified: requests are not throttled. If the leader is elected again in a newer leader epoch,
waiting requests get NOT_LEADER_OR_FOLLOWER. In Kafka, these requests continue to wait. Kafka
computes the high watermark after a fetch or an append. This leader also computes the high watermark
at each check for lagging followers.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.vocabulary import Offset, TopicPartition
from reference_impl.log.consecutive_batches import last_header
from reference_impl.log.partition_log import PartitionLog
from reference_impl.log.producer_state import ProducerStates
from reference_impl.node.bugs import REORDERED_BY, REORDERED_EVERY, ZERO_OFFSET_EVERY, Bug
from reference_impl.node.context import Context
from reference_impl.node.step import (
    Effect,
    Effects,
    Readable,
    Send,
    SetTimer,
    StepResult,
    Timer,
    TimerKind,
)
from reference_impl.partition.in_sync_replicas import InSyncReplicas
from reference_impl.partition.waiting import (
    AppendOrigin,
    LocalLog,
    PendingVerification,
    WaitingDeletion,
    WaitingFetch,
    WaitingProduce,
    reject_unverified,
)
from reference_impl.partition.weakly_referenced import WeaklyReferenced
from reference_impl.protocol.controller import PartitionState
from reference_impl.protocol.messages import (
    ACKS_NONE,
    ErrorCode,
    Fetch,
    Fetched,
)
from reference_impl.protocol.replacing import replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader(WeaklyReferenced):
    """The state of a topic partition on its leader, in one leader epoch."""

    topic_partition: TopicPartition
    log: PartitionLog
    producers: ProducerStates
    in_sync: InSyncReplicas
    epoch_start: Offset  # the end offset at which this leader epoch began
    waiting_produces: tuple[WaitingProduce, ...] = ()
    waiting_fetches: tuple[WaitingFetch, ...] = ()
    waiting_deletions: tuple[WaitingDeletion, ...] = ()
    unverified: tuple[PendingVerification, ...] = ()
    wakes_ms: int | None = None  # when the next timer for waiting requests fires
    appends: int = 0  # counted for the seeded bugs
    acknowledgements: int = 0
    end_offset_requests: int = 0

    @property
    def state(self) -> PartitionState:
        """The newest partition registration that the leader has received."""
        return self.in_sync.state


def become_leader(
    topic_partition: TopicPartition,
    log: PartitionLog,
    producers: ProducerStates,
    state: PartitionState,
    context: Context,
) -> StepResult[Leader]:
    """Returns a new leader, and the first effects of its leadership. Its leader epoch begins at the
    end of the log.
    """
    leader = Leader(
        topic_partition=topic_partition,
        log=log,
        producers=producers,
        in_sync=InSyncReplicas.of_new_leader(state, context),
        epoch_start=log.end_offset,
    )
    leader, settled = advance_high_watermark(leader, context)
    return leader, (*settled, lag_timer(leader, context), Readable(topic_partition))


def resign(leader: Leader) -> Effects:
    """Returns error responses to all requests that wait at the leader. The effect `Readable` also
    wakes the consumers whose long polls wait outside the leader.
    """
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    topic_partition = leader.topic_partition
    return (
        *(waiting.reply(leader, error) for waiting in leader.waiting_produces),
        *(waiting.reply(leader, error) for waiting in leader.waiting_deletions),
        *reject_unverified(leader.unverified, error),
        *(
            waiting.requester.reply(Fetched(topic_partition=topic_partition, error=error))
            for waiting in leader.waiting_fetches
        ),
        Readable(topic_partition),
    )


# ---------------------------------------------------------------- acknowledging


def acknowledge(
    leader: Leader, context: Context, appended: AppendOrigin, base_offset: Offset
) -> StepResult[Leader]:
    """Responds to an append with the offset of the first record. If the request has acks=0, nothing
    is sent.
    """
    if appended.acks == ACKS_NONE:
        return leader, ()
    leader, base_offset = _acknowledged_offset(leader, context, base_offset)
    return leader, (appended.reply(leader, base_offset=base_offset),)


def _acknowledged_offset(
    leader: Leader, context: Context, base_offset: Offset
) -> tuple[Leader, Offset]:
    count = leader.acknowledgements + 1
    if Bug.ZERO_OFFSET_ACK in context.bugs and count % ZERO_OFFSET_EVERY == 0:
        base_offset = Offset(0)
    if Bug.REORDERED_ACK_OFFSET in context.bugs and count % REORDERED_EVERY == 0:
        base_offset = Offset(max(0, base_offset - REORDERED_BY))
    return replace(leader, acknowledgements=count), base_offset


# ---------------------------------------------------------------- the high watermark


def advance_high_watermark(leader: Leader, context: Context) -> StepResult[Leader]:
    """Advances the high watermark as far as possible, and sends the responses that waited for this
    advance.
    """
    effects: Effects = ()
    high_watermark = leader.in_sync.replicated_up_to(leader.log.end_offset, context)
    if high_watermark > leader.log.high_watermark:
        leader = replace(
            leader,
            log=leader.log.with_high_watermark(high_watermark),
            producers=leader.producers.replicated_to(high_watermark),
        )
        leader, effects = _answer_replicated(leader, context)
        effects = (*effects, Readable(leader.topic_partition))
    leader, fetched = _answer_fetches(leader, context)
    leader, deleted = _answer_deletions(leader, context)
    return leader, effects + fetched + deleted


def _answer_replicated(leader: Leader, context: Context) -> StepResult[Leader]:
    if not leader.waiting_produces:
        return leader, ()
    effects: list[Effect] = []
    still: list[WaitingProduce] = []
    for waiting in leader.waiting_produces:
        if waiting.next_offset > leader.log.high_watermark:
            still.append(waiting)
        elif len(leader.in_sync.maximal) < leader.in_sync.min_insync_replicas:
            error = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
            effects.append(waiting.reply(leader, error))
        else:
            leader, sent = acknowledge(leader, context, waiting.appended, waiting.base_offset)
            effects.extend(sent)
    return replace(leader, waiting_produces=tuple(still)), tuple(effects)


def _answer_fetches(leader: Leader, context: Context) -> StepResult[Leader]:
    start = leader.log.log_start
    found = [
        waiting
        for waiting in leader.waiting_fetches
        if waiting.request.fetch_offset < start or read(leader, context, waiting.request)
    ]
    return _answer_now(leader, context, found) if found else (leader, ())


def _answer_deletions(leader: Leader, context: Context) -> StepResult[Leader]:
    if not leader.waiting_deletions:
        return leader, ()
    low = leader.in_sync.low_watermark(leader.log.log_start, context)
    if Bug.DELETION_ANSWERED_ALONE in context.bugs:
        low = leader.log.log_start
    done = [waiting for waiting in leader.waiting_deletions if waiting.before <= low]
    still = tuple(waiting for waiting in leader.waiting_deletions if waiting.before > low)
    answers = tuple(waiting.reply(leader, ErrorCode.NONE, low) for waiting in done)
    return replace(leader, waiting_deletions=still), answers


def _answer_now(
    leader: Leader, context: Context, answered: list[WaitingFetch]
) -> StepResult[Leader]:
    still = tuple(waiting for waiting in leader.waiting_fetches if waiting not in answered)
    leader = replace(leader, waiting_fetches=still)
    effects: list[Effect] = []
    for waiting in answered:
        request = waiting.request
        leader = record_sent_high_watermark(leader, request, leader.log.high_watermark)
        fetched = fetch_response(leader, context, request, leader.log.high_watermark)
        effects.append(waiting.requester.reply(fetched))
    return leader, tuple(effects)


def read(replica: LocalLog, context: Context, request: Fetch) -> bytes:
    """Returns the record batches from the fetch offset up to an end, which depends on the reader:

        a follower                         the log end
        a consumer                         the high watermark
        a consumer with read_committed     the last stable offset

    Returns b"" if the fetch offset is not below this end.
    """
    log = replica.log
    if request.replica_id >= 0 or Bug.READ_ABOVE_HIGH_WATERMARK in context.bugs:
        below = log.end_offset
    elif request.read_committed:
        below = last_stable_offset(replica, context, log.high_watermark)
        if Bug.LAST_STABLE_OFFSET_READ in context.bugs:
            below = min(log.high_watermark, Offset(below + 1))
    else:
        below = log.high_watermark
    if request.fetch_offset >= below:
        return b""
    return log.read(
        request.fetch_offset,
        below=below,
        max_bytes=request.max_bytes,
        cuts_last=request.cuts_last,
    )


def fetch_response(
    replica: LocalLog, context: Context, request: Fetch, high_watermark: Offset
) -> Fetched:
    is_deleted = request.fetch_offset < replica.log.log_start  # since it began to wait
    found = b"" if is_deleted else read(replica, context, request)
    fetched = Fetched(
        topic_partition=replica.topic_partition,
        error=ErrorCode.OFFSET_OUT_OF_RANGE if is_deleted else ErrorCode.NONE,
        high_watermark=high_watermark,
        log_start_offset=replica.log.log_start,
        batches=found,
    )
    if request.replica_id >= 0:
        return fetched
    stable = last_stable_offset(replica, context, high_watermark)
    fetched = replace(fetched, last_stable_offset=stable)
    if not request.read_committed or not found or Bug.ABORTED_NOT_LISTED in context.bugs:
        return fetched
    aborted = replica.producers.transactions.aborted_between(
        request.fetch_offset, last_header(found).next_offset
    )
    return replace(fetched, aborted=aborted)


def last_stable_offset(replica: LocalLog, context: Context, high_watermark: Offset) -> Offset:
    """Returns the last stable offset, or the log start if the log start is higher."""
    stable = replica.producers.transactions.last_stable_offset(
        high_watermark, counts_unreplicated=Bug.UNREPLICATED_MARKER_COUNTS not in context.bugs
    )
    # A deletion of records does not wait for open transactions.
    return max(stable, replica.log.log_start)


def record_sent_high_watermark(leader: Leader, request: Fetch, high_watermark: Offset) -> Leader:
    """Returns the leader with a note of the high watermark that a Fetch response sends to a
    follower. If the request comes from a consumer, nothing changes.
    """
    remote = leader.in_sync.remotes.get(request.replica_id)
    if remote is None or remote.sent_high_watermark == high_watermark:
        return leader
    remote = replace(remote, sent_high_watermark=high_watermark)
    return replace(leader, in_sync=leader.in_sync.with_remote(request.replica_id, remote))


# ---------------------------------------------------------------- time


def wake_by(leader: Leader, deadline_ms: int) -> StepResult[Leader]:
    """Sets the timer for the waiting requests to `deadline_ms`. Does nothing if the timer is set to
    an earlier time already.
    """
    if leader.wakes_ms is not None and leader.wakes_ms <= deadline_ms:
        return leader, ()
    timer = Timer(TimerKind.WAITS, leader.topic_partition)
    return replace(leader, wakes_ms=deadline_ms), (SetTimer(timer, deadline_ms),)


def on_waits_timer(leader: Leader, context: Context) -> StepResult[Leader]:
    """Responds to the requests whose waiting time has ended. A fetch gets a response without
    records. All other requests get an error.
    """
    late = [waiting for waiting in leader.waiting_produces if waiting.deadline_ms <= context.now_ms]
    waiting_produces = tuple(w for w in leader.waiting_produces if w not in late)
    timed_out: Effects = tuple(
        waiting.reply(leader, ErrorCode.REQUEST_TIMED_OUT) for waiting in late
    )
    late_deletions = [
        waiting for waiting in leader.waiting_deletions if waiting.deadline_ms <= context.now_ms
    ]
    timed_out += tuple(
        waiting.reply(leader, ErrorCode.REQUEST_TIMED_OUT) for waiting in late_deletions
    )
    unanswered = [entry for entry in leader.unverified if entry.deadline_ms <= context.now_ms]
    timed_out += reject_unverified(unanswered, ErrorCode.NOT_ENOUGH_REPLICAS)
    leader = replace(
        leader,
        waiting_produces=waiting_produces,
        waiting_deletions=tuple(w for w in leader.waiting_deletions if w not in late_deletions),
        unverified=tuple(entry for entry in leader.unverified if entry not in unanswered),
        wakes_ms=None,
    )
    leader, asked = _verify_again(leader, context)
    due = [waiting for waiting in leader.waiting_fetches if waiting.deadline_ms <= context.now_ms]
    leader, empty = _answer_now(leader, context, due)
    deadlines = [waiting.deadline_ms for waiting in leader.waiting_produces]
    deadlines += [waiting.deadline_ms for waiting in leader.waiting_fetches]
    deadlines += [waiting.deadline_ms for waiting in leader.waiting_deletions]
    deadlines += [
        entry.deadline_ms if entry.again_ms is None else entry.again_ms
        for entry in leader.unverified
    ]
    leader, woken = wake_by(leader, min(deadlines)) if deadlines else (leader, ())
    return leader, timed_out + asked + empty + woken


def _verify_again(leader: Leader, context: Context) -> StepResult[Leader]:
    now_ms = context.now_ms
    due = [entry for entry in leader.unverified if (entry.again_ms or now_ms + 1) <= now_ms]
    if not due:
        return leader, ()
    entry = due[0]  # only one, because a step has only one correlation id
    others = tuple(one for one in leader.unverified if one is not entry)
    coordinator = context.coordinator_of_transaction(entry.question.transactional_id)
    if coordinator is None:
        refused = reject_unverified((entry,), ErrorCode.NOT_ENOUGH_REPLICAS)
        return replace(leader, unverified=others), refused
    sent = entry._replace(correlation=context.correlation, again_ms=None, is_guarded=True)
    question = Send(coordinator, context.correlation, entry.question)
    return replace(leader, unverified=(*others, sent)), (question,)


def lag_timer(leader: Leader, context: Context) -> SetTimer:
    timer = Timer(TimerKind.REPLICA_LAG, leader.topic_partition)
    return SetTimer(timer, context.now_ms + context.broker_settings.replica_lag_ms // 2)
