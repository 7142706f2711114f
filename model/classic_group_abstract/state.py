"""The state of an abstract classic group: the coordinator's group, its log, and the state of each
consumer.

Source: KIP-62, KIP-341 (sticky assignment), KIP-345 (static membership); ClassicGroup of Kafka 4.3.
Simplified: a member is a process, and has the same member id as long as it lives. The log contains
only the latest record of the group. There are no error responses; instead, a consumer may leave its
generation at any time.
"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Map,
    Nothing,
    Ordered,
    Record,
    Scope,
    Set,
    Sort,
    Spec,
    all_of,
    exists,
    nothing,
)


class Member(Sort):
    """A consumer process."""

    prefix = "m"


class Instance(Sort):
    """A group.instance.id. Several processes may have the same id, one after another."""

    prefix = "static"


class TopicPartition(Sort):
    """A partition of a topic that the group reads."""


class Generation(Ordered):
    """A generation of the group. The smallest value means that there is no generation."""


class Group(Record):
    """The state of a group in the coordinator's memory or in the coordinator's log."""

    generation: Generation
    members: Set[Member]
    owners: Map[Member, Set[TopicPartition]]  # the owners by the leader's assignment


class AbstractClassicGroupState(Spec):
    members: Annotated[int, range(1, 10)] = 2
    instances: Annotated[int, range(1, 10)] = 1
    partitions: Annotated[int, range(1, 10)] = 1
    generations: Annotated[int, range(2, 10)] = 4

    # the coordinator
    group: Group
    joined: Set[Member]  # the members that have joined the rebalance under way
    is_rebalancing: Bool
    is_assigned: Bool  # the leader's assignment of this generation has arrived
    persisted: Group  # the group in the coordinator's log

    # the consumers
    instance: Map[Member, Instance | Nothing]
    # the smallest value means that the consumer is in no generation
    consumer_generation: Map[Member, Generation]
    is_joining: Set[Member]  # the consumer waits for the next generation
    owns: Map[Member, Set[TopicPartition]]  # the consumer believes that it owns these partitions
    # the partitions of the consumer's latest assignment
    last_owned: Map[Member, Set[TopicPartition]]
    last_generation: Map[Member, Generation]  # the generation of the consumer's latest assignment

    def scope(s) -> Scope:
        return {
            Member: s.members,
            Instance: s.instances,
            TopicPartition: s.partitions,
            Generation: s.generations,
        }

    # ---- predicates

    def is_stable(s) -> Bool:
        return ~s.is_rebalancing & s.is_assigned

    def is_empty(s) -> Bool:
        return ~exists(s.group.members[x] for x in Member)

    def awaits_assignment(s) -> Bool:
        """Returns True if a generation has begun with at least one member, and the leader's
        assignment for this generation has not arrived.
        """
        return all_of(~s.is_rebalancing, ~s.is_assigned, ~s.is_empty())

    def is_current(s, m: Member) -> Bool:
        """Returns True if the process `m` is a member of the group and has received the group's
        current generation.
        """
        return s.group.members[m] & (s.consumer_generation[m] == s.group.generation)

    def same_instance(s, a: Member, b: Member) -> Bool:
        return all_of(a != b, s.instance[a] != nothing, s.instance[a] == s.instance[b])

    def shares_instance(s, m: Member, other: Member) -> Bool:
        """Returns True if `other` is a member and has the same group.instance.id as the process
        `m`.

        A process without a group.instance.id shares it with no member.
        """
        return s.same_instance(m, other) & s.group.members[other]
