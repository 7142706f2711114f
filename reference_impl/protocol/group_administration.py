"""The requests of administrators about groups.

Source: KIP-222, KIP-229, KIP-496, KIP-518, KIP-848; Kafka message schemas.
Simplified: as in `protocol/messages.py`. A request names one group. Only `ListGroups` returns the
groups of all coordinators on the broker.
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
    """The description of a group's member. Its metadata and its assignment are empty during a
    rebalance.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    metadata: bytes = b""
    assignment: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """The description of a classic group. `error` is GROUP_ID_NOT_FOUND if no classic group has
    this id.

    If the group is stable, `protocol` is the name of its protocol. Otherwise `protocol` is empty.
    """

    error: ErrorCode = ErrorCode.NONE
    state: str = ""
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedGroupMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroups:
    """A request that returns the groups whose coordinator is this broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    """One group in the response to `ListGroups`. Its `type` is classic or consumer."""

    group: str
    protocol_type: str
    state: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroups:
    """The response to `ListGroups`. `error` is set if a coordinator on this broker is still loading
    its log.
    """

    error: ErrorCode = ErrorCode.NONE
    groups: tuple[ListedGroup, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroup:
    """A request that deletes a group without members, and the group's offsets."""

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
    """Returns the response that rejects the whole request with `error`."""
    match request:
        case DescribeGroup():
            return DescribedGroup(error=error)
        case DeleteGroup():
            return DeletedGroup(error=error)
        case DeleteOffsets():
            return DeletedOffsets(error=error)
