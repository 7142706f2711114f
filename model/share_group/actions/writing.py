"""The actions of writes: the coordinator stores the state of a record, and the leader learns the
result.
"""

from __future__ import annotations

from model.language import (
    Bool,
    action,
    all_of,
    any_of,
    first,
    greatest_of,
    ite,
    nothing,
    true,
    when,
)
from model.share_group.actions.delivering import Deliveries
from model.share_group.state import (
    ACQUIRED,
    CONFIRMED,
    InFlight,
    Offset,
    RecordState,
    Slot,
    Stored,
    Write,
    is_final_state,
)


class Writes(Deliveries):
    @action(fair="weak")
    def persist(s, w: Slot) -> None:
        """The coordinator stores a write and answers it. If the coordinator knows a newer leader,
        it does not store the write.

        If the leader still waits for the answer, the answer ends the record's transition, and the
        member learns the result.

        Kafka: ShareCoordinatorShard.writeState, SharePartition.rollbackOrProcessStateUpdates.
        Simplified: the coordinator stores and answers in one step. Writes arrive in any order; in
        Kafka, a later write overtakes an earlier write only if the leader had to send the earlier
        write again (PersisterStateManager.WriteStateHandler).
        """
        when(s.write[w].sent)
        write = s.write[w]
        accepted = s.is_accepted(w)
        x, seen = write.offset, s.outcome[write.offset]
        confirms = all_of(accepted, write.member != nothing, is_final_state(write.state))
        s.outcome[x] = ite(confirms, CONFIRMED, seen)
        s.store(w, accepted)
        s.complete(w, succeeds=True)

    @action
    def lose_write(s, w: Slot) -> None:
        """A write fails before the coordinator receives it.

        Kafka: PersisterStateManager.WriteStateHandler.handleRequestResponse, if all attempts fail.
        """
        when(s.write[w].sent, s.failures < s.max_failures)
        s.failures = s.failures + 1
        s.fail(w)

    @action
    def lose_answer(s, w: Slot) -> None:
        """The coordinator stores a write, but the leader receives no answer and believes that the
        write has failed.

        Kafka: PersisterStateManager.WriteStateHandler.handleRequestResponse, if all attempts fail.
        """
        when(s.write[w].sent, s.failures < s.max_failures, s.is_accepted(w))
        s.failures = s.failures + 1
        s.store(w, s.is_accepted(w))
        s.fail(w)

    def fail(s, w: Slot) -> None:
        """Lets the leader treat the write `w` as failed. If the write stores an acknowledgement,
        the record gets the state `state_after_failure`.
        """
        x = s.write[w].offset
        waits = s.is_from_leader(w) & (s.write[w].member != nothing)
        s.decide(x, ite(waits, s.state_after_failure(x), ACQUIRED))
        s.complete(w, succeeds=False)

    # ---- the coordinator

    def is_accepted(s, w: Slot) -> Bool:
        """Returns True if the coordinator knows no newer leader than the sender of the write `w`.

        Kafka: ShareCoordinatorShard.maybeGetWriteStateError (FENCED_LEADER_EPOCH).
        """
        return s.stored_epoch <= s.write[w].leader_epoch

    def start_to_store(s, w: Slot) -> Offset:
        """Returns the start offset that the coordinator stores with the write `w`: the larger of
        the stored start offset and the start offset of the write.

        Kafka up to 4.3 stores the start offset of the write, also if it is smaller. So the claim
        `acknowledgements_last` breaks (version `kafka-4.3`, 12 steps).
        """
        return greatest_of(s.stored_start, s.write[w].start)

    def is_newer(s, w: Slot) -> Bool:
        """Returns True if the state of a record in the write `w` is newer than the record's state
        in the coordinator's log.

        The state with the larger delivery count is newer. If the counts are equal, the state that
        is later in `RecordState.labels` is newer.
        Without this rule, the claim `acknowledgements_last` breaks (bug `last-write-wins`, 9
        steps).

        Kafka: PersisterStateBatchCombiner.compareBatchDeliveryInfo.
        """
        write, old = s.write[w], s.stored[s.write[w].offset]
        return any_of(
            old.count < write.count, all_of(old.count == write.count, old.state < write.state)
        )

    def store(s, w: Slot, accepted: Bool) -> None:
        """If `accepted` holds, merges the write `w` into the coordinator's stored state, and drops
        the stored states of records below the start offset.

        Kafka: ShareCoordinatorShard.merge, PersisterStateBatchCombiner.combineStateBatches.
        """
        x, start = s.write[w].offset, s.start_to_store(w)
        takes = accepted & s.is_newer(w)
        now = Stored(state=s.write[w].state, count=s.write[w].count)
        for y in Offset:
            merged = ite(takes & (y == x), now, s.stored[y])
            s.stored[y] = ite(accepted & (y < start), Stored.blank(), merged)
        s.stored_start = ite(accepted, start, s.stored_start)

    # ---- the leader

    def is_from_leader(s, w: Slot) -> Bool:
        return s.write[w].leader_epoch == s.leader_epoch

    def complete(s, w: Slot, *, succeeds: bool) -> None:
        """Lets the leader learn the result of the write `w`, and move the share partition's start
        offset. If `succeeds` is false, the leader believes that the write has failed.

        The leader forgets the records below the start offset, unless a member still has them.

        Kafka: InFlightState.completeStateTransition,
        SharePartition.maybeUpdateCachedStateAndOffsets.
        """
        x, by = s.write[w].offset, s.write[w].member
        ends = s.is_from_leader(w) & (by != nothing)
        state = s.record[x].state if succeeds else s.state_after_failure(x)
        is_back = state == ACQUIRED
        after = InFlight(
            state=state,
            count=s.record[x].count,
            member=ite(is_back, by, nothing),
            previous=nothing,
            expired=s.record[x].expired & is_back,
        )
        is_final = ite(ends, is_final_state(state), s.is_final(x))
        moves = s.is_from_leader(w) & s.moves_start(w, succeeds=succeeds)
        start = ite(moves, s.start_after(x, is_final), s.start)
        for y in Offset:
            ends_here = ends & (y == x)
            is_held = ite(ends_here, is_back, s.is_held(y))
            now = ite(ends_here, after, s.record[y])
            s.record[y] = ite((y < start) & ~is_held, InFlight.blank(), now)
        s.start = start
        s.write[w] = Write.blank()

    def state_after_failure(s, x: Offset) -> RecordState:
        """Returns the state of the record `x` after the write of its acknowledgement has failed.

        If the lock has timed out meanwhile, the record is available, or archived at the delivery
        limit. Otherwise the member has the record again. The bug `keeps-expired-lock` ignores the
        timeout, and the bug `available-after-the-limit` ignores the limit (KAFKA-19476).

        Kafka: InFlightState.completeStateTransition.
        """
        return ite(s.record[x].expired, s.state_after_delivery(x), ACQUIRED)

    def moves_start(s, w: Slot, *, succeeds: bool) -> Bool:
        """Returns True if the leader looks for a new start offset when it learns the result of the
        write `w`. Here, the leader always does so; a version replaces this method.

        Kafka's leader does not look for a new start offset after a failed acknowledgement. So the
        claim `start_offset_reaches_the_end` breaks (bug `start-offset-waits`, 7 steps).
        """
        return true

    def is_passed(s, x: Offset) -> Bool:
        return s.is_final(x)

    def start_after(s, x: Offset, is_final: Bool) -> Offset:
        """Returns the offset of the first record, at or after the start offset, that is not final.
        If all these records are final, it returns the end of the log.

        The parameter `is_final` decides whether the record `x` counts as final.
        """
        return first(
            Offset,
            lambda y: (s.start <= y) & ~ite(y == x, is_final, s.is_passed(y)),
            default=s.end_offset,
        )
