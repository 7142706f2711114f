"""The state of an abstract KIP-848 group: the target assignment, members and consumers.

The coordinator records which partitions each member has, and the epoch in which it assigned each of
them. As in Kafka, it also keeps a second variable (`taken`): the partitions that some member has or
must still revoke. Before the coordinator assigns a partition, it checks only `taken`.

Source: KIP-848, KIP-1251; CurrentAssignmentBuilder and ConsumerGroup of Kafka 4.3.
Simplified: `taken` is a set, while Kafka stores an epoch with each partition. The group epoch is
left out, because only the assignment epoch decides what a member may do. The response to a
heartbeat contains the coordinator's present state. The coordinator's log always contains the whole
state of the coordinator.
"""

from __future__ import annotations

from typing import Annotated

from model.language import Bool, Map, Nothing, Ordered, Scope, Set, Sort, Spec, any_of


class Member(Sort):
    """A consumer of the group."""

    prefix = "m"


class TopicPartition(Sort):
    """A partition of a topic that the group reads."""


class Epoch(Ordered):
    """An epoch of the group or of a member.

    The smallest epoch of a group means that there is no target assignment yet. The smallest epoch
    of a consumer means that the consumer must join the group.
    """


class AbstractConsumerGroupState(Spec):
    members: Annotated[int, range(1, 10)] = 2
    partitions: Annotated[int, range(1, 10)] = 1
    epochs: Annotated[int, range(2, 10)] = 4

    # the coordinator
    assignment_epoch: Epoch  # the epoch of the target assignment
    target: Map[TopicPartition, Member | Nothing]
    taken: Set[TopicPartition]  # the partitions with a partition epoch, which are not free
    joined: Set[Member]
    member_epoch: Map[Member, Epoch]
    previous_epoch: Map[Member, Epoch]  # also accepted, because the latest response may be lost
    assigned: Map[Member, Set[TopicPartition]]
    revoking: Map[Member, Set[TopicPartition]]  # the partitions that the member must give up
    since: Map[Member, Map[TopicPartition, Epoch]]  # the epoch in which the partition was assigned

    # the consumers
    consumer_epoch: Map[Member, Epoch]  # the smallest epoch means that the consumer must join
    answered: Set[Member]  # the response to a heartbeat is in flight
    received: Map[Member, Set[TopicPartition]]  # the partitions that the latest response assigned
    owns: Map[Member, Set[TopicPartition]]  # the consumer reads these partitions

    def scope(s) -> Scope:
        return {
            Member: s.members,
            TopicPartition: s.partitions,
            Epoch: s.epochs,
        }

    # ---- predicates

    def has(s, m: Member, p: TopicPartition) -> Bool:
        """Returns True if the partition `p` is assigned to the member `m`, or if the member must
        still give it up.
        """
        return s.joined[m] & any_of(s.assigned[m][p], s.revoking[m][p])

    def must_join(s, m: Member) -> Bool:
        return s.consumer_epoch[m] == Epoch.least()
