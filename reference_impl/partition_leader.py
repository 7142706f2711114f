"""The leader of a topic partition: it appends, waits for its followers, and moves the high
watermark.

    produce -> append -> wait until the high watermark passes -> acknowledge
    fetch of a follower -> note how far it is -> the high watermark may move -> answer who waited

A produce request with acks=all waits here until the high watermark passes its last record, its time
is up, or the leadership ends. In the last two cases the record stays in the log: the outcome is
unknown, not a failure.

Source: KIP-101, KIP-966; protocol rules A1, A4, A7, A10, section c.
Simplified: one record batch a request, as clients have sent since Kafka 0.11; no transactions; no
throttling. A leader that is chosen again in a newer leader epoch resigns first, so who waited is
told that it leads no more; Kafka lets them wait on. The high watermark is also looked at with each
check for followers that lag, not only with the next fetch or append.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from model.vocabulary import NO_PRODUCER_ID, BrokerId, Offset, TopicPartition
from reference_impl.bugs import (
    LOST_EVERY,
    REORDERED_BY,
    REORDERED_EVERY,
    ZERO_OFFSET_EVERY,
    Bug,
)
from reference_impl.in_sync_replicas import InSyncReplicas
from reference_impl.messages import (
    ACKS_ALL,
    ACKS_LEADER,
    ACKS_NONE,
    CONTROLLER,
    AlteredPartition,
    AlterPartition,
    ErrorCode,
    Fetch,
    Fetched,
    PartitionState,
    Produce,
    Produced,
)
from reference_impl.partition_log import Batch, PartitionLog
from reference_impl.producer_state import Duplicate, Fresh, Judgement, ProducerStates, Refused
from reference_impl.record_batch import CorruptBatch, Header, batches, stamped, verified
from reference_impl.step import Effect, Effects, Readable, Send, SetTimer, Timer, TimerKind
from reference_impl.surroundings import Requester, Surroundings


class WaitingProduce(NamedTuple):
    """An acks=all request that is in the log and not yet replicated."""

    requester: Requester
    base_offset: Offset
    next_offset: Offset  # the high watermark has to reach it
    deadline_ms: int


class WaitingFetch(NamedTuple):
    """A fetch that found nothing to give."""

    requester: Requester
    request: Fetch
    deadline_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """One topic partition under its leader, in one leader epoch."""

    topic_partition: TopicPartition
    log: PartitionLog
    producers: ProducerStates
    in_sync: InSyncReplicas
    epoch_start: Offset  # the end offset at which this leader epoch began
    waiting_produces: tuple[WaitingProduce, ...] = ()
    waiting_fetches: tuple[WaitingFetch, ...] = ()
    wakes_ms: int | None = None  # when the next timer for waiting requests fires
    appends: int = 0  # counted for the seeded bugs
    acknowledgements: int = 0
    end_offset_questions: int = 0

    @property
    def state(self) -> PartitionState:
        """What the controller decided, as far as the leader knows."""
        return self.in_sync.state


Led = tuple[Leader, Effects]


def become_leader(
    topic_partition: TopicPartition,
    log: PartitionLog,
    producers: ProducerStates,
    state: PartitionState,
    around: Surroundings,
) -> Led:
    """A new leader: its epoch starts where its log ends; its high watermark may lag for a while."""
    leader = Leader(
        topic_partition=topic_partition,
        log=log,
        producers=producers,
        in_sync=InSyncReplicas.of_new_leader(state, around),
        epoch_start=log.end_offset,
    )
    leader, settled = settle(leader, around)
    return leader, (*settled, _lag_timer(leader, around), Readable(topic_partition))


def resign(leader: Leader) -> Effects:
    """What is owed to those who wait when the leadership ends."""
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    topic_partition = leader.topic_partition
    return (
        *(waiting.requester.reply(Produced(error=error)) for waiting in leader.waiting_produces),
        *(
            waiting.requester.reply(Fetched(topic_partition=topic_partition, error=error))
            for waiting in leader.waiting_fetches
        ),
        Readable(topic_partition),
    )


# ---------------------------------------------------------------- appending


def produce(leader: Leader, around: Surroundings, requester: Requester, request: Produce) -> Led:
    """The batch is appended, recognized as a duplicate, or refused."""
    head = _acceptable(leader, request)
    if isinstance(head, ErrorCode):
        return leader, _unless_acks_none(request, requester, head)
    match _judged(leader, head, around):
        case Refused(error):
            return leader, _unless_acks_none(request, requester, error)
        case Duplicate(batch):
            # A duplicate waits like the original: it may not be replicated yet.
            return _await_replication(
                leader, around, requester, request, batch.base_offset, batch.next_offset
            )
        case Fresh():
            return _append(leader, around, requester, request)


def _acceptable(leader: Leader, request: Produce) -> Header | ErrorCode:
    """The header of the one batch in the request, or the first reason to refuse it."""
    if request.acks not in {ACKS_NONE, ACKS_LEADER, ACKS_ALL}:
        return ErrorCode.INVALID_REQUIRED_ACKS
    if request.acks == ACKS_ALL and leader.in_sync.below_minimum:
        # Refused before anything is written: availability is given up, not durability.
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
        (head.is_transactional, ErrorCode.INVALID_TXN_STATE),
        (is_idempotent and head.producer_epoch < 0, ErrorCode.INVALID_RECORD),
        (is_idempotent and head.base_sequence < 0, ErrorCode.INVALID_RECORD),
    )
    return next((error for applies, error in reasons if applies), head)


def _judged(leader: Leader, head: Header, around: Surroundings) -> Judgement:
    if Bug.NO_DEDUP in around.bugs:
        return Fresh()
    return leader.producers.judge(head, never_written=leader.log.end_offset == 0)


def _append(leader: Leader, around: Surroundings, requester: Requester, request: Produce) -> Led:
    base_offset = leader.log.end_offset
    batch = Batch.of(
        stamped(request.batches, base_offset=base_offset, leader_epoch=leader.state.leader_epoch)
    )
    appends = leader.appends + 1
    producers = leader.producers.after(batch.header)
    if Bug.LOST_APPEND in around.bugs and appends % LOST_EVERY == 0:
        log = leader.log.leave_hole(batch.header.record_count)
        leader = replace(leader, log=log, producers=producers, appends=appends)
        return _acknowledge(leader, around, requester, request, base_offset)
    leader = replace(leader, log=leader.log.append(batch), producers=producers, appends=appends)
    leader, answered = _await_replication(
        leader, around, requester, request, base_offset, batch.header.next_offset
    )
    leader, settled = settle(leader, around)
    return leader, answered + settled


def _await_replication(
    leader: Leader,
    around: Surroundings,
    requester: Requester,
    request: Produce,
    base_offset: Offset,
    next_offset: Offset,
) -> Led:
    at_once = request.acks != ACKS_ALL or leader.log.high_watermark >= next_offset
    if at_once or Bug.ACK_BEFORE_REPLICATION in around.bugs:
        return _acknowledge(leader, around, requester, request, base_offset)
    waiting = WaitingProduce(
        requester, base_offset, next_offset, around.now_ms + request.timeout_ms
    )
    leader = replace(leader, waiting_produces=(*leader.waiting_produces, waiting))
    return wake_by(leader, waiting.deadline_ms)


def _acknowledge(
    leader: Leader,
    around: Surroundings,
    requester: Requester,
    request: Produce,
    base_offset: Offset,
) -> Led:
    if request.acks == ACKS_NONE:
        return leader, ()
    leader, told = _told_offset(leader, around, base_offset)
    produced = Produced(base_offset=told, log_start_offset=leader.log.log_start)
    return leader, (requester.reply(produced),)


def _told_offset(
    leader: Leader, around: Surroundings, base_offset: Offset
) -> tuple[Leader, Offset]:
    """The offset that an acknowledgement tells: the true one, but for the seeded bugs."""
    count = leader.acknowledgements + 1
    if Bug.ZERO_OFFSET_ACK in around.bugs and count % ZERO_OFFSET_EVERY == 0:
        base_offset = Offset(0)
    if Bug.REORDERED_ACK_OFFSET in around.bugs and count % REORDERED_EVERY == 0:
        base_offset = Offset(max(0, base_offset - REORDERED_BY))
    return replace(leader, acknowledgements=count), base_offset


def _unless_acks_none(request: Produce, requester: Requester, error: ErrorCode) -> Effects:
    return () if request.acks == ACKS_NONE else (requester.reply(Produced(error=error)),)


# ---------------------------------------------------------------- the high watermark


def settle(leader: Leader, around: Surroundings) -> Led:
    """The high watermark moves as far as it may, and whoever waited for that is answered."""
    effects: Effects = ()
    high_watermark = leader.in_sync.replicated_up_to(leader.log.end_offset, around)
    if high_watermark > leader.log.high_watermark:
        leader = replace(leader, log=leader.log.with_high_watermark(high_watermark))
        leader, effects = _answer_replicated(leader, around)
        effects = (*effects, Readable(leader.topic_partition))
    leader, fetched = _answer_fetches(leader, around)
    return leader, effects + fetched


def _answer_replicated(leader: Leader, around: Surroundings) -> Led:
    effects: list[Effect] = []
    still: list[WaitingProduce] = []
    for waiting in leader.waiting_produces:
        if waiting.next_offset > leader.log.high_watermark:
            still.append(waiting)
        elif len(leader.in_sync.maximal) < leader.in_sync.min_insync_replicas:
            error = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
            effects.append(waiting.requester.reply(Produced(error=error)))
        else:
            leader, told = _told_offset(leader, around, waiting.base_offset)
            produced = Produced(base_offset=told, log_start_offset=leader.log.log_start)
            effects.append(waiting.requester.reply(produced))
    return replace(leader, waiting_produces=tuple(still)), tuple(effects)


def _answer_fetches(leader: Leader, around: Surroundings) -> Led:
    """Those fetches that waited and now find something; a follower waits for records only."""
    found = [waiting for waiting in leader.waiting_fetches if read(leader, around, waiting.request)]
    return _answer_now(leader, around, found) if found else (leader, ())


def _answer_now(leader: Leader, around: Surroundings, answered: list[WaitingFetch]) -> Led:
    still = tuple(waiting for waiting in leader.waiting_fetches if waiting not in answered)
    leader = replace(leader, waiting_fetches=still)
    effects: list[Effect] = []
    for waiting in answered:
        request = waiting.request
        leader = tell_high_watermark(leader, request, leader.log.high_watermark)
        fetched = Fetched(
            topic_partition=leader.topic_partition,
            high_watermark=leader.log.high_watermark,
            log_start_offset=leader.log.log_start,
            batches=read(leader, around, request),
        )
        effects.append(waiting.requester.reply(fetched))
    return leader, tuple(effects)


def read(leader: Leader, around: Surroundings, request: Fetch) -> bytes:
    """What there is to give: a follower reads to the end, a consumer below the high watermark."""
    log = leader.log
    is_follower = request.replica_id >= 0
    to_the_end = is_follower or Bug.READ_ABOVE_HIGH_WATERMARK in around.bugs
    below = log.end_offset if to_the_end else log.high_watermark
    if request.fetch_offset >= below:
        return b""
    return log.read(request.fetch_offset, below=below, max_bytes=request.max_bytes)


def tell_high_watermark(leader: Leader, request: Fetch, high_watermark: Offset) -> Leader:
    """The leader remembers which high watermark it told a follower."""
    remote = leader.in_sync.remotes.get(request.replica_id)
    if remote is None or remote.told_high_watermark == high_watermark:
        return leader
    told = replace(remote, told_high_watermark=high_watermark)
    return replace(leader, in_sync=leader.in_sync.with_remote(request.replica_id, told))


# ---------------------------------------------------------------- time


def wake_by(leader: Leader, deadline_ms: int) -> Led:
    """The timer for waiting requests fires no later than this."""
    if leader.wakes_ms is not None and leader.wakes_ms <= deadline_ms:
        return leader, ()
    timer = Timer(TimerKind.WAITS, leader.topic_partition)
    return replace(leader, wakes_ms=deadline_ms), (SetTimer(timer, deadline_ms),)


def on_waits_timer(leader: Leader, around: Surroundings) -> Led:
    """Requests that have waited long enough are answered: produces with an error, fetches empty."""
    late = [waiting for waiting in leader.waiting_produces if waiting.deadline_ms <= around.now_ms]
    patient = tuple(waiting for waiting in leader.waiting_produces if waiting not in late)
    timed_out: Effects = tuple(
        waiting.requester.reply(Produced(error=ErrorCode.REQUEST_TIMED_OUT)) for waiting in late
    )
    leader = replace(leader, waiting_produces=patient, wakes_ms=None)
    due = [waiting for waiting in leader.waiting_fetches if waiting.deadline_ms <= around.now_ms]
    leader, empty = _answer_now(leader, around, due)
    deadlines = [waiting.deadline_ms for waiting in leader.waiting_produces]
    deadlines += [waiting.deadline_ms for waiting in leader.waiting_fetches]
    leader, woken = wake_by(leader, min(deadlines)) if deadlines else (leader, ())
    return leader, timed_out + empty + woken


def on_lag_timer(leader: Leader, around: Surroundings) -> Led:
    """Followers that lag are proposed to leave; a proposal without an answer is sent again."""
    timer = _lag_timer(leader, around)
    if leader.in_sync.proposal is not None:
        leader, sent = _send(leader, leader.in_sync.proposal, around)
        return leader, (*sent, timer)
    lagging = leader.in_sync.lagging(leader.log.end_offset, around)
    if lagging:
        isr = tuple(broker for broker in leader.state.isr if broker not in lagging)
        leader, effects = propose(leader, around, isr)
    else:
        # Time alone may let the high watermark move: a replica outside the ISR that had kept up is
        # no longer waited for.
        leader, effects = settle(leader, around)
    return leader, (*effects, timer)


def propose(leader: Leader, around: Surroundings, isr: tuple[BrokerId, ...]) -> Led:
    """The leader asks the controller for another ISR, and counts on both until it knows."""
    return _send(leader, leader.in_sync.proposing(leader.topic_partition, isr, around), around)


def _send(leader: Leader, proposal: AlterPartition, around: Surroundings) -> Led:
    in_sync = leader.in_sync.sent(proposal, around.correlation)
    return replace(leader, in_sync=in_sync), (Send(CONTROLLER, around.correlation, proposal),)


def on_altered(
    leader: Leader, around: Surroundings, correlation: int, answer: AlteredPartition
) -> Led:
    """The controller has answered a proposal."""
    in_sync = leader.in_sync.answered(correlation, answer)
    return settle(replace(leader, in_sync=in_sync), around)


def on_state(leader: Leader, around: Surroundings, state: PartitionState) -> Led:
    """Newer metadata of the same leader epoch: the ISR may have changed."""
    return settle(replace(leader, in_sync=leader.in_sync.decided(state)), around)


def _lag_timer(leader: Leader, around: Surroundings) -> SetTimer:
    timer = Timer(TimerKind.REPLICA_LAG, leader.topic_partition)
    return SetTimer(timer, around.now_ms + around.patience.replica_lag_ms // 2)
