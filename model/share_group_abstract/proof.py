"""The lemmas that prove an abstract share partition.

The delivery count orders what happens to a record. A leader increases it with each delivery, so a
write for an earlier delivery has a smaller count than an acknowledgement in flight. The coordinator
keeps the state with the larger count. So once it has stored an accept or a reject, no write in
flight changes that state. The leader does not deliver the record again, so it sends no new write.
The next leader reads the stored state, and from then on the coordinator refuses the writes of
earlier leaders. The coordinator forgets a final record only below its start offset, so this offset
must never go back.

A record is *final* once it is accepted, rejected or archived. It is *decided* once a member has
accepted or rejected it, or it has reached the limit of deliveries. It is *confirmed* once a member
has received the answer that an accept or reject is stored.
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

        Otherwise the coordinator knows an older epoch. No write in flight has a newer epoch than
        the coordinator knows, because a leader sends nothing before it has read.
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
        """Until a new leader has read the stored state, it has delivered no record."""
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

        While the leader has given a record to a member, the record is not final: neither accepted
        nor rejected nor archived. No acknowledgement of it is being written.
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

        Meanwhile, the leader neither delivers the record nor lets its lock time out.
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

        The stored count is also at most the count of an acknowledgement in flight with the
        coordinator's leader epoch.
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

        Unless the record is below the start offset, no write that the coordinator would accept has
        a larger delivery count than the stored one. The lemma is false in Kafka 4.3, where a late
        write moves the stored start offset back.
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

        Also, no member has acquired the record, and no acknowledgement of it is being written.
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

        Each write has a delivery count of at most the limit. If the state in a write, or the stored
        state, is not final, its count is below the limit.
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
        """If a write to the coordinator has a final state, its record is decided or deleted."""
        return forall(
            implies(
                all_of(s.write[w].sent, s.write[w].is_final, s.log_start <= s.write[w].offset),
                s.decided[s.write[w].offset],
            )
            for w in Slot
        )

    @lemma
    def writes_have_a_true_start(s) -> Bool:
        """The start offset in a write has passed only records that are decided or deleted."""
        return forall(
            implies(all_of(s.write[w].sent, x < s.write[w].start, s.log_start <= x), s.decided[x])
            for w in Slot
            for x in Offset
        )

    @lemma
    def stored_start_follows_the_leader(s) -> Bool:
        """The stored start offset is at most the start offset of a leader that has read it.

        The start offset of each write of the present leader is at most the leader's start offset,
        too.
        """
        return all_of(
            implies(s.is_active, s.stored_start <= s.start),
            forall(
                implies(s.write[w].sent & s.is_from_leader(w), s.write[w].start <= s.start)
                for w in Slot
            ),
        )
