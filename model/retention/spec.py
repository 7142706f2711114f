"""A log loses its old end to retention and to DeleteRecords, and old values to compaction.

Each replica has a *log start offset*, below which records are deleted. Retention moves it on every
replica by itself, DeleteRecords on the leader, and followers learn the leader's with each fetch;
DeleteRecords is done when all have it. Compaction drops a record whose key has a later one. None of
them may touch what is not committed: it may yet be truncated. A follower that was away so long that
the leader no longer has its next record drops its log, and starts anew at the leader's log start.

Source: KIP-107 (DeleteRecords), KIP-320; kafka 3.7 UnifiedLog, LogCleanerManager,
ReplicaFetcherThread.
Simplified: every record is a segment. A deposed leader stops at once (`replication` is about that),
and only a member of the ISR is elected. Logs are compared by the epochs of their records, and an
epoch is not forgotten with the value that compaction drops. Retention, by time or size, may come at
any time. No transactions: what bounds compaction is the high watermark, of which the last stable
offset would be the lesser part.
"""

from __future__ import annotations

from typing import Annotated, Self

from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Record,
    Scope,
    Set,
    Sort,
    Spec,
    action,
    action_property,
    all_of,
    everything,
    exists,
    first,
    forall,
    implies,
    invariant,
    ite,
    least_of,
    nothing,
    when,
    witness,
)


class Replica(Sort):
    """A broker that keeps a copy of the partition."""

    prefix = "b"


class Key(Sort):
    """Of the records with a key, compaction keeps the last."""

    prefix = "k"


class Offset(Int):
    """A position in a log, or the end of one."""


class LeaderEpoch(Int):
    """Counts elections."""


class LogRecord(Record):
    key: Key | Nothing  # nothing: compaction has dropped it
    leader_epoch: LeaderEpoch


class Log(Record):
    """What a replica has: records from the log start offset to the end, blank elsewhere."""

    log_start: Offset
    end_offset: Offset
    high_watermark: Offset
    record: Map[Offset, LogRecord]

    def has_offset(self, offset: Offset) -> Bool:
        return (self.log_start <= offset) & (offset < self.end_offset)

    def drop_outside(self, start: Offset, end: Offset) -> None:
        """Blanks what is not between the two, and moves the log's ends there."""
        for x in Offset:
            inside = (start <= x) & (x < end)
            self.record[x] = ite(inside, self.record[x], LogRecord.blank())
        self.log_start = start
        self.end_offset = end


class Retention(Spec):
    """Kafka as of 3.7; but who joins the ISR has heard of the leader's log start.

    Without that, which Kafka does not ask for, `joins-with-old-records` is what happens.
    """

    replicas: Annotated[int, range(1, 10)] = 2
    keys: Annotated[int, range(1, 10)] = 2
    log_size: Annotated[int, range(1, 20)] = 2
    max_leader_epoch: Annotated[int, range(20)] = 1

    log: Map[Replica, Log]
    epoch: Map[Replica, LeaderEpoch]  # in which a replica leads or follows
    leader: Replica
    leader_epoch: LeaderEpoch
    isr: Set[Replica]
    # what happened
    committed: Map[Offset, Key | Nothing]
    true_high_watermark: Offset  # the greatest that a leader reached
    asked: Offset  # below it, DeleteRecords was accepted
    deleted: Offset  # below it, DeleteRecords was answered to be done

    def scope(s) -> Scope:
        return {
            Replica: s.replicas,
            Key: s.keys,
            Offset: range(s.log_size + 1),
            LeaderEpoch: range(s.max_leader_epoch + 1),
        }

    def init(s, leader: Replica) -> None:
        s.leader = leader
        s.isr = everything(Replica)

    # ---- words

    def is_following(s, r: Replica) -> Bool:
        """It has cut its log for the present epoch, and fetches."""
        return (r != s.leader) & (s.epoch[r] == s.leader_epoch)

    def leads(s, r: Replica) -> Bool:
        return r == s.leader

    # ---- the leader

    @action
    def produce(s, r: Replica, key: Key) -> None:
        """The leader appends."""
        end = s.log[r].end_offset
        when(s.leads(r), end < s.log_size)
        s.log[r].record[end] = LogRecord(key=key, leader_epoch=s.leader_epoch)
        s.log[r].end_offset = end + 1

    @action
    def advance_high_watermark(s, r: Replica) -> None:
        """All of the ISR has the record: it is committed."""
        hw = s.log[r].high_watermark
        when(
            s.leads(r),
            hw < s.log[r].end_offset,
            forall(all_of((x == r) | s.is_following(x), hw < s.log[x].end_offset) for x in s.isr),
        )
        s.log[r].high_watermark = hw + 1
        s.committed[hw] = ite(hw < s.true_high_watermark, s.committed[hw], s.log[r].record[hw].key)
        s.true_high_watermark = later_of(s.true_high_watermark, hw + 1)

    @action
    def shrink_isr(s, r: Replica) -> None:
        """A follower that lags leaves the ISR."""
        when(s.isr[r], ~s.leads(r))
        s.isr = s.isr - {r}

    def has_heard_log_start(s, r: Replica) -> Bool:
        """Below the leader's log start a follower may have what was never committed."""
        return s.log[s.leader].log_start <= s.log[r].log_start

    @action
    def expand_isr(s, r: Replica) -> None:
        """A follower that has all that is committed joins the ISR."""
        when(
            ~s.isr[r],
            s.is_following(r),
            s.true_high_watermark <= s.log[r].end_offset,
            s.has_heard_log_start(r),
        )
        s.isr = s.isr | {r}

    @action
    def elect(s, r: Replica) -> None:
        """Another member of the ISR leads."""
        when(s.isr[r], ~s.leads(r), s.leader_epoch < s.max_leader_epoch)
        leader_epoch = s.leader_epoch + 1
        s.leader = r
        s.leader_epoch = leader_epoch
        s.epoch[r] = leader_epoch
        s.asked = s.deleted  # who asked the old leader is told to ask again

    # ---- what deletes

    def may_delete(s, r: Replica, end: Offset) -> Bool:
        """What is not committed may yet be truncated: it is not deleted."""
        return end <= s.log[r].high_watermark

    @action
    def expire(s, r: Replica) -> None:
        """The oldest record is too old, or the log too large."""
        start = s.log[r].log_start + 1
        when(start <= s.log[r].end_offset, s.may_delete(r, start))
        s.log[r].drop_outside(start, s.log[r].end_offset)

    @action
    def delete_records(s, r: Replica, to: Offset) -> None:
        """DeleteRecords: the leader moves its log start, and then waits for all replicas."""
        when(s.leads(r), s.log[r].log_start < to, to <= s.log[r].high_watermark)
        s.log[r].drop_outside(to, s.log[r].end_offset)
        s.asked = later_of(s.asked, to)

    def is_deleted(s, r: Replica) -> Bool:
        """All replicas have the log start: whoever is elected, it does not go back."""
        return forall(s.asked <= s.log[x].log_start for x in Replica)

    @action
    def answer_delete_records(s, r: Replica) -> None:
        """DeleteRecords is done."""
        when(s.leads(r), s.deleted < s.asked, s.is_deleted(r))
        s.deleted = s.asked

    def cleanable_end(s, r: Replica) -> Offset:
        """Below it compaction may drop, and trusts what is later."""
        return s.log[r].high_watermark

    @action
    def compact(s, r: Replica, offset: Offset) -> None:
        """A record gives way to a later one with its key."""
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
    def follow(s, r: Replica) -> None:
        """A replica hears of the leader epoch, and cuts its log where the two part."""
        ours, theirs = s.log[r], s.log[s.leader]
        when(~s.leads(r), s.epoch[r] < s.leader_epoch)
        start = later_of(ours.log_start, theirs.log_start)
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
        return later_of(s.log[r].log_start, s.log[s.leader].log_start)

    @action
    def fetch(s, r: Replica) -> None:
        """A follower copies the next record, if there is one, and hears of both marks."""
        ours, theirs = s.log[r], s.log[s.leader]
        when(s.is_following(r), theirs.log_start <= ours.end_offset)
        end, start = ours.end_offset, s.start_after_fetch(r)
        grows = theirs.has_offset(end)
        new_end = ite(grows, end + 1, end)
        for x in Offset:
            copied = ite(grows & (x == end), theirs.record[x], ours.record[x])
            s.log[r].record[x] = ite(start <= x, copied, LogRecord.blank())
        s.log[r].high_watermark = later_of(start, least_of(theirs.high_watermark, new_end))
        s.log[r].log_start = start
        s.log[r].end_offset = new_end

    def mark_after_restart(s, r: Replica) -> Offset:
        """The high watermark is not left below the log."""
        return s.log[s.leader].log_start

    @action
    def start_anew(s, r: Replica) -> None:
        """The leader has deleted the follower's next record: it drops all, and begins there."""
        start = s.log[s.leader].log_start
        when(s.is_following(r), s.log[r].end_offset < start)
        s.log[r].high_watermark = s.mark_after_restart(r)
        s.log[r].drop_outside(start, start)

    # ---- what is claimed

    @invariant
    def log_start_is_committed(s) -> Bool:
        """On every replica the log starts at or below its high watermark, which is in the log."""
        return forall(
            all_of(
                s.log[r].log_start <= s.log[r].high_watermark,
                s.log[r].high_watermark <= s.log[r].end_offset,
            )
            for r in Replica
        )

    def is_latest(s, x: Offset) -> Bool:
        """No later record with its key is committed."""
        return all_of(
            x < s.true_high_watermark,
            forall(
                implies(all_of(x < y, y < s.true_high_watermark), s.committed[y] != s.committed[x])
                for y in Offset
            ),
        )

    @invariant
    def latest_values_are_kept(s) -> Bool:
        """The last committed record of each key is on all of the ISR, unless it was deleted."""
        return forall(
            implies(
                s.is_latest(x) & (s.log[r].log_start <= x),
                s.log[r].record[x].key == s.committed[x],
            )
            for r in s.isr
            for x in Offset
        )

    @invariant
    def deleted_stays_deleted(s) -> Bool:
        """What DeleteRecords said to be deleted is below the log start of whoever leads."""
        return s.deleted <= s.log[s.leader].log_start

    @action_property
    def log_starts_grow(s, after: Self) -> Bool:
        """A replica's log start never goes back."""
        return forall(s.log[r].log_start <= after.log[r].log_start for r in Replica)

    # ---- what must be possible

    @witness
    def a_follower_is_too_far_behind(s) -> Bool:
        """What a follower would fetch next, the leader has deleted."""
        return exists(
            s.is_following(r) & (s.log[r].end_offset < s.log[s.leader].log_start) for r in Replica
        )

    @witness
    def a_value_gave_way(s) -> Bool:
        """A committed record was dropped for a later one, which stays."""
        return exists(
            all_of(
                s.log[s.leader].has_offset(x),
                s.log[s.leader].record[x].key == nothing,
                s.committed[x] != nothing,
            )
            for x in Offset
        )

    @witness
    def records_are_deleted(s) -> Bool:
        """DeleteRecords was answered."""
        return s.deleted > 0

    @witness
    def a_leader_lags_what_is_deleted(s) -> Bool:
        """A new leader's high watermark is below a follower's log start."""
        return exists(s.log[s.leader].high_watermark < s.log[r].log_start for r in Replica)


def later_of(a: Offset, b: Offset) -> Offset:
    return ite(a <= b, b, a)


def same_epoch(a: Log, b: Log, offset: Offset) -> Bool:
    """Both have the record, of one leader epoch: it is the same record."""
    return a.has_offset(offset) & (a.record[offset].leader_epoch == b.record[offset].leader_epoch)
