"""The claims about KIP-848 groups."""

from __future__ import annotations

from typing import Self

from model.consumer_group.actions import ConsumerGroupActions
from model.consumer_group.state import Member, TopicPartition
from model.language import (
    Bool,
    Temporal,
    action_property,
    all_of,
    always_eventually,
    any_of,
    exists,
    false,
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
        """At most one member has a partition at any time. A member has a partition from its
        assignment until the coordinator learns that the member has given the partition up.
        """
        return forall(
            implies(s.has(a, p) & s.has(b, p), a == b)
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    @invariant
    def one_reader(s) -> Bool:
        """Two consumers never own the same partition while the coordinator accepts the heartbeats
        of both.
        """
        return forall(
            implies(s.is_live_owner(a, p) & s.is_live_owner(b, p), a == b)
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    def is_live_owner(s, m: Member, p: TopicPartition) -> Bool:
        return s.consumer[m].owns[p] & s.accepts_heartbeat(m)

    @invariant
    def partition_epoch_iff_assigned(s) -> Bool:
        """A partition has a partition epoch if and only if a member has the partition.

        A new coordinator reads only the members from the log. By this claim, it then knows which
        partitions have a partition epoch.
        """
        return forall(
            (s.partition_epoch[p] != nothing) == exists(s.has(m, p) for m in Member)
            for p in TopicPartition
        )

    @invariant
    def an_empty_group_is_settled(s) -> Bool:
        """If a group has no members, its assignment epoch equals its group epoch."""
        return implies(s.is_empty(), s.assignment_epoch == s.group_epoch)

    @invariant
    def owners_may_commit(s) -> Bool:
        """The coordinator accepts the offset commits of a partition's owner.

        Here an owner is a consumer that reads the partition, whose heartbeats the coordinator
        accepts, and for which the coordinator has recorded the partition.
        """
        return forall(
            implies(s.is_live_owner(m, p) & s.has(m, p), s.accepts_commit(m, p))
            for m in Member
            for p in TopicPartition
        )

    @invariant
    def only_owners_commit(s) -> Bool:
        """The coordinator accepts an offset commit only from a member that has the partition."""
        return forall(
            implies(s.accepts_commit(m, p), s.has(m, p)) for m in Member for p in TopicPartition
        )

    @action_property
    def epochs_grow(s, after: Self) -> Bool:
        """The epochs of a group and of its members never decrease, except for a member that joins
        again, is away, or is fenced.

        Only static members can be away (version `static-members`).
        """
        return all_of(
            s.group_epoch <= after.group_epoch,
            s.assignment_epoch <= after.assignment_epoch,
            forall(
                any_of(
                    s.member[m].epoch <= after.member[m].epoch,
                    ~s.member[m].joined & after.member[m].joined,
                    s.is_vacant(m) | after.is_vacant(m),
                )
                for m in Member
            ),
            forall(
                any_of(s.consumer[m].epoch <= after.consumer[m].epoch, after.consumer[m].epoch == 0)
                for m in Member
            ),
        )

    def is_vacant(s, m: Member) -> Bool:
        """Returns True if the member `m` is vacant, which means that it has no process. Without
        static members, this is always false.
        """
        return false

    def has_converged(s) -> Bool:
        """Returns True if the group has reached its target assignment.

        The target assignment must belong to the present group epoch, and every member must have
        this epoch. Each consumer must know the epoch, and must own exactly the partitions of its
        target assignment.
        """
        return (s.assignment_epoch == s.group_epoch) & forall(
            implies(
                s.member[m].joined,
                all_of(
                    s.member[m].epoch == s.assignment_epoch,
                    s.consumer[m].epoch == s.member[m].epoch,
                    s.has_its_target(m),
                ),
            )
            for m in Member
        )

    def has_its_target(s, m: Member) -> Bool:
        return forall(
            all_of(s.has(m, p) == (s.target[p] == m), s.consumer[m].owns[p] == s.has(m, p))
            for p in TopicPartition
        )

    @liveness
    def converges(s) -> Temporal:
        """If the group ceases to change, every member eventually owns the partitions of its target
        assignment.
        """
        return always_eventually(s.has_converged())

    @liveness
    def who_is_fenced_comes_back(s, m: Member) -> Temporal:
        """A member whose consumer has epoch 0 eventually receives a new epoch from the coordinator,
        unless its session expires first.
        """
        outside = s.consumer[m].epoch == 0
        return leads_to(s.member[m].joined & outside, ~outside | ~s.member[m].joined)

    # ---- witnesses

    @witness
    def one_gives_up_while_another_waits(s) -> Bool:
        """Reachable: a member in the new epoch waits for a partition that the old owner must still
        revoke.
        """
        return exists(
            all_of(
                s.waits_for_revocation(a),
                s.member[a].revoking[p] != nothing,
                s.target[p] == b,
                s.consumer[b].epoch == s.assignment_epoch,
                s.member[a].epoch < s.assignment_epoch,
            )
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    @witness
    def it_gets_back_what_it_gave_up(s) -> Bool:
        """Reachable: a member has revoked a partition, and a newer target assignment gives the
        partition to the same member.
        """
        return exists(
            all_of(s.member[m].revoking[p] != nothing, ~s.consumer[m].owns[p], s.target[p] == m)
            for m in Member
            for p in TopicPartition
        )

    @witness
    def one_commits_an_epoch_behind(s) -> Bool:
        """Reachable: the coordinator accepts a commit from a consumer that has not received its new
        epoch yet.
        """
        return exists(
            all_of(s.accepts_commit(m, p), s.consumer[m].epoch < s.member[m].epoch)
            for m in Member
            for p in TopicPartition
        )

    @witness
    def a_zombie_owns(s) -> Bool:
        """Reachable: two consumers read the same partition, and the coordinator has assigned it to
        only one of them.
        """
        return exists(
            all_of(a != b, s.consumer[a].owns[p], s.has(b, p), s.consumer[b].owns[p])
            for p in TopicPartition
            for a in Member
            for b in Member
        )
