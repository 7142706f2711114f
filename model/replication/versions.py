"""The versions of truncation after the first: KIP-101, KIP-279, KIP-320 and KIP-595.

Each version replaces a few methods of an earlier one, as the modules of the public specification
do. `FetchDivergence` is today's protocol. `ladder.py` lists the scopes at which each version fails
or holds.

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
    """KIP-101: the follower truncates to the end of its own last leader epoch in the leader's log.

    Fails strong_isr after two quick elections: a follower fetched from a leader of a newer epoch,
    then led in an older one, so the epochs in its log decrease. The leader's answer then names an
    offset too low (KAFKA-6361).
    """

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        """Returns the end of the follower's last epoch in the leader's log, as OffsetForLeaderEpoch
        does.

        The answer falls back to the follower's high watermark if the leader does not know the
        epoch.
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
    id="R4",
    issue="KAFKA-6880",
    in_force=kafka("2.0", "2.0"),
)
class Kip279(Kip101):
    """KIP-279: the follower truncates to the end of the common prefix of both logs.

    Fails strong_isr with three replicas: the leader that answers may be deposed, with a log that
    ends before what is committed (KAFKA-6880).
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
        """True if the high watermark is at the leader's end, or at a record of the leader's own
        epoch.
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
    id="R5",
    issue="KIP-320",
    in_force=unreleased("the design was rejected while KIP-320 was verified"),
)
class Kip320FirstTry(Kip279):
    """KIP-320 as first proposed: a fetch carries the epoch of the last record, but no current
    epoch.

    The follower truncates when a fetch shows that the logs differ. Fails strong_isr: the high
    watermark may advance on a follower that is still in an older epoch. The design was replaced
    before it shipped.
    """

    def follows_with(s, follower: Replica, leader: Replica, offset: Offset) -> Bool:
        """True if the follower fetches from the leader and has the leader's record at the
        offset.
        """
        agree = s.log[leader].agrees_with(s.log[follower], offset)
        return s.is_following(follower, leader) & agree

    def shares_its_last_record(s, follower: Replica, leader: Replica) -> Bool:
        """True if the follower's log is empty, or the leader has the follower's last record."""
        ours, theirs = s.log[follower], s.log[leader]
        return ours.is_empty() | ours.agrees_with(theirs, ours.end_offset - 1)

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The leader raises its high watermark past a record that all of its ISR has too.

        Kafka: never shipped. Simplified: as in the base. The guard compares records, not leader
        epochs: a follower of an older epoch counts, then truncates the record against the leader
        between the two epochs. That loses a committed record in 12 steps (3 replicas, 3 leader
        epochs).
        """
        hw = s.replica[leader].high_watermark
        when(
            s.presumes_leadership(leader),
            s.log[leader].has_offset(hw),
            forall(s.follows_with(follower, leader, hw) for follower in s.replica[leader].isr),
        )
        s.replica[leader].high_watermark = hw + 1

    def is_caught_up(s, follower: Replica, leader: Replica, end: Offset) -> Bool:
        """True if the follower has the leader's record before `end`, or `end` is 0."""
        at_zero = s.is_following(follower, leader) & (end == 0)
        return at_zero | ((end != 0) & s.follows_with(follower, leader, end - 1))

    @action
    def leader_expand_isr(s, leader: Replica, follower: Replica) -> None:
        """A follower at the high watermark joins the ISR, once that has reached the leader's epoch.

        Kafka: Partition.maybeExpandIsr. Simplified: as in the base. Without
        `has_reached_its_epoch`, a new leader's lagging high watermark lets an empty follower join:
        `joins-before-epoch` shows that with KIP-320.
        """
        when(s.has_reached_its_epoch(leader))
        super().leader_expand_isr(leader, follower)

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns of a new leader and keeps its log.

        Kafka: Partition.makeFollower. Simplified: requests may arrive in any order. The log is
        truncated later, by `follower_truncate`.
        """
        s.make_follower(follower, leader, leader_epoch)

    @action(fair="weak")
    def follower_truncate(s, follower: Replica, leader: Replica) -> None:
        """A follower whose last record differs from the leader's truncates to the common prefix.

        Kafka: never shipped. Simplified: one step from fetch to truncation. The follower compares
        no leader epoch, so a deposed leader can make it truncate.
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

        Kafka: never shipped. Simplified: one record. The guard replaces the comparison of epochs
        that `Kip320` makes.
        """
        when(
            s.presumes_leadership(leader),
            s.is_following(follower, leader),
            s.shares_its_last_record(follower, leader),
        )
        s.replicate(follower, leader)


@version("kip-320", in_force=kafka("2.1", "2.6"))
class Kip320(Kip279):
    """KIP-320: fetching, truncating, the high watermark and the ISR compare leader epochs.

    Leader and follower must be in the same leader epoch.
    """

    def is_following_epoch(s, follower: Replica, leader: Replica) -> Bool:
        """True if the follower follows the leader and both are in the same leader epoch."""
        return all_of(
            s.presumes_leadership(leader),
            s.is_following(follower, leader),
            s.replica[follower].leader_epoch == s.replica[leader].leader_epoch,
        )

    @action(fair="weak")
    def follower_replicate(s, follower: Replica, leader: Replica) -> None:
        """A follower copies the next record from the leader of its own leader epoch.

        Kafka: Partition.fetchRecords refuses a fetch with FENCED_LEADER_EPOCH or
        UNKNOWN_LEADER_EPOCH. Simplified: one record. Without the epoch the follower could copy from
        a deposed leader, as in `kip-279`, which fails strong_isr in 10 steps.
        """
        when(s.is_following_epoch(follower, leader))
        s.replicate(follower, leader)

    def acknowledges(s, follower: Replica, leader: Replica, offset: Offset) -> Bool:
        """True if the leader may count the offset for the follower: both are in one epoch, and
        it is there.
        """
        return s.is_following_epoch(follower, leader) & s.log[follower].has_offset(offset)

    @action(fair="strong")
    def leader_inc_high_watermark(s, leader: Replica) -> None:
        """The leader raises its high watermark once all of its ISR is in its epoch and has the
        offset.

        Kafka: Partition.maybeIncrementLeaderHW, on fetches of the leader's epoch only. Simplified:
        the leader reads the followers' logs. A follower of an older epoch must not count: it may
        truncate the record when it meets the leader between the epochs. Without the epoch,
        `counts-old-epochs` fails strong_isr in 12 steps.
        """
        hw = s.replica[leader].high_watermark
        when(
            s.log[leader].has_offset(hw),
            forall(s.acknowledges(follower, leader, hw) for follower in s.replica[leader].isr),
        )
        s.replica[leader].high_watermark = hw + 1

    @action
    def leader_shrink_isr(s, leader: Replica, follower: Replica) -> None:
        """The leader removes a follower that lags or is in another leader epoch from the ISR.

        Kafka: Partition.maybeShrinkIsr. Simplified: no time passes. The guard on the epoch allows
        the leader to go on without a member that will never fetch in this epoch; a smaller ISR
        loses nothing.
        """
        isr = s.replica[leader].isr
        lags = s.log[follower].end_offset < s.log[leader].end_offset
        when(isr[follower], follower != leader, ~s.is_following_epoch(follower, leader) | lags)
        s.set_isr(leader, isr - {follower})

    @action
    def leader_expand_isr(s, leader: Replica, follower: Replica) -> None:
        """A follower at the high watermark joins the ISR, once that has reached the leader's epoch.

        Kafka: Partition.isFollowerInSync: the follower's end is at least the high watermark and the
        leader epoch's start offset. Simplified: leader and controller change together. A new
        leader's high watermark lags behind what its predecessor committed. Without
        `has_reached_its_epoch`, a replica that lacks a committed record joins: `joins-before-epoch`
        fails strong_isr in 11 steps (KAFKA-7128).
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
        """True if the leader is already in the leader epoch: only then it answers
        OffsetForLeaderEpoch.

        Without this guard the leader answers, then truncates its own log before it begins the
        epoch: `truncates-early` fails strong_isr in 13 steps.
        """
        return s.presumes_leadership(leader) & (s.replica[leader].leader_epoch == leader_epoch)

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica truncates to the common prefix with a leader that is already in the same epoch.

        Kafka: OffsetForLeaderEpoch with a current leader epoch. Simplified: request, answer and
        truncation are one step. `answers_truncation` is the guard that KIP-279 lacks: there, a
        deposed leader's log decides, and `kip-279` fails strong_isr in 10 steps.
        """
        when(s.answers_truncation(leader, leader_epoch))
        super().become_follower(follower, leader, leader_epoch)


@version("fetch-divergence", in_force=kafka("2.7", LATEST), default=True)
class FetchDivergence(Kip320):
    """Kafka 2.7 and later: a fetch response names the offset where the follower's log diverges.

    A follower keeps its log when it meets a new leader, fetches at once, and truncates when the
    response has a diverging epoch.
    """

    def diverges(s, follower: Replica, leader: Replica) -> Bool:
        """True if the leader's end of the follower's last epoch, or an older one, is before the
        follower's.
        """
        ours, theirs = s.log[follower], s.log[leader]
        leader_epoch = ours.latest().leader_epoch
        end = theirs.end_offset_for(leader_epoch)
        return ~ours.is_empty() & any_of(
            end < ours.end_offset, theirs.record[end - 1].leader_epoch != leader_epoch
        )

    def truncation_offset(s, follower: Replica, leader: Replica) -> Offset:
        """Returns where the follower's records of the diverging epoch, or of older epochs, end.

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
        """True if the follower's fetch is answered with records, and so advances its offset at the
        leader.

        A diverging fetch must not count: `counts-diverging-fetches` fails strong_isr in 8 steps
        (KAFKA-13141).
        """
        return super().is_following_epoch(follower, leader) & ~s.diverges(follower, leader)

    @action(fair="weak")
    def follower_truncate(s, follower: Replica, leader: Replica) -> None:
        """A fetch response has a diverging epoch and offset: the follower truncates its log there.

        Kafka: Partition.readRecords returns a diverging epoch;
        AbstractFetcherThread.truncateOnFetchResponse truncates. Simplified: one step. A follower
        that never truncates fetches the same again for ever: `never-cuts` fails
        everything_is_committed.
        """
        when(super().is_following_epoch(follower, leader), s.diverges(follower, leader))
        end = s.truncation_offset(follower, leader)
        s.log[follower].truncate_to(end)
        s.replica[follower].high_watermark = least_of(end, s.replica[follower].high_watermark)

    @action(fair="weak")
    def become_follower(s, follower: Replica, leader: Replica, leader_epoch: LeaderEpoch) -> None:
        """A replica learns of a new leader and keeps its log.

        Kafka: Partition.makeFollower. Simplified: requests may arrive in any order. Keeping the log
        is safe, because the leader serves and counts a follower only in its own epoch and after
        divergence is resolved.
        """
        s.make_follower(follower, leader, leader_epoch)
