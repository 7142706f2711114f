"""How a program belongs to a group: it joins, is assigned its part, tells that it lives, commits.

    joins      the coordinator lets it into the next generation
    syncs      the leader of the generation assigns, everybody is told its part
    keeps up   a heartbeat now and then; told to join again, it does

A member that is not heard for the length of its session is out, and does not know it: it is told by
the refusal of its next heartbeat or commit. An assignor is a function; the one here begins with
another member in each generation, so that a rebalance moves what it can.

Source: KIP-62, KIP-134, KIP-394; the Java client's ConsumerCoordinator.
Simplified: the heartbeats of KIP-62 have no thread of their own, a program that takes its time
calls `heartbeat`; all is given up at each rebalance (the eager protocol); no static members.
"""

from __future__ import annotations

import json
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
    """Each topic partition to the next member, the first one of all to another each time.

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
    """One member of a group, between two requests."""

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
        """A generation has this member, and told it what it owns."""
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
        """The coordinator hears that the member lives, if it is time; what it says waits.

        An answer that does not come says nothing: to end the session is the coordinator's.
        """
        if self.generation == NO_GENERATION or self.app.now_ms - self._heard_ms < HEARTBEAT_MS:
            return
        request = HeartbeatGroup(
            group=self.group, generation=self.generation, member_id=self.member_id
        )
        answer = yield from self.brokers.call_coordinator(self.group, request, attempts=1)
        self._heard_ms = self.app.now_ms
        self._is_out = error_of(answer) in _JOIN_AGAIN

    def ensure_membership(self) -> Steps[bool]:
        """Whether the generation is still the same; if not, the member is in the next one."""
        yield from self.heartbeat()
        if self.generation != NO_GENERATION and not self._is_out:
            return True
        yield from self.join()
        return False

    def leave(self) -> Steps[None]:
        """The group goes on without this member."""
        request = LeaveGroup(group=self.group, members=((self.member_id, None),))
        yield from self.brokers.call_coordinator(self.group, request)
        self.member_id, self.generation, self.owned = NO_MEMBER, NO_GENERATION, ()

    def commit(self, positions: Mapping[TopicPartition, Offset]) -> Steps[bool]:
        """Whether the group goes on from there; a member that is out is refused.

        A refused commit is one of unknown outcome: an earlier copy of the request may have counted.
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
        """How far the group is in what this member owns; None: nothing was committed there.

        It waits for transactions that may still change the answer.
        """
        self.app.begin("fetch_offset", group=self.group, isolation="read_committed")
        request = FetchOffsets(group=self.group, topic_partitions=self.owned, require_stable=True)
        while True:
            answer = yield from self.brokers.call_coordinator(self.group, request)
            assert isinstance(answer, FetchedOffsets)
            if all(error is ErrorCode.NONE for _, _, error in answer.offsets):
                break
            yield Pause(BACKOFF_MS)
        told = {place: None if kept is None else kept.offset for place, kept, _ in answer.offsets}
        self.app.end("ok", *(FetchOffset(str(place), offset) for place, offset in told.items()))
        return told

    def _joined(self, places: tuple[TopicPartition, ...]) -> Steps[bool]:
        """One attempt to be in a generation, and to be told its part."""
        request = JoinGroup(
            group=self.group,
            member_id=self.member_id,
            client_id=f"member-{self.app.process}",
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            protocols=((PROTOCOL, b""),),
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
        members = [member_id for member_id, _, _ in joined.members]  # told to the leader alone
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


def _encoded(places: tuple[TopicPartition, ...]) -> bytes:
    return json.dumps([[place.topic, place.index] for place in places]).encode()


def _decoded(assignment: bytes) -> tuple[TopicPartition, ...]:
    told: Any = json.loads(assignment or b"[]")
    return tuple(TopicPartition(topic, index) for topic, index in told)
