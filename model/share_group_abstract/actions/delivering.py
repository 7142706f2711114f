"""The actions of deliveries: members acquire records and acknowledge them, or their locks time
out.
"""

from __future__ import annotations

from model.language import Bool, Nothing, action, all_of, any_of, false, nothing, true, when
from model.share_group_abstract.state import (
    AbstractShareGroupState,
    DeliveryCount,
    InFlight,
    Member,
    Offset,
    Slot,
    Write,
)


class Deliveries(AbstractShareGroupState):
    @action
    def acquire(s, m: Member, x: Offset, count: DeliveryCount) -> None:
        """A member fetches, and acquires a record. The leader does not write this to the
        coordinator.

        Kafka: SharePartition.acquire.
        Simplified: each fetch acquires one record, which need not be the first available record.
        Without the guard that the leader has read the stored state, the claim
        `acknowledgements_last` breaks in 5 steps.
        Without the guard on the delivery count, the claim `delivery_count_is_limited` breaks in 1
        step.
        Every claim also holds without the guard that the record is not deleted.
        """
        when(
            s.is_active,
            s.log_start <= x,
            s.may_acquire(x),
            count.is_next_after(s.record[x].count),
        )
        s.record[x].count = count
        s.record[x].member = m
        s.record[x].expired = false
        s.holds[m][x] = true

    # ---- acknowledgements

    def may_acknowledge(s, m: Member, x: Offset) -> Bool:
        """Returns True if the member `m` has acquired the record `x`.

        If any member may acknowledge the record, the claim `one_member_has_a_record` breaks (bug
        `acknowledges-for-others`, 2 steps).
        """
        return s.record[x].member == m

    def acknowledge(s, m: Member, x: Offset, w: Slot, *, is_final: Bool) -> None:
        """Sends the new state of the record `x` to the coordinator, as an acknowledgement of the
        member `m`. The write uses the slot `w`. The new state is final if `is_final` holds. The
        leader answers the member only after the state is stored.

        If the write fails, the leader gives the record back to the member.
        """
        when(s.start <= x, s.may_acknowledge(m, x), ~s.write[w].sent)
        count = s.record[x].count
        s.send(w, x, m, is_final=is_final, count=count)
        s.decided[x] = any_of(s.decided[x], is_final)
        s.record[x] = InFlight(
            is_final=is_final, count=count, member=nothing, previous=m, expired=false
        )
        s.holds[m][x] = false

    def send(
        s, w: Slot, x: Offset, member: Member | Nothing, *, is_final: Bool, count: DeliveryCount
    ) -> None:
        """Sends a write to the coordinator, in the slot `w`. The write carries the state and the
        delivery count of the record `x`, and the leader's epoch and start offset.

        The parameter `is_final` is true if the state is final. The parameter `member` is the member
        that acknowledged the record, or nothing if a lock timed out.

        Kafka: SharePartition.writeShareGroupState.
        """
        s.write[w] = Write(
            sent=true,
            leader_epoch=s.leader_epoch,
            start=s.start,
            offset=x,
            is_final=is_final,
            count=count,
            member=member,
        )

    @action
    def accept(s, m: Member, x: Offset, w: Slot) -> None:
        """A member has processed a record, or rejects the record for good.

        Kafka: SharePartition.acknowledge, with ACCEPT or REJECT.

        Without the guard that the member has acquired the record, the claim
        `one_member_has_a_record` breaks in 2 steps.
        """
        s.acknowledge(m, x, w, is_final=true)

    @action
    def release(s, m: Member, x: Offset, w: Slot) -> None:
        """A member gives a record back, so that any member may acquire it. At the limit of
        deliveries, the leader archives the record instead.

        Kafka: SharePartition.acknowledge with RELEASE, releaseAcquiredRecords.

        Without the guard that the member has acquired the record, the claim
        `one_member_has_a_record` breaks in 2 steps.
        """
        s.acknowledge(m, x, w, is_final=s.is_archived_next(x))

    def is_at_limit(s, x: Offset) -> Bool:
        """Returns True if the record `x` was delivered as often as the group's limit allows.

        After a release or a timeout, the leader archives such a record.
        Without this rule, the claim `delivery_count_is_limited` breaks (bug
        `delivers-without-limit`, 3 steps).
        """
        return s.limit <= s.record[x].count

    def is_archived_next(s, x: Offset) -> Bool:
        """Returns True if a release or a timeout archives the record `x`, instead of making it
        available again. The leader archives a record at the limit of deliveries or below the start
        offset.

        Kafka: InFlightState.tryUpdateState.
        """
        return any_of(s.is_at_limit(x), x < s.start)

    # ---- the acquisition lock

    @action
    def time_out(s, x: Offset, w: Slot) -> None:
        """A member's lock on a record times out. The record is available again, or archived at the
        delivery limit.

        The leader does not wait until the coordinator has stored the new state.

        Kafka: SharePartition.releaseAcquisitionLockOnTimeout.
        Without the guard that a member has acquired the record, the claim `acknowledgements_last`
        breaks in 5 steps.
        """
        when(s.is_acquired(x), ~s.write[w].sent)
        is_final, count = s.is_archived_next(x), s.record[x].count
        s.send(w, x, nothing, is_final=is_final, count=count)
        s.decided[x] = any_of(s.decided[x], is_final)
        for m in Member:
            s.holds[m][x] = all_of(s.holds[m][x], s.record[x].member != m)
        s.record[x] = InFlight(
            is_final=is_final, count=count, member=nothing, previous=nothing, expired=false
        )

    @action
    def time_out_in_transition(s, x: Offset) -> None:
        """A member's lock times out while the member's acknowledgement is being written. The leader
        only notes this.

        Kafka: AcquisitionLockTimerTask.run.
        Every claim also holds without the guard of this action.
        """
        when(s.is_in_transition(x))
        s.record[x].expired = true
