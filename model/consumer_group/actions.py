"""The actions of a KIP-848 group: the group changes, members send heartbeats, and consumers apply
the responses.

Each change of the group raises the *group epoch*. For the new group epoch, the assignor computes a
*target assignment*: it chooses the member that shall own each partition. If another member owns a
partition, the coordinator asks this owner to revoke the partition. The owner stays in its *member
epoch* until one of its heartbeats no longer reports the partition. Each partition has a *partition
epoch*, which is `nothing` if the partition is free. Only a free partition goes to the chosen
member.

If the response to a heartbeat is lost, the consumer sends the same heartbeat a second time, with
the member's previous epoch, and the coordinator accepts it. A fenced member drops its partitions
and joins again with epoch 0.

The table lists all actions (`Next` in TLA+). Each row begins with the part of the system that takes
the actions. WF marks a weakly fair action; the actions without a mark are not fair.

    group        change_subscription, WF compute_target, expire, leave, join
    heartbeats   WF heartbeat
    consumers    WF receive_response, WF revoke, WF be_fenced

Kafka follows these rules from release 3.7 on, unless a docstring names another release.
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
        """The topics or the subscriptions of the group change, which raises the group epoch.

        Kafka: GroupMetadataManager.consumerGroupHeartbeat, on a new subscription.
        Simplified: this action stands for any change of the group that needs a new target
        assignment.
        Without the guard that the group has a member, the claim `an_empty_group_is_settled` breaks
        in 1 step.
        """
        when(~s.is_empty())
        s.bump()

    @action(fair="weak")
    def compute_target(s, p: TopicPartition, owner: Member) -> None:
        """The assignor computes a target assignment: it chooses the member that shall have a
        partition.

        Kafka: GroupMetadataManager.maybeUpdateTargetAssignment, TargetAssignmentBuilder.
        Simplified: the assignor may choose any member, at any time. It changes the target of the
        partition `p`. All partitions without a target get the same member as `p`.
        Every claim also holds without the guard of this action.
        """
        when(s.assignment_epoch < s.group_epoch, s.member[owner].joined)
        s.assignment_epoch = s.group_epoch
        for q in TopicPartition:
            s.target[q] = ite((q == p) | (s.target[q] == nothing), owner, s.target[q])

    def closes_empty_group(s) -> Bool:
        """Returns True always, because the removal of the last member raises the assignment epoch
        to the new group epoch.

        Without this rule, the claim `an_empty_group_is_settled` breaks (bug
        `leaves-empty-group-open`, 2 steps; KAFKA-20442).
        """
        return true

    def remove(s, m: Member) -> None:
        """Removes the member `m` from the group, frees the member's partitions, and raises the
        group epoch.
        """
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
        """The coordinator fences a member whose session has expired, and frees the member's
        partitions.

        Kafka: GroupMetadataManager.consumerGroupFenceMembers.
        Simplified: a session may expire at any time.
        Every claim also holds without the guard of this action.
        """
        when(s.member[m].joined)
        s.remove(m)

    @action
    def leave(s, m: Member) -> None:
        """A consumer gives up its partitions and leaves with epoch -1, and the coordinator removes
        the member.

        Kafka: GroupMetadataManager.consumerGroupLeave, which compares no epochs.
        Simplified: the request to leave is never late.
        Every claim also holds without the guard of this action.
        """
        when(s.member[m].joined, s.consumer[m].epoch != 0)
        s.remove(m)
        s.consumer[m] = Consumer.outside()

    def may_join(s, m: Member) -> Bool:
        """Returns True if the consumer `m` has epoch 0 and is not a member of the group.

        If a member joined a second time, the coordinator would replace the state of the member by a
        new state with epoch 0.
        Without this rule, the claim `epochs_grow` breaks (bug `forgets-who-rejoins`, 4 steps).
        """
        return ~s.member[m].joined & (s.consumer[m].epoch == 0)

    @action
    def join(s, m: Member) -> None:
        """A consumer that is not a member of the group joins with epoch 0.

        Kafka: GroupMetadataManager.consumerGroupHeartbeat, with member epoch 0.
        Simplified: the consumer receives its epoch only with the response to a later heartbeat.
        Without the guard that the consumer is no member, the claim `epochs_grow` breaks in 4 steps.
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
        """Returns True if the heartbeat of the member `m` has epoch 0.

        A member sends epoch 0 after it was fenced, or if the response to its join was lost. If the
        coordinator refuses this heartbeat, the claims `converges` and `who_is_fenced_comes_back`
        break (bug `refuses-return`, KAFKA-19233). Kafka follows this rule from release 4.2 on.
        """
        return s.consumer[m].epoch == 0

    def accepts_heartbeat(s, m: Member) -> Bool:
        """Returns True if the coordinator accepts the epoch in the heartbeat of the member `m`.

        The coordinator accepts three epochs: the epoch that it has recorded for the member, the
        previous epoch after a lost response, and epoch 0 of a member that joins again. It accepts
        the previous epoch only if the consumer owns no other partitions than the assigned ones.
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
        """Returns True if the consumer of `m` owns a partition that the target assignment gives to
        another member. The coordinator then asks `m` to revoke this partition.

        If the coordinator does not wait for the revocation, the claim `one_reader` breaks (bug
        `frees-at-once`, 10 steps).
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
        an earlier group epoch than the present one, because Kafka 4.3 waits for
        group.consumer.assignment.interval.ms between two target assignments.

        Kafka: CurrentAssignmentBuilder.
        Simplified: each heartbeat reports the partitions.

        The coordinator removes the old epoch of a partition before it records the new epoch. In the
        opposite order, a member that gets a partition back would lose the new epoch of this
        partition, and the claim `no_double_assignment` breaks (bug `erases-what-comes-back`, 15
        steps; KAFKA-16147).
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
        """Returns the partition epoch to record for `p` after the state of the member `m` changes.

        In the member's new state, `epoch` is the member's epoch. `assigned` is `nothing` if the
        partition is not assigned to the member, and `revoking` is `nothing` if the member need not
        revoke it.

        If the new state has the partition, the result is `epoch`. If only the old state had the
        partition, the result is `nothing`. If neither state has it, the partition epoch does not
        change.
        """
        old = s.member[m]
        had = any_of(old.assigned[p] != nothing, old.revoking[p] != nothing)
        has = any_of(assigned != nothing, revoking != nothing)
        return ite(has, epoch, ite(had, nothing, s.partition_epoch[p]))

    # ---- a consumer

    @action(fair="weak")
    def receive_response(s, m: Member) -> None:
        """The consumer receives the response to a heartbeat, and adopts the epoch and the
        assignment in the response.

        Kafka: ConsumerMembershipManager.onHeartbeatSuccess.
        Simplified: the response contains the coordinator's present state.
        Every claim also holds without the guard of this action.
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
        """The consumer commits its offset of a partition that is no longer assigned to the
        consumer, and then gives up the partition.

        Kafka: ConsumerMembershipManager.invokeOnPartitionsRevokedCallback.
        Simplified: the consumer gives up one partition after another. The coordinator learns of
        this from the next heartbeat.
        Every claim also holds without the guard of this action.
        """
        when(s.consumer[m].owns[p], ~s.consumer[m].assigned[p])
        s.consumer[m].owns[p] = false

    @action(fair="weak")
    def be_fenced(s, m: Member) -> None:
        """The coordinator refuses the member's epoch, and the consumer drops its partitions.

        Kafka: FENCED_MEMBER_EPOCH or UNKNOWN_MEMBER_ID.
        Simplified: the request and the error response are one step.
        Every claim also holds without the guard of this action.
        """
        when(s.consumer[m].epoch != 0, ~s.accepts_heartbeat(m))
        s.consumer[m] = Consumer.outside()

    def accepts_commit(s, m: Member, p: TopicPartition) -> Bool:
        """Returns True if the coordinator accepts an offset commit of the consumer `m` for the
        partition `p` (KIP-1251).

        The epoch in the commit must be at least the epoch in which the coordinator assigned the
        partition to the member. It must be at most the member's epoch.

        If the coordinator accepts only the member's epoch, the claim `owners_may_commit` breaks
        (bug `wants-exact-epoch`, 7 steps). If it accepts every older epoch, the claim
        `only_owners_commit` breaks (bug `commits-in-any-epoch`, 5 steps).

        Kafka follows this rule from release 4.3 on, with one exception. If the commit has the
        member's epoch, Kafka accepts it for every partition
        (docs/findings/fenced-member-commits.md).
        """
        x, epoch = s.member[m], s.consumer[m].epoch
        since = ite(x.assigned[p] != nothing, x.assigned[p], x.revoking[p])
        given = exists(all_of(since == e, e <= epoch) for e in Epoch)
        return all_of(x.joined, given, epoch <= x.epoch)
