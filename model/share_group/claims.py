"""The claims about a share partition: claims about locks, acknowledgements, deliveries and start
offsets.
"""

from __future__ import annotations

from typing import Self

from model.language import (
    Bool,
    Temporal,
    action_property,
    all_of,
    always_eventually,
    any_of,
    exists,
    forall,
    implies,
    invariant,
    liveness,
    nothing,
    witness,
)
from model.share_group.actions import ShareGroupActions
from model.share_group.state import (
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    CONFIRMED,
    OPEN,
    Member,
    Offset,
    Slot,
)


class ShareGroupClaims(ShareGroupActions):
    # ---- claims

    @invariant
    def one_member_at_a_time(s) -> Bool:
        """While the acknowledgement of a record is being written, no other member acquires the
        record.
        """
        return forall(~((s.record[x].state == ACQUIRED) & s.is_in_transition(x)) for x in Offset)

    @action_property
    def locks_are_exclusive(s, after: Self) -> Bool:
        """A record that a member has acquired does not pass directly to another member while the
        same leader is in office.

        Before another member may acquire the record, the first member must have acknowledged it, or
        the first member's lock must have timed out.
        """
        return forall(
            implies(
                all_of(
                    s.leader_epoch == after.leader_epoch,
                    s.record[x].member == a,
                    after.record[x].member == b,
                ),
                a == b,
            )
            for x in Offset
            for a in Member
            for b in Member
        )

    @invariant
    def only_the_holder_acknowledges(s) -> Bool:
        """The leader accepts the acknowledgement of a record only from the member that has
        acquired the record.
        """
        return forall(
            implies(
                all_of(s.write[w].sent, s.is_from_leader(w), s.write[w].member == m),
                s.record[s.write[w].offset].previous == m,
            )
            for w in Slot
            for m in Member
        )

    @invariant
    def acknowledgements_last(s) -> Bool:
        """If a member has received the answer that its accept or reject of a record succeeded,
        no member acquires this record again.
        """
        return forall(
            implies(s.outcome[x] == CONFIRMED, s.record[x].state != ACQUIRED) for x in Offset
        )

    @invariant
    def no_record_is_skipped(s) -> Bool:
        """Each record below the start offset was accepted, rejected, archived at the delivery
        limit, or deleted by retention.
        """
        return forall(
            implies(
                all_of(any_of(x < s.start, x < s.stored_start), s.log_start <= x),
                s.outcome[x] != OPEN,
            )
            for x in Offset
        )

    @invariant
    def delivery_count_is_limited(s) -> Bool:
        """The delivery count of a record is at most `group.share.delivery.count.limit`."""
        return forall(
            all_of(
                s.record[x].count <= s.delivery_limit,
                s.stored[x].count <= s.delivery_limit,
            )
            for x in Offset
        )

    @action_property
    def start_offset_grows(s, after: Self) -> Bool:
        """The start offset of a leader never decreases, and the stored start offset never
        decreases.
        """
        return all_of(
            s.stored_start <= after.stored_start,
            implies(
                s.is_active & (s.leader_epoch == after.leader_epoch),
                s.start <= after.start,
            ),
        )

    @liveness
    def records_are_settled(s, x: Offset) -> Temporal:
        """Each record is eventually acknowledged, archived or deleted."""
        return always_eventually(
            any_of(x == s.end_offset, s.is_active & any_of(x < s.start, s.is_final(x)))
        )

    @liveness
    def start_offset_reaches_the_end(s) -> Temporal:
        """The start offset eventually reaches the end of the log, to which no producer appends."""
        return always_eventually(s.is_active & (s.start == s.end_offset))

    # ---- witnesses

    @witness
    def redelivered_after_a_timeout(s) -> Bool:
        """Reachable: a lock has timed out, and a member has the record again before the
        coordinator has stored the timeout.
        """
        return exists(
            all_of(
                s.write[w].sent,
                s.is_from_leader(w),
                s.write[w].member == nothing,
                s.record[s.write[w].offset].state == ACQUIRED,
            )
            for w in Slot
        )

    @witness
    def order_is_not_kept(s) -> Bool:
        """Reachable: a record is delivered again after a later record was accepted or rejected."""
        return exists(
            all_of(
                x < y,
                s.record[x].state == ACQUIRED,
                s.record[x].count > 1,
                s.outcome[y] == CONFIRMED,
            )
            for x in Offset
            for y in Offset
        )

    @witness
    def archived_at_the_limit(s) -> Bool:
        """Reachable: the leader archives a record, because its lock timed out at the delivery
        limit.
        """
        return exists(
            all_of(
                s.write[w].sent,
                s.write[w].member == nothing,
                s.write[w].state == ARCHIVED,
                s.write[w].count == s.delivery_limit,
            )
            for w in Slot
        )

    @witness
    def a_record_before_others_is_unknown(s) -> Bool:
        """Reachable: a leader knows that a record is acknowledged, but not that an earlier leader
        has delivered a record at a smaller offset.
        """
        return exists(
            all_of(
                s.is_active,
                x < y,
                s.may_acquire(x),
                s.record[x].count == 0,
                s.record[y].state == ACKNOWLEDGED,
            )
            for x in Offset
            for y in Offset
        )

    @witness
    def a_failed_acknowledgement_is_kept(s) -> Bool:
        """Reachable: the leader believes that an accept failed and offers the record again, but
        the coordinator has stored the accept.
        """
        return exists(
            all_of(
                s.is_active,
                s.stored[x].state == ACKNOWLEDGED,
                any_of(s.record[x].state == AVAILABLE, s.record[x].state == ACQUIRED),
                s.record[x].count > s.stored[x].count,
            )
            for x in Offset
        )
