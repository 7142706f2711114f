"""Static members of abstract KIP-848 groups: a member is away, and another process takes its place.

A member that is *away* has left with epoch -2. Its assigned partitions stay assigned to it, and are
not free. A process that joins in the member's place gets these partitions and their targets.

At most one consumer reads a partition, for two reasons. First, a process reads nothing after it has
left, and nothing before it has joined. Second, after the new process has joined, the old process is
no longer a member, and the coordinator accepts none of its heartbeats.

The spec has the actions of this table and the actions of the module `actions`. No action is fair.

    static       leave_for_now, come_back

Source: KIP-848; GroupMetadataManager of Apache Kafka 4.3.
Simplified: there is no group.instance.id, so every process may take the place of a member that is
away.
"""

from __future__ import annotations

from model.consumer_group_abstract.claims import AbstractConsumerGroupClaims
from model.consumer_group_abstract.state import Epoch, Member, TopicPartition
from model.language import (
    Bool,
    Set,
    action,
    all_of,
    any_of,
    exists,
    false,
    forall,
    implies,
    ite,
    lemma,
    true,
    when,
    witness,
)


class StaticMembersState(AbstractConsumerGroupClaims):
    is_away: Set[Member]  # the members that are away, with member epoch -2


class StaticMembersActions(StaticMembersState):
    @action
    def expire(s, m: Member, epoch: Epoch) -> None:
        """A member leaves for good, or its session expires. Both may happen while the member is
        away.

        Kafka: GroupMetadataManager.consumerGroupFenceMembers. The simplification and the guards are
        those of the action `expire` in `AbstractConsumerGroupActions`.
        """
        s.is_away[m] = False
        super().expire(m, epoch)

    def accepts_heartbeat(s, m: Member) -> Bool:
        """Returns True if the member `m` is not away, and the coordinator accepts the epoch in the
        heartbeat of its process.
        """
        return super().accepts_heartbeat(m) & ~s.is_away[m]

    def accepts_commit(s, m: Member, p: TopicPartition) -> Bool:
        return super().accepts_commit(m, p) & ~s.is_away[m]

    def keeps_while_away(s) -> Bool:
        """Returns True always, because the assigned partitions of a member that is away are not
        free.

        Without this rule, the claim `no_double_assignment` breaks (bug `frees-while-away`, 8
        steps).
        """
        return true

    @action
    def leave_for_now(s, m: Member) -> None:
        """A static member gives up its partitions and leaves with epoch -2. The coordinator keeps
        the member and its assigned partitions.

        Kafka: GroupMetadataManager.consumerGroupStaticMemberGroupLeave.
        Simplified: in this step, the epochs of the member become the smallest epoch.
        Without the guard that the process is a member, the claim `taken_partitions_have_a_member`
        breaks in 6 steps.
        """
        when(s.joined[m], ~s.must_join(m))
        for p in TopicPartition:
            kept = s.assigned[m][p] & s.keeps_while_away()
            s.taken[p] = s.taken_after(m, p, kept, false)
            s.revoking[m][p] = False
            s.since[m][p] = Epoch.least()
            s.received[m][p] = False
            s.owns[m][p] = False
        s.member_epoch[m] = Epoch.least()
        s.previous_epoch[m] = Epoch.least()
        s.consumer_epoch[m] = Epoch.least()
        s.answered[m] = False
        s.is_away[m] = True

    @action
    def come_back(s, m: Member, other: Member) -> None:
        """A process joins in the place of a member that is away, and gets the member's partitions.

        Kafka: GroupMetadataManager.getOrMaybeSubscribeStaticConsumerGroupMember and replaceMember.
        Simplified: the process receives its epoch only with the response to a later heartbeat. The
        old process itself may come back, too.
        Without the guard that the other member is away, the claim `taken_partitions_have_a_member`
        breaks in 5 steps.
        """
        when(s.is_away[other], (m == other) | ~s.joined[m], s.must_join(m))
        for p in TopicPartition:
            s.target[p] = ite(s.target[p] == other, m, s.target[p])
            s.assigned[m][p] = s.assigned[other][p]
            s.revoking[m][p] = False
            s.since[m][p] = Epoch.least()
        s.member_epoch[m] = Epoch.least()
        s.previous_epoch[m] = Epoch.least()
        s.answered[m] = False
        s.joined[other] = False
        s.joined[m] = True
        s.is_away[other] = False


class StaticMembersClaims(StaticMembersActions):
    # ---- witnesses

    @witness
    def a_static_member_keeps_its_partition(s) -> Bool:
        """Reachable: a member was away and reads its partition again, while the assignment epoch
        is still that of the first target assignment.
        """
        return exists(
            all_of(
                s.is_live_owner(m, p),
                s.since[m][p] == Epoch.least(),
                s.assignment_epoch.is_next_after(Epoch.least()),
            )
            for m in Member
            for p in TopicPartition
        )

    @witness
    def another_waits_for_one_that_is_away(s) -> Bool:
        """Reachable: the target assignment gives a partition to another member, while the
        partition's member is away.
        """
        return exists(
            all_of(s.is_away[a], s.has(a, p), s.target[p] == b, a != b)
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    # ---- lemmas

    @lemma
    def members_that_are_away_revoke_nothing(s) -> Bool:
        """A member that is away belongs to the group, and has no partition to give up.

        The lemma is true because, when a member leaves, the coordinator frees the partitions that
        the member still had to give up.
        """
        return forall(
            implies(s.is_away[m], s.joined[m] & ~s.revoking[m][p])
            for m in Member
            for p in TopicPartition
        )

    @lemma
    def members_with_partitions_have_an_epoch(s) -> Bool:
        """If a response to a member is in flight, or if a member has a partition to give up, the
        member's epoch is larger than the smallest epoch.

        The lemma is true because a process owns no partition at its first heartbeat. So this
        heartbeat moves the member to the assignment epoch, and later heartbeats never lower the
        epoch. The lemma does not hold for every member with partitions: a member that comes back
        has partitions, and the smallest epoch.
        """
        return forall(
            implies(
                any_of(s.answered[m], exists(s.revoking[m][p] for p in TopicPartition)),
                s.member_epoch[m] != Epoch.least(),
            )
            for m in Member
        )
