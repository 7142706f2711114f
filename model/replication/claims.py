"""What is claimed of replication, of every version of truncation.

A claim that an old version breaks stands here all the same: `variants.py` says which, and how soon.

Source: hachikuji/kafka-specification d68782b (WeakIsr, StrongIsr); Vanlightly's kip-966
specification (LogMatching); the liveness is that of a cluster in which nobody fails any more.
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
    """Safety of every state and step, and what happens in the end."""

    # ---- of every state

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
        """What is below a presumed leader's high watermark is on all of the ISR it believes in."""
        return forall(
            implies(s.presumes_leadership(leader), s.has_replicated(leader, member))
            for leader in Replica
            for member in s.replica[leader].isr
        )

    @invariant
    def strong_isr(s) -> Bool:
        """What is below a presumed leader's high watermark is on all of the true ISR."""
        return forall(
            implies(s.presumes_leadership(leader), s.has_replicated(leader, member))
            for leader in Replica
            for member in s.registration.isr
        )

    @invariant
    def log_matching(s) -> Bool:
        """Two replicas have the same records below both their high watermarks."""
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
        """No replica's high watermark is beyond the end of its log."""
        return forall(s.replica[r].high_watermark <= s.log[r].end_offset for r in Replica)

    # ---- of every step

    @action_property
    def leader_epochs_grow(s, after: Self) -> Bool:
        """Neither the controller nor a replica ever returns to an older leader epoch."""
        return all_of(
            s.registration.leader_epoch <= after.registration.leader_epoch,
            forall(s.replica[r].leader_epoch <= after.replica[r].leader_epoch for r in Replica),
        )

    @action_property
    def a_leaders_mark_grows(s, after: Self) -> Bool:
        """While a replica leads in one epoch, its high watermark does not go back."""
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

    # ---- of every behaviour, once nobody fails any more

    @liveness
    def everything_is_committed(s) -> Temporal:
        """The high watermark of the leader, if there is one, reaches the end of its log."""
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

    # ---- what must be possible

    @witness
    def a_record_is_committed_by_two(s) -> Bool:
        """A leader's high watermark covers a record, with a follower in its ISR."""
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
        """A deposed leader has not heard of its successor."""
        return exists(
            all_of(a != b, s.presumes_leadership(a), s.presumes_leadership(b))
            for a in Replica
            for b in Replica
        )
