"""The claims about the abstract partition."""

from __future__ import annotations

from model.language import Bool, Map, all_of, any_of, exists, forall, implies, invariant, witness
from model.reassignment_abstract.actions import AbstractPartitionActions
from model.reassignment_abstract.state import LeaderEpoch, RecordId, Replica


class AbstractPartition(AbstractPartitionActions):
    # ---- records

    @invariant
    def eligible_replicas_have_committed_records(s) -> Bool:
        """Every replica in the ISR or the ELR has every committed record."""
        return forall(
            implies(s.is_eligible(r) & s.led[e].committed[x], s.broker[r].log[x])
            for r in Replica
            for e in LeaderEpoch
            for x in RecordId
        )

    @invariant
    def leaders_begin_with_committed_records(s) -> Bool:
        """When a leader begins to lead, it has each record that a leader of an earlier epoch has
        committed or will commit.
        """
        return forall(
            implies(all_of(older < e, s.led[e].begun, s.led[older].committed[x]), s.led[e].start[x])
            for e in LeaderEpoch
            for older in LeaderEpoch
            for x in RecordId
        )

    @invariant
    def an_eligible_replica_remains(s) -> Bool:
        """While fewer than min.insync.replicas brokers have stopped uncleanly, at least one replica
        in the ISR or the ELR has not stopped uncleanly.
        """
        return s.are_enough_copies(s.unclean) | exists(
            s.is_eligible(r) & ~s.unclean[r] for r in Replica
        )

    # ---- the registration

    @invariant
    def enough_members_remain(s) -> Bool:
        """At least min.insync.replicas brokers are in the ISR, are in the ELR, or have stopped
        uncleanly.
        """
        return s.are_enough_copies(
            Map(Replica, lambda r: any_of(s.isr[s.newest][r], s.elr[s.newest][r], s.unclean[r]))
        )

    @invariant
    def members_are_replicas(s) -> Bool:
        """Every broker in the ISR or in the ELR is a replica."""
        return forall(
            implies(s.isr[s.newest][r] | s.elr[s.newest][r], s.replicas[r]) for r in Replica
        )

    @invariant
    def one_leader_per_epoch(s) -> Bool:
        """At most one broker considers itself the leader in each leader epoch."""
        return forall(
            implies(
                all_of(
                    s.broker[a].is_leader,
                    s.broker[b].is_leader,
                    s.broker[a].leader_epoch == s.broker[b].leader_epoch,
                ),
                a == b,
            )
            for a in Replica
            for b in Replica
        )

    # ---- witnesses

    @witness
    def a_record_outlives_its_leader(s) -> Bool:
        """Reachable: a leader has committed a record, and a leader of a larger epoch has begun
        to lead.
        """
        return exists(
            all_of(older < e, s.led[e].begun, s.led[older].committed[x])
            for e in LeaderEpoch
            for older in LeaderEpoch
            for x in RecordId
        )

    @witness
    def a_record_moves(s) -> Bool:
        """Reachable: a record is committed, and a broker that acknowledged the record is not a
        replica any more.
        """
        return exists(
            all_of(s.led[e].committed[x], ~s.replicas[r], s.led[e].acknowledged[r][x])
            for e in LeaderEpoch
            for r in Replica
            for x in RecordId
        )

    @witness
    def a_deposed_leader_commits(s) -> Bool:
        """Reachable: two brokers lead in different epochs, and the leader of the older epoch may
        still commit records.
        """
        return exists(
            all_of(
                s.broker[a].is_leader,
                s.broker[b].is_leader,
                s.broker[a].leader_epoch < s.broker[b].leader_epoch,
                s.may_commit(s.broker[a].leader_epoch),
            )
            for a in Replica
            for b in Replica
        )
