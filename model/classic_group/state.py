"""DOC classic_group state"""

from __future__ import annotations

from typing import Annotated

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
    all_of,
    exists,
    false,
    nothing,
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


def no_one() -> Set[Member]:
    return Map(Member, lambda _: false)


class ClassicGroupState(Spec):
    """DOC ClassicGroupState"""

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
