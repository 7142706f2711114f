"""A classic group: members join, a leader among them assigns, and generations tell who is behind.

A rebalance ends when all members have joined again, or those who have not are missed; then the
generation grows. The leader gives the partition to whoever had it last, which members say of
themselves. What the coordinator knows of a stable group is in its log, and another coordinator
takes it from there. Members with a group instance id are *static*: who joins under the id of
another takes its place, without a rebalance where the group is stable.

Source: KIP-62, KIP-341 (sticky assignment), KIP-345 (static membership); kafka 3.7 GroupCoordinator
and AbstractStickyAssignor.
Simplified: one partition. A member is a process, and its member id the same as long as it lives.
Answers to JoinGroup and SyncGroup are heard together; a heartbeat's may be heard late.
"""

from __future__ import annotations

from typing import Annotated, Self

from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Record,
    Scope,
    Set,
    Sort,
    Spec,
    Temporal,
    action,
    action_property,
    all_of,
    any_of,
    exists,
    false,
    forall,
    implies,
    invariant,
    ite,
    leads_to,
    liveness,
    nothing,
    true,
    when,
    witness,
)


class Member(Sort):
    """A process that consumes."""

    prefix = "m"


class Instance(Sort):
    """A group.instance.id, which outlives processes."""

    prefix = "static"


class Generation(Int):
    """Counts the rebalances of a group; 0 is none."""


class Group(Record):
    """A group as its log has it."""

    generation: Generation
    members: Set[Member]
    owners: Set[Member]  # of the partition, by the leader's assignment


class Consumer(Record):
    """What a process knows of itself."""

    instance: Instance | Nothing
    generation: Generation  # in which it is a member; 0: in none
    is_joining: Bool  # it waits to hear of the next one
    owns: Bool  # the partition, as it believes
    claims: Bool  # to have had it at its last assignment
    claimed_in: Generation  # its last assignment
    refused: Generation | Nothing  # an answer on its way: that generation is over


class GroupGenerations(Spec):
    """Classic groups as of Kafka 3.7."""

    members: Annotated[int, range(1, 10)] = 2
    instances: Annotated[int, range(1, 10)] = 1
    generations: Annotated[int, range(1, 10)] = 3

    # what the coordinator knows
    group: Group
    joined: Set[Member]  # in the rebalance that is under way
    is_rebalancing: Bool
    is_assigned: Bool  # the leader's assignment of this generation has come
    persisted: Group  # in the log
    consumer: Map[Member, Consumer]

    def scope(s) -> Scope:
        return {
            Member: s.members,
            Instance: s.instances,
            Generation: range(s.generations + 1),
        }

    # ---- words

    def is_stable(s) -> Bool:
        return ~s.is_rebalancing & s.is_assigned

    def awaits_assignment(s) -> Bool:
        return all_of(~s.is_rebalancing, ~s.is_assigned, exists(s.group.members[x] for x in Member))

    def is_current(s, m: Member) -> Bool:
        """It is a member, and its generation is the group's."""
        return s.group.members[m] & (s.consumer[m].generation == s.group.generation)

    def accepts(s, m: Member) -> Bool:
        """Commits of the current generation, unless the next one is being assigned."""
        return s.is_current(m) & ~s.awaits_assignment()

    def shares_instance(s, m: Member, other: Member) -> Bool:
        """Both have the same group.instance.id, and the other is a member."""
        mine = s.consumer[m].instance
        same = (mine != nothing) & (mine == s.consumer[other].instance)
        return all_of(m != other, same, s.group.members[other])

    # ---- joining

    @action
    def start_static(s, m: Member, instance: Instance) -> None:
        """A process is started with a group.instance.id."""
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
        """A member whose group.instance.id the newcomer brings."""
        return s.shares_instance(m, other)

    @action(fair="weak")
    def join(s, m: Member) -> None:
        """A process joins the group, or joins it again: a rebalance is under way from then on."""
        when(~(s.is_stable() & exists(s.shares_instance(m, x) for x in Member)))
        s.asks_to_join(m)
        for x in Member:
            stays = ~s.gives_way(x, m)
            s.group.members[x] = (s.group.members[x] & stays) | (x == m)
            s.joined[x] = (s.joined[x] & stays) | (x == m)
        s.is_rebalancing = true

    def persists_replacement(s) -> Bool:
        return true

    @action(fair="weak")
    def replace(s, m: Member) -> None:
        """A static member comes back as another process; a stable group goes on as it is."""
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
        """All members have joined, or the others were waited for long enough."""
        when(s.is_rebalancing, exists(s.joined[x] for x in Member))
        s.group.members = s.joined
        s.begin_generation()

    def keeps(s, m: Member) -> Bool:
        """It claims the partition, and nobody claims it of a later generation."""
        return s.says_it_had(m) & forall(
            implies(s.says_it_had(x), s.consumer[x].claimed_in <= s.consumer[m].claimed_in)
            for x in Member
        )

    def says_it_had(s, m: Member) -> Bool:
        return s.group.members[m] & s.consumer[m].claims

    @action
    def assign(s, chosen: Member) -> None:
        """The leader gives the partition to whoever keeps it, or else to anyone."""
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
        return true

    @action(fair="weak")
    def miss_assignment(s) -> None:
        """The leader did not send its assignment in time: the group rebalances again."""
        when(s.awaits_assignment(), s.waits_no_longer())
        s.is_rebalancing = true

    @action(fair="strong")
    def hear_assignment(s, m: Member) -> None:
        """A member hears of its generation and of what it owns."""
        when(s.is_stable(), s.group.members[m], s.consumer[m].is_joining)
        s.consumer[m].generation = s.group.generation
        s.consumer[m].is_joining = false
        s.consumer[m].owns = s.group.owners[m]
        s.consumer[m].claims = s.group.owners[m]
        s.consumer[m].claimed_in = s.group.generation

    @action
    def miss(s, m: Member) -> None:
        """A member's session expires."""
        when(s.group.members[m])
        s.group.members[m] = false
        s.joined[m] = false
        s.is_rebalancing = true

    @action
    def become_empty(s) -> None:
        """Nobody is left."""
        when(s.is_rebalancing, ~exists(s.group.members[x] for x in Member))
        s.persisted.generation = s.group.generation + 1
        s.persisted.members = no_one()
        s.persisted.owners = no_one()
        s.begin_generation()

    @action
    def fail_over(s) -> None:
        """Another coordinator takes over: what was under way is forgotten."""
        s.group = s.persisted
        s.joined = no_one()
        s.is_rebalancing = false
        s.is_assigned = exists(s.persisted.members[x] for x in Member)

    # ---- answers that come late

    @action
    def refuse(s, m: Member) -> None:
        """A request is answered that its generation is over, or its member unknown."""
        c = s.consumer[m]
        when(c.generation != 0, ~s.is_current(m))
        s.consumer[m].refused = c.generation

    def is_about_now(s, m: Member) -> Bool:
        """The request was sent in the generation in which the consumer is."""
        return s.consumer[m].refused == s.consumer[m].generation

    @action(fair="weak")
    def hear_refusal(s, m: Member) -> None:
        """The consumer is in no generation any more, unless the answer is old."""
        c = s.consumer[m]
        when(c.refused != nothing)
        about_now = s.is_about_now(m)
        s.consumer[m].refused = nothing
        s.consumer[m].generation = ite(about_now, Generation(0), c.generation)
        s.consumer[m].owns = c.owns & ~about_now

    # ---- what is claimed

    @invariant
    def one_owner(s) -> Bool:
        """In a generation the partition has one owner."""
        return forall(
            implies(s.group.owners[a] & s.group.owners[b], a == b) for a in Member for b in Member
        )

    @invariant
    def only_owners_commit(s) -> Bool:
        """Who believes to own the partition, and whose commits are accepted, does own it."""
        return forall(implies(s.consumer[m].owns & s.accepts(m), s.group.owners[m]) for m in Member)

    @invariant
    def one_member_of_an_instance(s) -> Bool:
        """No two members have the same group.instance.id."""
        return forall(
            ~(s.group.members[a] & s.shares_instance(a, b)) for a in Member for b in Member
        )

    @invariant
    def a_stable_group_survives(s) -> Bool:
        """A coordinator that takes over finds a stable group as its members know it."""
        return implies(
            s.is_stable(),
            all_of(
                s.persisted.generation == s.group.generation,
                s.persisted.members == s.group.members,
                s.persisted.owners == s.group.owners,
            ),
        )

    @action_property
    def old_answers_change_nothing(s, after: Self) -> Bool:
        """A consumer's generation grows; it is given up only for an answer about itself."""
        return forall(
            any_of(
                s.consumer[m].generation <= after.consumer[m].generation,
                all_of(
                    after.consumer[m].generation == 0,
                    s.consumer[m].refused == s.consumer[m].generation,
                ),
            )
            for m in Member
        )

    @liveness
    def who_joins_hears(s, m: Member) -> Temporal:
        """Who joins a group hears of a generation or is missed, while generations last."""
        heard = ~s.consumer[m].is_joining & s.is_current(m)
        last = s.group.generation == s.generations
        return leads_to(s.joined[m], any_of(heard, ~s.group.members[m], last))

    # ---- what must be possible

    @witness
    def one_is_behind(s) -> Bool:
        """A consumer believes to own what the group has given to another."""
        return exists(
            all_of(s.consumer[a].owns, s.group.owners[b], ~s.group.owners[a])
            for a in Member
            for b in Member
        )

    @witness
    def an_instance_comes_back(s) -> Bool:
        """In a stable group a member's place is taken by another process."""
        return s.is_stable() & exists(
            all_of(
                s.group.members[a],
                ~s.group.members[b],
                s.consumer[a].instance != nothing,
                s.consumer[a].instance == s.consumer[b].instance,
                s.consumer[b].generation == s.group.generation,
            )
            for a in Member
            for b in Member
        )

    @witness
    def an_answer_is_old(s) -> Bool:
        """A current member is about to hear that an older generation is over."""
        return exists(
            all_of(
                s.is_current(m),
                s.consumer[m].refused != nothing,
                s.consumer[m].refused != s.consumer[m].generation,
            )
            for m in Member
        )

    @witness
    def two_claim(s) -> Bool:
        """Two members of a rebalance had the partition, in different generations."""
        return s.awaits_assignment() & exists(
            all_of(a != b, s.says_it_had(a), s.says_it_had(b)) for a in Member for b in Member
        )


def no_one() -> Set[Member]:
    return Map(Member, lambda _: false)
