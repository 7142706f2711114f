"""DOC classic_group actions"""

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
    """DOC ClassicGroupActions"""

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
