"""Replication as it was mended: KIP-101, KIP-279, KIP-320, each a few methods of its predecessor.

The last is today's. What each lets happen is a script of the catalogue of bugs: `kip-101` loses a
record that two brokers had, `kip-279` one that a stale leader's follower cuts.

Source: hachikuji/kafka-specification d68782b: Kip101, Kip279, Kip320; KIP-101, KIP-279, KIP-320.
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    all_of,
    any_of,
    exists,
    first,
    forall,
    ite,
    last,
    least_of,
    when,
)
from model.replication import LeaderEpoch, Offset, Replica, TruncateToHighWatermark


class Kip101(TruncateToHighWatermark):
    """KIP-101: the follower cuts where its last leader epoch ends in the leader's log.

    Fails strong_isr after two quick elections: epochs in a log may decrease.
    """

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        ours, theirs = s.log[follower], s.log[leader]
        hw, leader_epoch = s.replica[follower].high_watermark, ours.latest().leader_epoch
        end_of_epoch = first(
            Offset,
            lambda offset: (
                theirs.has_offset(offset) & (leader_epoch < theirs.record[offset].leader_epoch)
            ),
            default=hw,
        )
        answer = ite(
            theirs.is_empty(),
            hw,
            ite(theirs.latest().leader_epoch == leader_epoch, theirs.end_offset, end_of_epoch),
        )
        if not s.as_published:  # published: an answer beyond the follower's end disables the step
            answer = least_of(answer, ours.end_offset)
        return ite(ours.is_empty(), Offset(0), answer)


class Kip279(Kip101):
    """KIP-279: the follower cuts after the last record that both logs share.

    Fails strong_isr: the leader that it asks may be a stale one.
    """

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        ours, theirs = s.log[follower], s.log[leader]
        return ite(
            exists(ours.agrees_with(theirs, offset) for offset in Offset),
            last(Offset, lambda offset: ours.agrees_with(theirs, offset), default=Offset(0)) + 1,
            Offset(0),
        )


class Kip320(Kip279):
    """KIP-320: fetching, truncating, the high watermark and the ISR compare leader epochs.

    Both sides must be in the same one.
    """

    def is_following_epoch(s, follower: Replica, leader: Replica) -> Bool:
        return all_of(
            s.presumes_leadership(leader),
            s.is_following(follower, leader),
            s.replica[follower].leader_epoch == s.replica[leader].leader_epoch,
        )

    @action
    def follower_replicate(s, follower: Replica, leader: Replica) -> None:
        """A follower copies the next record from the leader of its own epoch."""
        when(s.is_following_epoch(follower, leader))
        s.replicate(follower, leader)

    @action
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The high watermark passes an offset once all of the ISR follows this epoch and has it."""
        hw = s.replica[leader].high_watermark
        when(
            s.log[leader].has_offset(hw),
            forall(
                s.is_following_epoch(follower, leader) & s.log[follower].has_offset(hw)
                for follower in s.replica[leader].isr
            ),
        )
        s.replica[leader].high_watermark = hw + 1

    @action
    def leader_shrink_isr(s, leader: Replica, follower: Replica) -> None:
        """The leader drops a follower that lags or follows another epoch."""
        isr = s.replica[leader].isr
        lags = s.log[follower].end_offset < s.log[leader].end_offset
        when(isr[follower], follower != leader, ~s.is_following_epoch(follower, leader) | lags)
        s.set_isr(leader, isr - {follower})

    @action
    def leader_expand_isr(s, leader: Replica, follower: Replica) -> None:
        """A follower at the high watermark joins, once that mark has reached the leader's epoch."""
        isr, hw, log = s.replica[leader].isr, s.replica[leader].high_watermark, s.log[leader]
        when(
            ~isr[follower],
            s.is_following_epoch(follower, leader),
            (hw == 0) | s.log[follower].has_offset(hw - 1),
            any_of(
                hw == log.end_offset,
                log.has_offset(hw)
                & (log.record[hw].leader_epoch == s.replica[leader].leader_epoch),
            ),
        )
        s.set_isr(leader, isr | {follower})

    @action
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica cuts its log after what it shares with a leader already in the same epoch."""
        when(s.presumes_leadership(leader), s.replica[leader].leader_epoch == leader_epoch)
        super().become_follower(follower, leader, leader_epoch)
