"""The actions of an abstract KIP-848 group: the actions of the coordinator and of the consumers.

The assignor chooses a member for each partition: the target assignment. A member's heartbeat
reports which partitions its consumer owns. The coordinator gives a partition to its target only if
the partition is free. A member stays in its member epoch as long as its heartbeats report a
partition whose target is another member.

The table lists all actions (`Next` in TLA+). Each row begins with the part of the system that takes
the actions. No action is fair, because only safety is proved.

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
    # ---- the group

    @action
    def compute_target(s, p: TopicPartition, owner: Member, epoch: Epoch) -> None:
        """The assignor chooses the member that shall have a partition.

        Kafka: GroupMetadataManager.maybeUpdateTargetAssignment, TargetAssignmentBuilder.
        Simplified: each step changes the target of one partition, and the assignor may choose any
        member at any time. A target assignment of several partitions takes several steps, and the
        first of these steps raises the assignment epoch.
        Without the guard that the assignment epoch does not decrease, the claim `owners_may_commit`
        breaks in 6 steps.
        """
        when(s.assignment_epoch <= epoch, s.joined[owner])
        s.assignment_epoch = epoch
        s.target[p] = owner

    @action
    def expire(s, m: Member, epoch: Epoch) -> None:
        """A member leaves or its session expires. The coordinator then frees the member's
        partitions.

        Kafka: GroupMetadataManager.consumerGroupFenceMembers. Kafka raises the assignment epoch if
        the group is now empty.
        Simplified: a session may expire at any time, and every expiry may raise the assignment
        epoch.
        Without the guard that the assignment epoch does not decrease, the claim `owners_may_commit`
        breaks in 7 steps.
        """
        when(s.joined[m], s.assignment_epoch <= epoch)
        s.assignment_epoch = epoch
        for p in TopicPartition:
            s.taken[p] = s.taken[p] & ~s.has(m, p)
            s.target[p] = ite(s.target[p] == m, nothing, s.target[p])
        s.joined[m] = False

    def may_join(s, m: Member) -> Bool:
        """Returns True if the consumer `m` has the smallest epoch and is not a member of the group.
        In Kafka, the smallest epoch is 0.

        If a member of the group may join a second time, the claim `taken_partitions_have_a_member`
        breaks (bug `forgets-who-rejoins`, 4 steps).
        """
        return s.must_join(m) & ~s.joined[m]

    @action
    def join(s, m: Member) -> None:
        """A consumer that is not a member of the group joins with epoch 0.

        Kafka: GroupMetadataManager.consumerGroupHeartbeat, with member epoch 0.
        Simplified: the consumer receives its epoch only with the response to a later heartbeat.

        Without the guard that the consumer is not a member, the claim
        `taken_partitions_have_a_member` breaks in 4 steps.
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
        """Returns True if the coordinator accepts the epoch in the heartbeat of the member `m`.

        The coordinator accepts the member's epoch, and epoch 0 of a member that joins again. After
        a lost response, it also accepts the previous epoch, if the consumer owns only partitions
        that are assigned to it.
        """
        is_behind = all_of(
            s.consumer_epoch[m] == s.previous_epoch[m],
            forall(implies(s.owns[m][p], s.assigned[m][p]) for p in TopicPartition),
        )
        return s.joined[m] & any_of(
            s.consumer_epoch[m] == s.member_epoch[m], is_behind, s.must_join(m)
        )

    def waits_for_revocation(s, m: Member) -> Bool:
        return exists(s.revoking[m][p] & s.owns[m][p] for p in TopicPartition)

    def is_withdrawn(s, m: Member, p: TopicPartition) -> Bool:
        return s.assigned[m][p] & (s.target[p] != m)

    def must_revoke(s, m: Member) -> Bool:
        """Returns True if the consumer of `m` owns an assigned partition whose target is not `m`.

        The coordinator waits until the consumer no longer owns this partition. Without this wait,
        the claim `one_reader` breaks (bug `frees-at-once`, 9 steps).
        """
        return exists(s.is_withdrawn(m, p) & s.owns[m][p] for p in TopicPartition)

    def is_free(s, m: Member, p: TopicPartition) -> Bool:
        """Returns True if no member has the partition `p`, or if the member `m` itself must still
        revoke `p`. The partition is then free for `m`.

        Without this rule, the claim `no_double_assignment` breaks (bug `takes-what-is-owned`, 6
        steps).
        """
        return ~s.taken[p] | s.revoking[m][p]

    @action
    def heartbeat(s, m: Member) -> None:
        """A member's heartbeat reports the partitions of its consumer, and the coordinator moves
        the member toward the target assignment.

        Kafka: CurrentAssignmentBuilder.build.
        Simplified: the consumer reports its partitions in each heartbeat. The action `be_fenced`
        covers a rejected heartbeat.
        Without the guard that the coordinator accepts the heartbeat, the claim
        `taken_partitions_have_a_member` breaks in 6 steps.
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
        """Returns True if the partition `p` is taken (not free) after the state of the member `m`
        changes. In the new state, `p` is assigned if `assigned` holds, and must be given up if
        `revoking` holds.

        The coordinator first removes the partitions of the member's old state, and then adds the
        partitions of the new state. In the opposite order, the claim `no_double_assignment` breaks
        (bug `erases-what-comes-back`, 13 steps).
        """
        had = s.assigned[m][p] | s.revoking[m][p]
        return any_of(assigned, revoking, s.taken[p] & ~had)

    # ---- a consumer

    @action
    def receive_response(s, m: Member) -> None:
        """The consumer receives the response to a heartbeat, with the member's epoch and
        partitions.

        Kafka: ConsumerMembershipManager.onHeartbeatSuccess.
        Simplified: the response contains the coordinator's present state.
        Every claim also holds without the guard of this action.
        """
        when(s.answered[m])
        s.answered[m] = False
        s.consumer_epoch[m] = s.member_epoch[m]
        for p in TopicPartition:
            s.received[m][p] = s.assigned[m][p]
            s.owns[m][p] = s.owns[m][p] | s.assigned[m][p]

    @action
    def revoke(s, m: Member, p: TopicPartition) -> None:
        """The consumer commits its offset of a partition that is no longer assigned to the
        consumer, and then gives up the partition.

        Kafka: ConsumerMembershipManager.invokeOnPartitionsRevokedCallback.
        Simplified: the consumer gives up one partition after another.
        Every claim also holds without the guard of this action.
        """
        when(s.owns[m][p], ~s.received[m][p])
        s.owns[m][p] = False

    def keeps_when_fenced(s, m: Member, p: TopicPartition) -> Bool:
        """Returns False always, because a fenced consumer keeps no partition when it joins again.

        Without this rule, the claim `one_reader` breaks (bug `reads-on-when-fenced`, 11 steps).
        """
        return false

    @action
    def be_fenced(s, m: Member) -> None:
        """The coordinator refuses the member's epoch, and the consumer drops its partitions.

        Kafka: FENCED_MEMBER_EPOCH or UNKNOWN_MEMBER_ID; ConsumerMembershipManager.
        Simplified: the request and the error response are one step.
        Every claim also holds without the guard of this action.
        """
        when(~s.must_join(m), ~s.accepts_heartbeat(m))
        s.consumer_epoch[m] = Epoch.least()
        s.answered[m] = False
        for p in TopicPartition:
            s.received[m][p] = False
            s.owns[m][p] = s.keeps_when_fenced(m, p)

    def accepts_commit(s, m: Member, p: TopicPartition) -> Bool:
        """Returns True if the coordinator accepts an offset commit of the consumer `m` for the
        partition `p` (KIP-1251).

        The epoch in the commit must be at least the epoch in which the coordinator assigned the
        partition to the member. It must be at most the member's epoch.

        If the coordinator accepts only the member's epoch, the claim `owners_may_commit` breaks
        (bug `wants-exact-epoch`, 6 steps). If it does not compare the epoch of the assignment, the
        claim `one_member_commits` breaks (bug `commits-in-any-epoch`, 7 steps).
        """
        return all_of(
            s.has(m, p),
            s.since[m][p] <= s.consumer_epoch[m],
            s.consumer_epoch[m] <= s.member_epoch[m],
        )
