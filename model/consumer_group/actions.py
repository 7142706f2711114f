"""The actions of a KIP-848 group: the group changes, members send heartbeats, consumers apply the
responses.

A group has members and reads one partition. Each change of the group raises the *group epoch*. For
this epoch the assignor computes a *target assignment*: it chooses the member that shall own the
partition. If another member owns the partition, the coordinator asks this owner to revoke it. The
owner stays in its *member epoch* until one of its heartbeats no longer reports the partition. The
coordinator also keeps a *partition epoch*, which is `nothing` if the partition is free. The chosen
member gets the partition only when the partition is free.

If the answer to a heartbeat is lost, the member repeats the heartbeat with its previous epoch, and
the coordinator accepts it. A fenced member drops its partition and joins again with epoch 0.

The table lists all actions (`Next` in TLA+). WF (weakly fair): the action is taken eventually if it
stays enabled. The other actions are not fair.

    group        change_subscription, WF compute_target, expire, join
    heartbeats   WF heartbeat
    consumers    WF receive_response, WF revoke, WF be_fenced
"""

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
    """The actions of a KIP-848 group, by the rules of Kafka 4.3."""

    # ---- the group

    def bump(s) -> None:
        when(s.group_epoch < s.epochs)
        s.group_epoch = s.group_epoch + 1

    @action
    def change_subscription(s) -> None:
        """Topics or subscriptions change, which raises the group epoch.

        Kafka: GroupMetadataManager.consumerGroupHeartbeat, on a new subscription. Simplified: this
        action covers any change of the group. Without the guard that the group has a member, the
        claim `an_empty_group_is_settled` breaks in 1 step.
        """
        when(~s.is_empty())
        s.bump()

    @action(fair="weak")
    def compute_target(s, owner: Member) -> None:
        """The assignor computes a target assignment: it chooses the member that shall have the
        partition.

        Kafka: GroupMetadataManager.maybeUpdateTargetAssignment, TargetAssignmentBuilder.
        Simplified: any member may be chosen, at any time. Every claim also holds without the guard
        of this action.
        """
        when(s.assignment_epoch < s.group_epoch, s.member[owner].joined)
        s.assignment_epoch = s.group_epoch
        s.target = owner

    def closes_empty_group(s) -> Bool:
        """True: when the last member leaves, the new group epoch is also the new assignment epoch.

        Only the variant `leaves-empty-group-open` makes this false. The variant breaks the claim
        `an_empty_group_is_settled` in 2 steps (KAFKA-20442).
        """
        return true

    @action
    def expire(s, m: Member) -> None:
        """A member's session expires: the coordinator fences the member and frees its partition.

        Kafka: GroupMetadataManager.consumerGroupFenceMembers. Simplified: a session may expire at
        any time. Every claim also holds without the guard of this action.
        """
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
        """True if the consumer has epoch 0 and is no member of the group.

        If the consumer is still a member, a join would replace its member state by a new one with
        epoch 0. Without this rule, the variant `forgets-who-rejoins` breaks the claim `epochs_grow`
        in 4 steps.
        """
        return ~s.member[m].joined & (s.consumer[m].epoch == 0)

    @action
    def join(s, m: Member) -> None:
        """A consumer that is no member of the group joins with epoch 0.

        Kafka: GroupMetadataManager.consumerGroupHeartbeat, with member epoch 0. Simplified: the
        consumer receives its epoch with a later heartbeat. Without the guard that the consumer is
        no member, the claim `epochs_grow` breaks in 4 steps.
        """
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
        """True if the member's heartbeat has epoch 0.

        A member sends epoch 0 after it was fenced, or if the answer to its join was lost. The
        coordinator must accept this heartbeat. If it refuses the heartbeat, as the variant
        `refuses-return` does, the claims `converges` and `who_is_fenced_comes_back` break
        (KAFKA-19233).
        """
        return s.consumer[m].epoch == 0

    def accepts_heartbeat(s, m: Member) -> Bool:
        """True if the coordinator accepts the epoch in the member's heartbeat.

        The coordinator accepts the epoch that it has recorded for the member. After a lost answer,
        the coordinator also accepts the member's previous epoch. From a member that joins again, it
        accepts epoch 0.
        """
        c, x = s.consumer[m], s.member[m]
        behind = (c.epoch == x.previous_epoch) & implies(c.owns, x.assigned != nothing)
        return x.joined & any_of(c.epoch == x.epoch, behind, s.may_rejoin(m))

    def waits_for_revocation(s, m: Member) -> Bool:
        """True if the member must revoke a partition that its heartbeat still reports."""
        return (s.member[m].revoking != nothing) & s.consumer[m].owns

    def must_revoke(s, m: Member) -> Bool:
        """True if the member owns the partition, but the target assignment does not give it to the
        member.

        The coordinator then asks the member to revoke the partition. The variant `frees-at-once`
        does not ask, and breaks the claim `one_reader` in 10 steps.
        """
        return all_of(s.member[m].assigned != nothing, s.target != m, s.consumer[m].owns)

    @action(fair="weak")
    def heartbeat(s, m: Member) -> None:
        """A member sends a heartbeat, and the coordinator moves the member toward the target
        assignment.

        The heartbeat reports whether the member owns the partition. The target assignment may
        belong to an earlier group epoch, because Kafka 4.3 waits for
        group.consumer.assignment.interval.ms between two target assignments.

        Kafka: CurrentAssignmentBuilder. Simplified: one partition.

        The coordinator removes the old partition epoch before it records the new epoch. If it
        recorded the new epoch first, it would erase this epoch of a member that gets the partition
        back: the variant `erases-what-comes-back` breaks the claim `no_double_assignment` in 15
        steps (KAFKA-16147).
        """
        x = s.member[m]
        when(s.accepts_heartbeat(m), s.assignment_epoch != 0)
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
        """Returns the epoch to record for the partition after a member's state changes.

        If the member has the partition in its new state, the result is the member's new epoch. If
        the member had the partition only in its old state, the partition is free, and the result is
        `nothing`. Otherwise the epoch does not change.
        """
        had = any_of(old.assigned != nothing, old.revoking != nothing)
        has = any_of(assigned != nothing, revoking != nothing)
        return ite(has, epoch, ite(had, nothing, s.partition_epoch))

    # ---- a consumer

    @action(fair="weak")
    def receive_response(s, m: Member) -> None:
        """The consumer receives a heartbeat response, and adopts its epoch and assignment.

        Kafka: ConsumerMembershipManager.onHeartbeatSuccess. Simplified: the answer has the
        coordinator's present state. Every claim also holds without the guard of this action.
        """
        when(s.consumer[m].answered)
        assigned = s.member[m].assigned != nothing
        s.consumer[m].answered = false
        s.consumer[m].epoch = s.member[m].epoch
        s.consumer[m].assigned = assigned
        s.consumer[m].owns = s.consumer[m].owns | assigned

    @action(fair="weak")
    def revoke(s, m: Member) -> None:
        """The consumer has committed its offset, and gives up the partition.

        Kafka: ConsumerMembershipManager.invokeOnPartitionsRevokedCallback. Simplified: the
        coordinator learns this from the next heartbeat. Every claim also holds without the guard of
        this action.
        """
        when(s.consumer[m].owns, ~s.consumer[m].assigned)
        s.consumer[m].owns = false

    @action(fair="weak")
    def be_fenced(s, m: Member) -> None:
        """The coordinator refuses the member's epoch, and the consumer drops its partition.

        Kafka: FENCED_MEMBER_EPOCH or UNKNOWN_MEMBER_ID. Simplified: request and answer are one
        step. Every claim also holds without the guard of this action.
        """
        when(s.consumer[m].epoch != 0, ~s.accepts_heartbeat(m))
        s.consumer[m] = Consumer(epoch=Epoch(0), answered=false, assigned=false, owns=false)

    def accepts_commit(s, m: Member) -> Bool:
        """True if the coordinator accepts an offset commit from the member (KIP-1251).

        The commit carries the consumer's epoch. This epoch must be at least the epoch in which the
        partition was assigned, and at most the member's epoch. A rule that accepts only the
        member's epoch is too strict: the variant `wants-exact-epoch` breaks the claim
        `owners_may_commit` in 7 steps. A rule that accepts every older epoch is too lax: the
        variant `commits-in-any-epoch` breaks the claim `only_owners_commit` in 5 steps.
        """
        x, epoch = s.member[m], s.consumer[m].epoch
        since = ite(x.assigned != nothing, x.assigned, x.revoking)
        given = exists(all_of(since == e, e <= epoch) for e in Epoch)
        return all_of(x.joined, given, epoch <= x.epoch)
