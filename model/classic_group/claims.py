"""The claims about classic groups."""

from __future__ import annotations

from typing import Self

from model.classic_group.actions import ClassicGroupActions
from model.classic_group.state import Member
from model.language import (
    Bool,
    Temporal,
    action_property,
    all_of,
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


class ClassicGroupClaims(ClassicGroupActions):
    # ---- claims

    @invariant
    def one_owner(s) -> Bool:
        """The partition has at most one owner in each generation."""
        return forall(
            implies(s.group.owners[a] & s.group.owners[b], a == b) for a in Member for b in Member
        )

    @invariant
    def only_owners_commit(s) -> Bool:
        """If a consumer believes that it owns the partition, and the coordinator accepts its
        commit, the consumer is the owner.

        The owner is the member to which the leader assigned the partition.
        """
        return forall(implies(s.consumer[m].owns & s.accepts(m), s.group.owners[m]) for m in Member)

    @invariant
    def one_member_of_an_instance(s) -> Bool:
        """No two members have the same group.instance.id."""
        return forall(
            ~(s.group.members[a] & s.shares_instance(a, b)) for a in Member for b in Member
        )

    @invariant
    def a_stable_group_survives(s) -> Bool:
        """While a group is stable, the coordinator's log contains the group's generation, its
        members and their assignment.

        A group is stable if no rebalance is under way and the leader's assignment has arrived.
        """
        return implies(
            s.is_stable(),
            all_of(
                s.persisted.generation == s.group.generation,
                s.persisted.members == s.group.members,
                s.persisted.owners == s.group.owners,
            ),
        )

    @action_property
    def old_answers_change_nothing(s, after: Self) -> Bool:
        """A consumer leaves its generation only after an error response to a request that it sent
        in this generation.
        """
        return forall(
            any_of(
                s.consumer[m].generation <= after.consumer[m].generation,
                all_of(
                    after.consumer[m].generation == 0,
                    s.consumer[m].refused == s.consumer[m].generation,
                ),
            )
            for m in Member
        )

    @liveness
    def a_joining_member_gets_a_generation(s, m: Member) -> Temporal:
        """A member that joins eventually receives a generation or leaves the group.

        The search has a largest generation. The claim is also satisfied if the group reaches this
        generation.
        """
        heard = ~s.consumer[m].is_joining & s.is_current(m)
        last = s.group.generation == s.generations
        return leads_to(s.joined[m], any_of(heard, ~s.group.members[m], last))

    # ---- witnesses

    @witness
    def one_is_behind(s) -> Bool:
        """Reachable: a consumer believes that it owns the partition, although the group has given
        the partition to another member.
        """
        return exists(
            all_of(s.consumer[a].owns, s.group.owners[b], ~s.group.owners[a])
            for a in Member
            for b in Member
        )

    @witness
    def an_instance_comes_back(s) -> Bool:
        """Reachable: in a stable group, a process has replaced another process with the same
        group.instance.id.
        """
        return s.is_stable() & exists(
            all_of(
                s.group.members[a],
                ~s.group.members[b],
                s.consumer[a].instance != nothing,
                s.consumer[a].instance == s.consumer[b].instance,
                s.consumer[b].generation == s.group.generation,
            )
            for a in Member
            for b in Member
        )

    @witness
    def an_answer_is_old(s) -> Bool:
        """Reachable: an error response to a request of an older generation is in flight to a member
        of the current generation.
        """
        return exists(
            all_of(
                s.is_current(m),
                s.consumer[m].refused != nothing,
                s.consumer[m].refused != s.consumer[m].generation,
            )
            for m in Member
        )

    @witness
    def two_claim(s) -> Bool:
        """Reachable: during a rebalance, two members report that they had the partition. Each
        reports its latest assignment.
        """
        return s.awaits_assignment() & exists(
            all_of(a != b, s.says_it_had(a), s.says_it_had(b)) for a in Member for b in Member
        )
