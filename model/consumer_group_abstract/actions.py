"""The actions of an abstract KIP-848 group: the assignor, heartbeats, and consumers.

The assignor chooses a member for each partition: the target assignment. A member's heartbeat
reports which partitions its consumer owns. The coordinator gives a partition only to its target,
and only when the partition is free. A member must first give up each partition whose target is
another member. The member stays in its member epoch until a heartbeat no longer reports the
partition.

The table lists all actions (`Next` in TLA+). No action is fair, because only safety is proved.

    coordinator  compute_target, expire, join, heartbeat
    consumer     receive_response, revoke, be_fenced
"""

from __future__ import annotations

from model.consumer_group_abstract.state import (
    AbstractConsumerGroupState,
    Epoch,
    Member,
    TopicPartition,
)
from model.language import (
    Bool,
    action,
    all_of,
    any_of,
    exists,
    false,
    forall,
    implies,
    ite,
    nothing,
    when,
)


class AbstractConsumerGroupActions(AbstractConsumerGroupState):
    """The actions of an abstract KIP-848 group, by the rules of Kafka 4.3."""

    # ---- the group

    @action
    def compute_target(s, p: TopicPartition, owner: Member, epoch: Epoch) -> None:
        """The assignor chooses the member that shall have a partition.

        Kafka: GroupMetadataManager.maybeUpdateTargetAssignment, TargetAssignmentBuilder.
        Simplified: a step changes the target of one partition; a target assignment of several
        partitions is several steps, and the first one raises the assignment epoch. Any member may
        be chosen, at any time. Without the guard that the assignment epoch does not decrease, the
        claim `owners_may_commit` breaks in 6 steps.
        """
        when(s.assignment_epoch <= epoch, s.joined[owner])
        s.assignment_epoch = epoch
        s.target[p] = owner

    @action
    def expire(s, m: Member, epoch: Epoch) -> None:
        """A member leaves, or its session expires: the coordinator frees its partitions.

        Kafka: GroupMetadataManager.consumerGroupFenceMembers. If the group is now empty, Kafka
        raises the assignment epoch. Simplified: a session may expire at any time, and every leave
        or expiry may raise the assignment epoch, even if the group has members. Without the guard
        that the assignment epoch does not decrease, the claim `owners_may_commit` breaks in 7
        steps.
        """
        when(s.joined[m], s.assignment_epoch <= epoch)
        s.assignment_epoch = epoch
        for p in TopicPartition:
            s.taken[p] = s.taken[p] & ~s.has(m, p)
            s.target[p] = ite(s.target[p] == m, nothing, s.target[p])
        s.joined[m] = False

    def may_join(s, m: Member) -> Bool:
        """True if the consumer has the smallest epoch (in Kafka 0) and is no member of the group.

        So a consumer that is still a member does not become a new member, and keeps its member
        state. The variant `forgets-who-rejoins` makes this consumer a new member, and breaks the
        claim `taken_partitions_have_a_member` in 4 steps.
        """
        return s.must_join(m) & ~s.joined[m]

    @action
    def join(s, m: Member) -> None:
        """A consumer that is no member of the group joins with epoch 0.

        Kafka: GroupMetadataManager.consumerGroupHeartbeat, with member epoch 0. Simplified: the
        consumer receives its epoch with a later heartbeat.
        """
        when(s.may_join(m))
        s.joined[m] = True
        s.answered[m] = False
        s.member_epoch[m] = Epoch.least()
        s.previous_epoch[m] = Epoch.least()
        for p in TopicPartition:
            s.assigned[m][p] = False
            s.revoking[m][p] = False
            s.since[m][p] = Epoch.least()

    # ---- heartbeats

    def accepts_heartbeat(s, m: Member) -> Bool:
        """True if the coordinator accepts the epoch in the member's heartbeat.

        The coordinator accepts the member's epoch, and epoch 0 of a member that joins again. The
        response to the last heartbeat may be lost. So the coordinator also accepts the previous
        epoch, if the consumer owns only partitions that are assigned to it.
        """
        is_behind = all_of(
            s.consumer_epoch[m] == s.previous_epoch[m],
            forall(implies(s.owns[m][p], s.assigned[m][p]) for p in TopicPartition),
        )
        return s.joined[m] & any_of(
            s.consumer_epoch[m] == s.member_epoch[m], is_behind, s.must_join(m)
        )

    def waits_for_revocation(s, m: Member) -> Bool:
        """True if the heartbeat still reports a partition that the member must give up."""
        return exists(s.revoking[m][p] & s.owns[m][p] for p in TopicPartition)

    def is_withdrawn(s, m: Member, p: TopicPartition) -> Bool:
        """True if the partition is assigned to the member, but the target assignment does not give
        it to the member.
        """
        return s.assigned[m][p] & (s.target[p] != m)

    def must_revoke(s, m: Member) -> Bool:
        """True if the consumer owns a partition whose target is another member.

        The coordinator then waits until the consumer no longer owns this partition. The variant
        `frees-at-once` does not wait, and breaks the claim `one_reader` in 9 steps.
        """
        return exists(s.is_withdrawn(m, p) & s.owns[m][p] for p in TopicPartition)

    def is_free(s, m: Member, p: TopicPartition) -> Bool:
        """True if the partition is not taken, or if this member itself must still revoke it.

        Without this rule, the variant `takes-what-is-owned` breaks the claim `no_double_assignment`
        in 6 steps.
        """
        return ~s.taken[p] | s.revoking[m][p]

    @action
    def heartbeat(s, m: Member) -> None:
        """A member's heartbeat reports its partitions, and moves the member toward the target
        assignment.

        Kafka: CurrentAssignmentBuilder.build. Simplified: the consumer reports its partitions in
        each heartbeat. A rejected heartbeat is the action `be_fenced`. Without the guard that the
        coordinator accepts the heartbeat, the claim `taken_partitions_have_a_member` breaks in 6
        steps.
        """
        when(s.accepts_heartbeat(m), s.assignment_epoch != Epoch.least())
        waits, must_revoke = s.waits_for_revocation(m), s.must_revoke(m)
        old_epoch = s.member_epoch[m]
        stays = waits | must_revoke
        new_epoch = ite(stays, old_epoch, s.assignment_epoch)
        s.previous_epoch[m] = ite(new_epoch == old_epoch, s.previous_epoch[m], old_epoch)
        s.member_epoch[m] = new_epoch
        s.answered[m] = True
        for p in TopicPartition:
            takes = all_of(~stays, s.target[p] == m, ~s.assigned[m][p], s.is_free(m, p))
            kept = s.assigned[m][p] & (s.target[p] == m)
            assigned = ite(waits, s.assigned[m][p], kept | takes)
            revoking = ite(waits, s.revoking[m][p], must_revoke & s.is_withdrawn(m, p))
            s.taken[p] = s.taken_after(m, p, assigned, revoking)
            kept_since = ite(assigned | revoking, s.since[m][p], Epoch.least())
            s.since[m][p] = ite(takes, s.assignment_epoch, kept_since)
            s.assigned[m][p] = assigned
            s.revoking[m][p] = revoking

    def taken_after(s, m: Member, p: TopicPartition, assigned: Bool, revoking: Bool) -> Bool:
        """Returns True if the partition is taken (not free) after the member's assignment has
        changed.

        `assigned` and `revoking` are the member's new state of the partition. The coordinator first
        removes the partitions that the member had, and then adds those that the member has now. If
        it adds first and then removes, the variant `erases-what-comes-back` breaks the claim
        `no_double_assignment` in 13 steps.
        """
        had = s.assigned[m][p] | s.revoking[m][p]
        return any_of(assigned, revoking, s.taken[p] & ~had)

    # ---- a consumer

    @action
    def receive_response(s, m: Member) -> None:
        """The consumer receives the response to a heartbeat: the member's epoch and partitions.

        Kafka: ConsumerMembershipManager.onHeartbeatSuccess. Simplified: the response has the
        coordinator's present state. Every claim also holds without the guard of this action.
        """
        when(s.answered[m])
        s.answered[m] = False
        s.consumer_epoch[m] = s.member_epoch[m]
        for p in TopicPartition:
            s.received[m][p] = s.assigned[m][p]
            s.owns[m][p] = s.owns[m][p] | s.assigned[m][p]

    @action
    def revoke(s, m: Member, p: TopicPartition) -> None:
        """The consumer has committed its offset, and gives up a partition.

        Kafka: ConsumerMembershipManager.invokeOnPartitionsRevokedCallback. Simplified: one
        partition after another. Every claim also holds without the guard of this action.
        """
        when(s.owns[m][p], ~s.received[m][p])
        s.owns[m][p] = False

    def keeps_when_fenced(s, m: Member, p: TopicPartition) -> Bool:
        """Always false, because a fenced consumer drops its partitions before it joins again.

        If the consumer keeps its partitions, the variant `reads-on-when-fenced` breaks the claim
        `one_reader` in 11 steps.
        """
        return false

    @action
    def be_fenced(s, m: Member) -> None:
        """The coordinator refuses the member's epoch, and the consumer drops its partitions.

        Kafka: FENCED_MEMBER_EPOCH or UNKNOWN_MEMBER_ID; ConsumerMembershipManager.
        Simplified: request and response are one step. Every claim also holds without the guard of
        this action.
        """
        when(~s.must_join(m), ~s.accepts_heartbeat(m))
        s.consumer_epoch[m] = Epoch.least()
        s.answered[m] = False
        for p in TopicPartition:
            s.received[m][p] = False
            s.owns[m][p] = s.keeps_when_fenced(m, p)

    def accepts_commit(s, m: Member, p: TopicPartition) -> Bool:
        """True if the coordinator accepts an offset commit of the partition (KIP-1251).

        The commit carries the consumer's epoch. This epoch must be at least the epoch in which the
        partition was assigned, and at most the member's epoch. If only the member's epoch is
        accepted, the variant `wants-exact-epoch` breaks the claim `owners_may_commit` in 6 steps.
        If the epoch of the assignment is not compared, the variant `commits-in-any-epoch` breaks
        the claim `one_member_commits` in 7 steps.
        """
        return all_of(
            s.has(m, p),
            s.since[m][p] <= s.consumer_epoch[m],
            s.consumer_epoch[m] <= s.member_epoch[m],
        )
