"""What a member of a KIP-848 group says to its coordinator, which is one thing: that it lives.

A heartbeat tells what the member wants and owns; the answer, in which epoch it is and what it shall
own. What has not changed since the last one is left out, as None.

Source: KIP-848, KIP-1082; the message schemas of Apache Kafka.
Simplified: as in `messages`; no regular expressions, no racks, no client-side assignors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.vocabulary import TopicPartition
from reference_impl.protocol.messages import ErrorCode

JOINS: Final = 0  # the member epoch of one that is not in the group, or was fenced
LEAVES: Final = -1
LEAVES_FOR_A_WHILE: Final = -2  # a static member, that keeps its part until its session ends


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeat:
    """A member joins, lives, or leaves."""

    group: str
    member_epoch: int
    member_id: str = ""  # "": the coordinator gives one
    instance_id: str | None = None  # of a static member
    rebalance_timeout_ms: int | None = None  # how long it may take to give up a partition
    topics: tuple[str, ...] | None = None  # that it subscribes to
    assignor: str | None = None  # the one of the coordinator that it prefers
    owned: tuple[TopicPartition, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeated:
    """The member's epoch; what it shall own, when that is news to it."""

    error: ErrorCode = ErrorCode.NONE
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_ms: int = 0  # when to say it again
    assignment: tuple[TopicPartition, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribe:
    """Who is in the group, and how far has it come?"""

    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember:
    """What the coordinator knows of one member."""

    member_id: str
    instance_id: str | None
    member_epoch: int
    topics: tuple[str, ...]
    assignment: tuple[TopicPartition, ...]
    target: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribed:
    """The group; GROUP_ID_NOT_FOUND where there is none of this protocol."""

    error: ErrorCode = ErrorCode.NONE
    state: str = ""  # Empty, Assigning, Reconciling or Stable
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor: str = ""
    members: tuple[DescribedMember, ...] = ()
