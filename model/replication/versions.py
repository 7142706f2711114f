"""The versions of the spec `replication` since KIP-101. They differ in the rule by which a follower
truncates its log.

Each version is a class that replaces a few methods of an earlier version. The modules of the public
TLA+ specification (see the source below) are built in the same way. `ladder.py` lists the scopes in
which each version loses committed records.

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
    """KIP-101: the follower truncates its log where the follower's last leader epoch ends in the
    leader's log.

    This rule still has a defect (KAFKA-6361). After several elections in a short time, the leader
    may not know the follower's last leader epoch. In this case, the follower truncates to its own
    high watermark. This may remove a record that the leader has committed.
    """

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        """Returns the lower of two offsets: the end of the follower's log, and the offset at which
        the follower's last leader epoch ends in the leader's log (OffsetForLeaderEpoch).

        If the leader's log has no record of this or a larger epoch, returns the follower's high
        watermark. If the follower's log is empty, returns 0. With the constant `as_published`, only
        the second offset counts.
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
    """KIP-279: the follower truncates its log to the end of the common prefix with the leader's
    log.

    With three replicas, a deposed leader may answer the follower's request. The log of this leader
    may end before the last committed record, so the follower truncates this record (KAFKA-6880).
    """

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        """Returns the offset after the last record that the follower and the leader have at the
        same offset, or 0 if there is no such record.

        Simplified: KIP-279 finds this offset by rounds of OffsetForLeaderEpoch.
        """
        ours, theirs = s.log[follower], s.log[leader]
        return ite(
            exists(ours.agrees_with(theirs, offset) for offset in Offset),
            last(Offset, lambda offset: ours.agrees_with(theirs, offset), default=Offset(0)) + 1,
            Offset(0),
        )

    def has_reached_its_epoch(s, leader: Replica) -> Bool:
        """Returns True if the leader's high watermark is above all records of older epochs in the
        leader's log.
        """
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
    """KIP-320 as first proposed: a fetch does not carry the follower's current leader epoch.

    The fetch carries only the epoch of the follower's last record. So a leader may commit a record
    because a follower in an older epoch has it. Another leader may then make this follower truncate
    the record. This version never shipped.
    """

    def follows_with(s, follower: Replica, leader: Replica, offset: Offset) -> Bool:
        agree = s.log[leader].agrees_with(s.log[follower], offset)
        return s.is_following(follower, leader) & agree

    def shares_its_last_record(s, follower: Replica, leader: Replica) -> Bool:
        ours, theirs = s.log[follower], s.log[leader]
        return ours.is_empty() | ours.agrees_with(theirs, ours.end_offset - 1)

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The leader raises its high watermark by one, past a record that every member of its ISR
        has.

        Kafka: this rule never shipped.
        Simplified: the leader reads the followers' logs, and waits for no fetch.
        The guard compares records, not leader epochs. So the leader counts a follower in an older
        epoch. This follower may next truncate the record for another leader. This loses a committed
        record in 12 steps (3 replicas, 3 leader epochs).
        """
        hw = s.replica[leader].high_watermark
        when(
            s.presumes_leadership(leader),
            s.log[leader].has_offset(hw),
            forall(s.follows_with(follower, leader, hw) for follower in s.replica[leader].isr),
        )
        s.replica[leader].high_watermark = hw + 1

    def is_caught_up(s, follower: Replica, leader: Replica, end: Offset) -> Bool:
        """Returns True if the follower follows the leader and has the leader's record just before
        `end`. If `end` is 0, the follower needs no record.
        """
        at_zero = s.is_following(follower, leader) & (end == 0)
        return at_zero | ((end != 0) & s.follows_with(follower, leader, end - 1))

    @action
    def leader_expand_isr(s, leader: Replica, follower: Replica) -> None:
        """A leader adds to the ISR a follower that has reached the leader's high watermark.

        Kafka: Partition.maybeExpandIsr.
        Simplified: the ISR changes at the leader and at the controller in one step.
        A new leader's high watermark may be too low. Without the guard `has_reached_its_epoch`, a
        follower with an empty log could join the ISR, as in the bug `joins-before-epoch` of the
        version `kip-320`.
        """
        when(s.has_reached_its_epoch(leader))
        super().leader_expand_isr(leader, follower)

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns of a new leader and keeps its log. The action `follower_truncate`
        truncates the log in a later step.

        Kafka: Partition.makeFollower.
        Simplified: the controller's requests may arrive in any order.
        """
        s.make_follower(follower, leader, leader_epoch)

    @action(fair="weak")
    def follower_truncate(s, follower: Replica, leader: Replica) -> None:
        """A follower truncates its log to the common prefix with the leader's log, if the leader
        lacks the follower's last record.

        Kafka: this rule never shipped.
        Simplified: the fetch and the truncation are one step.
        The replicas' leader epochs are not compared, so a deposed leader can make the follower
        truncate.
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
        """A follower copies the leader's next record, if the leader has the follower's last record.

        Kafka: this rule never shipped.
        Simplified: the follower copies one record at a time.
        The guard compares records; the class `Kip320` compares leader epochs instead.
        """
        when(
            s.presumes_leadership(leader),
            s.is_following(follower, leader),
            s.shares_its_last_record(follower, leader),
        )
        s.replicate(follower, leader)


@version("kip-320", in_force=kafka("2.1", "2.6"))
class Kip320(Kip279):
    """KIP-320: a leader serves only followers that are in its own leader epoch, and counts only
    such followers for the high watermark.
    """

    def is_following_epoch(s, follower: Replica, leader: Replica) -> Bool:
        return all_of(
            s.presumes_leadership(leader),
            s.is_following(follower, leader),
            s.replica[follower].leader_epoch == s.replica[leader].leader_epoch,
        )

    @action(fair="weak")
    def follower_replicate(s, follower: Replica, leader: Replica) -> None:
        """A follower copies the next record of a leader that is in the follower's own leader epoch.

        Kafka: Partition.fetchRecords refuses any other fetch with FENCED_LEADER_EPOCH or
        UNKNOWN_LEADER_EPOCH.
        Simplified: the follower copies one record at a time.
        If a deposed leader may serve a fetch, the claim `strong_isr` breaks (version `kip-279`, 10
        steps).
        """
        when(s.is_following_epoch(follower, leader))
        s.replicate(follower, leader)

    def acknowledges(s, follower: Replica, leader: Replica, offset: Offset) -> Bool:
        """Returns True if the follower is in the leader's epoch, and the follower's log has a
        record at `offset`. Only then may the leader count the follower for this offset.
        """
        return s.is_following_epoch(follower, leader) & s.log[follower].has_offset(offset)

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The leader raises its high watermark by one, if every ISR member is in the leader's epoch
        and has a record at the old high watermark.

        Kafka: Partition.maybeIncrementLeaderHW counts only fetches of the leader's epoch.
        Simplified: the leader reads the followers' logs.
        A follower in an older epoch may next follow another leader, whose epoch is between the two
        epochs. It may then truncate the record at the old high watermark. Without the comparison of
        epochs, the claim `strong_isr` breaks (bug `counts-old-epochs`, 12 steps).
        """
        hw = s.replica[leader].high_watermark
        when(
            s.log[leader].has_offset(hw),
            forall(s.acknowledges(follower, leader, hw) for follower in s.replica[leader].isr),
        )
        s.replica[leader].high_watermark = hw + 1

    @action
    def leader_shrink_isr(s, leader: Replica, follower: Replica) -> None:
        """A leader removes from the ISR a follower that lacks records or is in another leader
        epoch.

        Kafka: Partition.maybeShrinkIsr.
        Simplified: no time passes before the removal.
        The leader may also remove a member that never fetches in the leader's epoch. Otherwise,
        such a member could prevent all further commits. Without the guard that only the true leader
        writes the ISR, the claim `strong_isr` breaks in 8 steps.
        """
        isr = s.replica[leader].isr
        lags = s.log[follower].end_offset < s.log[leader].end_offset
        when(isr[follower], follower != leader, ~s.is_following_epoch(follower, leader) | lags)
        s.set_isr(leader, isr - {follower})

    @action
    def leader_expand_isr(s, leader: Replica, follower: Replica) -> None:
        """A leader adds to the ISR a follower that has reached the leader's high watermark.

        Kafka: Partition.isFollowerInSync requires that the end of the follower's log is not below
        the high watermark, and not below the start offset of the leader epoch.
        Simplified: the ISR changes at the leader and at the controller in one step.
        Without the guard `has_reached_its_epoch`, the claim `strong_isr` breaks (bug
        `joins-before-epoch`, 11 steps; KAFKA-7128).
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
        """Returns True if the replica `leader` already leads in `leader_epoch`, so that it answers
        an OffsetForLeaderEpoch request.

        Before the replica leads, it may still truncate its own log as a follower. Without this
        guard, the claim `strong_isr` breaks (bug `truncates-early`, 13 steps).
        """
        return s.presumes_leadership(leader) & (s.replica[leader].leader_epoch == leader_epoch)

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica becomes a follower and truncates its log to the common prefix with its leader's
        log.

        Kafka: the replica sends OffsetForLeaderEpoch with its current leader epoch.
        Simplified: the request, the answer and the truncation are one step.
        If a leader of another epoch may answer (`answers_truncation`), the claim `strong_isr`
        breaks (version `kip-279`, 10 steps).
        """
        when(s.answers_truncation(leader, leader_epoch))
        super().become_follower(follower, leader, leader_epoch)


@version("fetch-divergence", in_force=kafka("2.7", LATEST), default=True)
class FetchDivergence(Kip320):
    """Kafka 2.7 and later: a fetch response names the epoch and the offset from which the
    follower's log diverges from the leader's log.

    A replica that becomes a follower of a new leader keeps its log and fetches at once. The
    follower truncates its log when a fetch response has a diverging epoch.
    """

    def diverges(s, follower: Replica, leader: Replica) -> Bool:
        """Returns True if the leader's log has no record of the follower's last leader epoch, or if
        this epoch ends at a lower offset in the leader's log than in the follower's log. Returns
        False if the follower's log is empty.
        """
        ours, theirs = s.log[follower], s.log[leader]
        leader_epoch = ours.latest().leader_epoch
        end = theirs.end_offset_for(leader_epoch)
        return ~ours.is_empty() & any_of(
            end < ours.end_offset, theirs.record[end - 1].leader_epoch != leader_epoch
        )

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        """Returns the offset to which a follower truncates its log when the log diverges from the
        leader's log.

        The diverging epoch is the largest leader epoch in the leader's log that is not larger than
        the follower's last epoch. This epoch has an end offset in each of the two logs, and the
        result is the lower of the two offsets. If the leader's log has no such epoch, the result is
        0.

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
        """Returns True if the follower is in the leader's epoch, and its log does not diverge from
        the leader's log. The leader answers the fetch of such a follower with records.

        Only such a fetch counts for the high watermark and for the ISR. If the leader also counts a
        diverging fetch, the claim `strong_isr` breaks (bug `counts-diverging-fetches`, 8 steps;
        KAFKA-13141).
        """
        return super().is_following_epoch(follower, leader) & ~s.diverges(follower, leader)

    @action(fair="weak")
    def follower_truncate(s, follower: Replica, leader: Replica) -> None:
        """A follower receives a fetch response with a diverging epoch, and truncates its log to the
        offset `truncation_offset`.

        Kafka: Partition.readRecords returns a diverging epoch;
        AbstractFetcherThread.truncateOnFetchResponse truncates.
        Simplified: the fetch, the response and the truncation are one step.
        Without this action, the claim `everything_is_committed` breaks (bug `never-truncates`, 7
        steps).
        """
        when(super().is_following_epoch(follower, leader), s.diverges(follower, leader))
        end = s.truncation_offset(follower, leader)
        s.log[follower].truncate_to(end)
        s.replica[follower].high_watermark = least_of(end, s.replica[follower].high_watermark)

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns of a new leader and keeps its log.

        Kafka: Partition.makeFollower.
        Simplified: the controller's requests may arrive in any order.
        The replica may keep its log, because a leader serves and counts only followers of its epoch
        whose logs do not diverge. Without the guard that the epoch is newer, the claim
        `leader_epochs_grow` breaks in 4 steps.
        """
        s.make_follower(follower, leader, leader_epoch)
