"""The actions of retention: the leader appends, records are deleted or compacted, followers fetch.

Each replica has a *log start*. The replica has deleted all records below its log start. Retention
raises the log start of each replica independently. A DeleteRecords request contains an offset, and
the leader raises its log start to this offset. With each fetch, a follower learns the leader's log
start. The request succeeds when the log start of every replica has reached the requested offset.

A replica may delete or compact only committed records, because other records may be truncated. If
the leader has deleted the next record that a follower must fetch, the follower deletes its whole
log. The follower's log then begins at the leader's log start.

The table lists all actions (`Next` in TLA+). No action is fair, because the spec claims no
liveness.

    leader       produce, advance_high_watermark, shrink_isr, expand_isr, elect
    deletion     expire, delete_records, answer_delete_records, compact
    followers    make_follower, fetch, truncate_fully

Simplified: retention by time or size may delete a record at any time.
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    all_of,
    exists,
    first,
    forall,
    greatest_of,
    ite,
    least_of,
    nothing,
    when,
)
from model.retention.state import (
    Key,
    LogRecord,
    Offset,
    Replica,
    RetentionState,
    same_epoch,
)


class RetentionActions(RetentionState):
    """The actions of Kafka 4.3, with one more condition for joining the ISR: the follower's log
    must begin at or after the leader's log start (`has_heard_log_start`).
    """

    # ---- the leader

    @action
    def produce(s, r: Replica, key: Key) -> None:
        """The leader appends a record with the key `key`.

        Kafka: Partition.appendRecordsToLeader.
        Simplified: a batch is one record.

        Without the guard that the replica leads, the claim `latest_values_are_kept` breaks in 3
        steps.
        """
        end = s.log[r].end_offset
        when(s.leads(r), end < s.log_size)
        s.log[r].record[end] = LogRecord(key=key, leader_epoch=s.leader_epoch)
        s.log[r].end_offset = end + 1

    @action
    def advance_high_watermark(s, r: Replica) -> None:
        """The leader commits the next record, because all members of the ISR have the record.

        Kafka: Partition.maybeIncrementLeaderHW.
        Simplified: the leader sees the followers' logs.

        Without the guard that all members have the record, the claim `latest_values_are_kept`
        breaks in 2 steps.
        """
        hw = s.log[r].high_watermark
        when(
            s.leads(r),
            forall(all_of((x == r) | s.is_following(x), hw < s.log[x].end_offset) for x in s.isr),
        )
        s.log[r].high_watermark = hw + 1
        s.committed[hw] = ite(hw < s.true_high_watermark, s.committed[hw], s.log[r].record[hw].key)
        s.true_high_watermark = greatest_of(s.true_high_watermark, hw + 1)

    @action
    def shrink_isr(s, r: Replica) -> None:
        """The leader removes a follower from the ISR, because the follower lags.

        Kafka: Partition.maybeShrinkIsr.
        Simplified: any follower may lag.

        Every claim also holds without the guard of this action.
        """
        when(s.isr[r], ~s.leads(r))
        s.isr = s.isr - {r}

    def has_heard_log_start(s, r: Replica) -> Bool:
        """Returns True if the follower's log begins at or after the leader's log start.

        Otherwise the follower may have uncommitted records below the leader's log start. No release
        of Kafka has this rule. Without this rule, the claim `latest_values_are_kept` breaks
        (version `kafka-4.3`, 8 steps).
        """
        return s.log[s.leader].log_start <= s.log[r].log_start

    @action
    def expand_isr(s, r: Replica) -> None:
        """A follower that has every committed record joins the ISR.

        Kafka: Partition.isFollowerInSync, which does not compare log starts (see
        `has_heard_log_start`).
        Simplified: the leader knows the follower's log.

        Without the guard that the follower has every committed record, the claim
        `latest_values_are_kept` breaks in 4 steps.
        """
        when(
            ~s.isr[r],
            s.is_following(r),
            s.true_high_watermark <= s.log[r].end_offset,
            s.has_heard_log_start(r),
        )
        s.isr = s.isr | {r}

    @action
    def elect(s, r: Replica) -> None:
        """A member of the ISR that is not the leader becomes leader. Clients repeat their
        unanswered DeleteRecords requests.

        Kafka: PartitionChangeBuilder.electLeader.
        Simplified: the old leader stops leading in the same step.

        Without the guard that the new leader is in the ISR, the claim `latest_values_are_kept`
        breaks in 5 steps.
        """
        when(s.isr[r], ~s.leads(r), s.leader_epoch < s.max_leader_epoch)
        leader_epoch = s.leader_epoch + 1
        s.leader = r
        s.leader_epoch = leader_epoch
        s.epoch[r] = leader_epoch
        s.requested = s.deleted  # clients repeat their requests at the new leader

    # ---- deletion

    def may_delete(s, r: Replica, end: Offset) -> Bool:
        """Returns True if every record below `end` is committed, so that the replica may delete
        these records.

        Without this rule, the claim `log_start_is_committed` breaks (bug `expires-uncommitted`, 2
        steps; KAFKA-5634).
        """
        return end <= s.log[r].high_watermark

    @action
    def expire(s, r: Replica) -> None:
        """Retention deletes a replica's oldest record, because the record is too old or the log is
        too large.

        Kafka: UnifiedLog.deleteOldSegments.
        Simplified: every record is a segment. A record may be deleted at any time.

        Without the guard `may_delete`, the claim `log_start_is_committed` breaks in 2 steps.
        """
        start = s.log[r].log_start + 1
        when(start <= s.log[r].end_offset, s.may_delete(r, start))
        s.log[r].drop_outside(start, s.log[r].end_offset)

    @action
    def delete_records(s, r: Replica, to: Offset) -> None:
        """The leader receives a DeleteRecords request, raises its log start to the offset `to`, and
        waits until the other replicas have raised their log starts.

        Kafka: Partition.deleteRecordsOnLeader.
        Simplified: the offset is at most the high watermark.

        Without this limit, the claim `log_start_is_committed` breaks in 1 step.
        """
        when(s.leads(r), s.log[r].log_start < to, to <= s.log[r].high_watermark)
        s.log[r].drop_outside(to, s.log[r].end_offset)
        s.requested = greatest_of(s.requested, to)

    def is_deleted(s, r: Replica) -> Bool:
        """Returns True if every replica, live or not, has deleted all records below the offset of
        the DeleteRecords request.

        So no later leader has these records. Kafka waits only for live replicas (bug
        `waits-for-the-live`). If it is enough that the leader has deleted the records, the claim
        `deleted_stays_deleted` breaks (bug `answers-alone`, 6 steps).
        """
        return forall(s.requested <= s.log[x].log_start for x in Replica)

    @action
    def answer_delete_records(s, r: Replica) -> None:
        """The leader answers a DeleteRecords request with success.

        Kafka: DelayedDeleteRecords.
        Simplified: the log start of every replica, live or not, must have reached the requested
        offset.

        Without this guard, the claim `deleted_stays_deleted` breaks in 6 steps.
        """
        when(s.leads(r), s.deleted < s.requested, s.is_deleted(r))
        s.deleted = s.requested

    def cleanable_end(s, r: Replica) -> Offset:
        """Returns the high watermark. Compaction reads only the records below this offset.

        Without this limit, the claim `latest_values_are_kept` breaks (bug `cleans-past-hw`, 5
        steps; KAFKA-13194).
        """
        return s.log[r].high_watermark

    @action
    def compact(s, r: Replica, offset: Offset) -> None:
        """Compaction removes the record at `offset`, because a later record has the same key.

        Kafka: LogCleaner.
        Simplified: compaction removes one record per step.

        Without the guard that a later committed record has the same key, the claim
        `latest_values_are_kept` breaks in 4 steps.
        """
        log = s.log[r]
        when(
            log.has_offset(offset),
            log.record[offset].key != nothing,
            exists(
                all_of(
                    offset < x,
                    x < s.cleanable_end(r),
                    log.record[x].key == log.record[offset].key,
                )
                for x in Offset
            ),
        )
        s.log[r].record[offset].key = nothing

    # ---- followers

    @action
    def make_follower(s, r: Replica) -> None:
        """A replica learns the leader epoch, and truncates its log from the first record that
        differs from the leader's log.

        Kafka: LeaderEpochFileCache.endOffsetFor. If the leader has deleted the records of the
        requested epoch, the leader answers with its log start.
        Simplified: the request, the answer and the truncation are one step.

        Every claim also holds without the guard of this action.
        """
        ours, theirs = s.log[r], s.log[s.leader]
        when(~s.leads(r), s.epoch[r] < s.leader_epoch)
        start = greatest_of(ours.log_start, theirs.log_start)
        parted = first(
            Offset,
            lambda x: (start <= x) & ~(theirs.has_offset(x) & same_epoch(ours, theirs, x)),
            default=ours.end_offset,
        )
        end = least_of(parted, ours.end_offset)
        s.log[r].high_watermark = least_of(ours.high_watermark, end)
        s.log[r].drop_outside(ours.log_start, end)
        s.epoch[r] = s.leader_epoch

    def start_after_fetch(s, r: Replica) -> Offset:
        """Returns the follower's log start after a fetch. It is the larger one of the follower's
        log start and the leader's log start.

        If the follower always adopts the leader's log start, the claim `log_starts_grow` breaks
        (bug `takes-leaders-start`, 6 steps).
        """
        return greatest_of(s.log[r].log_start, s.log[s.leader].log_start)

    @action
    def fetch(s, r: Replica) -> None:
        """A follower fetches: it copies the next record, the high watermark and the log start of
        the leader.

        Kafka: ReplicaFetcherThread.processPartitionData.
        Simplified: a fetch copies at most one record.

        Without the guard that the leader still has this record, the claim `log_start_is_committed`
        breaks in 5 steps.
        """
        ours, theirs = s.log[r], s.log[s.leader]
        when(s.is_following(r), theirs.log_start <= ours.end_offset)
        end, start = ours.end_offset, s.start_after_fetch(r)
        grows = theirs.has_offset(end)
        new_end = ite(grows, end + 1, end)
        for x in Offset:
            copied = ite(grows & (x == end), theirs.record[x], ours.record[x])
            s.log[r].record[x] = ite(start <= x, copied, LogRecord.blank())
        s.log[r].high_watermark = greatest_of(start, least_of(theirs.high_watermark, new_end))
        s.log[r].log_start = start
        s.log[r].end_offset = new_end

    def high_watermark_after_truncation(s, r: Replica) -> Offset:
        """Returns the new high watermark of a follower that has deleted its whole log: the leader's
        log start.

        If the follower retains its old high watermark, the claim `log_start_is_committed` breaks
        (bug `leaves-high-watermark-behind`, 5 steps; KAFKA-9491).
        """
        return s.log[s.leader].log_start

    @action
    def truncate_fully(s, r: Replica) -> None:
        """A follower deletes its whole log, because the leader has deleted the next record that the
        follower must fetch. The follower's log then begins at the leader's log start.

        Kafka: UnifiedLog.truncateFullyAndStartAt, after OFFSET_OUT_OF_RANGE.
        Simplified: the request, the answer and the truncation are one step.

        Without the guard that the leader has deleted this record, the claim
        `latest_values_are_kept` breaks in 4 steps.
        """
        start = s.log[s.leader].log_start
        when(s.is_following(r), s.log[r].end_offset < start)
        s.log[r].high_watermark = s.high_watermark_after_truncation(r)
        s.log[r].drop_outside(start, start)
