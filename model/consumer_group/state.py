"""The state of a KIP-848 group: the epochs, the target assignment, the members and the consumers.

Source: KIP-848, KIP-1251 (assignment epochs, for commits); kafka trunk of 2026,
CurrentAssignmentBuilder and ConsumerGroup.
Simplified: the coordinator's log always contains the whole state of the coordinator. There is no
failover, because a failover would change nothing: by the claim `partition_epoch_iff_assigned`, a
new coordinator would compute the same state.
Left out: Kafka accepts a commit in the member's present epoch even for a partition that the member
never had.
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
    any_of,
    false,
    forall,
    nothing,
)


class Member(Sort):
    """A consumer of the group."""

    prefix = "m"


class TopicPartition(Sort):
    """A partition of a topic that the group reads."""


class Epoch(Int):
    """An epoch of the group: the number of changes of the group since it began. It is 0 before the
    first change.
    """


class MemberState(Record):
    """A member's state, as the coordinator has recorded it."""

    joined: Bool
    epoch: Epoch
    previous_epoch: Epoch  # also accepted, because the latest response may be lost
    assigned: Map[TopicPartition, Epoch | Nothing]  # the epoch in which the partition was assigned
    # the epoch in which the partition was assigned, if the member must give it up
    revoking: Map[TopicPartition, Epoch | Nothing]


class Consumer(Record):
    """A consumer's view of the group: its epoch, its assigned partitions, and the partitions that
    it reads. The field `answered` is true while the response to a heartbeat is in flight.
    """

    epoch: Epoch  # 0 means that the consumer must join
    answered: Bool  # the response to a heartbeat is in flight
    assigned: Set[TopicPartition]  # the partitions that the latest response assigned
    owns: Set[TopicPartition]  # the consumer reads these partitions

    @classmethod
    def outside(cls) -> Consumer:
        """Returns a consumer that must join the group, and that reads no partition."""
        return cls(
            epoch=Epoch(0),
            answered=false,
            assigned=Map(TopicPartition, lambda _: false),
            owns=Map(TopicPartition, lambda _: false),
        )


class ConsumerGroupState(Spec):
    members: Annotated[int, range(1, 10)] = 2
    partitions: Annotated[int, range(1, 10)] = 1
    epochs: Annotated[int, range(1, 20)] = 4

    group_epoch: Epoch
    assignment_epoch: Epoch  # the group epoch of the target assignment
    target: Map[TopicPartition, Member | Nothing]
    partition_epoch: Map[TopicPartition, Epoch | Nothing]
    member: Map[Member, MemberState]
    consumer: Map[Member, Consumer]

    def scope(s) -> Scope:
        return {
            Member: s.members,
            TopicPartition: s.partitions,
            Epoch: range(s.epochs + 1),
        }

    def has(s, m: Member, p: TopicPartition) -> Bool:
        """Returns True if the partition `p` is assigned to the member `m`, or if the member must
        still give it up.
        """
        x = s.member[m]
        return x.joined & any_of(x.assigned[p] != nothing, x.revoking[p] != nothing)

    def is_empty(s) -> Bool:
        return forall(~s.member[x].joined for x in Member)
