"""The actions of writes: the coordinator stores the state of a record, and the leader learns the
result.
"""

from __future__ import annotations

from model.language import Bool, action, all_of, any_of, false, greatest_of, ite, nothing, when
from model.share_group_abstract.actions.delivering import Deliveries
from model.share_group_abstract.state import InFlight, Member, Offset, Slot, Stored, Write


class Writes(Deliveries):
    @action
    def persist(s, w: Slot) -> None:
        """The coordinator receives and answers a write. It stores the write unless it knows a newer
        leader than the sender.

        If the leader still waits for the answer, the answer ends the record's transition, and the
        member learns the result.

        Kafka: ShareCoordinatorShard.writeState, SharePartition.rollbackOrProcessStateUpdates.
        Simplified: the coordinator stores and answers in one step, and writes arrive in any order.
        """
        when(s.write[w].sent)
        x, is_acknowledgement = s.write[w].offset, s.write[w].member != nothing
        s.confirmed[x] = any_of(
            s.confirmed[x], all_of(s.is_accepted(w), is_acknowledgement, s.write[w].is_final)
        )
        s.store(w)
        s.succeed(w)

    @action
    def lose_write(s, w: Slot) -> None:
        """A write fails before the coordinator receives it.

        Kafka: PersisterStateManager.WriteStateHandler.handleRequestResponse, if all attempts fail.
        """
        when(s.write[w].sent)
        s.fail(w)

    @action
    def lose_answer(s, w: Slot) -> None:
        """The coordinator stores a write, but the leader receives no answer and believes that the
        write has failed.

        Kafka: PersisterStateManager.WriteStateHandler.handleRequestResponse, if all attempts fail.
        """
        when(s.write[w].sent, s.is_accepted(w))
        s.store(w)
        s.fail(w)

    # ---- the coordinator

    def is_accepted(s, w: Slot) -> Bool:
        """Returns True if the coordinator knows no newer leader than the sender of the write `w`.

        Kafka: ShareCoordinatorShard.maybeGetWriteStateError (FENCED_LEADER_EPOCH).
        """
        return s.stored_epoch <= s.write[w].leader_epoch

    def start_to_store(s, w: Slot) -> Offset:
        """Returns the start offset that the coordinator stores with the write `w`. It is the larger
        one of the start offset in the write and the stored start offset.

        Kafka up to 4.3 stores the start offset in the write, even if the stored start offset is
        larger. So the claim `acknowledgements_last` breaks (version `kafka-4.3`, 13 steps).
        """
        return greatest_of(s.stored_start, s.write[w].start)

    def is_newer(s, w: Slot) -> Bool:
        """Returns True if the state in the write `w` is newer than the state of the record that the
        coordinator has stored.

        The state with the larger delivery count is newer. If the counts are equal, the write is
        newer unless the stored state is final.
        Without this rule, the claim `acknowledgements_last` breaks (bug `last-write-wins`, 9
        steps).

        Kafka: PersisterStateBatchCombiner.compareBatchDeliveryInfo.
        """
        write, old = s.write[w], s.stored[s.write[w].offset]
        return any_of(old.count < write.count, all_of(old.count == write.count, ~old.is_final))

    def store(s, w: Slot) -> None:
        """Merges the write `w` into the coordinator's stored state if the coordinator accepts the
        write. The coordinator drops the stored states of records below the start offset.

        Kafka: ShareCoordinatorShard.merge, PersisterStateBatchCombiner.combineStateBatches.
        """
        x, accepted, start = s.write[w].offset, s.is_accepted(w), s.start_to_store(w)
        now = Stored(is_final=s.write[w].is_final, count=s.write[w].count)
        for y in Offset:
            merged = ite(all_of(accepted, s.is_newer(w), y == x), now, s.stored[y])
            s.stored[y] = ite(accepted & (y < start), Stored.blank(), merged)
        s.stored_start = ite(accepted, start, s.stored_start)
        s.largest_start = ite(accepted, greatest_of(s.largest_start, start), s.largest_start)

    # ---- the leader

    def is_awaited(s, w: Slot) -> Bool:
        """Returns True if the write `w` stores a member's acknowledgement, and the present
        leader waits for its result.
        """
        return s.is_from_leader(w) & (s.write[w].member != nothing)

    def succeed(s, w: Slot) -> None:
        """Lets the leader learn that the write `w` is stored. If the present leader waits for this
        result (`is_awaited`), the record is no longer in transition, and its new state is valid.

        Kafka: InFlightState.completeStateTransition.
        """
        x = s.write[w].offset
        done = InFlight(
            is_final=s.record[x].is_final,
            count=s.record[x].count,
            member=nothing,
            previous=nothing,
            expired=false,
        )
        s.record[x] = ite(s.is_awaited(w), done, s.record[x])
        s.write[w] = Write.blank()

    def fail(s, w: Slot) -> None:
        """Lets the leader treat the write `w` as failed. If `w` stores an acknowledgement, the
        member has the record again.

        If the member's lock has timed out meanwhile, the record is available instead, or archived
        at the delivery limit.

        Kafka: InFlightState.completeStateTransition.
        """
        x, m = s.write[w].offset, s.write[w].member
        waits, ended, is_final = s.is_awaited(w), s.record[x].expired, s.is_archived_after(x)
        s.decided[x] = any_of(s.decided[x], all_of(waits, is_final))
        after = InFlight(
            is_final=is_final,
            count=s.record[x].count,
            member=ite(ended, nothing, m),
            previous=nothing,
            expired=false,
        )
        for n in Member:
            s.holds[n][x] = any_of(s.holds[n][x], all_of(waits, ~ended, m == n))
        s.record[x] = ite(waits, after, s.record[x])
        s.write[w] = Write.blank()

    def is_archived_after(s, x: Offset) -> Bool:
        """Returns True if the leader archives the record `x` when the write of an acknowledgement
        fails.

        The leader does this only after the member's lock has timed out. The record must also be at
        the delivery limit, or below the start offset. If the leader ignores the limit, the claim
        `delivery_count_is_limited` breaks (bug `available-after-the-limit`, 5 steps; KAFKA-19476).
        """
        return s.record[x].expired & s.is_archived_next(x)
