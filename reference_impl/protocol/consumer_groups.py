"""The requests of KIP-848 group members: the heartbeat, and the description of a group.

A field of a message is None if its value has not changed since the sender's previous message.

Source: KIP-848, KIP-1082; Kafka message schemas.
Simplified: as in `protocol/messages.py`. There are no racks and no client-side assignors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from model.vocabulary import TopicPartition
from reference_impl.protocol.messages import ErrorCode

JOINS: Final = 0  # the member epoch of a member that is new or was fenced
LEAVES: Final = -1
LEAVES_FOR_A_WHILE: Final = -2  # a static member retains its assignment until its session ends


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeat:
    group: str
    member_epoch: int
    member_id: str = ""  # "": the coordinator generates one
    names_itself: bool = True  # since v1: the member id must not be empty
    client_id: str = ""
    instance_id: str | None = None  # of a static member
    rebalance_timeout_ms: int | None = None  # the longest time to revoke a partition
    topics: tuple[str, ...] | None = None  # the subscription by name
    topic_regex: str | None = None  # the subscription by regular expression; "" ends it
    assignor: str | None = None  # the server-side assignor that the member prefers
    owned: tuple[TopicPartition, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeated:
    error: ErrorCode = ErrorCode.NONE
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_ms: int = 0  # time until the next heartbeat
    assignment: tuple[TopicPartition, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribe:
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember:
    member_id: str
    instance_id: str | None
    client_id: str
    member_epoch: int
    topics: tuple[str, ...]
    topic_regex: str
    assignment: tuple[TopicPartition, ...]
    target: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribed:
    """The description of a KIP-848 group. If the group is unknown, `error` is
    GROUP_ID_NOT_FOUND.
    """

    error: ErrorCode = ErrorCode.NONE
    state: str = ""  # Empty, Assigning, Reconciling or Stable
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor: str = ""
    members: tuple[DescribedMember, ...] = ()
