"""The actions of a KIP-848 group: the group changes, members send heartbeats, consumers apply the
responses.

Each change of the group raises the *group epoch*. For this epoch the assignor computes a *target
assignment*: it chooses the member that shall own each partition. The coordinator asks another owner
to revoke the partition. The owner stays in its *member epoch* until one of its heartbeats no longer
reports the partition. The *partition epoch* is `nothing` if the partition is free, and only a free
partition goes to the chosen member.

If the answer to a heartbeat is lost, the coordinator accepts the same heartbeat again, with the
member's previous epoch. A fenced member drops its partitions and joins again with epoch 0.

The table lists all actions (`Next` in TLA+); WF is weakly fair, and the others are not fair.

    group        change_subscription, WF compute_target, expire, leave, join
    heartbeats   WF heartbeat
    consumers    WF receive_response, WF revoke, WF be_fenced

These rules are in force from Kafka 3.7 on, unless a docstring names another release.
"""

from __future__ import annotations

from model.consumer_group.state import (
    Consumer,
    ConsumerGroupState,
    Epoch,
    Member,
    MemberState,
    TopicPartition,
)
from model.language import (
    Bool,
    Map,
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
    def compute_target(s, p: TopicPartition, owner: Member) -> None:
        """The assignor computes a target assignment: it chooses the member that shall have a
        partition.

        Kafka: GroupMetadataManager.maybeUpdateTargetAssignment, TargetAssignmentBuilder.
        Simplified: any member may be chosen, at any time. The target of one partition changes;
        partitions without a target get the same member. Every claim also holds without the guard of
        this action.
        """
        when(s.assignment_epoch < s.group_epoch, s.member[owner].joined)
        s.assignment_epoch = s.group_epoch
        for q in TopicPartition:
            s.target[q] = ite((q == p) | (s.target[q] == nothing), owner, s.target[q])

    def closes_empty_group(s) -> Bool:
        """True: when the last member leaves, the new group epoch is also the new assignment epoch.

        Without this rule, the claim `an_empty_group_is_settled` breaks (bug
        `leaves-empty-group-open`, 2 steps; KAFKA-20442).
        """
        return true

    def remove(s, m: Member) -> None:
        """Removes a member, and frees its partitions."""
        alone = forall(implies(s.member[x].joined, x == m) for x in Member)
        s.assignment_epoch = ite(
            alone & s.closes_empty_group(), s.group_epoch + 1, s.assignment_epoch
        )
        for p in TopicPartition:
            s.partition_epoch[p] = ite(s.has(m, p), nothing, s.partition_epoch[p])
            s.target[p] = ite(s.target[p] == m, nothing, s.target[p])
        s.member[m].joined = false
        s.bump()

    @action
    def expire(s, m: Member) -> None:
        """A member's session expires: the coordinator fences the member and frees its partitions.

        Kafka: GroupMetadataManager.consumerGroupFenceMembers. Simplified: a session may expire at
        any time. Every claim also holds without the guard of this action.
        """
        when(s.member[m].joined)
        s.remove(m)

    @action
    def leave(s, m: Member) -> None:
        """A consumer gives up its partitions and leaves with epoch -1; the coordinator removes the
        member.

        Kafka: GroupMetadataManager.consumerGroupLeave, which compares no epochs. Simplified: the
        request is not late. Every claim also holds without the guard of this action.
        """
        when(s.member[m].joined, s.consumer[m].epoch != 0)
        s.remove(m)
        s.consumer[m] = Consumer.outside()

    def may_join(s, m: Member) -> Bool:
        """True if the consumer has epoch 0 and is no member of the group.

        A join of a member would replace its member state by a new one with epoch 0. Without this
        rule, the claim `epochs_grow` breaks (bug `forgets-who-rejoins`, 4 steps).
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
            assigned=Map(TopicPartition, lambda _: nothing),
            revoking=Map(TopicPartition, lambda _: nothing),
        )
        s.consumer[m].answered = false
        s.bump()

    # ---- heartbeats

    def may_rejoin(s, m: Member) -> Bool:
        """True if the member's heartbeat has epoch 0.

        A member sends epoch 0 after it was fenced, or if the answer to its join was lost. If the
        coordinator refuses this heartbeat, the claims `converges` and `who_is_fenced_comes_back`
        break (bug `refuses-return`, KAFKA-19233). In force from Kafka 4.2 on.
        """
        return s.consumer[m].epoch == 0

    def accepts_heartbeat(s, m: Member) -> Bool:
        """True if the coordinator accepts the epoch in the member's heartbeat.

        Accepted are the epoch that the coordinator has recorded for the member, the previous epoch
        after a lost answer, and epoch 0 of a member that joins again.
        """
        c, x = s.consumer[m], s.member[m]
        behind = (c.epoch == x.previous_epoch) & forall(
            implies(c.owns[p], x.assigned[p] != nothing) for p in TopicPartition
        )
        return x.joined & any_of(c.epoch == x.epoch, behind, s.may_rejoin(m))

    def waits_for_revocation(s, m: Member) -> Bool:
        return exists(
            (s.member[m].revoking[p] != nothing) & s.consumer[m].owns[p] for p in TopicPartition
        )

    def must_revoke(s, m: Member) -> Bool:
        """True if the member owns a partition against the target assignment, so that the
        coordinator asks the member to revoke it.

        Without this request, the claim `one_reader` breaks (bug `frees-at-once`, 10 steps).
        """
        return exists(
            all_of(s.member[m].assigned[p] != nothing, s.target[p] != m, s.consumer[m].owns[p])
            for p in TopicPartition
        )

    @action(fair="weak")
    def heartbeat(s, m: Member) -> None:
        """A member sends a heartbeat, and the coordinator moves the member toward the target
        assignment.

        The heartbeat reports which partitions the member owns. The target assignment may belong to
        an earlier group epoch, because Kafka 4.3 waits for group.consumer.assignment.interval.ms
        between two of them.

        Kafka: CurrentAssignmentBuilder. Simplified: each heartbeat reports the partitions.

        The coordinator removes the old partition epoch before it records the new one. In the
        opposite order, a member that gets the partition back would lose the new epoch, and the
        claim `no_double_assignment` breaks (bug `erases-what-comes-back`, 15 steps; KAFKA-16147).
        """
        x = s.member[m]
        when(s.accepts_heartbeat(m), s.assignment_epoch != 0)
        waits, must_revoke = s.waits_for_revocation(m), s.must_revoke(m)
        epoch = ite(waits | must_revoke, x.epoch, s.assignment_epoch)
        for p in TopicPartition:
            kept = ite(s.target[p] == m, x.assigned[p], nothing)
            given_up = ite(s.target[p] == m, nothing, x.assigned[p])
            is_free = (s.partition_epoch[p] == nothing) | (x.revoking[p] != nothing)
            takes = all_of(~must_revoke, s.target[p] == m, x.assigned[p] == nothing, is_free)
            assigned = ite(waits, x.assigned[p], ite(takes, s.assignment_epoch, kept))
            revoking = ite(waits, x.revoking[p], ite(must_revoke, given_up, nothing))
            s.partition_epoch[p] = s.partition_epoch_after(m, p, epoch, assigned, revoking)
            s.member[m].assigned[p] = assigned
            s.member[m].revoking[p] = revoking
        s.member[m].previous_epoch = ite(epoch == x.epoch, x.previous_epoch, x.epoch)
        s.member[m].epoch = epoch
        s.consumer[m].answered = true

    def partition_epoch_after(
        s,
        m: Member,
        p: TopicPartition,
        epoch: Epoch,
        assigned: Epoch | Nothing,
        revoking: Epoch | Nothing,
    ) -> Epoch | Nothing:
        """Returns the epoch to record for the partition after a member's state changes.

        This is the member's new epoch if the new state has the partition, `nothing` if only the old
        state had it, and otherwise the old epoch.
        """
        old = s.member[m]
        had = any_of(old.assigned[p] != nothing, old.revoking[p] != nothing)
        has = any_of(assigned != nothing, revoking != nothing)
        return ite(has, epoch, ite(had, nothing, s.partition_epoch[p]))

    # ---- a consumer

    @action(fair="weak")
    def receive_response(s, m: Member) -> None:
        """The consumer receives a heartbeat response, and adopts its epoch and assignment.

        Kafka: ConsumerMembershipManager.onHeartbeatSuccess. Simplified: the answer has the
        coordinator's present state. Every claim also holds without the guard of this action.
        """
        when(s.consumer[m].answered)
        for p in TopicPartition:
            assigned = s.member[m].assigned[p] != nothing
            s.consumer[m].owns[p] = s.consumer[m].owns[p] | assigned
            s.consumer[m].assigned[p] = assigned
        s.consumer[m].answered = false
        s.consumer[m].epoch = s.member[m].epoch

    @action(fair="weak")
    def revoke(s, m: Member, p: TopicPartition) -> None:
        """The consumer has committed its offset, and gives up a partition.

        Kafka: ConsumerMembershipManager.invokeOnPartitionsRevokedCallback. Simplified: one
        partition after another; the coordinator learns this from the next heartbeat. Every claim
        also holds without the guard of this action.
        """
        when(s.consumer[m].owns[p], ~s.consumer[m].assigned[p])
        s.consumer[m].owns[p] = false

    @action(fair="weak")
    def be_fenced(s, m: Member) -> None:
        """The coordinator refuses the member's epoch, and the consumer drops its partitions.

        Kafka: FENCED_MEMBER_EPOCH or UNKNOWN_MEMBER_ID. Simplified: request and answer are one
        step. Every claim also holds without the guard of this action.
        """
        when(s.consumer[m].epoch != 0, ~s.accepts_heartbeat(m))
        s.consumer[m] = Consumer.outside()

    def accepts_commit(s, m: Member, p: TopicPartition) -> Bool:
        """True if the coordinator accepts an offset commit of the partition (KIP-1251).

        The commit's epoch must be at least the epoch in which the partition was assigned, and at
        most the member's epoch. If only the member's epoch is accepted, the claim
        `owners_may_commit` breaks (bug `wants-exact-epoch`, 7 steps). If every older epoch is
        accepted, the claim `only_owners_commit` breaks (bug `commits-in-any-epoch`, 5 steps). In
        force from Kafka 4.3 on.
        """
        x, epoch = s.member[m], s.consumer[m].epoch
        since = ite(x.assigned[p] != nothing, x.assigned[p], x.revoking[p])
        given = exists(all_of(since == e, e <= epoch) for e in Epoch)
        return all_of(x.joined, given, epoch <= x.epoch)
