"""DOC retention actions"""

from __future__ import annotations

from model.language import Bool, action, all_of, exists, first, forall, ite, least_of, nothing, when
from model.retention.state import (
    Key,
    LogRecord,
    Offset,
    Replica,
    RetentionState,
    later_of,
    same_epoch,
)


class RetentionActions(RetentionState):
    """DOC RetentionActions"""

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
        s.requested = s.deleted  # who asked the old leader is told to ask again

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
        s.requested = later_of(s.requested, to)

    def is_deleted(s, r: Replica) -> Bool:
        """All replicas have the log start: whoever is elected, it does not go back."""
        return forall(s.requested <= s.log[x].log_start for x in Replica)

    @action
    def answer_delete_records(s, r: Replica) -> None:
        """DeleteRecords is done."""
        when(s.leads(r), s.deleted < s.requested, s.is_deleted(r))
        s.deleted = s.requested

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
    def make_follower(s, r: Replica) -> None:
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

    def high_watermark_after_truncation(s, r: Replica) -> Offset:
        """The high watermark is not left below the log."""
        return s.log[s.leader].log_start

    @action
    def truncate_fully(s, r: Replica) -> None:
        """The leader has deleted the follower's next record: it drops all, and begins there."""
        start = s.log[s.leader].log_start
        when(s.is_following(r), s.log[r].end_offset < start)
        s.log[r].high_watermark = s.high_watermark_after_truncation(r)
        s.log[r].drop_outside(start, start)
