"""The actions of deliveries: members acquire records and acknowledge them, or their locks time out.

Each acknowledgement and each `time_out` sends a write to the share coordinator. The constant
`writes` limits the writes in flight.
"""

from __future__ import annotations

from model.language import Bool, Nothing, action, all_of, any_of, false, ite, nothing, true, when
from model.share_group.state import (
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    DECIDED,
    OPEN,
    DeliveryCount,
    InFlight,
    Member,
    Offset,
    RecordState,
    ShareGroupState,
    Write,
    is_final_state,
)


class Deliveries(ShareGroupState):
    @action(fair="weak")
    def acquire(s, m: Member) -> None:
        """A member fetches, and acquires the first record that it may acquire. The leader does not
        write this to the coordinator.

        Kafka: SharePartition.nextFetchOffset, acquire.
        Simplified: each fetch acquires one record.
        Without the guard that the leader has read the stored state, the claim
        `acknowledgements_last` breaks in 5 steps.
        """
        x = s.next_fetch_offset()
        when(s.is_active, s.log_start <= x, x < s.end_offset)
        count = s.record[x].count + 1
        s.record[x] = InFlight(
            state=ACQUIRED,
            count=count,
            member=m,
            previous=s.record[x].previous,  # this is nothing, except in a bug
            expired=false,
        )

    # ---- acknowledgements

    def may_acknowledge(s, m: Member, x: Offset) -> Bool:
        """Returns True if the member `m` has acquired the record `x`.

        If any member may acknowledge the record, the claim `only_the_holder_acknowledges` breaks
        (bug `acknowledges-for-others`, 2 steps).
        """
        return all_of(s.record[x].state == ACQUIRED, s.record[x].member == m)

    def acknowledge(s, m: Member, x: Offset, state: RecordState) -> None:
        """The member `m` acknowledges the record `x`. The leader gives the record the state
        `state`, and sends a write with this state to the coordinator. The leader answers the member
        only after the state is stored.

        If the write fails, the member `m` has the record again.
        """
        when(s.start <= x, s.may_acknowledge(m, x), s.has_free_slot())
        count, holder = s.record[x].count, s.record[x].member
        s.send(x, state, count, m)
        s.decide(x, state)
        s.record[x] = InFlight(
            state=state, count=count, member=nothing, previous=holder, expired=false
        )

    def send(
        s, x: Offset, state: RecordState, count: DeliveryCount, member: Member | Nothing
    ) -> None:
        """Sends a write with the state and the delivery count of the record `x` to the coordinator.
        The write also carries the leader's epoch and start offset.

        The parameter `member` is the member that acknowledged the record, or nothing if a lock
        timed out.

        Kafka: SharePartition.writeShareGroupState.
        """
        s.write[s.free_slot()] = Write(
            sent=true,
            leader_epoch=s.leader_epoch,
            start=s.start,
            offset=x,
            state=state,
            count=count,
            member=member,
        )

    def decide(s, x: Offset, state: RecordState) -> None:
        """Sets the outcome of the record `x` to DECIDED, if `state` is final and the outcome is
        OPEN. Only claims read the outcome.
        """
        seen = s.outcome[x]
        s.outcome[x] = ite(is_final_state(state) & (seen == OPEN), DECIDED, seen)

    @action
    def accept(s, m: Member, x: Offset) -> None:
        """A member accepts a record, which means that it has processed the record.

        Kafka: SharePartition.acknowledge, InFlightState.startStateTransition.

        Without the guard that the member has acquired the record, the claim
        `only_the_holder_acknowledges` breaks in 1 step.
        """
        s.acknowledge(m, x, ACKNOWLEDGED)

    @action
    def release(s, m: Member, x: Offset) -> None:
        """A member gives a record back, so that any member may acquire it. At the delivery limit,
        the leader archives the record instead.

        The end of a member's session gives back all its records in this way.

        Kafka: SharePartition.acknowledge, releaseAcquiredRecords.

        Without the guard that the member has acquired the record, the claim
        `only_the_holder_acknowledges` breaks in 1 step.
        """
        s.acknowledge(m, x, s.state_after_delivery(x))

    @action
    def reject(s, m: Member, x: Offset) -> None:
        """A member refuses a record for good, for example because it cannot parse the record.

        Kafka: SharePartition.acknowledge.

        Without the guard that the member has acquired the record, the claim
        `only_the_holder_acknowledges` breaks in 1 step.
        """
        s.acknowledge(m, x, ARCHIVED)

    def is_at_limit(s, x: Offset) -> Bool:
        """Returns True if the record `x` was delivered as often as the group's limit allows.

        After a release or a timeout, the leader archives such a record.
        Without this rule, the claim `delivery_count_is_limited` breaks (bug
        `delivers-without-limit`, 6 steps).
        """
        return s.delivery_limit <= s.record[x].count

    def state_after_delivery(s, x: Offset) -> RecordState:
        """Returns the state of the record `x` after a release or a timeout. It is ARCHIVED at the
        delivery limit or below the start offset, and AVAILABLE otherwise.

        Kafka: InFlightState.tryUpdateState.
        """
        return ite(any_of(s.is_at_limit(x), x < s.start), ARCHIVED, AVAILABLE)

    # ---- the acquisition lock

    @action(fair="weak")
    def time_out(s, x: Offset) -> None:
        """A member's lock on a record times out. The record is available again, or archived at the
        delivery limit.

        The leader does not wait until the coordinator has stored the new state.

        Kafka: SharePartition.releaseAcquisitionLockOnTimeout.

        Without the guard that the record is acquired, the claim `acknowledgements_last` breaks in 6
        steps.
        """
        when(s.record[x].state == ACQUIRED, ~s.record[x].expired, s.has_free_slot())
        state, count = s.state_after_delivery(x), s.record[x].count
        s.send(x, state, count, nothing)
        s.decide(x, state)
        s.record[x] = InFlight(
            state=state, count=count, member=nothing, previous=nothing, expired=false
        )

    @action
    def time_out_in_transition(s, x: Offset) -> None:
        """A member's lock times out while the member's acknowledgement is being written. The leader
        only notes this.

        Kafka: AcquisitionLockTimerTask.run.
        """
        when(s.is_in_transition(x), ~s.record[x].expired)
        s.record[x].expired = true
