"""The claims about KIP-848 groups."""

from __future__ import annotations

from typing import Self

from model.consumer_group.actions import ConsumerGroupActions
from model.consumer_group.state import Member
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
    leads_to,
    liveness,
    nothing,
    witness,
)


class ConsumerGroupClaims(ConsumerGroupActions):
    # ---- claims

    @invariant
    def no_double_assignment(s) -> Bool:
        """At most one member has the partition. A member has the partition until the member has
        given the partition up.
        """
        return forall(implies(s.has(a) & s.has(b), a == b) for a in Member for b in Member)

    @invariant
    def one_reader(s) -> Bool:
        """Two consumers never own the partition while the coordinator accepts the heartbeats of
        both.
        """
        return forall(
            implies(s.is_live_owner(a) & s.is_live_owner(b), a == b) for a in Member for b in Member
        )

    def is_live_owner(s, m: Member) -> Bool:
        return s.consumer[m].owns & s.accepts_heartbeat(m)

    @invariant
    def partition_epoch_iff_assigned(s) -> Bool:
        """The partition has a partition epoch if a member has the partition, and none otherwise.

        So a new coordinator, which reads only the members from the log, finds the partition free if
        it was free before.
        """
        return (s.partition_epoch != nothing) == exists(s.has(m) for m in Member)

    @invariant
    def an_empty_group_is_settled(s) -> Bool:
        """The assignment epoch of a group without members equals its group epoch."""
        return implies(s.is_empty(), s.assignment_epoch == s.group_epoch)

    @invariant
    def owners_may_commit(s) -> Bool:
        """The coordinator accepts the commits of the partition's owner.

        An owner reads the partition, is recorded by the coordinator, and has its heartbeats
        accepted.
        """
        return forall(
            implies(
                all_of(s.consumer[m].owns, s.has(m), s.accepts_heartbeat(m)), s.accepts_commit(m)
            )
            for m in Member
        )

    @invariant
    def only_owners_commit(s) -> Bool:
        """The coordinator accepts an offset commit only from a member that has the partition."""
        return forall(implies(s.accepts_commit(m), s.has(m)) for m in Member)

    @action_property
    def epochs_grow(s, after: Self) -> Bool:
        """The epochs of the group and its members never decrease, unless a member joins again or is
        fenced.
        """
        return all_of(
            s.group_epoch <= after.group_epoch,
            s.assignment_epoch <= after.assignment_epoch,
            forall(
                any_of(
                    s.member[m].epoch <= after.member[m].epoch,
                    ~s.member[m].joined & after.member[m].joined,
                )
                for m in Member
            ),
            forall(
                any_of(s.consumer[m].epoch <= after.consumer[m].epoch, after.consumer[m].epoch == 0)
                for m in Member
            ),
        )

    def has_converged(s) -> Bool:
        """True if every member has the group's epoch, and owns exactly the partitions of its target
        assignment.
        """
        return (s.assignment_epoch == s.group_epoch) & forall(
            implies(
                s.member[m].joined,
                all_of(
                    s.member[m].epoch == s.assignment_epoch,
                    s.has(m) == (s.target == m),
                    s.consumer[m].epoch == s.member[m].epoch,
                    s.consumer[m].owns == s.has(m),
                ),
            )
            for m in Member
        )

    @liveness
    def converges(s) -> Temporal:
        """If the group stops changing, every member eventually owns the partitions of its target
        assignment.
        """
        return always_eventually(s.has_converged())

    @liveness
    def who_is_fenced_comes_back(s, m: Member) -> Temporal:
        """A member with epoch 0 receives a new epoch from the coordinator, unless its session
        expires first.
        """
        outside = s.consumer[m].epoch == 0
        return leads_to(s.member[m].joined & outside, ~outside | ~s.member[m].joined)

    # ---- witnesses

    @witness
    def one_gives_up_while_another_waits(s) -> Bool:
        """Reachable: a member waits in the new epoch for the partition that the old owner must
        revoke.
        """
        return exists(
            all_of(
                s.waits_for_revocation(a),
                s.target == b,
                s.consumer[b].epoch == s.assignment_epoch,
                s.member[a].epoch < s.assignment_epoch,
            )
            for a in Member
            for b in Member
        )

    @witness
    def it_gets_back_what_it_gave_up(s) -> Bool:
        """Reachable: a member has revoked the partition, and a newer target assignment gives it the
        partition again.
        """
        return exists(
            all_of(s.member[m].revoking != nothing, ~s.consumer[m].owns, s.target == m)
            for m in Member
        )

    @witness
    def one_commits_an_epoch_behind(s) -> Bool:
        """Reachable: the coordinator accepts a commit from a consumer that does not know its new
        epoch yet.
        """
        return exists(
            all_of(s.accepts_commit(m), s.consumer[m].epoch < s.member[m].epoch) for m in Member
        )

    @witness
    def a_zombie_owns(s) -> Bool:
        """Reachable: a consumer still reads the partition while another member has it."""
        return exists(
            all_of(a != b, s.consumer[a].owns, s.has(b), s.consumer[b].owns)
            for a in Member
            for b in Member
        )
