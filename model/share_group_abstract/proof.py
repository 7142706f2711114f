"""The lemmas that prove the claims about an abstract share partition.

The delivery count orders the events of a record. A leader increases the count with each delivery,
so a write for an earlier delivery has a smaller count than an acknowledgement in flight. The
coordinator keeps the state with the larger count. So after the coordinator has stored an accept or
a reject, no write in flight changes this state. The leader does not deliver the record again, so it
sends no new write for the record. The next leader reads the stored state, and from then on the
coordinator refuses the writes of earlier leaders. The coordinator forgets a final record only below
its start offset, so the start offset must never go back.

A record is *final* if its state is accepted, rejected or archived. A record is *decided* if a
member has accepted or rejected it, or if it has reached the limit of deliveries. A record is
*confirmed* if a member has received the answer that an accept or reject of the record is stored.
"""

from __future__ import annotations

from model.language import Bool, all_of, any_of, forall, implies, lemma, nothing
from model.share_group_abstract.claims import AbstractShareGroupClaims
from model.share_group_abstract.state import DeliveryCount, Member, Offset, Slot


class AbstractShareGroupProof(AbstractShareGroupClaims):
    # ---- leaders

    @lemma
    def leader_epochs_are_ordered(s) -> Bool:
        """The coordinator knows the epoch of the present leader if and only if this leader has read
        the stored state.

        If the leader has not read it, the coordinator knows an older epoch. No write in flight has
        a newer epoch than the coordinator knows, because a leader sends no write before it has read
        the stored state.
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
        """Until a new leader has read the stored state, it has delivered no record and has no
        state of any record.
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

        While a record is given to a member, it is not final: it is not accepted, rejected or
        archived. Also, no acknowledgement of the record is being written.
        """
        return forall(
            implies(s.holds[m][x], s.record[x].member == m) for m in Member for x in Offset
        ) & forall(
            implies(s.is_acquired(x), ~s.is_in_transition(x) & ~s.record[x].is_final)
            for x in Offset
        )

    # ---- writes in flight

    def is_of_present(s, w: Slot, x: Offset) -> Bool:
        """Returns True if the write `w` is in flight, comes from the present leader, and has a
        state of the record `x`.
        """
        return all_of(s.write[w].sent, s.is_from_leader(w), s.write[w].offset == x)

    def is_acknowledgement(s, w: Slot) -> Bool:
        return s.write[w].member != nothing

    @lemma
    def acknowledgements_are_in_transition(s) -> Bool:
        """While an acknowledgement of the present leader is being written, its record is in
        transition (`is_in_transition`).

        The leader's state of the record then has the member, the delivery count and the state
        (final or not) of the acknowledgement.
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
        """Returns True if the leader still has the delivery count of the record `x`.

        A leader has no delivery counts before it has read the stored state. Later, it forgets the
        records below its start offset, unless a member still has them.
        """
        return s.is_active & any_of(s.start <= x, s.is_held(x))

    @lemma
    def counts_grow(s) -> Bool:
        """As long as the leader has a delivery count of a record (`is_counted`), each write of this
        leader for the record has at most this count.

        The count in the write is smaller if a timeout caused the write, and a member has acquired
        the record again since the timeout.
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
        """While an acknowledgement of a record is in flight, all other writes of the same leader
        for this record come from timeouts, and have smaller delivery counts.

        Until the acknowledgement is stored or has failed, the leader does not deliver the record,
        and sends no further write for it.
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
        """As long as the leader has a delivery count of a record (`is_counted`), the stored count
        of the record is at most the leader's count.

        Consider an acknowledgement in flight for the record. If its leader epoch is the one that
        the coordinator knows, the stored count is at most the count in the acknowledgement.
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
        """At the coordinator, every confirmed record is final or below the stored start offset.

        Consider a confirmed record that is not below the stored start offset. No write for this
        record with the leader epoch that the coordinator knows has a larger delivery count than the
        stored count. The lemma is false in Kafka 4.3, where a late write moves the stored start
        offset back.
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
        """If the leader has read the stored state, each confirmed record (`confirmed`) is final or
        below the leader's start offset.

        Also, no member has acquired a confirmed record, and no acknowledgement of such a record is
        being written.
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
        """If a record is not final and no member has acquired it, its delivery count is below the
        limit.

        The same is true at the coordinator: if the stored state of a record is not final, the
        stored delivery count is below the limit. In each write that is in flight to the
        coordinator, the delivery count is at most the limit. If the state in the write is not
        final, the count is below the limit.
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
        """If a write to the coordinator has a final state, the record of the write is decided or
        deleted.
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
        """All records below the start offset in a write are decided or deleted."""
        return forall(
            implies(all_of(s.write[w].sent, x < s.write[w].start, s.log_start <= x), s.decided[x])
            for w in Slot
            for x in Offset
        )

    @lemma
    def stored_start_follows_the_leader(s) -> Bool:
        """The stored start offset is at most the start offset of a leader that has read the stored
        state.

        The start offset in each write of the present leader is at most the leader's start offset.
        """
        return all_of(
            implies(s.is_active, s.stored_start <= s.start),
            forall(
                implies(s.write[w].sent & s.is_from_leader(w), s.write[w].start <= s.start)
                for w in Slot
            ),
        )
