"""The actions of the leader: it learns which records are deleted, and another broker may replace
it.
"""

from __future__ import annotations

from model.language import Bool, action, false, first, ite, nothing, true, when
from model.share_group.actions.writing import Writes
from model.share_group.state import InFlight, LeaderEpoch, Offset, is_final_state


class ShareGroupActions(Writes):
    # ---- the log

    @action
    def delete_record(s) -> None:
        """The topic's retention deletes the oldest record of the log.

        Kafka: UnifiedLog.deleteOldSegments.
        Simplified: every record is a segment of its own.
        """
        when(s.log_start < s.max_deleted, s.log_start < s.end_offset)
        s.log_start = s.log_start + 1

    @action(fair="weak")
    def follow_log_start(s) -> None:
        """A fetch is out of range, so the leader moves the start offset to the log start.

        If a member has a record below the new start offset, the record remains acquired until its
        lock times out.

        Kafka: ShareFetchUtils.processFetchResponse, SharePartition.updateCacheAndOffsets.
        """
        when(s.is_active, s.start < s.log_start, s.next_fetch_offset() < s.log_start)
        start = s.start_after_deletion()
        for x in Offset:
            s.record[x] = ite((x < start) & ~s.is_held(x), InFlight.blank(), s.record[x])
        s.start = start

    def start_after_deletion(s) -> Offset:
        """Returns the offset of the first record, at or after the log start, that is not final.
        If all these records are final, it returns the end of the log.
        """
        return first(Offset, lambda x: (s.log_start <= x) & ~s.is_passed(x), default=s.end_offset)

    # ---- the leader

    @action
    def elect(s) -> None:
        """Another broker becomes leader. It does not know the states of the records yet.

        The old leader's writes are still in flight, and the old leader may still answer members.

        Kafka: SharePartitionManager.SharePartitionListener.
        Simplified: the old leader delivers no more records, and accepts no more acknowledgements.
        """
        when(s.leader_epoch < s.max_leader_epoch)
        s.leader_epoch = s.leader_epoch + 1
        s.is_active = false
        s.start = Offset(0)
        for x in Offset:
            s.record[x] = InFlight.blank()

    @action(fair="weak")
    def initialize(s) -> None:
        """A new leader reads the stored state. From then on, the coordinator refuses the writes of
        older leaders.

        Kafka: SharePartition.maybeInitialize,
        ShareCoordinatorShard.readStateAndMaybeUpdateLeaderEpoch.
        Simplified: the request and the response are one step.

        Without the guard that the leader has not read the stored state yet, the claim
        `start_offset_grows` breaks in 3 steps.
        """
        when(~s.is_active)
        read = s.start_when_read()
        start = first(
            Offset,
            lambda x: (read <= x) & ~s.is_passed_when_read(x),
            default=s.end_offset,
        )
        for x in Offset:
            known = InFlight(
                state=s.stored[x].state,
                count=s.stored[x].count,
                member=nothing,
                previous=nothing,
                expired=false,
            )
            s.record[x] = ite(x < start, InFlight.blank(), known)
        s.start = start
        s.is_active = true
        s.stored_epoch = s.epoch_after_read()

    def start_when_read(s) -> Offset:
        """Returns the stored start offset, at which a new leader begins.

        The first leader has stored the start offset 0. Kafka's leader does not store the start
        offset that it chooses. So the claim `no_record_is_skipped` breaks (bug
        `start-offset-is-not-stored`, 2 steps).
        """
        return s.stored_start

    def is_passed_when_read(s, x: Offset) -> Bool:
        """Returns True if a new leader may move its start offset past the record `x`, because
        the stored state of the record is final.
        """
        return is_final_state(s.stored[x].state)

    def epoch_after_read(s) -> LeaderEpoch:
        """Returns the leader epoch that the coordinator stores after a leader has read the state.
        It is the epoch of this leader.

        Without this rule, the claim `acknowledgements_last` breaks (bug `reads-without-fencing`, 6
        steps; KAFKA-17796).
        """
        return s.leader_epoch
