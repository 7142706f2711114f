"""The claims about an abstract share partition: claims about locks, acknowledgements, delivery
counts and start offsets.
"""

from __future__ import annotations

from model.language import (
    Bool,
    all_of,
    any_of,
    exists,
    forall,
    implies,
    invariant,
    nothing,
    witness,
)
from model.share_group_abstract.actions import AbstractShareGroupActions
from model.share_group_abstract.state import Member, Offset, Slot


class AbstractShareGroupClaims(AbstractShareGroupActions):
    # ---- claims

    @invariant
    def one_member_has_a_record(s) -> Bool:
        """At most one member has a record. A member has a record while it has a lock on the
        record, or while its acknowledgement of the record is being written.
        """
        return forall(
            implies(s.has(a, x) & s.has(b, x), a == b)
            for x in Offset
            for a in Member
            for b in Member
        )

    @invariant
    def acknowledgements_last(s) -> Bool:
        """If a member has received the answer that its accept or reject of a record succeeded,
        no member has this record any more.
        """
        return forall(implies(s.confirmed[x], ~s.has(m, x)) for x in Offset for m in Member)

    @invariant
    def no_record_is_skipped(s) -> Bool:
        """Each record that is final or below a start offset was accepted, rejected, archived at the
        limit of deliveries, or deleted by retention.

        The claim is about the start offsets and final states of the leader and of the coordinator.
        """
        return forall(
            implies(
                all_of(
                    any_of(
                        x < s.start,
                        x < s.stored_start,
                        s.record[x].is_final,
                        s.stored[x].is_final,
                    ),
                    s.log_start <= x,
                ),
                s.decided[x],
            )
            for x in Offset
        )

    @invariant
    def delivery_count_is_limited(s) -> Bool:
        """The delivery count of a record is at most `group.share.delivery.count.limit`."""
        return forall(
            (s.record[x].count <= s.limit) & (s.stored[x].count <= s.limit) for x in Offset
        )

    @invariant
    def start_offset_never_goes_back(s) -> Bool:
        """No start offset that was ever stored is above the present stored start offset, or above
        the start offset of a leader that has read the stored state.
        """
        return all_of(
            s.largest_start <= s.stored_start,
            implies(s.is_active, s.largest_start <= s.start),
        )

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
                s.is_acquired(s.write[w].offset),
            )
            for w in Slot
        )

    @witness
    def archived_at_the_limit(s) -> Bool:
        """Reachable: the leader archives a record, because its lock timed out at the limit of
        deliveries.
        """
        return exists(
            all_of(
                s.write[w].sent,
                s.write[w].member == nothing,
                s.write[w].is_final,
                s.write[w].count == s.limit,
            )
            for w in Slot
        )

    @witness
    def a_record_before_others_is_unknown(s) -> Bool:
        """Reachable: a member has the answer that its accept or reject of a record is stored,
        while members may still acquire an earlier record.
        """
        return exists(
            all_of(s.is_active, x < y, s.may_acquire(x), s.confirmed[y])
            for x in Offset
            for y in Offset
        )

    @witness
    def a_failed_acknowledgement_is_kept(s) -> Bool:
        """Reachable: the leader believes that an accept failed and delivers the record again,
        but the coordinator has stored the accept.
        """
        return exists(
            all_of(s.is_acquired(x), s.stored[x].is_final, s.stored[x].count < s.record[x].count)
            for x in Offset
        )

    @witness
    def confirmed_by_an_old_leader(s) -> Bool:
        """Reachable: a leader has answered that an accept succeeded, and a newer leader has not
        read the stored state yet.
        """
        return exists(all_of(~s.is_active, s.confirmed[x]) for x in Offset)
