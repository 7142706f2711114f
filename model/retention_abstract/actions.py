"""The actions of abstract retention: records are appended, committed, deleted and compacted.

A replica has deleted all records below its *log start*. Each replica raises its log start
independently, and a follower also learns the leader's log start with each fetch.

The table lists all actions (`Next` in TLA+). No action is fair, because only safety is proved.

    leader       produce, advance_high_watermark, shrink_isr, shrink_to_elr, expand_isr
    elections    elect, elect_eligible
    deletion     expire, delete_records, answer_delete_records, compact
    followers    make_follower, fetch, truncate_fully
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    all_of,
    any_of,
    forall,
    greatest_of,
    implies,
    ite,
    least_of,
    when,
)
from model.retention_abstract.state import (
    AbstractRetentionState,
    Key,
    LeaderEpoch,
    Offset,
    Replica,
)


class AbstractRetentionActions(AbstractRetentionState):
    # ---- the leader

    @action
    def produce(s, key: Key, end: Offset) -> None:
        """The leader appends a record with the key `key`. Its log then ends at `end`.

        Kafka: Partition.appendRecordsToLeader.
        Simplified: a batch is one record.

        Without the guard that `end` is the next offset, the claim `an_epoch_has_one_record` breaks
        in 3 steps.
        """
        x = s.log[s.leader].end_offset
        when(end.is_next_after(x))
        s.log[s.leader].leader_epoch[x] = s.leader_epoch
        s.log[s.leader].is_compacted[x] = False
        s.log[s.leader].end_offset = end
        s.written_key[s.leader_epoch][x] = key

    def may_commit(s) -> Bool:
        """Returns True if the ELR is empty. Only then may the leader commit records. While the ELR
        has a member, the ISR is smaller than min.insync.replicas.

        Without this rule, the claim `committed_records_are_kept` breaks (bug
        `commits-below-min-isr`, 3 steps).
        """
        return forall(~s.elr[r] for r in Replica)

    @action
    def advance_high_watermark(s, next_offset: Offset) -> None:
        """The leader commits the next record, because all members of the ISR have the record.

        Kafka: Partition.maybeIncrementLeaderHW and isUnderMinIsr (KIP-966).
        Simplified: the leader sees the followers' logs.

        Without the guard that all members have the record, the claim `committed_records_are_kept`
        breaks in 1 step.
        """
        log = s.log[s.leader]
        hw = log.high_watermark
        when(
            next_offset.is_next_after(hw),
            s.may_commit(),
            forall(
                all_of((r == s.leader) | s.is_following(r), next_offset <= s.log[r].end_offset)
                for r in s.isr
            ),
        )
        s.log[s.leader].high_watermark = next_offset
        s.committed[hw] = ite(hw < s.true_high_watermark, s.committed[hw], log.leader_epoch[hw])
        s.true_high_watermark = greatest_of(s.true_high_watermark, next_offset)

    @action
    def shrink_isr(s, r: Replica) -> None:
        """The leader removes a follower from the ISR, and the follower does not join the ELR.

        Kafka: Partition.maybeShrinkIsr.
        Simplified: any follower may lag.

        Without the guard that the replica is not the leader, the claim `log_start_is_committed`
        breaks in 3 steps.
        """
        when(s.isr[r], r != s.leader)
        s.isr = s.isr - {r}

    @action
    def shrink_to_elr(s, r: Replica) -> None:
        """The leader removes a follower from the ISR, which is then smaller than
        min.insync.replicas. So the follower joins the ELR.

        Kafka: PartitionChangeBuilder.maybePopulateTargetElr (KIP-966).
        Simplified: the removal of any follower may make the ISR too small.

        Without the guard that the follower is in the ISR, the claim `committed_records_are_kept`
        breaks in 4 steps.
        """
        when(s.isr[r], r != s.leader)
        s.isr = s.isr - {r}
        s.elr = s.elr | {r}

    def has_log_start(s, r: Replica) -> Bool:
        """Returns True if the follower's log begins at or after the leader's log start.

        Otherwise the follower may have uncommitted records below the leader's log start. No release
        of Kafka has this rule. Without this rule, the claim `committed_records_are_kept` breaks
        (version `kafka-4.3`, 8 steps).
        """
        return s.log[s.leader].log_start <= s.log[r].log_start

    @action
    def expand_isr(s, r: Replica) -> None:
        """A follower that has every committed record joins the ISR. The ISR then has
        min.insync.replicas members, so the ELR becomes empty.

        Kafka: Partition.isFollowerInSync, PartitionChangeBuilder.maybePopulateTargetElr.
        Simplified: the leader knows the follower's log; one more member is always enough for
        min.insync.replicas.

        Without the guard that the follower has every committed record, the claim
        `committed_records_are_kept` breaks in 4 steps.
        """
        when(
            ~s.isr[r],
            s.is_following(r),
            s.true_high_watermark <= s.log[r].end_offset,
            s.has_log_start(r),
        )
        s.isr = s.isr | {r}
        for x in Replica:
            s.elr[x] = False

    # ---- elections

    def begin_epoch(s, r: Replica, newer: LeaderEpoch) -> None:
        s.leader = r
        s.leader_epoch = newer
        s.epoch[r] = newer
        s.requested = s.deleted  # clients repeat their requests at the new leader

    @action
    def elect(s, r: Replica, newer: LeaderEpoch) -> None:
        """Another member of the ISR becomes leader. Clients repeat their unanswered DeleteRecords
        requests.

        Kafka: PartitionChangeBuilder.electLeader.
        Simplified: the old leader stops leading in the same step.

        Without the guard that the new leader is in the ISR, the claim `committed_records_are_kept`
        breaks in 5 steps.
        """
        when(s.isr[r], r != s.leader, s.leader_epoch < newer)
        s.begin_epoch(r, newer)

    @action
    def elect_eligible(s, r: Replica, newer: LeaderEpoch) -> None:
        """All members of the ISR stop, and a member of the ELR becomes leader.

        Kafka: PartitionChangeBuilder.electLeader (KIP-966).
        Simplified: the members of the ISR stop in the same step, and join the ELR.

        Without the guard that the new leader is in the ELR, the claim `committed_records_are_kept`
        breaks in 4 steps.
        """
        when(s.elr[r], s.leader_epoch < newer)
        for x in Replica:
            s.elr[x] = (x != r) & s.is_eligible(x)
            s.isr[x] = x == r
        s.begin_epoch(r, newer)

    # ---- deletion

    def raise_log_start(s, r: Replica, to: Offset) -> None:
        s.log[r].log_start = to
        s.largest_start[r] = greatest_of(s.largest_start[r], to)

    def may_delete(s, r: Replica, start: Offset) -> Bool:
        """Returns True if every record below `start` is committed, so that the replica may delete
        these records.

        Without this rule, the claim `log_start_is_committed` breaks (bug `expires-uncommitted`, 2
        steps; KAFKA-5634).
        """
        return start <= s.log[r].high_watermark

    @action
    def expire(s, r: Replica, start: Offset) -> None:
        """Retention deletes a replica's records below `start`, because they are too old or the log
        is too large.

        Kafka: UnifiedLog.deleteOldSegments.
        Simplified: records may be deleted at any time.

        Without the guard `may_delete`, the claim `log_start_is_committed` breaks in 2 steps.
        """
        when(s.log[r].log_start < start, start <= s.log[r].end_offset, s.may_delete(r, start))
        s.raise_log_start(r, start)

    @action
    def delete_records(s, to: Offset) -> None:
        """The leader receives a DeleteRecords request and raises its log start to the offset `to`.

        Kafka: Partition.deleteRecordsOnLeader.
        Simplified: the leader remembers only the largest requested offset.

        Without the guard that the offset is at most the high watermark, the claim
        `log_start_is_committed` breaks in 1 step.
        """
        log = s.log[s.leader]
        when(log.log_start < to, to <= log.high_watermark)
        s.raise_log_start(s.leader, to)
        s.requested = greatest_of(s.requested, to)

    def is_deleted(s) -> Bool:
        """Returns True if every replica that may be elected has deleted all records below the
        offset of the DeleteRecords request.

        Kafka waits only for live replicas (bug `waits-for-the-live`, 6 steps). If it is enough that
        the leader has deleted the records, the claim `deleted_stays_deleted` breaks (bug
        `answers-alone`, 5 steps).
        """
        return forall(implies(s.is_eligible(r), s.requested <= s.log[r].log_start) for r in Replica)

    @action
    def answer_delete_records(s) -> None:
        """The leader answers a DeleteRecords request with success.

        Kafka: DelayedDeleteRecords.
        Simplified: one answer belongs to all requests so far.

        Without the guard `is_deleted`, the claim `deleted_stays_deleted` breaks in 5 steps.
        """
        when(s.deleted < s.requested, s.is_deleted())
        s.deleted = s.requested

    def cleanable_end(s, r: Replica) -> Offset:
        """Returns the high watermark. Compaction reads only the records below this offset.

        Without this limit, the claim `latest_values_are_kept` breaks (bug `cleans-past-hw`, 3
        steps; KAFKA-13194).
        """
        return s.log[r].high_watermark

    @action
    def compact(s, r: Replica, x: Offset, later: Offset) -> None:
        """Compaction removes the record at `x`, because the record at `later` has the same key.

        Kafka: LogCleaner.
        Simplified: compaction removes one record per step.

        Without the guard that both records have the same key, the claim `latest_values_are_kept`
        breaks in 6 steps.
        """
        log = s.log[r]
        when(
            log.has_offset(x),
            x < later,
            later < s.cleanable_end(r),
            s.written_key[log.leader_epoch[x]][x] == s.written_key[log.leader_epoch[later]][later],
        )
        s.log[r].is_compacted[x] = True

    # ---- followers

    @action
    def make_follower(s, r: Replica, end: Offset) -> None:
        """A replica learns the leader epoch, and truncates its log to `end`: the first offset at
        which it differs from the leader's log.

        Kafka: LeaderEpochFileCache.endOffsetFor. If the leader has deleted the records of the
        requested epoch, the leader answers with its log start.
        Simplified: the request, the answer and the truncation are one step. Only offsets at or
        after both log starts are compared.

        Without the guard that the logs agree below `end`, the claim `committed_records_are_kept`
        breaks in 5 steps.
        """
        log = s.log[r]
        when(
            r != s.leader,
            s.epoch[r] < s.leader_epoch,
            end <= log.end_offset,
            forall(
                implies(s.is_in_both(r, x) & (x < end), s.is_as_the_leaders(r, x)) for x in Offset
            ),
            any_of(
                end == log.end_offset,
                s.is_in_both(r, end) & ~s.is_as_the_leaders(r, end),
            ),
        )
        s.log[r].high_watermark = least_of(log.high_watermark, end)
        s.log[r].end_offset = end
        s.epoch[r] = s.leader_epoch

    def start_after_fetch(s, r: Replica) -> Offset:
        """Returns the follower's log start after a fetch. It is the larger one of the follower's
        log start and the leader's log start.

        If the follower always adopts the leader's log start, the claim `log_starts_grow` breaks
        (bug `takes-leaders-start`, 6 steps).
        """
        return greatest_of(s.log[r].log_start, s.log[s.leader].log_start)

    @action
    def fetch(s, r: Replica, end: Offset) -> None:
        """A follower fetches: it copies the next record, if there is one, and learns the high
        watermark and the log start of the leader. The follower's log then ends at `end`.

        Kafka: ReplicaFetcherThread.processPartitionData.
        Simplified: a fetch copies at most one record.

        Without the guard that the leader still has this record, the claim `log_start_is_committed`
        breaks in 5 steps.
        """
        ours, theirs = s.log[r], s.log[s.leader]
        x, start = ours.end_offset, s.start_after_fetch(r)
        when(
            s.is_following(r),
            theirs.log_start <= x,
            any_of(end == x, (x < theirs.end_offset) & end.is_next_after(x)),
        )
        s.log[r].leader_epoch[x] = theirs.leader_epoch[x]
        s.log[r].is_compacted[x] = theirs.is_compacted[x]
        s.log[r].end_offset = end
        s.log[r].high_watermark = greatest_of(start, least_of(theirs.high_watermark, end))
        s.raise_log_start(r, start)

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
        `committed_records_are_kept` breaks in 4 steps.
        """
        start = s.log[s.leader].log_start
        when(s.is_following(r), s.log[r].end_offset < start)
        s.log[r].high_watermark = s.high_watermark_after_truncation(r)
        s.log[r].end_offset = start
        s.raise_log_start(r, start)
