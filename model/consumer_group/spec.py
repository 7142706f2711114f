"""KIP-848: the coordinator moves members to the target assignment, one heartbeat at a time.

What changes the group raises its *group epoch*; the *target assignment* is computed for it. A
member that has the partition and shall not keep it is told to revoke it, and stays in its *member
epoch* until a heartbeat no longer reports it; who shall have it waits until it is free. Whether it
is free is told by its *partition epoch*: of the member that has it, or none. An answer may be lost;
the member then asks again, one epoch behind, which is accepted. A fenced member drops what it owns
and joins again with epoch 0.

Source: KIP-848, KIP-1251 (assignment epochs, for commits); kafka trunk of 2026,
CurrentAssignmentBuilder and ConsumerGroup.
Simplified: one partition. All that the coordinator knows is in its log at once: what a failover
would rebuild is claimed to be what it has. That a commit in the member's very epoch is accepted of
partitions that it never had is left out.
"""

from __future__ import annotations

from typing import Annotated, Self

from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Record,
    Scope,
    Sort,
    Spec,
    Temporal,
    action,
    action_property,
    all_of,
    always_eventually,
    any_of,
    exists,
    false,
    forall,
    implies,
    invariant,
    ite,
    leads_to,
    liveness,
    nothing,
    true,
    when,
    witness,
)


class Member(Sort):
    """A consumer of the group."""

    prefix = "m"


class Epoch(Int):
    """Counts the changes of the group; 0 is before the first."""


class MemberState(Record):
    """What the coordinator knows of a member."""

    joined: Bool
    epoch: Epoch
    previous_epoch: Epoch  # of a member that has not heard the last answer
    assigned: Epoch | Nothing  # the partition, in that epoch
    revoking: Epoch | Nothing  # assigned in that epoch, and to be given up


class Consumer(Record):
    """What a member knows of itself."""

    epoch: Epoch  # 0: it has to join
    answered: Bool  # a heartbeat's answer is on its way
    told: Bool  # to have the partition
    owns: Bool  # it reads the partition


class GroupOwnership(Spec):
    """KIP-848 with KIP-1251, as of Kafka 4.3."""

    members: Annotated[int, range(1, 10)] = 2
    epochs: Annotated[int, range(1, 20)] = 4

    group_epoch: Epoch
    assignment_epoch: Epoch  # for which the target was computed
    target: Member | Nothing
    partition_epoch: Epoch | Nothing
    member: Map[Member, MemberState]
    consumer: Map[Member, Consumer]

    def scope(s) -> Scope:
        return {Member: s.members, Epoch: range(s.epochs + 1)}

    # ---- words

    def has(s, m: Member) -> Bool:
        """The partition is the member's, and nobody else may have it."""
        x = s.member[m]
        return x.joined & any_of(x.assigned != nothing, x.revoking != nothing)

    def is_empty(s) -> Bool:
        return forall(~s.member[x].joined for x in Member)

    # ---- the group

    def bump(s) -> None:
        when(s.group_epoch < s.epochs)
        s.group_epoch = s.group_epoch + 1

    @action
    def change_subscription(s) -> None:
        """Topics or subscriptions change."""
        when(~s.is_empty())
        s.bump()

    @action(fair="weak")
    def compute_target(s, owner: Member) -> None:
        """The assignor gives the partition to some member; heartbeats wait for it."""
        when(s.assignment_epoch < s.group_epoch, s.member[owner].joined)
        s.assignment_epoch = s.group_epoch
        s.target = owner

    def closes_empty_group(s) -> Bool:
        """An empty group has nothing to compute: its assignment epoch follows."""
        return true

    @action
    def expire(s, m: Member) -> None:
        """A member's session expires: it is fenced, and what it had is free."""
        when(s.member[m].joined)
        alone = forall(implies(s.member[x].joined, x == m) for x in Member)
        s.assignment_epoch = ite(
            alone & s.closes_empty_group(), s.group_epoch + 1, s.assignment_epoch
        )
        s.partition_epoch = ite(s.has(m), nothing, s.partition_epoch)
        s.target = ite(s.target == m, nothing, s.target)
        s.member[m].joined = false
        s.bump()

    def may_join(s, m: Member) -> Bool:
        return ~s.member[m].joined & (s.consumer[m].epoch == 0)

    @action
    def join(s, m: Member) -> None:
        """A consumer that the group does not know joins, with epoch 0."""
        when(s.may_join(m))
        s.member[m] = MemberState(
            joined=true,
            epoch=Epoch(0),
            previous_epoch=Epoch(0),
            assigned=nothing,
            revoking=nothing,
        )
        s.consumer[m].answered = false
        s.bump()

    # ---- heartbeats

    def may_rejoin(s, m: Member) -> Bool:
        """A member that was fenced, or has not heard that it joined, comes with epoch 0."""
        return s.consumer[m].epoch == 0

    def accepts_heartbeat(s, m: Member) -> Bool:
        c, x = s.consumer[m], s.member[m]
        behind = (c.epoch == x.previous_epoch) & implies(c.owns, x.assigned != nothing)
        return x.joined & any_of(c.epoch == x.epoch, behind, s.may_rejoin(m))

    def waits_for_revocation(s, m: Member) -> Bool:
        """What shall be given up is still reported as owned."""
        return (s.member[m].revoking != nothing) & s.consumer[m].owns

    def must_revoke(s, m: Member) -> Bool:
        return all_of(s.member[m].assigned != nothing, s.target != m, s.consumer[m].owns)

    @action(fair="weak")
    def heartbeat(s, m: Member) -> None:
        """A member reports what it owns; the coordinator moves it on, as far as that allows."""
        x = s.member[m]
        when(s.accepts_heartbeat(m), s.assignment_epoch == s.group_epoch)
        free = (s.partition_epoch == nothing) | (x.revoking != nothing)
        takes = all_of(s.target == m, x.assigned == nothing, free)
        kept = ite(s.target == m, x.assigned, nothing)
        waits, must_revoke = s.waits_for_revocation(m), s.must_revoke(m)
        epoch = ite(waits | must_revoke, x.epoch, s.assignment_epoch)
        assigned = ite(waits, x.assigned, ite(takes, s.assignment_epoch, kept))
        revoking = ite(waits, x.revoking, ite(must_revoke, x.assigned, nothing))
        s.partition_epoch = s.partition_epoch_after(x, epoch, assigned, revoking)
        s.member[m].previous_epoch = ite(epoch == x.epoch, x.previous_epoch, x.epoch)
        s.member[m].epoch = epoch
        s.member[m].assigned = assigned
        s.member[m].revoking = revoking
        s.consumer[m].answered = true

    def partition_epoch_after(
        s,
        old: MemberState,
        epoch: Epoch,
        assigned: Epoch | Nothing,
        revoking: Epoch | Nothing,
    ) -> Epoch | Nothing:
        """What the member had is taken off the books first, then what it has is entered."""
        had = any_of(old.assigned != nothing, old.revoking != nothing)
        has = any_of(assigned != nothing, revoking != nothing)
        return ite(has, epoch, ite(had, nothing, s.partition_epoch))

    # ---- a consumer

    @action(fair="weak")
    def hear(s, m: Member) -> None:
        """The answer arrives: the member's epoch, and whether it has the partition."""
        when(s.consumer[m].answered)
        told = s.member[m].assigned != nothing
        s.consumer[m].answered = false
        s.consumer[m].epoch = s.member[m].epoch
        s.consumer[m].told = told
        s.consumer[m].owns = s.consumer[m].owns | told

    @action(fair="weak")
    def revoke(s, m: Member) -> None:
        """The consumer has committed, and gives the partition up."""
        when(s.consumer[m].owns, ~s.consumer[m].told)
        s.consumer[m].owns = false

    @action(fair="weak")
    def be_fenced(s, m: Member) -> None:
        """The coordinator does not know the member, or not in that epoch: it drops everything."""
        when(s.consumer[m].epoch != 0, ~s.accepts_heartbeat(m))
        s.consumer[m] = Consumer(epoch=Epoch(0), answered=false, told=false, owns=false)

    def accepts_commit(s, m: Member) -> Bool:
        """KIP-1251: in any epoch since the member was given the partition."""
        x, epoch = s.member[m], s.consumer[m].epoch
        since = ite(x.assigned != nothing, x.assigned, x.revoking)
        given = exists(all_of(since == e, e <= epoch) for e in Epoch)
        return all_of(x.joined, given, epoch <= x.epoch)

    # ---- what is claimed

    @invariant
    def no_double_assignment(s) -> Bool:
        """No two members have the partition, be it to give it up."""
        return forall(implies(s.has(a) & s.has(b), a == b) for a in Member for b in Member)

    @invariant
    def one_reader(s) -> Bool:
        """Of the consumers whose heartbeats are accepted, one at most owns the partition."""
        return forall(
            implies(s.is_live_owner(a) & s.is_live_owner(b), a == b) for a in Member for b in Member
        )

    def is_live_owner(s, m: Member) -> Bool:
        return s.consumer[m].owns & s.accepts_heartbeat(m)

    @invariant
    def books_are_right(s) -> Bool:
        """The partition has an epoch while a member has it: a failover would rebuild the same."""
        return (s.partition_epoch != nothing) == exists(s.has(m) for m in Member)

    @invariant
    def an_empty_group_is_settled(s) -> Bool:
        """A group without members has computed what there is to compute."""
        return implies(s.is_empty(), s.assignment_epoch == s.group_epoch)

    @invariant
    def owners_may_commit(s) -> Bool:
        """A consumer that owns the partition, and that the coordinator says has it, may commit."""
        return forall(
            implies(
                all_of(s.consumer[m].owns, s.has(m), s.accepts_heartbeat(m)), s.accepts_commit(m)
            )
            for m in Member
        )

    @invariant
    def only_owners_commit(s) -> Bool:
        """Whose commits are accepted has the partition."""
        return forall(implies(s.accepts_commit(m), s.has(m)) for m in Member)

    @action_property
    def epochs_grow(s, after: Self) -> Bool:
        """Epochs of the group and of its members never go back, but by joining anew."""
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
        """Every member is in the group's epoch, and has what the target gives it."""
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
        """When nothing changes any more, every member gets what it shall have."""
        return always_eventually(s.has_converged())

    @liveness
    def who_is_fenced_comes_back(s, m: Member) -> Temporal:
        """A member with epoch 0 is given another, without waiting for its session to expire."""
        outside = s.consumer[m].epoch == 0
        return leads_to(s.member[m].joined & outside, ~outside | ~s.member[m].joined)

    # ---- what must be possible

    @witness
    def one_gives_up_while_another_waits(s) -> Bool:
        """The target's member is in the new epoch without the partition, its owner is not."""
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
        """A member has revoked the partition, and the newer target gives it the partition again."""
        return exists(
            all_of(s.member[m].revoking != nothing, ~s.consumer[m].owns, s.target == m)
            for m in Member
        )

    @witness
    def one_commits_an_epoch_behind(s) -> Bool:
        """A commit is accepted of a consumer that has not heard of its new epoch."""
        return exists(
            all_of(s.accepts_commit(m), s.consumer[m].epoch < s.member[m].epoch) for m in Member
        )

    @witness
    def a_zombie_owns(s) -> Bool:
        """A consumer reads on, while the partition is another's."""
        return exists(
            all_of(a != b, s.consumer[a].owns, s.has(b), s.consumer[b].owns)
            for a in Member
            for b in Member
        )
