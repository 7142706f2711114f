"""The rule by which a follower truncates its log, since KIP-101: one class for each version.

Each version replaces a few methods of an earlier one, as the modules of the public specification
do. `ladder.py` lists where each version fails or holds.

Source: hachikuji/kafka-specification d68782b: Kip101, Kip279, Kip320FirstTry, Kip320; the KIPs.
`FetchDivergence`: KIP-595 and Kafka 2.7 and later, where a Fetch carries the epoch of the
follower's last record.
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
from model.releases import LATEST, kafka, unreleased
from model.replication.actions import TruncateToHighWatermark
from model.replication.state import LeaderEpoch, Offset, Replica
from model.variants import version


@version(
    "kip-101",
    breaks="strong_isr",
    steps=11,
    at={"max_leader_epoch": 2, "replicas": 2},
    fixed_by="kip-279",
    issue="KAFKA-6361",
    in_force=kafka("0.11", "1.1"),
)
class Kip101(TruncateToHighWatermark):
    """KIP-101: the follower truncates where its last leader epoch ends in the leader's log.

    This rule still has a defect (KAFKA-6361). After quick elections, the leader may not know the
    follower's last leader epoch. Then the follower truncates to its own high watermark, which may
    remove a record that the leader has committed.
    """

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        """Returns the end of the newest leader epoch of the follower's log, in the leader's log
        (OffsetForLeaderEpoch).

        If the leader does not know the epoch, returns the follower's high watermark.
        """
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
    issue="KAFKA-6880",
    in_force=kafka("2.0", "2.0"),
)
class Kip279(Kip101):
    """KIP-279: the follower truncates to the end of the common prefix of both logs.

    With three replicas, the leader that answers may be deposed, and its log may end before the last
    committed record (KAFKA-6880).
    """

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        """Returns the offset after the last record that both logs have at the same offset.

        Simplified: KIP-279 reaches that offset by rounds of OffsetForLeaderEpoch.
        """
        ours, theirs = s.log[follower], s.log[leader]
        return ite(
            exists(ours.agrees_with(theirs, offset) for offset in Offset),
            last(Offset, lambda offset: ours.agrees_with(theirs, offset), default=Offset(0)) + 1,
            Offset(0),
        )

    def has_reached_its_epoch(s, leader: Replica) -> Bool:
        """True if all records of older epochs are below the leader's high watermark."""
        hw, log = s.replica[leader].high_watermark, s.log[leader]
        own = log.record[hw].leader_epoch == s.replica[leader].leader_epoch
        return (hw == log.end_offset) | (log.has_offset(hw) & own)


@version(
    "kip-320-first-try",
    breaks="strong_isr",
    steps=12,
    at={"max_leader_epoch": 2},
    fixed_by="kip-320",
    issue="KIP-320",
    in_force=unreleased("the design was rejected while KIP-320 was verified"),
)
class Kip320FirstTry(Kip279):
    """KIP-320 as first proposed: a fetch does not have the follower's leader epoch.

    The fetch has only the epoch of the follower's last record. So a leader may count a follower in
    an older epoch, and another leader may then make this follower truncate the committed record.
    This version never shipped.
    """

    def follows_with(s, follower: Replica, leader: Replica, offset: Offset) -> Bool:
        agree = s.log[leader].agrees_with(s.log[follower], offset)
        return s.is_following(follower, leader) & agree

    def shares_its_last_record(s, follower: Replica, leader: Replica) -> Bool:
        ours, theirs = s.log[follower], s.log[leader]
        return ours.is_empty() | ours.agrees_with(theirs, ours.end_offset - 1)

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The leader raises its high watermark past a record that every member of its ISR has.

        Kafka: never shipped. Simplified: the leader reads the followers' logs, and waits for no
        fetch. The guard compares records, not leader epochs. So the leader counts a follower in an
        older epoch, which may next truncate the record for another leader: a committed record is
        lost in 12 steps (3 replicas, 3 leader epochs).
        """
        hw = s.replica[leader].high_watermark
        when(
            s.presumes_leadership(leader),
            s.log[leader].has_offset(hw),
            forall(s.follows_with(follower, leader, hw) for follower in s.replica[leader].isr),
        )
        s.replica[leader].high_watermark = hw + 1

    def is_caught_up(s, follower: Replica, leader: Replica, end: Offset) -> Bool:
        """True if the follower has the leader's record just before `end`, or if `end` is 0."""
        at_zero = s.is_following(follower, leader) & (end == 0)
        return at_zero | ((end != 0) & s.follows_with(follower, leader, end - 1))

    @action
    def leader_expand_isr(s, leader: Replica, follower: Replica) -> None:
        """A follower that has reached the leader's high watermark joins the ISR.

        Kafka: Partition.maybeExpandIsr. Simplified: the ISR changes at the leader and the
        controller in one step. A new leader's high watermark may lag. Without the guard
        `has_reached_its_epoch`, a follower with an empty log could join (bug `joins-before-epoch`
        of KIP-320).
        """
        when(s.has_reached_its_epoch(leader))
        super().leader_expand_isr(leader, follower)

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns of a new leader and keeps its log; `follower_truncate` truncates it
        later.

        Kafka: Partition.makeFollower. Simplified: requests may arrive in any order.
        """
        s.make_follower(follower, leader, leader_epoch)

    @action(fair="weak")
    def follower_truncate(s, follower: Replica, leader: Replica) -> None:
        """A follower truncates to the common prefix if the leader lacks the follower's last record.

        Kafka: never shipped. Simplified: fetch and truncation are one step. Leader epochs are not
        compared, so a deposed leader can make the follower truncate.
        """
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
        """A follower copies the leader's next record if the leader has the follower's last record.

        Kafka: never shipped. Simplified: one record. Records are compared, where `Kip320` compares
        epochs.
        """
        when(
            s.presumes_leadership(leader),
            s.is_following(follower, leader),
            s.shares_its_last_record(follower, leader),
        )
        s.replicate(follower, leader)


@version("kip-320", in_force=kafka("2.1", "2.6"))
class Kip320(Kip279):
    """KIP-320: a leader serves and counts only followers of its own leader epoch."""

    def is_following_epoch(s, follower: Replica, leader: Replica) -> Bool:
        return all_of(
            s.presumes_leadership(leader),
            s.is_following(follower, leader),
            s.replica[follower].leader_epoch == s.replica[leader].leader_epoch,
        )

    @action(fair="weak")
    def follower_replicate(s, follower: Replica, leader: Replica) -> None:
        """A follower copies the next record from the leader of its own leader epoch.

        Kafka: Partition.fetchRecords refuses a fetch with FENCED_LEADER_EPOCH or
        UNKNOWN_LEADER_EPOCH. Simplified: one record. If a deposed leader may serve, the claim
        `strong_isr` breaks (version `kip-279`, 10 steps).
        """
        when(s.is_following_epoch(follower, leader))
        s.replicate(follower, leader)

    def acknowledges(s, follower: Replica, leader: Replica, offset: Offset) -> Bool:
        """True if the leader may count the follower: it is in the leader's epoch, and its log has
        the offset.
        """
        return s.is_following_epoch(follower, leader) & s.log[follower].has_offset(offset)

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The leader raises its high watermark if every ISR member is in the leader's epoch and has
        the offset.

        Kafka: Partition.maybeIncrementLeaderHW, on fetches of the leader's epoch only. Simplified:
        the leader reads the followers' logs. A follower in an older epoch may next follow a leader
        of an epoch in between, and truncate the record. Without the comparison of epochs, the claim
        `strong_isr` breaks (bug `counts-old-epochs`, 12 steps).
        """
        hw = s.replica[leader].high_watermark
        when(
            s.log[leader].has_offset(hw),
            forall(s.acknowledges(follower, leader, hw) for follower in s.replica[leader].isr),
        )
        s.replica[leader].high_watermark = hw + 1

    @action
    def leader_shrink_isr(s, leader: Replica, follower: Replica) -> None:
        """A leader removes from the ISR a follower that lags or is in another leader epoch.

        Kafka: Partition.maybeShrinkIsr. Simplified: no time passes. A member that never fetches in
        this epoch may be removed, because otherwise the leader could never commit again. Without
        the guard that only the true leader writes the ISR, the claim `strong_isr` breaks in 8
        steps.
        """
        isr = s.replica[leader].isr
        lags = s.log[follower].end_offset < s.log[leader].end_offset
        when(isr[follower], follower != leader, ~s.is_following_epoch(follower, leader) | lags)
        s.set_isr(leader, isr - {follower})

    @action
    def leader_expand_isr(s, leader: Replica, follower: Replica) -> None:
        """A follower that has reached the leader's high watermark joins the ISR.

        Kafka: Partition.isFollowerInSync: the follower's log end is at least the high watermark and
        the leader epoch's start offset. Simplified: the ISR changes at the leader and the
        controller in one step. Without the guard `has_reached_its_epoch`, the claim `strong_isr`
        breaks (bug `joins-before-epoch`, 11 steps; KAFKA-7128).
        """
        isr, hw = s.replica[leader].isr, s.replica[leader].high_watermark
        when(
            ~isr[follower],
            s.is_following_epoch(follower, leader),
            (hw == 0) | s.log[follower].has_offset(hw - 1),
            s.has_reached_its_epoch(leader),
        )
        s.set_isr(leader, isr | {follower})

    def answers_truncation(s, leader: Replica, leader_epoch: LeaderEpoch) -> Bool:
        """True if the replica already leads in this leader epoch, so that it answers
        OffsetForLeaderEpoch.

        Before, the replica may still truncate its own log as a follower. Without this guard, the
        claim `strong_isr` breaks (bug `truncates-early`, 13 steps).
        """
        return s.presumes_leadership(leader) & (s.replica[leader].leader_epoch == leader_epoch)

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica becomes a follower and truncates its log to the common prefix with its leader.

        Kafka: OffsetForLeaderEpoch with a current leader epoch. Simplified: request, answer and
        truncation are one step. If a leader of another epoch may answer (`answers_truncation`), the
        claim `strong_isr` breaks (version `kip-279`, 10 steps).
        """
        when(s.answers_truncation(leader, leader_epoch))
        super().become_follower(follower, leader, leader_epoch)


@version("fetch-divergence", in_force=kafka("2.7", LATEST), default=True)
class FetchDivergence(Kip320):
    """Kafka 2.7 and later: a fetch response names the offset where the follower's log diverges.

    A follower that meets a new leader keeps its log and fetches at once. The follower truncates its
    log when a fetch response has a diverging epoch.
    """

    def diverges(s, follower: Replica, leader: Replica) -> Bool:
        """True if the leader lacks the follower's last leader epoch, or has fewer records of that
        epoch.
        """
        ours, theirs = s.log[follower], s.log[leader]
        leader_epoch = ours.latest().leader_epoch
        end = theirs.end_offset_for(leader_epoch)
        return ~ours.is_empty() & any_of(
            end < ours.end_offset, theirs.record[end - 1].leader_epoch != leader_epoch
        )

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        """Returns the offset to which a follower truncates when its log diverges from the leader's.

        The diverging epoch is the largest one in the leader's log that is at most the follower's
        last epoch. The offset is the end of this epoch in one of the two logs, whichever is lower.
        Kafka: AbstractFetcherThread.truncateOnFetchResponse.
        """
        ours, theirs = s.log[follower], s.log[leader]
        end = theirs.end_offset_for(ours.latest().leader_epoch)
        return ite(
            end == 0,
            Offset(0),
            least_of(end, ours.end_offset_for(theirs.record[end - 1].leader_epoch)),
        )

    def is_following_epoch(s, follower: Replica, leader: Replica) -> Bool:
        """True if the follower is in the leader's epoch, and its fetch is answered with records.

        Only such a fetch counts for the high watermark and the ISR. If a diverging fetch counts
        too, the claim `strong_isr` breaks (bug `counts-diverging-fetches`, 8 steps; KAFKA-13141).
        """
        return super().is_following_epoch(follower, leader) & ~s.diverges(follower, leader)

    @action(fair="weak")
    def follower_truncate(s, follower: Replica, leader: Replica) -> None:
        """A follower truncates its log to the offset that a fetch response with a diverging epoch
        names.

        Kafka: Partition.readRecords returns a diverging epoch;
        AbstractFetcherThread.truncateOnFetchResponse truncates. Simplified: one step. Without this
        action, the claim `everything_is_committed` breaks (bug `never-truncates`, 7 steps).
        """
        when(super().is_following_epoch(follower, leader), s.diverges(follower, leader))
        end = s.truncation_offset(follower, leader)
        s.log[follower].truncate_to(end)
        s.replica[follower].high_watermark = least_of(end, s.replica[follower].high_watermark)

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns of a new leader and keeps its log.

        Kafka: Partition.makeFollower. Simplified: requests may arrive in any order. The log may
        stay, because a leader serves and counts only followers of its epoch whose logs do not
        diverge. Without the guard that the epoch is newer, the claim `leader_epochs_grow` breaks in
        4 steps.
        """
        s.make_follower(follower, leader, leader_epoch)
