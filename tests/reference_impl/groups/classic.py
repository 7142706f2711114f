"""The requests that members of a classic group send to its coordinator, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from model.vocabulary import Offset, TopicPartition
from reference_impl.groups.classic_group import GroupState
from reference_impl.groups.coordinator import GroupCoordinator
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffset,
    FetchedOffsets,
    FetchOffsets,
    HeartbeatGroup,
    JoinedGroup,
    JoinGroup,
    SyncedGroup,
    SyncGroup,
)
from reference_impl.protocol.messages import ErrorCode

InstantCluster = Any  # of conftest
StartCluster = Callable[..., InstantCluster]
TP = TopicPartition("in", 0)
NONE = ErrorCode.NONE


class Group:
    def __init__(self, cluster: InstantCluster) -> None:
        self.cluster = cluster
        self.at = cluster.coordinator("g", transactional=False)

    def join(self, member_id: str = "", instance: str | None = None, **other: Any) -> int:
        """Sends JoinGroup, without waiting for the response; returns the correlation id."""
        request = JoinGroup(
            group="g",
            member_id=member_id,
            instance_id=instance,
            protocols=other.pop("protocols", (("range", b"m"),)),
            needs_id_first=False,
            **other,
        )
        return int(self.cluster.send(request, self.at))

    def response(self, number: int) -> Any:
        return self.cluster.answers.get(number)

    def sync(self, joined: JoinedGroup, **parts: bytes) -> int:
        request = SyncGroup(
            group="g",
            generation=joined.generation,
            member_id=joined.member_id,
            assignments=tuple(
                (member_id, parts.get(f"part{n}", b"all"))
                for n, (member_id, _, _) in enumerate(joined.members)
            ),
        )
        return int(self.cluster.send(request, self.at))

    def heartbeat(self, joined: JoinedGroup, instance: str | None = None) -> ErrorCode:
        request = HeartbeatGroup(
            group="g",
            generation=joined.generation,
            member_id=joined.member_id,
            instance_id=instance,
        )
        return ErrorCode(self.cluster.call(request, self.at).error)

    def alone(self, **other: Any) -> JoinedGroup:
        """Joins one member, and returns its response once the group is stable."""
        number = self.join(**other)
        self.cluster.pass_time(4_000)  # the first generation waits for others
        joined = self.response(number)
        assert isinstance(joined, JoinedGroup)
        assert self.response(self.sync(joined)) == SyncedGroup(
            protocol_type="consumer", protocol="range", assignment=b"all"
        )
        return joined

    def commit(self, offset: int, joined: JoinedGroup | None = None, **other: Any) -> ErrorCode:
        request = CommitOffsets(
            group="g",
            offsets=((TP, CommittedOffset(offset=Offset(offset), metadata="why")),),
            generation=joined.generation if joined else -1,
            member_id=joined.member_id if joined else "",
            **other,
        )
        return ErrorCode(self.cluster.call(request, self.at).error)

    def offset(self, *, stable: bool = False) -> int | ErrorCode | None:
        request = FetchOffsets(group="g", topic_partitions=(TP,), require_stable=stable)
        answer = self.cluster.call(request, self.at)
        assert isinstance(answer, FetchedOffsets)
        ((_, committed, error),) = answer.offsets
        return error or (None if committed is None else committed.offset)

    def state(self) -> GroupState:
        roles = self.cluster.nodes[self.at].local_coordinators.roles.values()
        (state,) = [
            role.groups["g"].state
            for role in roles
            if isinstance(role, GroupCoordinator) and "g" in role.groups
        ]
        return state
