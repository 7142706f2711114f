"""The actions of an abstract classic group: members join, the leader assigns partitions, and
sessions expire.

A rebalance ends with the next generation. The members of this generation are the processes that
have joined again. The leader assigns each partition to the member that had the partition in the
latest generation. The coordinator writes the group to its log, and the members receive their
partitions. Another coordinator may read the group from the log.

A *static* member has a group.instance.id. A process that joins with the group.instance.id of a
member replaces this member. If the group is stable, the replacement needs no rebalance.

The table lists all actions (`Next` in TLA+). Each row begins with the phase or the part of the
system to which the actions belong. No action is fair, because only safety is proved.

    joining      start_static, join, replace
    rebalance    complete_join, assign, persist_assignment, miss_assignment, receive_assignment,
                 miss, become_empty, fail_over
    consumer     leave_generation
"""

from __future__ import annotations

from model.classic_group_abstract.state import (
    AbstractClassicGroupState,
    Generation,
    Instance,
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
    true,
    when,
)


class AbstractClassicGroupActions(AbstractClassicGroupState):
    # ---- joining

    @action
    def start_static(s, m: Member, instance: Instance) -> None:
        """A consumer process starts with a group.instance.id, as a static member.

        Kafka: group.instance.id (KIP-345).
        Simplified: the choice of the group.instance.id is a step of its own.
        Without the guard that the process is not joining, the claim `one_member_of_an_instance`
        breaks in 4 steps.
        """
        when(
            s.instance[m] == nothing,
            s.last_generation[m] == Generation.least(),
            ~s.is_joining[m],
        )
        s.instance[m] = instance

    def keeps_when_joining(s, m: Member, p: TopicPartition) -> Bool:
        """Returns False always, because a consumer that joins again keeps no partition.

        Without this rule, the claim `only_owners_commit` breaks (bug `reads-on-when-joining`, 10
        steps).
        """
        return false

    def asks_to_join(s, m: Member) -> None:
        when(
            ~s.joined[m],
            ~(s.group.members[m] & s.awaits_assignment()),
            any_of(
                s.consumer_generation[m] == Generation.least(),
                s.is_joining[m],
                s.is_rebalancing,
            ),
        )
        s.is_joining[m] = True
        for p in TopicPartition:
            s.owns[m][p] = s.keeps_when_joining(m, p)

    def gives_way(s, other: Member, m: Member) -> Bool:
        """Returns True if the joining process `m` replaces the member `other`, because both have
        the same group.instance.id.

        Without this rule, the claim `one_member_of_an_instance` breaks (bug `adds-instances`, 4
        steps).
        """
        return s.shares_instance(m, other)

    @action
    def join(s, m: Member) -> None:
        """A process joins the group, for the first time or again, and a rebalance begins.

        Kafka: GroupMetadataManager.classicGroupJoinToClassicGroup.
        Simplified: the process has its member id before it joins.
        Every claim also holds without the guard of this action.
        """
        when(~(s.is_stable() & exists(s.shares_instance(m, x) for x in Member)))
        s.asks_to_join(m)
        for x in Member:
            stays = ~s.gives_way(x, m)
            s.joined[x] = (s.joined[x] & stays) | (x == m)
            s.group.members[x] = (s.group.members[x] & stays) | (x == m)
        s.is_rebalancing = true

    def persists_replacement(s) -> Bool:
        """Returns True always, because the coordinator writes the replacement of a static member to
        its log.

        Without this rule, the claim `a_stable_group_survives` breaks (bug `forgets-replacement`, 6
        steps).
        """
        return true

    @action
    def replace(s, m: Member) -> None:
        """A static member returns as another process, and a stable group continues without a
        rebalance.

        Kafka: GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin.
        Simplified: the new process has the same assignors and subscription as the old process.
        Without the guard that the group is stable, the claim `one_member_of_an_instance` breaks in
        6 steps.
        """
        when(s.is_stable(), exists(s.shares_instance(m, x) for x in Member))
        s.asks_to_join(m)
        written = s.persists_replacement()
        for x in Member:
            stays = ~s.shares_instance(m, x)
            members = (s.group.members[x] & stays) | (x == m)
            for p in TopicPartition:
                owned = exists(s.shares_instance(m, y) & s.group.owners[y][p] for y in Member)
                owners = (s.group.owners[x][p] & stays) | ((x == m) & owned)
                s.persisted.owners[x][p] = ite(written, owners, s.persisted.owners[x][p])
                s.group.owners[x][p] = owners
            s.persisted.members[x] = ite(written, members, s.persisted.members[x])
            s.group.members[x] = members

    # ---- a rebalance

    def begin_generation(s, generation: Generation) -> None:
        when(s.group.generation < generation)
        s.group.generation = generation
        s.is_rebalancing = false
        s.is_assigned = false
        for x in Member:
            s.joined[x] = False
            for p in TopicPartition:
                s.group.owners[x][p] = False

    @action
    def complete_join(s, generation: Generation) -> None:
        """The coordinator ends the wait for JoinGroup requests, and the next generation begins.

        Kafka: GroupMetadataManager.completeClassicGroupJoin.
        Simplified: the wait may end at any time. A static member that has not joined again is
        removed at once; in Kafka it remains a member until its session expires.
        Without the guard that the generation grows, the claim `one_member_of_an_instance` breaks in
        7 steps.
        """
        when(s.is_rebalancing, exists(s.joined[x] for x in Member))
        for x in Member:
            s.group.members[x] = s.joined[x]
        s.begin_generation(generation)

    def keeps(s, m: Member, p: TopicPartition) -> Bool:
        """Returns True if the sticky assignor lets the member `m` keep the partition `p`.

        The member keeps the partition if it reports that it had the partition, and no other member
        reports the same for a later generation.
        Without the comparison of generations (KIP-341), the claim `one_owner` breaks (bug
        `believes-old-claims`, 15 steps).
        """
        return s.says_it_had(m, p) & forall(
            implies(s.says_it_had(x, p), s.last_generation[x] <= s.last_generation[m])
            for x in Member
        )

    def says_it_had(s, m: Member, p: TopicPartition) -> Bool:
        return s.group.members[m] & s.last_owned[m][p]

    @action
    def assign(s, p: TopicPartition, chosen: Member) -> None:
        """The leader assigns a partition to the member that had the partition in the latest
        generation. If no member had it, the leader may choose any member.

        Kafka: AbstractStickyAssignor.
        Simplified: the leader assigns one partition after another, and some partitions may remain
        unassigned.
        Without the guard that the group awaits its assignment, the claim `a_stable_group_survives`
        breaks in 4 steps.
        """
        someone_keeps = exists(s.keeps(x, p) for x in Member)
        when(
            s.awaits_assignment(),
            ~exists(s.group.owners[x][p] for x in Member),
            s.group.members[chosen],
            implies(someone_keeps, s.keeps(chosen, p)),
        )
        for x in Member:
            s.group.owners[x][p] = ite(someone_keeps, s.keeps(x, p), x == chosen)

    @action
    def persist_assignment(s) -> None:
        """The leader's assignment arrives, and the coordinator writes the group to its log.

        Kafka: GroupMetadataManager.classicGroupSyncToClassicGroup.
        Simplified: the append is committed at once.
        Without the guard of this action, the claim `one_member_of_an_instance` breaks in 7 steps.
        """
        when(s.awaits_assignment())
        s.is_assigned = true
        s.persisted = s.group

    @action
    def miss_assignment(s) -> None:
        """The leader's assignment does not arrive in time, and the group rebalances again.

        Kafka: GroupMetadataManager.expirePendingSync.
        Simplified: the timeout may expire at any time.
        Every claim also holds without the guard of this action.
        """
        when(s.awaits_assignment())
        s.is_rebalancing = true

    @action
    def receive_assignment(s, m: Member) -> None:
        """A member that has joined receives the generation and its assignment.

        Kafka: ConsumerCoordinator.onJoinComplete.
        Simplified: no response is lost.
        Without the guard that the group is stable, the claim `one_member_of_an_instance` breaks in
        5 steps.
        """
        when(s.is_stable(), s.group.members[m], s.is_joining[m])
        s.consumer_generation[m] = s.group.generation
        s.last_generation[m] = s.group.generation
        s.is_joining[m] = False
        for p in TopicPartition:
            s.owns[m][p] = s.group.owners[m][p]
            s.last_owned[m][p] = s.group.owners[m][p]

    @action
    def miss(s, m: Member) -> None:
        """A member's session expires, and a rebalance begins.

        Kafka: GroupMetadataManager.expireClassicGroupMemberHeartbeat.
        Simplified: a session may expire at any time, even if the member is alive.
        Every claim also holds without the guard of this action.
        """
        when(s.group.members[m])
        s.group.members[m] = False
        s.joined[m] = False
        s.is_rebalancing = true

    @action
    def become_empty(s, generation: Generation) -> None:
        """The coordinator writes the empty group to its log, after all members have left the group.

        Kafka: GroupMetadataManager.completeClassicGroupJoin.
        Simplified: the append is committed at once.
        Without the guard that the generation grows, the claim `one_owner` breaks in 17 steps.
        """
        when(s.is_rebalancing, s.is_empty())
        s.persisted.generation = generation
        for x in Member:
            s.persisted.members[x] = False
            for p in TopicPartition:
                s.persisted.owners[x][p] = False
        s.begin_generation(generation)

    @action
    def fail_over(s) -> None:
        """A new coordinator reads the group from the log, and forgets a rebalance that has not
        ended.

        Kafka: GroupMetadataManager.replay.
        Simplified: the new coordinator reads the log in one step. The action has no guard, because
        a failover may happen in any state.
        """
        s.group = s.persisted
        s.is_rebalancing = false
        s.is_assigned = exists(s.persisted.members[x] for x in Member)
        for x in Member:
            s.joined[x] = False

    # ---- a consumer

    @action
    def leave_generation(s, m: Member) -> None:
        """A consumer learns that its generation is over or that its member id is unknown, and gives
        up all its partitions.

        Kafka: AbstractCoordinator.resetStateOnResponseError.
        Simplified: the consumer may take this step at any time.
        Every claim also holds without the guard of this action.
        """
        when(s.consumer_generation[m] != Generation.least())
        s.consumer_generation[m] = Generation.least()
        for p in TopicPartition:
            s.owns[m][p] = False

    def accepts(s, m: Member) -> Bool:
        """Returns True if the coordinator accepts an offset commit of the member `m`.

        The commit must carry the current generation, and the assignment of this generation must
        have arrived. Without the check of the generation, the claim `only_owners_commit` breaks
        (bug `accepts-anyone`, 7 steps).
        """
        return all_of(s.is_current(m), ~s.awaits_assignment())
