"""The requests of administrators about groups.

Source: KIP-222, KIP-229, KIP-496, KIP-518, KIP-848; Kafka message schemas.
Simplified: as in `protocol/messages.py`; a request is about one group, except `ListGroups`, which
returns the groups of all coordinators on the broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from model.vocabulary import TopicPartition
from reference_impl.protocol.messages import ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroup:
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroupMember:
    """Metadata and assignment are empty during a rebalance."""

    member_id: str
    instance_id: str | None
    client_id: str
    metadata: bytes = b""
    assignment: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """`error` is GROUP_ID_NOT_FOUND if no classic group has this id.

    `protocol` is the protocol of a stable group, else empty.
    """

    error: ErrorCode = ErrorCode.NONE
    state: str = ""
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedGroupMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroups:
    """Request: list the groups whose coordinator is this broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    """`type` is classic or consumer."""

    group: str
    protocol_type: str
    state: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroups:
    """`error` is set if one of the coordinators is still loading its log."""

    error: ErrorCode = ErrorCode.NONE
    groups: tuple[ListedGroup, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroup:
    """Deletes a group without members, with its offsets."""

    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedGroup:
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOffsets:
    group: str
    topic_partitions: tuple[TopicPartition, ...]
    # A broker's own request after a topic's deletion, valid even if members subscribe to the topic.
    of_deleted_topic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedOffsets:
    error: ErrorCode = ErrorCode.NONE
    errors: Mapping[TopicPartition, ErrorCode] = field(
        default_factory=dict[TopicPartition, ErrorCode]
    )


GroupAdministration = DescribeGroup | DeleteGroup | DeleteOffsets
GroupAdministered = DescribedGroup | DeletedGroup | DeletedOffsets


def refusal(request: GroupAdministration, error: ErrorCode) -> GroupAdministered:
    """The response that rejects the whole request."""
    match request:
        case DescribeGroup():
            return DescribedGroup(error=error)
        case DeleteGroup():
            return DeletedGroup(error=error)
        case DeleteOffsets():
            return DeletedOffsets(error=error)
