"""The claims about the spec `replication`. Every version of the spec is checked against every
claim.

Old versions of the protocol, and bugs, break some of the claims. Each version and each bug is a
class, whose decorator names the broken claim and the number of steps of a shortest counterexample.
The liveness claim assumes that from some time on no replica fails.

Source: hachikuji/kafka-specification d68782b (WeakIsr, StrongIsr); Vanlightly's kip-966
specification (LogMatching).
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
from model.replication.state import Offset, Replica, ReplicatedPartition


class ReplicationClaims(ReplicatedPartition):
    # ---- invariants

    def has_replicated(s, leader: Replica, member: Replica) -> Bool:
        return forall(
            implies(
                offset < s.replica[leader].high_watermark,
                s.log[leader].agrees_with(s.log[member], offset),
            )
            for offset in Offset
        )

    @invariant
    def weak_isr(s) -> Bool:
        """If a replica believes that it leads, each member of its ISR has every record below its
        high watermark.
        """
        return forall(
            implies(s.presumes_leadership(leader), s.has_replicated(leader, member))
            for leader in Replica
            for member in s.replica[leader].isr
        )

    @invariant
    def strong_isr(s) -> Bool:
        """If a replica believes that it leads, each member of the controller's ISR has every record
        below the replica's high watermark.
        """
        return forall(
            implies(s.presumes_leadership(leader), s.has_replicated(leader, member))
            for leader in Replica
            for member in s.registration.isr
        )

    @invariant
    def log_matching(s) -> Bool:
        """Two replicas have the same record at every offset below both of their high watermarks."""
        return forall(
            implies(
                (offset < s.replica[a].high_watermark) & (offset < s.replica[b].high_watermark),
                s.log[a].agrees_with(s.log[b], offset),
            )
            for a in Replica
            for b in Replica
            for offset in Offset
        )

    @invariant
    def high_watermark_in_log(s) -> Bool:
        """No replica's high watermark is beyond the end of the replica's log."""
        return forall(s.replica[r].high_watermark <= s.log[r].end_offset for r in Replica)

    # ---- action properties

    @action_property
    def leader_epochs_grow(s, after: Self) -> Bool:
        """Neither the controller nor a replica returns to an older leader epoch."""
        return all_of(
            s.registration.leader_epoch <= after.registration.leader_epoch,
            forall(s.replica[r].leader_epoch <= after.replica[r].leader_epoch for r in Replica),
        )

    @action_property
    def a_leaders_high_watermark_grows(s, after: Self) -> Bool:
        """The high watermark of a leader never falls while the leader stays in one leader epoch."""
        return forall(
            implies(
                all_of(
                    s.presumes_leadership(r),
                    s.replica[r].leader_epoch == after.replica[r].leader_epoch,
                ),
                s.replica[r].high_watermark <= after.replica[r].high_watermark,
            )
            for r in Replica
        )

    # ---- liveness, once no replica fails any more

    @liveness
    def everything_is_committed(s) -> Temporal:
        """Infinitely often, the high watermark of the true leader is at the end of its log, or the
        controller has chosen no leader.

        The true leader is the replica that the controller chose in its newest decision, and that
        has learned of this decision.
        """
        return always_eventually(
            any_of(
                s.registration.leader == nothing,
                exists(
                    s.is_true_leader(leader)
                    & (s.replica[leader].high_watermark == s.log[leader].end_offset)
                    for leader in Replica
                ),
            )
        )

    # ---- witnesses

    @witness
    def a_record_is_committed_by_two(s) -> Bool:
        """Reachable: a leader has a follower in its ISR and has committed a record."""
        return exists(
            all_of(
                s.presumes_leadership(leader),
                s.replica[leader].high_watermark > 0,
                member != leader,
            )
            for leader in Replica
            for member in s.replica[leader].isr
        )

    @witness
    def two_presume_leadership(s) -> Bool:
        """Reachable: two replicas believe that they lead, because a deposed leader does not yet
        know the next leader.
        """
        return exists(
            all_of(a != b, s.presumes_leadership(a), s.presumes_leadership(b))
            for a in Replica
            for b in Replica
        )
