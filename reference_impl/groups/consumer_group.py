"""A KIP-848 group. The coordinator computes a target assignment, and each member moves to its part
of this assignment in steps.

The group has three kinds of epochs:

    group epoch        incremented by changes of members, subscriptions or topics
    assignment epoch   the group epoch for which the target assignment was computed; it may be lower
                       than the group epoch, because a new computation waits for an interval
    member epoch       the assignment epoch that a member has reached (module `reconciliation`)

Source: KIP-848, KIP-1251 (the epoch in which each partition was assigned); Apache Kafka,
ConsumerGroup; docs/kafka-rules.md E4.
Simplified: a group never changes its protocol (classic or KIP-848) while it has members.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from model.vocabulary import TopicPartition
from reference_impl.groups.assignors import ASSIGNORS, DEFAULT_ASSIGNOR, Assignment
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.protocol.messages import ErrorCode

Epochs = Mapping[TopicPartition, int]  # the epoch in which each partition was assigned
NOTHING: Final[Epochs] = {}
NEVER: Final = -1
FIRST_EPOCH: Final = 1  # of a new group; 0 means that there is no such group


class MemberState(Enum):
    STABLE = "stable"
    UNREVOKED = "unrevoked-partitions"  # the member must revoke some before its epoch advances
    UNRELEASED = "unreleased-partitions"  # the member waits for some that other members still own


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    member_id: str
    instance_id: str | None = None
    client_id: str = ""  # from its last full heartbeat
    topics: tuple[str, ...] = ()  # the subscription by name
    regex: str = ""  # the subscription by regular expression
    matched: tuple[str, ...] = ()  # the topics that match `regex`
    assignor: str | None = None
    rebalance_timeout_ms: int = 0
    epoch: int = 0
    previous_epoch: int = -1  # also accepted: the last response may be lost
    state: MemberState = MemberState.STABLE
    assigned: Epochs = field(default_factory=dict[TopicPartition, int])
    revoking: Epochs = field(
        default_factory=dict[TopicPartition, int]
    )  # formerly assigned, and to be revoked

    @property
    def subscribed(self) -> frozenset[str]:
        """The topics to which the member subscribes, by name or by regular expression."""
        return frozenset((*self.topics, *self.matched))

    @property
    def owned(self) -> Epochs:
        """The partitions that no other member may own: the assigned partitions, and the partitions
        that the member has not revoked yet.

        The value of a partition is the epoch in which the partition was assigned to the member.
        """
        return {**self.assigned, **self.revoking}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroup:
    group: str
    epoch: int = 0
    topics: Mapping[str, int] = field(default_factory=dict[str, int])  # partitions at this epoch
    empty_since_ms: int = -1  # -1: the group has members
    assignment_epoch: int = 0
    assigned_ms: int = NEVER  # when the target assignment was computed
    target: Assignment = field(default_factory=dict[str, frozenset[TopicPartition]])
    members: Mapping[str, ConsumerMember] = field(default_factory=dict[str, ConsumerMember])
    partition_epochs: Epochs = field(default_factory=dict[TopicPartition, int])  # of the owners

    @property
    def state(self) -> str:
        """The name of the group's state, as Kafka reports it."""
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        settled = all(
            member.state is MemberState.STABLE and member.epoch == self.assignment_epoch
            for member in self.members.values()
        )
        return "Stable" if settled else "Reconciling"

    @property
    def assignor(self) -> str:
        """The assignor that most members prefer. It is the default assignor if no member has a
        preference, or if there is a tie.

        Kafka: ConsumerGroup.computePreferredServerAssignor.
        """
        votes = [m.assignor for m in self.members.values() if m.assignor is not None]
        return max(ASSIGNORS, key=votes.count) if votes else DEFAULT_ASSIGNOR

    def of_instance(self, instance_id: str | None) -> ConsumerMember | None:
        found = (m for m in self.members.values() if m.instance_id == instance_id)
        return None if instance_id is None else next(found, None)

    def with_member(self, member: ConsumerMember, *, instead_of: str = "") -> ConsumerGroup:
        """Returns the group with `member` added or replaced. If `instead_of` names another member,
        that member is removed, and `member` takes over its target assignment. This is necessary for
        a static member that returns with a new member id.
        """
        group = self
        if instead_of in self.members and instead_of != member.member_id:
            part = self.target.get(instead_of, frozenset())
            group = self.without(instead_of)
            group = replace(group, target={**group.target, member.member_id: part})
        return replace(
            group, members={**group.members, member.member_id: member}, empty_since_ms=-1
        )

    def without(self, *member_ids: str) -> ConsumerGroup:
        return replace(
            self,
            members={id_: m for id_, m in self.members.items() if id_ not in member_ids},
            target={id_: part for id_, part in self.target.items() if id_ not in member_ids},
        )

    @property
    def started(self) -> ConsumerGroup:
        """The group with its first group epoch and assignment epoch, which are 1. If the group has
        a group epoch already, the result is the same group.

        Kafka: ModernGroup and TargetAssignmentMetadata.
        """
        if self.epoch:
            return self
        return replace(self, epoch=FIRST_EPOCH, assignment_epoch=FIRST_EPOCH)

    def with_due_target(self, now_ms: int, interval_ms: int) -> ConsumerGroup:
        """Returns the group with the target assignment for its group epoch. If the previous
        assignment was computed less than `interval_ms` ago, the group is unchanged, and a later
        heartbeat computes the assignment.

        Kafka: GroupMetadataManager.canComputeNextTargetAssignment.
        """
        is_due = self.assigned_ms == NEVER or now_ms >= self.assigned_ms + interval_ms
        if self.epoch == self.assignment_epoch or not is_due:
            # A later heartbeat computes the assignment.
            return self
        return replace(self.with_new_target(), assigned_ms=now_ms)

    def with_new_target(self) -> ConsumerGroup:
        subscriptions = {id_: m.subscribed for id_, m in self.members.items()}
        target = ASSIGNORS[self.assignor](subscriptions, self.topics, self.target)
        return replace(self, target=target, assignment_epoch=self.epoch)

    def commit_error(
        self, member_id: str, epoch: int, places: Iterable[TopicPartition], bugs: Bugs
    ) -> ErrorCode:
        member = self.members.get(member_id)
        if epoch < 0 and not self.members:
            return ErrorCode.NONE
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if epoch == member.epoch:
            return ErrorCode.NONE
        since = member.owned
        # The member may not have received its new epoch. An earlier epoch is accepted if the member
        # has owned all these partitions since that epoch (KIP-1251).
        had_since = all(place in since and since[place] <= epoch for place in places)
        is_accepted = epoch < member.epoch and had_since and Bug.EXACT_EPOCH_WANTED not in bugs
        return ErrorCode.NONE if is_accepted else ErrorCode.STALE_MEMBER_EPOCH

    def fetch_error(self, member_id: str | None, epoch: int) -> ErrorCode:
        # A client without a member id and epoch may always fetch.
        if member_id is None and epoch < 0:
            return ErrorCode.NONE
        if member_id is None or member_id not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        is_current = epoch == self.members[member_id].epoch
        return ErrorCode.NONE if is_current else ErrorCode.STALE_MEMBER_EPOCH
