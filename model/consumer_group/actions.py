"""DOC consumer_group actions"""

from __future__ import annotations

from model.consumer_group.state import Consumer, ConsumerGroupState, Epoch, Member, MemberState
from model.language import (
    Bool,
    Nothing,
    action,
    all_of,
    any_of,
    exists,
    false,
    forall,
    implies,
    ite,
    nothing,
    true,
    when,
)


class ConsumerGroupActions(ConsumerGroupState):
    """DOC ConsumerGroupActions"""

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
        assigned = s.member[m].assigned != nothing
        s.consumer[m].answered = false
        s.consumer[m].epoch = s.member[m].epoch
        s.consumer[m].assigned = assigned
        s.consumer[m].owns = s.consumer[m].owns | assigned

    @action(fair="weak")
    def revoke(s, m: Member) -> None:
        """The consumer has committed, and gives the partition up."""
        when(s.consumer[m].owns, ~s.consumer[m].assigned)
        s.consumer[m].owns = false

    @action(fair="weak")
    def be_fenced(s, m: Member) -> None:
        """The coordinator does not know the member, or not in that epoch: it drops everything."""
        when(s.consumer[m].epoch != 0, ~s.accepts_heartbeat(m))
        s.consumer[m] = Consumer(epoch=Epoch(0), answered=false, assigned=false, owns=false)

    def accepts_commit(s, m: Member) -> Bool:
        """KIP-1251: in any epoch since the member was given the partition."""
        x, epoch = s.member[m], s.consumer[m].epoch
        since = ite(x.assigned != nothing, x.assigned, x.revoking)
        given = exists(all_of(since == e, e <= epoch) for e in Epoch)
        return all_of(x.joined, given, epoch <= x.epoch)
