"""DOC classic_group claims"""

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
    """DOC ClassicGroupClaims"""

    # ---- what is claimed

    @invariant
    def one_owner(s) -> Bool:
        """In a generation the partition has one owner."""
        return forall(
            implies(s.group.owners[a] & s.group.owners[b], a == b) for a in Member for b in Member
        )

    @invariant
    def only_owners_commit(s) -> Bool:
        """Who believes to own the partition, and whose commits are accepted, does own it."""
        return forall(implies(s.consumer[m].owns & s.accepts(m), s.group.owners[m]) for m in Member)

    @invariant
    def one_member_of_an_instance(s) -> Bool:
        """No two members have the same group.instance.id."""
        return forall(
            ~(s.group.members[a] & s.shares_instance(a, b)) for a in Member for b in Member
        )

    @invariant
    def a_stable_group_survives(s) -> Bool:
        """A coordinator that takes over finds a stable group as its members know it."""
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
        """A consumer's generation grows; it is given up only for an answer about itself."""
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
    def who_joins_hears(s, m: Member) -> Temporal:
        """Who joins a group hears of a generation or is missed, while generations last."""
        heard = ~s.consumer[m].is_joining & s.is_current(m)
        last = s.group.generation == s.generations
        return leads_to(s.joined[m], any_of(heard, ~s.group.members[m], last))

    # ---- what must be possible

    @witness
    def one_is_behind(s) -> Bool:
        """A consumer believes to own what the group has given to another."""
        return exists(
            all_of(s.consumer[a].owns, s.group.owners[b], ~s.group.owners[a])
            for a in Member
            for b in Member
        )

    @witness
    def an_instance_comes_back(s) -> Bool:
        """In a stable group a member's place is taken by another process."""
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
        """A current member is about to hear that an older generation is over."""
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
        """Two members of a rebalance had the partition, in different generations."""
        return s.awaits_assignment() & exists(
            all_of(a != b, s.says_it_had(a), s.says_it_had(b)) for a in Member for b in Member
        )
