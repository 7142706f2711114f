"""The actions of a classic group: members join, the leader assigns the partition, and sessions
expire.

The group reads one partition. A rebalance ends when all members have joined again, or when the
coordinator ceases to wait for them. The next generation then begins. One member is the leader. It
assigns the partition to the member that had the partition in the latest generation. The
coordinator's log stores a stable group, and another coordinator reads the group from this log.

A *static* member has a group.instance.id. A process that joins with the group.instance.id of a
member replaces this member. If the group is stable, the replacement needs no rebalance.

The table lists all actions (`Next` in TLA+). Each row begins with the phase to which the actions
belong. WF marks a weakly fair action, and SF a strongly fair action; the actions without a mark are
not fair.

    joining      start_static, WF join, WF replace
    rebalance    SF complete_join, assign, WF miss_assignment, SF receive_assignment, miss,
                 become_empty, fail_over
    late answers refuse, WF receive_refusal

Simplified: a consumer receives the responses to JoinGroup and SyncGroup together. The response to a
heartbeat may be late.
"""

from __future__ import annotations

from model.classic_group.state import ClassicGroupState, Generation, Instance, Member, no_one
from model.language import (
    Bool,
    action,
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


class ClassicGroupActions(ClassicGroupState):
    # ---- joining

    @action
    def start_static(s, m: Member, instance: Instance) -> None:
        """A consumer process starts with a group.instance.id, as a static member.

        Kafka: group.instance.id (KIP-345).
        Simplified: the choice of the group.instance.id is a step of its own.
        Without the guard that the process has not asked to join yet, the claim
        `one_member_of_an_instance` breaks in 4 steps.
        """
        c = s.consumer[m]
        when(c.instance == nothing, c.claimed_in == 0, ~c.is_joining)
        s.consumer[m].instance = instance

    def asks_to_join(s, m: Member) -> None:
        c = s.consumer[m]
        awaits = s.group.members[m] & s.awaits_assignment()
        when(~s.joined[m], ~awaits, any_of(c.generation == 0, c.is_joining, s.is_rebalancing))
        s.consumer[m].is_joining = true
        s.consumer[m].owns = false

    def gives_way(s, other: Member, m: Member) -> Bool:
        """Returns True if the joining process `m` replaces the member `other`, because both have
        the same group.instance.id.
        """
        return s.shares_instance(m, other)

    @action(fair="weak")
    def join(s, m: Member) -> None:
        """A process joins the group, for the first time or again, and a rebalance begins.

        Kafka: GroupMetadataManager.classicGroupJoinToClassicGroup.
        Simplified: the process has its member id before it joins.
        Without the rule that a process replaces the member with the same group.instance.id, the
        claim `one_member_of_an_instance` breaks (bug `adds-instances`, 4 steps; KAFKA-8500).
        """
        when(~(s.is_stable() & exists(s.shares_instance(m, x) for x in Member)))
        s.asks_to_join(m)
        for x in Member:
            stays = ~s.gives_way(x, m)
            s.group.members[x] = (s.group.members[x] & stays) | (x == m)
            s.joined[x] = (s.joined[x] & stays) | (x == m)
        s.is_rebalancing = true

    def persists_replacement(s) -> Bool:
        """Returns True always, because the coordinator writes the replacement of a static member to
        its log. The bug `forgets-replacement` returns False.
        """
        return true

    @action(fair="weak")
    def replace(s, m: Member) -> None:
        """A static member returns as another process, and a stable group continues without a
        rebalance.

        Kafka: GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin.
        Simplified: the new process has the same assignors and metadata as the old process.
        Without the append of the replacement to the coordinator's log, the claim
        `a_stable_group_survives` breaks (bug `forgets-replacement`, 6 steps; KAFKA-10284).
        """
        when(s.is_stable(), exists(s.shares_instance(m, x) for x in Member))
        s.asks_to_join(m)
        owned = exists(s.shares_instance(m, x) & s.group.owners[x] for x in Member)
        for x in Member:
            stays = ~s.shares_instance(m, x)
            members = (s.group.members[x] & stays) | (x == m)
            owners = (s.group.owners[x] & stays) | ((x == m) & owned)
            written = s.persists_replacement()
            s.group.members[x] = members
            s.group.owners[x] = owners
            s.persisted.members[x] = ite(written, members, s.persisted.members[x])
            s.persisted.owners[x] = ite(written, owners, s.persisted.owners[x])

    # ---- a rebalance

    def begin_generation(s) -> None:
        when(s.group.generation < s.generations)
        s.group.generation = s.group.generation + 1
        s.group.owners = no_one()
        s.joined = no_one()
        s.is_rebalancing = false
        s.is_assigned = false

    @action(fair="strong")
    def complete_join(s) -> None:
        """The coordinator ends the wait for JoinGroup requests, and the next generation begins.

        Kafka: GroupMetadataManager.completeClassicGroupJoin.
        Simplified: the wait may end at any time. A static member that has not joined again is
        removed at once; in Kafka it remains a member until its session expires.
        Every claim also holds without the guard of this action.
        """
        when(s.is_rebalancing, exists(s.joined[x] for x in Member))
        s.group.members = s.joined
        s.begin_generation()

    def keeps(s, m: Member) -> Bool:
        """Returns True if the sticky assignor lets the member `m` keep the partition.

        The member keeps the partition if it reports that it had the partition, and no other member
        reports the same for a later generation.
        Without the comparison of generations (KIP-341), the claim `one_owner` breaks (bug
        `believes-old-claims`, 13 steps; KAFKA-7026).
        """
        return s.says_it_had(m) & forall(
            implies(s.says_it_had(x), s.consumer[x].claimed_in <= s.consumer[m].claimed_in)
            for x in Member
        )

    def says_it_had(s, m: Member) -> Bool:
        return s.group.members[m] & s.consumer[m].claims

    @action
    def assign(s, chosen: Member) -> None:
        """The leader assigns the partition to the member that had the partition in the latest
        generation. If no member had it, the leader may choose any member.

        Kafka: AbstractStickyAssignor, GroupMetadataManager.classicGroupSyncToClassicGroup.
        Simplified: the leader's assignment and the append to the coordinator's log are one step.
        Without the guard that the generation has begun, the claim `one_owner` breaks in 11 steps.
        """
        someone_keeps = exists(s.keeps(x) for x in Member)
        when(
            s.awaits_assignment(),
            s.group.members[chosen],
            implies(someone_keeps, s.keeps(chosen)),
        )
        s.is_assigned = true
        s.persisted.generation = s.group.generation
        for x in Member:
            owns = ite(someone_keeps, s.keeps(x), x == chosen)
            s.group.owners[x] = owns
            s.persisted.members[x] = s.group.members[x]
            s.persisted.owners[x] = owns

    def waits_no_longer(s) -> Bool:
        """Returns True always, because the coordinator may cease to wait for the leader's
        assignment. The bug `waits-for-leader` returns False: its coordinator waits for ever.
        """
        return true

    @action(fair="weak")
    def miss_assignment(s) -> None:
        """The leader's assignment does not arrive in time, and the group rebalances again.

        Kafka: GroupMetadataManager.expirePendingSync.
        Simplified: the timeout may expire at any time.
        Without this action, the claim `a_joining_member_gets_a_generation` breaks (bug
        `waits-for-leader`, 3 steps; KAFKA-12890).
        """
        when(s.awaits_assignment(), s.waits_no_longer())
        s.is_rebalancing = true

    @action(fair="strong")
    def receive_assignment(s, m: Member) -> None:
        """A member that has joined receives the generation, and learns whether it owns the
        partition.

        Kafka: ConsumerCoordinator.onJoinComplete.
        Simplified: no response is lost.
        Without the guard that the group is stable, the claim `old_answers_change_nothing` breaks in
        7 steps.
        """
        when(s.is_stable(), s.group.members[m], s.consumer[m].is_joining)
        s.consumer[m].generation = s.group.generation
        s.consumer[m].is_joining = false
        s.consumer[m].owns = s.group.owners[m]
        s.consumer[m].claims = s.group.owners[m]
        s.consumer[m].claimed_in = s.group.generation

    @action
    def miss(s, m: Member) -> None:
        """A member's session expires, and a rebalance begins.

        Kafka: GroupMetadataManager.expireClassicGroupMemberHeartbeat.
        Simplified: a session may expire at any time, even if the member is alive.
        Every claim also holds without the guard of this action.
        """
        when(s.group.members[m])
        s.group.members[m] = false
        s.joined[m] = false
        s.is_rebalancing = true

    @action
    def become_empty(s) -> None:
        """The coordinator writes the empty group to its log, after all members have left the group.

        Kafka: GroupMetadataManager.completeClassicGroupJoin.
        Simplified: the append is committed at once.
        Every claim also holds without the guard of this action.
        """
        when(s.is_rebalancing, ~exists(s.group.members[x] for x in Member))
        s.persisted.generation = s.group.generation + 1
        s.persisted.members = no_one()
        s.persisted.owners = no_one()
        s.begin_generation()

    @action
    def fail_over(s) -> None:
        """A new coordinator reads the group from the log, and forgets a rebalance that has not
        ended.

        Kafka: GroupMetadataManager.replay.
        Simplified: the new coordinator reads the log in one step. The action has no guard, because
        a failover may happen in any state.
        """
        s.group = s.persisted
        s.joined = no_one()
        s.is_rebalancing = false
        s.is_assigned = exists(s.persisted.members[x] for x in Member)

    # ---- late answers

    @action
    def refuse(s, m: Member) -> None:
        """The coordinator refuses a request that has an old generation or an unknown member id.

        Kafka: ILLEGAL_GENERATION and UNKNOWN_MEMBER_ID.
        Simplified: only the newest error response to each consumer is in flight.
        Every claim also holds without the guard of this action.
        """
        c = s.consumer[m]
        when(c.generation != 0, ~s.is_current(m))
        s.consumer[m].refused = c.generation

    def is_about_now(s, m: Member) -> Bool:
        return s.consumer[m].refused == s.consumer[m].generation

    @action(fair="weak")
    def receive_refusal(s, m: Member) -> None:
        """The consumer receives an error response. It leaves its generation if it sent the refused
        request in this generation.

        Kafka: ConsumerCoordinator and AbstractCoordinator.generationUnchanged.
        Simplified: only the newest error response to each consumer is in flight.
        Without the comparison of generations, the claim `old_answers_change_nothing` breaks (bug
        `obeys-old-answers`, 11 steps; KAFKA-9823).
        """
        c = s.consumer[m]
        when(c.refused != nothing)
        about_now = s.is_about_now(m)
        s.consumer[m].refused = nothing
        s.consumer[m].generation = ite(about_now, Generation(0), c.generation)
        s.consumer[m].owns = c.owns & ~about_now
