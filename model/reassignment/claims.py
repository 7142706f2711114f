"""The claims about elections of a partition whose replicas change.

The claims about records hold only while few brokers have stopped uncleanly (`is_tolerable`).

Source: KIP-966; Vanlightly's kip-966 specification.
"""

from __future__ import annotations

from model.election.claims import ElectionClaims
from model.election.state import RecordId, Replica
from model.language import (
    Bool,
    Map,
    Temporal,
    action_property,
    all_of,
    eventually_always,
    exists,
    forall,
    iff,
    implies,
    invariant,
    leads_to,
    liveness,
    witness,
)
from model.reassignment.actions import Reassignments


class ReassignmentClaims(Reassignments):
    def is_tolerable(s) -> Bool:
        """Returns True if so few brokers have stopped uncleanly that every committed record must
        still have a copy.

        The number of unclean stops must be below min.insync.replicas, and below the initial number
        of replicas. If reassignments may change the number of replicas, no broker may have stopped
        uncleanly.
        """
        return s.unclean < min(s.min_isr, 1 if s.changes_factor else s.assigned)

    def is_on_enough(s, record: RecordId) -> Bool:
        return s.is_enough(Map(Replica, lambda r: s.has_record(r, record)))

    @action_property
    def committed_by_enough(s, after: ElectionClaims) -> Bool:
        """If no broker has ever lost records, a leader with the newest metadata commits a record
        only if enough brokers have it.

        At least min.insync.replicas brokers must have the record. If there are fewer replicas than
        that, all replicas must have it.
        """
        return forall(
            implies(
                all_of(
                    s.losses == 0,
                    s.presumes_leadership(leader),
                    s.broker[leader].is_current,
                    s.broker[leader].high_watermark < after.broker[leader].high_watermark,
                    ~s.committed[x],
                    after.committed[x],
                ),
                s.is_on_enough(x),
            )
            for leader in Replica
            for x in RecordId
        )

    @action_property
    def acknowledged_within_isr(s, after: ElectionClaims) -> Bool:
        """A leader raises its high watermark only if its ISR is large enough.

        The ISR needs min.insync.replicas members. If the leader knows fewer replicas than that, the
        ISR needs all of them.
        """
        return forall(
            implies(
                all_of(
                    s.presumes_leadership(r),
                    s.broker[r].high_watermark < after.broker[r].high_watermark,
                    after.broker[r].leader == r,
                ),
                s.is_enough_of(s.broker[r].isr, s.known_replicas[r]),
            )
            for r in Replica
        )

    # ---- replicas

    @invariant
    def members_are_replicas(s) -> Bool:
        """Every broker in the ISR or in the ELR is a replica."""
        return forall(
            implies(
                s.partition_registration.isr[r] | s.partition_registration.elr[r],
                s.assignment.replicas[r],
            )
            for r in Replica
        )

    @invariant
    def leader_is_replica(s) -> Bool:
        """The leader of the partition is a replica."""
        return forall(
            implies(s.partition_registration.leader == r, s.assignment.replicas[r]) for r in Replica
        )

    @invariant
    def changing_are_replicas(s) -> Bool:
        """While a reassignment is in progress, the brokers that it adds or removes are replicas."""
        return forall(
            implies(s.assignment.adding[r] | s.assignment.removing[r], s.assignment.replicas[r])
            for r in Replica
        )

    @liveness
    def reassignments_end(s) -> Temporal:
        """Every reassignment eventually completes, or an operator cancels it."""
        return leads_to(s.is_in_progress(), ~s.is_in_progress())

    @liveness
    def everybody_is_in_sync(s) -> Temporal:
        """Eventually the ISR equals the set of replicas, and remains equal to this set."""
        return eventually_always(
            forall(iff(s.partition_registration.isr[r], s.assignment.replicas[r]) for r in Replica)
        )

    # ---- witnesses

    @witness
    def moved_with_a_committed_record(s) -> Bool:
        """Reachable: a record is committed, and a broker that is not a replica has an empty log.

        If all brokers are replicas at first, a reassignment has removed this broker.
        """
        return exists(
            all_of(s.is_committed(x), ~s.assignment.replicas[r], s.broker[r].end_offset == 0)
            for r in Replica
            for x in RecordId
        )

    @witness
    def a_reassignment_is_in_progress(s) -> Bool:
        """Reachable: a reassignment is in progress."""
        return s.is_in_progress()
