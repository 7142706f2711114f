"""The lemmas that prove an abstract share partition.

The argument: the delivery count orders what happens to a record. A leader increases the count with
each delivery, so a write in flight for an earlier delivery has a smaller count than an
acknowledgement in flight. The coordinator keeps the state with the larger count. So after the
coordinator has stored an accept or a reject, no write that is already in flight changes the stored
state. The leader does not deliver the record again, and so sends no new write for it. The next
leader reads the stored state. From this read on, the coordinator refuses the writes of earlier
leaders that are still in flight. A record is *final* once it is accepted, rejected or archived. The
coordinator forgets a final record only below its start offset, so this offset must never go back.
"""

from __future__ import annotations

from model.language import Bool, all_of, any_of, forall, implies, lemma, nothing
from model.share_group_abstract.claims import AbstractShareGroupClaims
from model.share_group_abstract.state import DeliveryCount, Member, Offset, Slot


class AbstractShareGroupProof(AbstractShareGroupClaims):
    """Lemmas about locks, about writes in flight, and about final records."""

    # ---- leaders

    @lemma
    def leader_epochs_are_ordered(s) -> Bool:
        """The coordinator knows the epoch of the present leader if and only if this leader has read
        the stored state.

        Otherwise the coordinator knows an older epoch. Also, no write in flight has a newer epoch
        than the coordinator knows.

        The lemma is true because a leader sends nothing before it has read the stored state.
        """
        return all_of(
            s.stored_epoch <= s.leader_epoch,
            implies(s.is_active, s.stored_epoch == s.leader_epoch),
            implies(~s.is_active, s.stored_epoch != s.leader_epoch),
            forall(
                implies(s.write[w].sent, s.write[w].leader_epoch <= s.stored_epoch) for w in Slot
            ),
        )

    @lemma
    def new_leaders_know_nothing(s) -> Bool:
        """Until a new leader has read the stored state, it has delivered no record.

        The lemma is true because only an active leader delivers.
        """
        return forall(
            implies(
                ~s.is_active,
                all_of(
                    ~s.record[x].is_final,
                    s.record[x].count == DeliveryCount.least(),
                    ~s.is_held(x),
                ),
            )
            for x in Offset
        )

    # ---- locks

    @lemma
    def locks_are_the_leaders(s) -> Bool:
        """A member has a lock on a record only if the leader has given the record to this member.

        Also, while a member has acquired a record, the record is not final (accepted, rejected or
        archived), and no acknowledgement of the record is being written.

        The lemma is true because a record is not delivered while its acknowledgement is being
        written.
        """
        return forall(
            implies(s.holds[m][x], s.record[x].member == m) for m in Member for x in Offset
        ) & forall(
            implies(s.is_acquired(x), ~s.is_in_transition(x) & ~s.record[x].is_final)
            for x in Offset
        )

    # ---- writes in flight

    def is_of_present(s, w: Slot, x: Offset) -> Bool:
        """True if the write is in flight, comes from the present leader, and is about the record
        `x`.
        """
        return all_of(s.write[w].sent, s.is_from_leader(w), s.write[w].offset == x)

    def is_acknowledgement(s, w: Slot) -> Bool:
        return s.write[w].member != nothing

    @lemma
    def acknowledgements_are_in_transition(s) -> Bool:
        """While the present leader writes an acknowledgement, the record is in transition
        (`is_in_transition`), with the member, state and delivery count of the acknowledgement.

        The lemma is true because a member does not acknowledge a record again while its
        acknowledgement is being written.
        """
        return forall(
            implies(
                s.is_of_present(w, x) & s.is_acknowledgement(w),
                all_of(
                    s.record[x].previous == s.write[w].member,
                    s.record[x].is_final == s.write[w].is_final,
                    s.record[x].count == s.write[w].count,
                ),
            )
            for w in Slot
            for x in Offset
        )

    def is_counted(s, x: Offset) -> Bool:
        """True if the leader still knows the delivery count of the record."""
        return s.is_active & any_of(s.start <= x, s.is_held(x))

    @lemma
    def counts_grow(s) -> Bool:
        """The delivery count in a write of the present leader is at most the leader's count of the
        record.

        The count in the write is smaller if a timeout caused the write, and a member has acquired
        the record again since.

        The lemma is true because each delivery increases the count.
        """
        return forall(
            implies(
                s.is_of_present(w, x) & s.is_counted(x),
                all_of(
                    s.write[w].count <= s.record[x].count,
                    implies(
                        s.is_held(x) & ~s.is_acknowledgement(w),
                        s.write[w].count != s.record[x].count,
                    ),
                ),
            )
            for w in Slot
            for x in Offset
        )

    @lemma
    def acknowledgements_are_newest(s) -> Bool:
        """While an acknowledgement is in flight, the same leader's other writes for the same record
        come from timeouts of locks, and have smaller delivery counts.

        The lemma is true because the leader neither delivers the record nor lets its lock time out
        while an acknowledgement is written.
        """
        return forall(
            implies(
                all_of(
                    s.write[w].sent,
                    s.write[v].sent,
                    v != w,
                    s.write[v].leader_epoch == s.write[w].leader_epoch,
                    s.write[v].offset == s.write[w].offset,
                    s.is_acknowledgement(w),
                ),
                ~s.is_acknowledgement(v) & (s.write[v].count < s.write[w].count),
            )
            for v in Slot
            for w in Slot
        )

    # ---- what is stored

    @lemma
    def stored_counts_are_reached(s) -> Bool:
        """The stored delivery count of a record is at most the leader's count.

        An acknowledgement may be in flight with the coordinator's leader epoch (`stored_epoch`).
        Then the stored count is also at most the count in this acknowledgement.

        The lemma is true because the leader began with the stored count, and the leader's count
        does not decrease.
        """
        return forall(
            implies(s.is_counted(x), s.stored[x].count <= s.record[x].count) for x in Offset
        ) & forall(
            implies(
                all_of(
                    s.write[w].sent,
                    s.write[w].leader_epoch == s.stored_epoch,
                    s.is_acknowledgement(w),
                    s.write[w].offset == x,
                ),
                s.stored[x].count <= s.write[w].count,
            )
            for w in Slot
            for x in Offset
        )

    @lemma
    def confirmed_is_stored(s) -> Bool:
        """At the coordinator, a confirmed record is final or below the start offset.

        A record is confirmed if a member has received the answer that its accept or reject is
        stored. Unless the record is below the start offset, no write that the coordinator would
        accept has a larger delivery count than the stored one.

        The lemma is true because the stored start offset never goes back. It is false in Kafka 4.3,
        where a late write moves this offset back.
        """
        return forall(
            implies(
                s.confirmed[x],
                any_of(
                    x < s.stored_start,
                    all_of(
                        s.stored[x].is_final,
                        forall(
                            implies(
                                all_of(
                                    s.write[w].sent,
                                    s.write[w].leader_epoch == s.stored_epoch,
                                    s.write[w].offset == x,
                                ),
                                s.write[w].count <= s.stored[x].count,
                            )
                            for w in Slot
                        ),
                    ),
                ),
            )
            for x in Offset
        )

    @lemma
    def confirmed_is_final(s) -> Bool:
        """If the leader has read the stored state, each confirmed record is final or below the
        leader's start offset.

        Also, no member has acquired the record, and no acknowledgement of it is being written. A
        record is confirmed if a member has received the answer that its accept or reject is stored.

        The lemma is true because the leader has written the record's state itself, or has read it.
        """
        return forall(
            implies(
                s.is_active & s.confirmed[x],
                ~s.is_held(x) & any_of(x < s.start, s.record[x].is_final),
            )
            for x in Offset
        )

    # ---- the limit, and the start offset

    @lemma
    def available_is_below_the_limit(s) -> Bool:
        """A record that is neither final nor acquired was delivered less often than the limit.

        Also, each write has a delivery count of at most the limit. If the state in a write, or the
        stored state, is not final, its count is below the limit.

        The lemma is true because a release or a timeout at the limit archives the record.
        """
        return all_of(
            DeliveryCount.least() < s.limit,
            forall(
                all_of(
                    implies(~s.record[x].is_final & ~s.is_acquired(x), s.record[x].count < s.limit),
                    implies(~s.stored[x].is_final, s.stored[x].count < s.limit),
                )
                for x in Offset
            ),
            forall(
                implies(
                    s.write[w].sent,
                    all_of(
                        s.write[w].count <= s.limit,
                        implies(~s.write[w].is_final, s.write[w].count < s.limit),
                    ),
                )
                for w in Slot
            ),
        )

    @lemma
    def final_writes_are_decided(s) -> Bool:
        """If a write to the share coordinator has a final state, its record is decided or deleted.

        The final states are acknowledged and archived. A record is decided if a member has accepted
        or rejected it, or if it reached the limit of deliveries. The lemma is true because the
        record is decided before the leader sends such a write.
        """
        return forall(
            implies(
                all_of(s.write[w].sent, s.write[w].is_final, s.log_start <= s.write[w].offset),
                s.decided[s.write[w].offset],
            )
            for w in Slot
        )

    @lemma
    def writes_have_a_true_start(s) -> Bool:
        """The start offset in a write has passed only records that are decided or deleted.

        A record is decided if a member has accepted or rejected it, or if it reached the limit of
        deliveries. The lemma is true because the leader's start offset passes only such records.
        """
        return forall(
            implies(all_of(s.write[w].sent, x < s.write[w].start, s.log_start <= x), s.decided[x])
            for w in Slot
            for x in Offset
        )

    @lemma
    def stored_start_follows_the_leader(s) -> Bool:
        """The stored start offset is at most the start offset of a leader that has read it.

        Also, the start offset of each write of the present leader is at most the leader's start
        offset. The lemma is true because the leader began with the stored start offset, and its own
        start offset only grows.
        """
        return all_of(
            implies(s.is_active, s.stored_start <= s.start),
            forall(
                implies(s.write[w].sent & s.is_from_leader(w), s.write[w].start <= s.start)
                for w in Slot
            ),
        )
