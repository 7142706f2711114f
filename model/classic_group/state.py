"""The state of a classic group: the coordinator's group, its log, and the state of each consumer.

Source: KIP-62, KIP-341 (sticky assignment), KIP-345 (static membership); ClassicGroup of Apache
Kafka 4.3.
Simplified: the group reads one partition. A second partition would show nothing new, because the
leader assigns each partition independently of the others. A member is a process, and has the same
member id as long as it lives.
"""

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
    """A consumer process."""

    prefix = "m"


class Instance(Sort):
    """A group.instance.id. Several processes may have the same id, one after another."""

    prefix = "static"


class Generation(Int):
    """The generation of a group: the number of rebalances that have ended. It is 0 before the end
    of the first rebalance.
    """


class Group(Record):
    """The state of a group in the coordinator's memory or in the coordinator's log."""

    generation: Generation
    members: Set[Member]
    owners: Set[Member]  # the partition's owner, by the leader's assignment


class Consumer(Record):
    """A consumer's view of the group: its group.instance.id, its generation, its partition and
    its latest assignment. The record also has an error response that is in flight to the
    consumer.
    """

    instance: Instance | Nothing
    generation: Generation  # the consumer's generation; 0 means that it has none
    is_joining: Bool  # the consumer waits for the next generation
    owns: Bool  # the consumer believes that it owns the partition
    claims: Bool  # the consumer's latest assignment contained the partition
    claimed_in: Generation  # the generation of the consumer's latest assignment
    refused: Generation | Nothing  # an error response in flight: this generation is over


def no_one() -> Set[Member]:
    return Map(Member, lambda _: false)


class ClassicGroupState(Spec):
    members: Annotated[int, range(1, 10)] = 2
    instances: Annotated[int, range(1, 10)] = 1
    generations: Annotated[int, range(1, 10)] = 3

    # the coordinator
    group: Group
    joined: Set[Member]  # the members that have joined the rebalance under way
    is_rebalancing: Bool
    is_assigned: Bool  # the leader's assignment of this generation has arrived
    persisted: Group  # the group in the coordinator's log
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
        """Returns True if a generation has begun with at least one member, and the leader's
        assignment for this generation has not arrived.
        """
        return all_of(~s.is_rebalancing, ~s.is_assigned, exists(s.group.members[x] for x in Member))

    def is_current(s, m: Member) -> Bool:
        """Returns True if the process `m` is a member of the group and has received the group's
        current generation.
        """
        return s.group.members[m] & (s.consumer[m].generation == s.group.generation)

    def accepts(s, m: Member) -> Bool:
        """Returns True if the coordinator accepts an offset commit of the member `m`.

        The commit must carry the current generation, and the assignment of this generation must
        have arrived. Without the check of the generation, the claim `only_owners_commit` breaks
        (bug `accepts-anyone`, 6 steps).
        """
        return s.is_current(m) & ~s.awaits_assignment()

    def shares_instance(s, m: Member, other: Member) -> Bool:
        """Returns True if `other` is a member and has the same group.instance.id as the process
        `m`.

        A process without a group.instance.id shares it with no member.
        """
        mine = s.consumer[m].instance
        same = (mine != nothing) & (mine == s.consumer[other].instance)
        return all_of(m != other, same, s.group.members[other])
