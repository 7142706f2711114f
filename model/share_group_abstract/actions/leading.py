"""The actions of the leader: it moves its start offset, and another broker may replace it."""

from __future__ import annotations

from model.language import Bool, action, all_of, false, forall, implies, ite, nothing, true, when
from model.share_group_abstract.actions.writing import Writes
from model.share_group_abstract.state import InFlight, LeaderEpoch, Member, Offset


class AbstractShareGroupActions(Writes):
    # ---- the start offset

    def is_passed(s, x: Offset) -> Bool:
        """Returns True if the record `x` is final, and the leader waits for no write that stores
        its final state. Only then may the start offset move past the record.

        If the start offset may pass a record without a stored state, the claim
        `no_record_is_skipped` breaks (bug `skips-gaps`, 3 steps; KAFKA-18494).
        """
        return s.record[x].is_final & ~s.is_in_transition(x)

    @action
    def move_start(s, x: Offset) -> None:
        """The leader moves its start offset past acknowledged and archived records, and forgets the
        records below the new start offset.

        The leader does not forget the records that a member still has.

        Kafka: SharePartition.maybeUpdateCachedStateAndOffsets.
        Simplified: this is a step of its own, which may come late or never.
        Without the guard that the offset does not go back, the claim `start_offset_never_goes_back`
        breaks in 6 steps.
        Without the guard that these records are in a final state, the claim `no_record_is_skipped`
        breaks in 1 step.
        """
        when(
            s.is_active,
            s.start <= x,
            forall(implies(all_of(s.start <= y, y < x), s.is_passed(y)) for y in Offset),
        )
        s.move_to(x)

    def move_to(s, start: Offset) -> None:
        for y in Offset:
            s.record[y] = ite((y < start) & ~s.is_held(y), InFlight.blank(), s.record[y])
        s.start = start

    @action
    def delete_records(s, x: Offset) -> None:
        """The topic's retention deletes the records below an offset.

        Kafka: UnifiedLog.deleteOldSegments.
        Without the guard that the log start grows, the claim `no_record_is_skipped` breaks in 3
        steps.
        """
        when(s.log_start < x)
        s.log_start = x

    @action
    def follow_log_start(s) -> None:
        """A fetch is out of range, so the leader moves its start offset to the log start.

        If a member has a record below the new start offset, the record remains acquired until its
        lock times out.

        Kafka: SharePartition.updateCacheAndOffsets.
        Simplified: the leader may take this step at any time.
        Without the guard that the start offset grows, the claim `acknowledgements_last` breaks in 6
        steps.
        """
        when(s.is_active, s.start < s.log_start)
        s.move_to(s.log_start)

    # ---- the leader

    @action
    def elect(s, epoch: LeaderEpoch) -> None:
        """Another broker becomes leader. It does not know the states of the records yet.

        The old leader's writes are still in flight, and the old leader may still answer its
        members.

        Kafka: SharePartitionManager.SharePartitionListener.
        Simplified: all locks of the old leader end.
        Without the guard that the leader epoch grows, the claim `acknowledgements_last` breaks in 6
        steps.
        """
        when(s.leader_epoch < epoch)
        s.leader_epoch = epoch
        s.is_active = false
        s.start = Offset.least()
        for x in Offset:
            s.record[x] = InFlight.blank()
        for m in Member:
            for x in Offset:
                s.holds[m][x] = false

    @action
    def initialize(s) -> None:
        """A new leader reads the stored state. From then on, the coordinator refuses the writes of
        older leaders.

        Kafka: SharePartition.maybeInitialize,
        ShareCoordinatorShard.readStateAndMaybeUpdateLeaderEpoch.
        Simplified: the request and the response are one step. The start offset moves past final
        records in a later step.
        Without the guard that the leader has not yet read, the claim `one_member_has_a_record`
        breaks in 3 steps.
        """
        when(~s.is_active)
        for x in Offset:
            read = InFlight(
                is_final=s.stored[x].is_final,
                count=s.stored[x].count,
                member=nothing,
                previous=nothing,
                expired=false,
            )
            s.record[x] = ite(x < s.stored_start, InFlight.blank(), read)
        s.start = s.stored_start
        s.is_active = true
        s.stored_epoch = s.epoch_after_read()

    def epoch_after_read(s) -> LeaderEpoch:
        """Returns the leader epoch that the coordinator stores after a leader has read the state.
        It is the epoch of this leader.

        Without this rule, the claim `acknowledgements_last` breaks (bug `reads-without-fencing`, 6
        steps; KAFKA-17796).
        """
        return s.leader_epoch
