"""A simulated program's membership in a classic group: joining, assignment and heartbeats.

Each line has a step of the member, and what happens in the step:

    join                the coordinator admits the member to the next generation
    sync                the group leader sends the assignment, and each member receives its part
    ensure_membership   sends heartbeats, and joins the group again after REBALANCE_IN_PROGRESS

The assignor `rotating` begins with another member in each generation, so that a rebalance moves as
many partitions as possible.

Source: KIP-62, KIP-134, KIP-394; the Java client's ConsumerCoordinator.
Simplified: heartbeats have no thread of their own, so a slow program calls `heartbeat` itself. Each
rebalance revokes all partitions (the eager protocol). There are no static members.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from model.histories import Assigned, CommitOffset, FetchOffset, Rebalanced
from model.vocabulary import Offset, TopicPartition
from reference_impl.protocol.groups import (
    NO_GENERATION,
    NO_MEMBER,
    CommitOffsets,
    CommittedOffset,
    FetchedOffsets,
    FetchOffsets,
    HeartbeatGroup,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
    SyncedGroup,
    SyncGroup,
)
from reference_impl.protocol.messages import ErrorCode
from reference_impl.simulation.broker_client import BACKOFF_MS, BrokerClient, error_of
from reference_impl.simulation.programs import CALL_MS, Application, Pause, Steps

SESSION_MS: Final = 150
REBALANCE_MS: Final = 150
HEARTBEAT_MS: Final = 50
PROTOCOL: Final = "rotating"

Assignor = Callable[
    [int, Sequence[str], Sequence[TopicPartition]], Mapping[str, tuple[TopicPartition, ...]]
]


def rotating(
    generation: int, members: Sequence[str], places: Sequence[TopicPartition]
) -> dict[str, tuple[TopicPartition, ...]]:
    """Returns a round-robin assignment of the topic partitions `places` to the members.

    In each generation, the assignment begins with another member.

    >>> rotating(1, ["a", "b"], [TopicPartition("orders", 0)])
    {'a': (), 'b': (TopicPartition(topic='orders', index=0),)}
    """
    count = len(members)
    return {
        member: tuple(p for n, p in enumerate(places) if (n + generation) % count == at)
        for at, member in enumerate(sorted(members))
    }


@dataclass(slots=True, kw_only=True)
class Member:
    app: Application
    brokers: BrokerClient
    group: str
    topic: str
    assignor: Assignor = rotating
    member_id: str = NO_MEMBER
    generation: int = NO_GENERATION
    owned: tuple[TopicPartition, ...] = ()
    _heard_ms: int = 0
    _is_out: bool = False  # the coordinator wants it to join again

    def join(self) -> Steps[None]:
        places = yield from self.brokers.topic_partitions(self.topic)
        is_first = self.generation == NO_GENERATION
        if is_first:
            keys = (Assigned(str(place)) for place in places)
            self.app.begin("subscribe", *keys, group=self.group)
        else:
            self.app.begin("poll", group=self.group)
        before, self.owned = self.owned, ()
        while not (yield from self._joined(places)):
            yield Pause(BACKOFF_MS)
        self._heard_ms, self._is_out = self.app.now_ms, False
        touched = () if is_first else sorted({*before, *self.owned})
        self.app.end("ok", *(Rebalanced(str(place)) for place in touched))

    def heartbeat(self) -> Steps[None]:
        """Sends a heartbeat if the member is in the group and the heartbeat interval is over.

        If the response requires a new join, the member joins in the next call of
        `ensure_membership`.
        """
        if self.generation == NO_GENERATION or self.app.now_ms - self._heard_ms < HEARTBEAT_MS:
            return
        request = HeartbeatGroup(
            group=self.group, generation=self.generation, member_id=self.member_id
        )
        answer = yield from self.brokers.call_coordinator(self.group, request, attempts=1)
        self._heard_ms = self.app.now_ms
        # A missing response is ignored: only the coordinator can end the session.
        self._is_out = error_of(answer) in _JOIN_AGAIN

    def ensure_membership(self) -> Steps[bool]:
        """Sends a heartbeat if it is due, and returns True if the member stays in its generation.

        Otherwise, the member joins the group, and the method returns False. The caller must then
        fetch the committed offsets of the new assignment.
        """
        yield from self.heartbeat()
        if self.generation != NO_GENERATION and not self._is_out:
            return True
        yield from self.join()
        return False

    def leave(self) -> Steps[None]:
        request = LeaveGroup(group=self.group, members=((self.member_id, None),))
        yield from self.brokers.call_coordinator(self.group, request)
        self.member_id, self.generation, self.owned = NO_MEMBER, NO_GENERATION, ()

    def commit(self, positions: Mapping[TopicPartition, Offset]) -> Steps[bool]:
        """Returns True if the coordinator confirms that it has committed the offsets.

        After False, the offsets may be committed nevertheless, by an attempt whose response was
        lost.
        """
        did = (CommitOffset(str(place), offset) for place, offset in positions.items())
        self.app.begin("commit_offset", *did, group=self.group)
        request = CommitOffsets(
            group=self.group,
            generation=self.generation,
            member_id=self.member_id,
            offsets=tuple((p, CommittedOffset(offset=o)) for p, o in positions.items()),
        )
        answer = yield from self.brokers.call_coordinator(self.group, request)
        error = error_of(answer)
        is_kept = error is ErrorCode.NONE
        self.app.end("ok" if is_kept else "info", error=None if is_kept else error.name)
        return is_kept

    def committed(
        self,
    ) -> Steps[dict[TopicPartition, Offset | None]]:
        """Returns the committed offset of each owned partition, or None for a partition without a
        committed offset.

        The method waits until no open transaction can change these offsets.
        """
        self.app.begin("fetch_offset", group=self.group, isolation="read_committed")
        request = FetchOffsets(group=self.group, topic_partitions=self.owned, require_stable=True)
        while True:
            answer = yield from self.brokers.call_coordinator(self.group, request)
            assert isinstance(answer, FetchedOffsets)
            if all(error is ErrorCode.NONE for _, _, error in answer.offsets):
                break
            yield Pause(BACKOFF_MS)
        offsets = {tp: None if kept is None else kept.offset for tp, kept, _ in answer.offsets}
        self.app.end("ok", *(FetchOffset(str(tp), offset) for tp, offset in offsets.items()))
        return offsets

    def _joined(self, places: tuple[TopicPartition, ...]) -> Steps[bool]:
        request = JoinGroup(
            group=self.group,
            member_id=self.member_id,
            client_id=f"member-{self.app.process}",
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            protocols=((PROTOCOL, _subscription(self.topic)),),
        )
        joined = yield from self.brokers.call_coordinator(
            self.group, request, timeout_ms=REBALANCE_MS + CALL_MS
        )
        assert isinstance(joined, JoinedGroup)
        if joined.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = joined.member_id
        if joined.error is ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = NO_MEMBER
        if joined.error is not ErrorCode.NONE:
            return False
        self.generation = joined.generation
        members = [member_id for member_id, _, _ in joined.members]  # empty unless it is the leader
        parts = self.assignor(self.generation, members, places) if members else {}
        sync = SyncGroup(
            group=self.group,
            generation=self.generation,
            member_id=self.member_id,
            assignments=tuple((member_id, _encoded(part)) for member_id, part in parts.items()),
        )
        synced = yield from self.brokers.call_coordinator(self.group, sync)
        assert isinstance(synced, SyncedGroup)
        if synced.error is ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = NO_MEMBER
        if synced.error is not ErrorCode.NONE:
            return False
        self.owned = _decoded(synced.assignment)
        return True


_JOIN_AGAIN: Final = frozenset({
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
})  # fmt: skip


def _subscription(topic: str) -> bytes:
    # A ConsumerProtocolSubscription of version 0.
    name = topic.encode()
    version, topics, no_user_data = 0, 1, -1
    # Kafka parses these bytes if the group's protocol type is `consumer`.
    return struct.pack(f">hih{len(name)}si", version, topics, len(name), name, no_user_data)


def _encoded(places: tuple[TopicPartition, ...]) -> bytes:
    return json.dumps([[place.topic, place.index] for place in places]).encode()


def _decoded(assignment: bytes) -> tuple[TopicPartition, ...]:
    pairs: Any = json.loads(assignment or b"[]")
    return tuple(TopicPartition(topic, index) for topic, index in pairs)
