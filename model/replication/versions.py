"""Replication as it was mended: KIP-101, KIP-279, KIP-320, KIP-595; each a few methods of another.

The last is today's. What each lets happen is a script of the catalogue of bugs: `kip-101` loses a
record that two brokers had, `kip-279` one that a stale leader's follower cuts.

Source: hachikuji/kafka-specification d68782b: Kip101, Kip279, Kip320FirstTry, Kip320; the KIPs; of
the last, KIP-595 and Kafka 2.7 and later (a Fetch carries the epoch of the follower's last record).
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
from model.replication.actions import TruncateToHighWatermark
from model.replication.state import LeaderEpoch, Offset, Replica
from model.variants import LATEST, kafka, unreleased, version


@version(
    "kip-101",
    breaks="strong_isr",
    steps=11,
    at={"max_leader_epoch": 2, "replicas": 2},
    fixed_by="kip-279",
    id="R3",
    issue="KAFKA-6361",
    in_force=kafka("0.11", "1.1"),
)
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


@version(
    "kip-279",
    breaks="strong_isr",
    steps=10,
    at={"max_leader_epoch": 2},
    fixed_by="kip-320",
    id="R4",
    issue="KAFKA-6880",
    in_force=kafka("2.0", "2.0"),
)
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

    def has_reached_its_epoch(s, leader: Replica) -> Bool:
        """The high watermark is at the leader's end, or at a record of its own epoch."""
        hw, log = s.replica[leader].high_watermark, s.log[leader]
        own = log.record[hw].leader_epoch == s.replica[leader].leader_epoch
        return (hw == log.end_offset) | (log.has_offset(hw) & own)


@version(
    "kip-320-first-try",
    breaks="strong_isr",
    steps=12,
    at={"max_leader_epoch": 2},
    fixed_by="kip-320",
    id="R5",
    issue="KIP-320",
    in_force=unreleased("the design was rejected while KIP-320 was verified"),
)
class Kip320FirstTry(Kip279):
    """KIP-320 as first proposed: a fetch carries the epoch of the follower's last record, no other.

    The follower cuts its log when a fetch shows that the two differ. Fails strong_isr: the high
    watermark may advance on a follower that is still in an older epoch.
    """

    def follows_with(s, follower: Replica, leader: Replica, offset: Offset) -> Bool:
        """The follower fetches from the leader, and has the leader's record at the offset."""
        agree = s.log[leader].agrees_with(s.log[follower], offset)
        return s.is_following(follower, leader) & agree

    def shares_its_last_record(s, follower: Replica, leader: Replica) -> Bool:
        ours, theirs = s.log[follower], s.log[leader]
        return ours.is_empty() | ours.agrees_with(theirs, ours.end_offset - 1)

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The high watermark passes an offset at which all of the ISR agrees with the leader."""
        hw = s.replica[leader].high_watermark
        when(
            s.presumes_leadership(leader),
            s.log[leader].has_offset(hw),
            forall(s.follows_with(follower, leader, hw) for follower in s.replica[leader].isr),
        )
        s.replica[leader].high_watermark = hw + 1

    def is_caught_up(s, follower: Replica, leader: Replica, end: Offset) -> Bool:
        at_zero = s.is_following(follower, leader) & (end == 0)
        return at_zero | ((end != 0) & s.follows_with(follower, leader, end - 1))

    @action
    def leader_expand_isr(s, leader: Replica, follower: Replica) -> None:
        """A follower at the high watermark joins, once that mark has reached the leader's epoch."""
        when(s.has_reached_its_epoch(leader))
        super().leader_expand_isr(leader, follower)

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns of a new leader and keeps its log for now."""
        s.follow(follower, leader, leader_epoch)

    @action(fair="weak")
    def follower_truncate(s, follower: Replica, leader: Replica) -> None:
        """A fetch shows that the last records differ: the follower cuts after what they share."""
        end = s.truncation_offset(follower, leader)
        when(
            s.presumes_leadership(leader),
            s.is_following(follower, leader),
            ~s.shares_its_last_record(follower, leader),
        )
        s.log[follower].truncate_to(end)
        s.replica[follower].high_watermark = least_of(end, s.replica[follower].high_watermark)

    @action(fair="weak")
    def follower_replicate(s, follower: Replica, leader: Replica) -> None:
        """A follower copies the next record where the last ones agree."""
        when(
            s.presumes_leadership(leader),
            s.is_following(follower, leader),
            s.shares_its_last_record(follower, leader),
        )
        s.replicate(follower, leader)


@version("kip-320", in_force=kafka("2.1", "2.6"))
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

    @action(fair="weak")
    def follower_replicate(s, follower: Replica, leader: Replica) -> None:
        """A follower copies the next record from the leader of its own epoch."""
        when(s.is_following_epoch(follower, leader))
        s.replicate(follower, leader)

    def acknowledges(s, follower: Replica, leader: Replica, offset: Offset) -> Bool:
        """The leader knows, of its own epoch, that the follower has the offset."""
        return s.is_following_epoch(follower, leader) & s.log[follower].has_offset(offset)

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The high watermark passes an offset once all of the ISR follows this epoch and has it."""
        hw = s.replica[leader].high_watermark
        when(
            s.log[leader].has_offset(hw),
            forall(s.acknowledges(follower, leader, hw) for follower in s.replica[leader].isr),
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
        isr, hw = s.replica[leader].isr, s.replica[leader].high_watermark
        when(
            ~isr[follower],
            s.is_following_epoch(follower, leader),
            (hw == 0) | s.log[follower].has_offset(hw - 1),
            s.has_reached_its_epoch(leader),
        )
        s.set_isr(leader, isr | {follower})

    def answers_truncation(s, leader: Replica, leader_epoch: LeaderEpoch) -> Bool:
        """Only a leader that is already in the epoch says where the logs agree."""
        return s.presumes_leadership(leader) & (s.replica[leader].leader_epoch == leader_epoch)

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica cuts its log after what it shares with a leader already in the same epoch."""
        when(s.answers_truncation(leader, leader_epoch))
        super().become_follower(follower, leader, leader_epoch)


@version("fetch-divergence", in_force=kafka("2.7", LATEST), default=True)
class FetchDivergence(Kip320):
    """Kafka 2.7 and later: the answer to a fetch says where the follower's log differs.

    A follower keeps its log when it meets a new leader, fetches at once, and cuts when told.
    """

    def diverges(s, follower: Replica, leader: Replica) -> Bool:
        """The leader's last record of the follower's latest epoch, or an older, ends before it."""
        ours, theirs = s.log[follower], s.log[leader]
        leader_epoch = ours.latest().leader_epoch
        end = theirs.end_offset_for(leader_epoch)
        return ~ours.is_empty() & any_of(
            end < ours.end_offset, theirs.record[end - 1].leader_epoch != leader_epoch
        )

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        """Where the follower has no more of the epoch that the leader's answer names, or before."""
        ours, theirs = s.log[follower], s.log[leader]
        end = theirs.end_offset_for(ours.latest().leader_epoch)
        return ite(
            end == 0,
            Offset(0),
            least_of(end, ours.end_offset_for(theirs.record[end - 1].leader_epoch)),
        )

    def is_following_epoch(s, follower: Replica, leader: Replica) -> Bool:
        """The follower's fetch is answered with records, and tells the leader how far it is."""
        return super().is_following_epoch(follower, leader) & ~s.diverges(follower, leader)

    @action(fair="weak")
    def follower_truncate(s, follower: Replica, leader: Replica) -> None:
        """A fetch is answered with an epoch and an offset: the follower cuts its log there."""
        when(super().is_following_epoch(follower, leader), s.diverges(follower, leader))
        end = s.truncation_offset(follower, leader)
        s.log[follower].truncate_to(end)
        s.replica[follower].high_watermark = least_of(end, s.replica[follower].high_watermark)

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns of a new leader and keeps its log for now."""
        s.follow(follower, leader, leader_epoch)
