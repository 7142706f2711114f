"""Static members of KIP-848 groups: a process leaves for some time, and another process takes its
place.

A static member is a member whose process has a group.instance.id. If the process leaves with epoch
-2, the member is *away*: the coordinator keeps the member and its assigned partitions. It frees
only the partitions that the member still had to revoke. Later, a process with the same
group.instance.id joins with epoch 0. The coordinator gives the member's partitions and its target
assignment to this process, without a new group epoch.

The coordinator refuses a process that joins while another process uses the same group.instance.id
(UNRELEASED_INSTANCE_ID). It also refuses the requests of a process that has been replaced
(FENCED_INSTANCE_ID).

The spec has the actions of this table and the actions of the module `actions`. WF marks a weakly
fair action; the actions without a mark are not fair.

    static       start_static, leave_for_now, leave_late, WF come_back

Kafka follows these rules from release 3.7 on, unless a docstring names another release.

Source: KIP-848; GroupMetadataManager of Apache Kafka 4.3.
Simplified: a process that gets UNRELEASED_INSTANCE_ID or FENCED_INSTANCE_ID ends, and may start
again with the same member id. A static member may also leave for good (KIP-1092), with the action
`leave` of all members. Only one request may be late: a replaced process may still leave with epoch
-2 (`leave_late`).
"""

from __future__ import annotations

from typing import Annotated, Self

from model.consumer_group.claims import ConsumerGroupClaims
from model.consumer_group.state import Consumer, Epoch, Member, TopicPartition
from model.language import (
    Bool,
    Map,
    Nothing,
    Scope,
    Set,
    Sort,
    action,
    action_property,
    all_of,
    exists,
    false,
    forall,
    implies,
    invariant,
    ite,
    nothing,
    true,
    when,
    witness,
)


class Instance(Sort):
    """A group.instance.id. Several processes may have the same id, one after another."""

    prefix = "static"


class StaticMembersState(ConsumerGroupClaims):
    instances: Annotated[int, range(1, 10)] = 1

    instance: Map[Member, Instance | Nothing]  # the group.instance.id of the process
    is_away: Set[Member]  # the members that are away, with member epoch -2

    def scope(s) -> Scope:
        return {**super().scope(), Instance: s.instances}

    def shares_instance(s, m: Member, other: Member) -> Bool:
        """Returns True if `other` is a member and has the same group.instance.id as the process
        `m`.

        A process without a group.instance.id shares it with no member.
        """
        mine = s.instance[m]
        same = (mine != nothing) & (mine == s.instance[other])
        return all_of(m != other, same, s.member[other].joined)


class StaticMembersActions(StaticMembersState):
    @action
    def start_static(s, m: Member, instance: Instance) -> None:
        """A consumer process starts with a group.instance.id, as a static member.

        Kafka: group.instance.id.
        Simplified: the choice of the group.instance.id is a step of its own.
        Without the guard that the process is no member, the claim `one_member_of_an_instance`
        breaks in 4 steps.
        """
        c = s.consumer[m]
        when(s.instance[m] == nothing, c.epoch == 0, ~c.answered, ~s.member[m].joined)
        s.instance[m] = instance

    def remove(s, m: Member) -> None:
        s.is_away[m] = false
        super().remove(m)

    def is_in_use(s, m: Member) -> Bool:
        """Returns True if another member has the group.instance.id of the process `m`.

        If the process may join nevertheless, the claim `one_member_of_an_instance` breaks (bug
        `adds-instances`, 4 steps).
        """
        return exists(s.shares_instance(m, x) for x in Member)

    def may_join(s, m: Member) -> Bool:
        return super().may_join(m) & ~s.is_in_use(m)

    def accepts_heartbeat(s, m: Member) -> Bool:
        """Returns True if the member `m` is not away, and the coordinator accepts the epoch in the
        heartbeat of its process.
        """
        return super().accepts_heartbeat(m) & ~s.is_away[m]

    def accepts_commit(s, m: Member, p: TopicPartition) -> Bool:
        return super().accepts_commit(m, p) & ~s.is_away[m]

    # ---- away, and back

    def keeps_while_away(s) -> Bool:
        """Returns True always, because the assigned partitions of a member that is away are not
        free.

        Without this rule, the claim `no_double_assignment` breaks (bug `frees-while-away`, 9
        steps).
        """
        return true

    @action
    def leave_for_now(s, m: Member) -> None:
        """A static member gives up its partitions and leaves with epoch -2. The coordinator keeps
        the member and its assigned partitions.

        Kafka: GroupMetadataManager.consumerGroupStaticMemberGroupLeave. From 4.3 on, this method
        also sets the epochs of the assigned partitions to 0.
        Simplified: the epochs of the member are set to 0 in this step. Kafka sets them to 0 when a
        process takes the member's place.
        Without the guard that the process is a member, the claim `one_member_of_an_instance` breaks
        in 10 steps.
        """
        when(s.member[m].joined, s.instance[m] != nothing, s.consumer[m].epoch != 0)
        for p in TopicPartition:
            had = s.member[m].assigned[p]
            assigned = ite(had == nothing, had, Epoch(0))
            kept = ite(s.keeps_while_away(), assigned, nothing)
            s.partition_epoch[p] = s.partition_epoch_after(m, p, Epoch(0), kept, nothing)
            s.member[m].assigned[p] = assigned
            s.member[m].revoking[p] = nothing
        s.member[m].epoch = Epoch(0)
        s.member[m].previous_epoch = Epoch(0)
        s.consumer[m] = Consumer.outside()
        s.is_away[m] = true

    def compares_member_ids(s) -> Bool:
        """Returns True always, because the coordinator compares member ids. It accepts a request
        with a group.instance.id only if the request has the member id of the present member.

        Without this rule, the claim `a_member_that_is_away_owns_nothing` breaks (bug
        `fences-no-instance`, 12 steps).
        """
        return true

    @action
    def leave_late(s, m: Member, other: Member) -> None:
        """A replaced process gives up its partitions and leaves with epoch -2. The coordinator
        answers FENCED_INSTANCE_ID.

        Kafka: GroupMetadataManager.consumerGroupLeave, which compares no epochs.
        Simplified: a request to leave is late only if its process has already been replaced.
        Every claim also holds without the guard of this action.
        """
        when(s.shares_instance(m, other), s.consumer[m].epoch != 0)
        s.consumer[m] = Consumer.outside()
        s.is_away[other] = s.is_away[other] | ~s.compares_member_ids()

    def may_replace(s, m: Member, other: Member) -> Bool:
        """Returns True if the member `other` is away, so that the process `m` may take its place.

        Without this rule, the claim `a_replaced_process_owns_nothing` breaks (bug
        `replaces-instance-in-use`, 7 steps).
        """
        return s.is_away[other]

    @action(fair="weak")
    def come_back(s, m: Member, other: Member) -> None:
        """A process joins with the group.instance.id of a member that is away, and takes the
        member's place.

        Kafka: GroupMetadataManager.getOrMaybeSubscribeStaticConsumerGroupMember and replaceMember.
        Simplified: the process receives its epoch only with the response to a later heartbeat. The
        old process itself may come back, too; Kafka gives it a new member id.
        Without the guard that the process and the member have the same group.instance.id, the claim
        `partition_epoch_iff_assigned` breaks in 9 steps.
        """
        when(
            s.may_replace(m, other),
            (m == other) | s.shares_instance(m, other),
            s.consumer[m].epoch == 0,
        )
        for p in TopicPartition:
            s.target[p] = ite(s.target[p] == other, m, s.target[p])
            s.member[m].assigned[p] = s.member[other].assigned[p]
            s.member[m].revoking[p] = s.member[other].revoking[p]
        s.member[m].epoch = Epoch(0)
        s.member[m].previous_epoch = Epoch(0)
        s.member[other].joined = false
        s.member[m].joined = true
        s.is_away[other] = false
        s.consumer[m].answered = false


class StaticMembersClaims(StaticMembersActions):
    @invariant
    def one_member_of_an_instance(s) -> Bool:
        """No two members have the same group.instance.id."""
        return forall(
            ~(s.member[a].joined & s.shares_instance(a, b)) for a in Member for b in Member
        )

    @invariant
    def a_member_that_is_away_owns_nothing(s) -> Bool:
        """While a static member is away, its process reads no partition."""
        return forall(
            implies(s.is_away[m], ~s.consumer[m].owns[p]) for m in Member for p in TopicPartition
        )

    @invariant
    def a_replaced_process_is_fenced(s) -> Bool:
        """The coordinator accepts no heartbeat of a process if another member has the same
        group.instance.id.

        A request with epoch 0 is not a heartbeat in this sense, because it joins the group.
        """
        return forall(
            implies(s.shares_instance(a, b) & (s.consumer[a].epoch != 0), ~s.accepts_heartbeat(a))
            for a in Member
            for b in Member
        )

    @action_property
    def a_replaced_process_owns_nothing(s, after: Self) -> Bool:
        """If a process ceases to be a member and the group epoch does not grow, the process owns no
        partition.

        Such a process was replaced: the removal of a member raises the group epoch, and a
        replacement does not.
        """
        return (s.group_epoch < after.group_epoch) | forall(
            implies(s.member[m].joined & ~after.member[m].joined, ~s.consumer[m].owns[p])
            for m in Member
            for p in TopicPartition
        )

    def is_vacant(s, m: Member) -> Bool:
        """Returns True if the member `m` is vacant: it is away, and no process has taken its place.
        A member whose new process has epoch 0 is not vacant.
        """
        return s.is_away[m]

    def has_converged(s) -> Bool:
        """Returns True if the group has reached its target assignment, or if a member is away.

        The claim `converges` is about groups that cease to change. While a member is away, its
        process may come back and change the group.
        """
        return super().has_converged() | exists(s.is_away[m] for m in Member)

    # ---- witnesses

    @witness
    def a_static_member_keeps_its_partition(s) -> Bool:
        """Reachable: a static member was away and reads its partition again, while the group is
        still in its first epoch.
        """
        return exists(
            all_of(s.group_epoch == 1, s.consumer[m].owns[p], s.member[m].assigned[p] == Epoch(0))
            for m in Member
            for p in TopicPartition
        )

    @witness
    def another_waits_for_one_that_is_away(s) -> Bool:
        """Reachable: the target assignment gives a partition to another member, while the
        partition's static member is away.
        """
        return exists(
            all_of(s.is_away[a], s.has(a, p), s.target[p] == b, a != b)
            for p in TopicPartition
            for a in Member
            for b in Member
        )

    @witness
    def a_replaced_process_reads(s) -> Bool:
        """Reachable: a replaced process still reads a partition, which the new process with the
        same group.instance.id reads, too.
        """
        return exists(
            all_of(
                s.shares_instance(a, b),
                s.consumer[a].owns[p],
                s.is_live_owner(b, p),
            )
            for p in TopicPartition
            for a in Member
            for b in Member
        )
