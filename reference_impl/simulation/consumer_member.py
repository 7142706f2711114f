"""A simulated program's membership in a KIP-848 group: heartbeats and assignments.

- The member joins by a heartbeat with epoch 0. The response has the member epoch, and the
  partitions of the member that no other member still owns.
- If a partition is removed from its assignment, the member revokes the partition, and reports this
  by a heartbeat at once.
- If partitions are added to its assignment, the member takes ownership of them.
- If the coordinator fences the member, the member loses all its partitions. It joins again by a
  heartbeat with epoch 0.

The member owns a partition until the program calls `revoke`, so the program can first commit its
offsets. After a heartbeat without a response, the next heartbeat lists all owned partitions again.

Source: KIP-848; the Java client's ConsumerMembershipManager.
Simplified: the member sends no heartbeats while the program works, as in `classic_member`. There
are no static members.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from model.vocabulary import Offset, TopicPartition
from reference_impl.protocol.consumer_groups import (
    JOINS,
    LEAVES,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeated,
)
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffset,
    FetchedOffsets,
    FetchOffsets,
)
from reference_impl.protocol.messages import ErrorCode
from reference_impl.simulation.broker_client import BACKOFF_MS, BrokerClient, error_of
from reference_impl.simulation.programs import Application, Pause, Steps

HEARTBEAT_MS: Final = 50
REVOCATION_MS: Final = 600


@dataclass(slots=True, kw_only=True)
class Member:
    app: Application
    brokers: BrokerClient
    group: str
    topic: str
    epoch: int = JOINS
    owned: tuple[TopicPartition, ...] = ()
    assigned: tuple[TopicPartition, ...] = ()  # by the last response
    _heard_ms: int = -HEARTBEAT_MS

    @property
    def member_id(self) -> str:
        """The member id. The client chooses it and never changes it (KIP-1082)."""
        return f"member-{self.app.process}"

    @property
    def to_revoke(self) -> tuple[TopicPartition, ...]:
        return tuple(place for place in self.owned if place not in self.assigned)

    def heartbeat(self) -> Steps[None]:
        """Sends a heartbeat if the member must join the group, or if the heartbeat interval is
        over. Takes the assignment from the response.

        If the response is an error that fences the member, the member loses all its partitions, and
        joins again by its next heartbeat.
        """
        if self.epoch != JOINS and self.app.now_ms - self._heard_ms < HEARTBEAT_MS:
            return
        request = ConsumerGroupHeartbeat(
            group=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            rebalance_timeout_ms=REVOCATION_MS,
            topics=(self.topic,),
            owned=self.owned,
        )
        answer = yield from self.brokers.call_coordinator(self.group, request, attempts=1)
        self._heard_ms = self.app.now_ms
        if error_of(answer) in _FENCES:
            self.epoch, self.owned, self.assigned = JOINS, (), ()
            yield Pause(BACKOFF_MS)
        elif isinstance(answer, ConsumerGroupHeartbeated) and answer.error is ErrorCode.NONE:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.assigned = answer.assignment

    def revoke(self) -> Steps[None]:
        """Gives up all owned partitions that are outside the assignment, and reports this by a
        heartbeat at once.

        If there are no such partitions, the method does nothing.
        """
        if self.to_revoke:
            self.owned = tuple(place for place in self.owned if place in self.assigned)
            self._heard_ms = -HEARTBEAT_MS
            yield from self.heartbeat()

    def begin(self) -> tuple[TopicPartition, ...]:
        """Adds the newly assigned partitions to the owned partitions, and returns only the newly
        assigned partitions.
        """
        new = tuple(place for place in self.assigned if place not in self.owned)
        self.owned = tuple(sorted({*self.owned, *new}))
        return new

    def leave(self) -> Steps[None]:
        request = ConsumerGroupHeartbeat(
            group=self.group, member_id=self.member_id, member_epoch=LEAVES
        )
        yield from self.brokers.call_coordinator(self.group, request)
        self.epoch, self.owned, self.assigned = JOINS, (), ()

    def commit(self, positions: Mapping[TopicPartition, Offset]) -> Steps[bool]:
        """Commits the offsets `positions`. Returns False if the coordinator's response has an
        error.
        """
        request = CommitOffsets(
            group=self.group,
            generation=self.epoch,
            member_id=self.member_id,
            offsets=tuple((p, CommittedOffset(offset=o)) for p, o in positions.items()),
        )
        answer = yield from self.brokers.call_coordinator(self.group, request)
        return error_of(answer) is ErrorCode.NONE

    def committed(
        self, places: tuple[TopicPartition, ...]
    ) -> Steps[dict[TopicPartition, Offset | None]]:
        """Returns the committed offset of each partition, or None for a partition without a
        committed offset.

        The method waits until no open transaction can change these offsets.
        """
        request = FetchOffsets(group=self.group, topic_partitions=places, require_stable=True)
        while True:
            answer = yield from self.brokers.call_coordinator(self.group, request)
            assert isinstance(answer, FetchedOffsets)
            if all(error is ErrorCode.NONE for _, _, error in answer.offsets):
                return {p: None if kept is None else kept.offset for p, kept, _ in answer.offsets}
            yield Pause(BACKOFF_MS)


_FENCES: Final = frozenset({
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
})  # fmt: skip
