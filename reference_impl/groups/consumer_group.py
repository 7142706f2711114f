"""A group of KIP-848: the coordinator assigns, and each member comes to its part at its own pace.

Three epochs follow each other:

    group epoch        counts what changed: members, subscriptions, topics
    assignment epoch   the group epoch that the target assignment was computed for
    member epoch       the assignment epoch that a member has come to (`reconciliation`)

A partition has at most one owner, and the owner's member epoch is its *partition epoch*; nobody
else is given it before the owner has said that it gave it up, or is out of the group.

Source: KIP-848, KIP-1251 (the epoch in which each partition was assigned); Apache Kafka,
ConsumerGroup; protocol rules, section e.
Simplified: a group never turns from one protocol into the other while it has members.
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

Epochs = Mapping[TopicPartition, int]  # in which epoch each was assigned
NOTHING: Final[Epochs] = {}


class MemberState(Enum):
    """How far a member has come to the target assignment."""

    STABLE = "stable"
    UNREVOKED = "unrevoked-partitions"  # it has to give up some before its epoch moves
    UNRELEASED = "unreleased-partitions"  # it waits for some that others still own


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """A member: what it wants, and what is its own."""

    member_id: str
    instance_id: str | None = None
    topics: tuple[str, ...] = ()
    assignor: str | None = None
    rebalance_timeout_ms: int = 0
    epoch: int = 0
    previous_epoch: int = -1  # of a member that has not heard the last answer
    state: MemberState = MemberState.STABLE
    assigned: Epochs = field(default_factory=dict[TopicPartition, int])
    revoking: Epochs = field(
        default_factory=dict[TopicPartition, int]
    )  # assigned once, and to be given up

    @property
    def has(self) -> Epochs:
        """What nobody else may have."""
        return {**self.assigned, **self.revoking}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroup:
    """A group between two heartbeats."""

    group: str
    epoch: int = 0
    topics: Mapping[str, int] = field(default_factory=dict[str, int])  # partitions, in this epoch
    empty_since_ms: int = -1  # -1: it has members
    assignment_epoch: int = 0
    target: Assignment = field(default_factory=dict[str, frozenset[TopicPartition]])
    members: Mapping[str, ConsumerMember] = field(default_factory=dict[str, ConsumerMember])
    partition_epochs: Epochs = field(default_factory=dict[TopicPartition, int])  # of the owners

    @property
    def state(self) -> str:
        """As Kafka names it."""
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
        """The one that most members prefer, of those who prefer one."""
        votes = sorted(m.assignor for m in self.members.values() if m.assignor is not None)
        return min(votes, key=lambda name: (-votes.count(name), name), default=DEFAULT_ASSIGNOR)

    def of_instance(self, instance_id: str | None) -> ConsumerMember | None:
        """The member that a static instance is at present."""
        found = (m for m in self.members.values() if m.instance_id == instance_id)
        return None if instance_id is None else next(found, None)

    def with_member(self, member: ConsumerMember, *, instead_of: str = "") -> ConsumerGroup:
        """The same with a member, new or changed, or that takes the part of another."""
        group = self
        if instead_of in self.members and instead_of != member.member_id:
            part = self.target.get(instead_of, frozenset())
            group = self.without(instead_of)
            group = replace(group, target={**group.target, member.member_id: part})
        return replace(
            group, members={**group.members, member.member_id: member}, empty_since_ms=-1
        )

    def without(self, *member_ids: str) -> ConsumerGroup:
        """The same without members, and without their parts."""
        return replace(
            self,
            members={id_: m for id_, m in self.members.items() if id_ not in member_ids},
            target={id_: part for id_, part in self.target.items() if id_ not in member_ids},
        )

    def with_new_target(self) -> ConsumerGroup:
        """The target assignment of this epoch."""
        subscriptions = {id_: frozenset(m.topics) for id_, m in self.members.items()}
        target = ASSIGNORS[self.assignor](subscriptions, self.topics, self.target)
        return replace(self, target=target, assignment_epoch=self.epoch)

    def commit_error(
        self, member_id: str, told: int, places: Iterable[TopicPartition], bugs: Bugs
    ) -> ErrorCode:
        """Why a member in this epoch may not say how far the group is; NONE: it may.

        It may in its own epoch, and in an earlier one of partitions that it has had since
        (KIP-1251): the coordinator has moved it on, and it has not heard of that yet.
        """
        member = self.members.get(member_id)
        if told < 0 and not self.members:
            return ErrorCode.NONE
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if told == member.epoch:
            return ErrorCode.NONE
        since = member.has
        had_since = all(place in since and since[place] <= told for place in places)
        is_behind = told < member.epoch and had_since and Bug.EXACT_EPOCH_WANTED not in bugs
        return ErrorCode.NONE if is_behind else ErrorCode.STALE_MEMBER_EPOCH

    def fetch_error(self, member_id: str, told: int) -> ErrorCode:
        """Why a member in this epoch is not told how far the group is; who is none may ask."""
        if not member_id and told < 0:
            return ErrorCode.NONE
        if member_id not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        is_current = told == self.members[member_id].epoch
        return ErrorCode.NONE if is_current else ErrorCode.STALE_MEMBER_EPOCH
