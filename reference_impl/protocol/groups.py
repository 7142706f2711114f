"""The requests of group members: membership, assignment, and committed offsets.

Source: KIP-98, KIP-345 (static members), KIP-394 (MEMBER_ID_REQUIRED), KIP-447; Kafka message
schemas.
Simplified: as in `protocol/messages.py`. An error of a request rejects all offsets of the request.
Only an offset with too large metadata is rejected alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.vocabulary import (
    NO_PRODUCER_ID,
    UNKNOWN_LEADER_EPOCH,
    LeaderEpoch,
    Offset,
    ProducerEpoch,
    ProducerId,
    TopicPartition,
)
from reference_impl.protocol.consumer_groups import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribed,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeated,
)
from reference_impl.protocol.group_administration import (
    GroupAdministered,
    GroupAdministration,
)
from reference_impl.protocol.group_administration import refusal as administration_refusal
from reference_impl.protocol.messages import NO_PRODUCER_EPOCH, ErrorCode

NO_GENERATION = -1
NO_MEMBER = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroup:
    group: str
    member_id: str = NO_MEMBER
    instance_id: str | None = None  # of a static member
    client_id: str = ""
    session_timeout_ms: int = 10_000
    rebalance_timeout_ms: int = 60_000
    protocol_type: str = "consumer"
    protocols: tuple[tuple[str, bytes], ...] = ()  # in order of preference, with metadata
    needs_id_first: bool = True  # since JoinGroup v4
    knows_skipping: bool = True  # since JoinGroup v9: a leader that must not assign


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedGroup:
    """The response to `JoinGroup`. Only the group leader receives the list of members."""

    error: ErrorCode = ErrorCode.NONE
    generation: int = NO_GENERATION
    protocol_type: str = ""
    protocol: str = ""
    leader: str = NO_MEMBER
    member_id: str = NO_MEMBER
    members: tuple[tuple[str, str | None, bytes], ...] = ()  # member id, instance id, metadata
    skips_assignment: bool = False  # the leader rejoined and must not assign


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroup:
    """A request of a member that waits for its assignment. The request of the group leader contains
    the assignments of all members.
    """

    group: str
    generation: int
    member_id: str
    instance_id: str | None = None
    protocol_type: str | None = None  # with protocol: as in the JoinGroup response, since v5
    protocol: str | None = None
    assignments: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedGroup:
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str = ""
    protocol: str = ""
    assignment: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatGroup:
    group: str
    generation: int
    member_id: str
    instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatedGroup:
    """The response to a heartbeat of a classic group. After the error REBALANCE_IN_PROGRESS, the
    member must join the group again.
    """

    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroup:
    """A request that removes members from a classic group. Each member is identified by its member
    id or its instance id.
    """

    group: str
    members: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftGroup:
    error: ErrorCode = ErrorCode.NONE
    members: tuple[tuple[str, str | None, ErrorCode], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedOffset:
    offset: Offset
    leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH
    metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOffsets:
    """A request that commits offsets. If it has a transactional id, the offsets become visible only
    after the transaction has committed.
    """

    group: str
    offsets: tuple[tuple[TopicPartition, CommittedOffset], ...]
    generation: int = NO_GENERATION  # or the member epoch, in a KIP-848 group
    member_id: str = NO_MEMBER
    instance_id: str | None = None
    transactional_id: str | None = None
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: ProducerEpoch = NO_PRODUCER_EPOCH
    adds_partition: bool = False  # KIP-890: the client has sent no AddOffsetsToTxn
    knows_abortable: bool = False  # KIP-890: TRANSACTION_ABORTABLE, since TxnOffsetCommit v4
    knows_member_epochs: bool = True  # since OffsetCommit v9


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedOffsets:
    """The response to `CommitOffsets`. If there is no error, the offsets are in the log of every
    in-sync replica.
    """

    error: ErrorCode = ErrorCode.NONE
    too_large: frozenset[TopicPartition] = frozenset()  # not committed: too much metadata

    def error_of(self, place: TopicPartition) -> ErrorCode:
        is_refused = self.error is ErrorCode.NONE and place in self.too_large
        return ErrorCode.OFFSET_METADATA_TOO_LARGE if is_refused else self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOffsets:
    """A request for committed offsets. If `topic_partitions` is None, the response has all offsets
    of the group.
    """

    group: str
    topic_partitions: tuple[TopicPartition, ...] | None = None
    require_stable: bool = False  # an error where an open transaction may change the offset
    member_id: str | None = None  # with member_epoch: only checked in a KIP-848 group
    member_epoch: int = NO_GENERATION


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedOffsets:
    """The response to `FetchOffsets`. If a topic partition has no committed offset, its offset in
    the response is None.
    """

    error: ErrorCode = ErrorCode.NONE
    offsets: tuple[tuple[TopicPartition, CommittedOffset | None, ErrorCode], ...] = ()


GroupRequest = (
    JoinGroup
    | SyncGroup
    | HeartbeatGroup
    | LeaveGroup
    | ConsumerGroupHeartbeat
    | ConsumerGroupDescribe
    | CommitOffsets
    | FetchOffsets
    | GroupAdministration
)
GroupResponse = (
    JoinedGroup
    | SyncedGroup
    | HeartbeatedGroup
    | LeftGroup
    | ConsumerGroupHeartbeated
    | ConsumerGroupDescribed
    | CommittedOffsets
    | FetchedOffsets
    | GroupAdministered
)


def refusal(request: GroupRequest, error: ErrorCode) -> GroupResponse:
    """Returns the response that rejects the whole request with `error`. All other fields of the
    response have their default values.
    """
    match request:
        case JoinGroup():
            return JoinedGroup(error=error)
        case SyncGroup():
            return SyncedGroup(error=error)
        case HeartbeatGroup():
            return HeartbeatedGroup(error=error)
        case LeaveGroup():
            return LeftGroup(error=error)
        case ConsumerGroupHeartbeat():
            return ConsumerGroupHeartbeated(error=error)
        case ConsumerGroupDescribe():
            return ConsumerGroupDescribed(error=error)
        case CommitOffsets():
            return CommittedOffsets(error=error)
        case FetchOffsets():
            return FetchedOffsets(error=error)
        case _:
            return administration_refusal(request, error)
