"""The claims about elections: records that survive, legal controller states, and recovery.

The claims about records hold only while fewer than min.insync.replicas brokers have failed. Each
unclean stop counts as a failure. The version `kip-966`, which was not released, is an exception:
there, only a stop that loses records counts.

Source: Vanlightly's kip-966 and v3.5 specifications; KIP-966; Kafka documentation, "acks".
"""

from __future__ import annotations

from typing import Self

from model.election.actions.controller import Controller
from model.election.state import Offset, RecordId, Replica
from model.language import (
    Bool,
    Temporal,
    action_property,
    all_of,
    always_eventually,
    count,
    eventually_always,
    exists,
    forall,
    implies,
    invariant,
    leads_to,
    liveness,
    nothing,
    witness,
)


class ElectionClaims(Controller):
    """The claims about elections. The liveness claims need a finite number of failures, which
    constants such as `max_unclean` limit.
    """

    def is_tolerable(s) -> Bool:
        """Returns True while fewer than min.insync.replicas brokers have stopped uncleanly. The
        claims about records must then hold.
        """
        return s.unclean < s.copies()

    # ---- records

    @invariant
    def leader_completeness(s) -> Bool:
        """While fewer than min.insync.replicas brokers have failed, an elected leader that is up
        has every committed record.
        """
        return forall(
            implies(
                all_of(s.is_tolerable(), s.partition_registration.leader == r, s.has_log(r)),
                s.has_all_committed(r),
            )
            for r in Replica
        )

    @invariant
    def candidate_completeness(s) -> Bool:
        """While fewer than min.insync.replicas brokers have failed, every running member of the ISR
        or the ELR has every committed record.
        """
        return forall(
            implies(
                all_of(
                    s.is_tolerable(),
                    s.partition_registration.isr[r] | s.partition_registration.elr[r],
                    s.has_log(r),
                ),
                s.has_all_committed(r),
            )
            for r in Replica
        )

    @invariant
    def nothing_committed_is_lost(s) -> Bool:
        """While fewer than min.insync.replicas brokers have failed, every committed record is in
        the log of at least one replica.
        """
        return forall(
            implies(
                s.is_tolerable() & s.is_committed(x), exists(s.has_record(r, x) for r in Replica)
            )
            for x in RecordId
        )

    @invariant
    def log_matching(s) -> Bool:
        """While fewer than min.insync.replicas brokers have failed, any two replicas have the
        same record at each offset below both of their high watermarks.
        """
        return forall(
            implies(
                all_of(
                    s.is_tolerable(),
                    offset < s.broker[a].high_watermark,
                    offset < s.broker[b].high_watermark,
                ),
                s.broker[a].record[offset] == s.broker[b].record[offset],
            )
            for a in Replica
            for b in Replica
            for offset in Offset
        )

    @invariant
    def high_watermark_in_log(s) -> Bool:
        """No replica's high watermark is beyond the end of its log."""
        return forall(s.broker[r].high_watermark <= s.broker[r].end_offset for r in Replica)

    @action_property
    def committed_by_enough(s, after: Self) -> Bool:
        """If no broker has ever lost records, a record that becomes committed is in the logs of
        at least min.insync.replicas replicas.
        """
        return forall(
            implies(
                all_of(s.losses == 0, ~s.committed[x], after.committed[x]),
                count(s.has_record(r, x) for r in Replica) >= s.copies(),
            )
            for x in RecordId
        )

    @action_property
    def acknowledged_within_isr(s, after: Self) -> Bool:
        """A leader raises its high watermark only while its ISR has at least min.insync.replicas
        members.
        """
        return forall(
            implies(
                all_of(
                    s.presumes_leadership(r),
                    s.broker[r].high_watermark < after.broker[r].high_watermark,
                    after.broker[r].leader == r,
                ),
                s.is_enough_for_leader(r),
            )
            for r in Replica
        )

    # ---- the controller's state

    @invariant
    def fenced_is_out_of_sync(s) -> Bool:
        """No fenced broker is in the ISR."""
        return forall(implies(s.partition_registration.isr[r], s.is_alive(r)) for r in Replica)

    @invariant
    def isr_and_elr(s) -> Bool:
        """No replica is both in the ISR and in the ELR. The ELR is empty while the ISR has at least
        min.insync.replicas members.
        """
        return all_of(
            forall(
                ~(s.partition_registration.isr[r] & s.partition_registration.elr[r])
                for r in Replica
            ),
            implies(
                s.is_enough(s.partition_registration.isr), s.is_empty(s.partition_registration.elr)
            ),
        )

    @invariant
    def leader_is_alive_and_in_isr(s) -> Bool:
        """If the partition has a leader, the leader is in the ISR and is not fenced."""
        return forall(
            implies(
                s.partition_registration.leader == r,
                s.partition_registration.isr[r] & s.is_alive(r),
            )
            for r in Replica
        )

    @invariant
    def one_leader_per_epoch(s) -> Bool:
        """At most one broker considers itself the leader in each leader epoch."""
        return forall(
            implies(
                all_of(
                    s.presumes_leadership(a),
                    s.presumes_leadership(b),
                    s.broker[a].leader_epoch == s.broker[b].leader_epoch,
                ),
                a == b,
            )
            for a in Replica
            for b in Replica
        )

    @invariant
    def replication_quorum_superset(s) -> Bool:
        """If the newest leader's ISR is large enough to commit, its maximal ISR includes every
        member of the controller's ISR and ELR.
        """
        return forall(
            implies(
                all_of(
                    s.is_true_leader(leader),
                    s.is_enough_for_leader(leader),
                    s.partition_registration.isr[r] | s.partition_registration.elr[r],
                ),
                s.is_maximal_isr(leader, r),
            )
            for leader in Replica
            for r in Replica
        )

    @action_property
    def epochs_grow(s, after: Self) -> Bool:
        """The published leader epoch and the published broker epochs never decrease, and each new
        leader begins a new leader epoch.

        Also, the leader epoch of a broker never decreases while the broker is running.
        """
        before, now = s.published_partition(), after.published_partition()
        return all_of(
            before.leader_epoch <= now.leader_epoch,
            (before.leader == now.leader) | (before.leader_epoch < now.leader_epoch),
            forall(
                all_of(
                    s.published_registration(r).broker_epoch
                    <= after.published_registration(r).broker_epoch,
                    implies(
                        s.broker[r].is_up & after.broker[r].is_up,
                        s.broker[r].leader_epoch <= after.broker[r].leader_epoch,
                    ),
                )
                for r in Replica
            ),
        )

    @action_property
    def unclean_is_excluded(s, after: Self) -> Bool:
        """When a broker returns after an unclean stop, it is neither in the ISR nor in the ELR."""
        return forall(
            implies(
                all_of(~s.broker[r].is_up, after.broker[r].is_up, ~s.broker[r].stopped_cleanly),
                ~after.partition_registration.isr[r] & ~after.partition_registration.elr[r],
            )
            for r in Replica
        )

    # ---- liveness

    @liveness
    def requests_are_answered(s, leader: Replica) -> Temporal:
        """Every pending AlterPartition request eventually ends: the leader waits no longer for a
        response.
        """
        return leads_to(s.broker[leader].is_pending, ~s.broker[leader].is_pending)

    @liveness
    def everybody_is_in_sync(s) -> Temporal:
        """Eventually the ISR has all replicas, and no replica leaves it any more."""
        return eventually_always(forall(s.partition_registration.isr[r] for r in Replica))

    @liveness
    def somebody_leads(s) -> Temporal:
        """Infinitely often, the partition has a leader that is up and considers itself the
        leader.
        """
        return always_eventually(exists(s.is_true_leader(r) for r in Replica))

    @liveness
    def everything_is_committed(s) -> Temporal:
        """Infinitely often, the leader's high watermark is at the end of the leader's log."""
        return always_eventually(
            exists(
                s.is_true_leader(r) & (s.broker[r].high_watermark == s.broker[r].end_offset)
                for r in Replica
            )
        )

    # ---- witnesses

    @witness
    def committed_and_elected_again(s) -> Bool:
        """Reachable: a record is committed, and a broker other than the first leader is up and
        leads.
        """
        return exists(
            all_of(s.is_true_leader(r), r != Replica.least(), s.is_committed(x))
            for r in Replica
            for x in RecordId
        )

    @witness
    def a_deposed_leader_does_not_know(s) -> Bool:
        """Reachable: two brokers consider themselves the leader."""
        return exists(
            all_of(a != b, s.presumes_leadership(a), s.presumes_leadership(b))
            for a in Replica
            for b in Replica
        )

    @witness
    def nobody_leads(s) -> Bool:
        """Reachable: a partition with a committed record has no leader."""
        return (s.partition_registration.leader == nothing) & exists(
            s.is_committed(x) for x in RecordId
        )

    @witness
    def a_request_is_pending(s) -> Bool:
        """Reachable: the controller has added a member to the ISR, but the leader does not know
        the new ISR yet.
        """
        return exists(
            all_of(
                s.is_true_leader(leader), s.partition_registration.isr[r], ~s.broker[leader].isr[r]
            )
            for leader in Replica
            for r in Replica
        )
