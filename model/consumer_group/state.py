"""DOC consumer_group state"""

from __future__ import annotations

from typing import Annotated

from model.language import (
    Bool,
    Int,
    Map,
    Nothing,
    Record,
    Scope,
    Sort,
    Spec,
    any_of,
    forall,
    nothing,
)


class Member(Sort):
    """A consumer of the group."""

    prefix = "m"


class Epoch(Int):
    """Counts the changes of the group; 0 is before the first."""


class MemberState(Record):
    """What the coordinator knows of a member."""

    joined: Bool
    epoch: Epoch
    previous_epoch: Epoch  # of a member that has not heard the last answer
    assigned: Epoch | Nothing  # the partition, in that epoch
    revoking: Epoch | Nothing  # assigned in that epoch, and to be given up


class Consumer(Record):
    """What a member knows of itself."""

    epoch: Epoch  # 0: it has to join
    answered: Bool  # a heartbeat's answer is on its way
    assigned: Bool  # to have the partition
    owns: Bool  # it reads the partition


class ConsumerGroupState(Spec):
    """DOC ConsumerGroupState"""

    members: Annotated[int, range(1, 10)] = 2
    epochs: Annotated[int, range(1, 20)] = 4

    group_epoch: Epoch
    assignment_epoch: Epoch  # for which the target was computed
    target: Member | Nothing
    partition_epoch: Epoch | Nothing
    member: Map[Member, MemberState]
    consumer: Map[Member, Consumer]

    def scope(s) -> Scope:
        return {Member: s.members, Epoch: range(s.epochs + 1)}

    def has(s, m: Member) -> Bool:
        """The partition is the member's, and nobody else may have it."""
        x = s.member[m]
        return x.joined & any_of(x.assigned != nothing, x.revoking != nothing)

    def is_empty(s) -> Bool:
        return forall(~s.member[x].joined for x in Member)
