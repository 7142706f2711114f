"""How a program belongs to a group of KIP-848: one request now and then, and what it is told.

    joins       with epoch 0; it is told its epoch and its part, or what of it is free already
    gives up    what it is told to own no more, and says so at once
    begins      what is new to it
    is fenced   owns nothing, and joins again with epoch 0

What it shall give up it still owns until it does, so that its program may commit first. An answer
that does not come is asked for again, with all that it owns.

Source: KIP-848; the Java client's ConsumerMembershipManager.
Simplified: no heartbeat while the program works, as in `membership`; no static members.
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
    """One member of a group, between two requests."""

    app: Application
    brokers: BrokerClient
    group: str
    topic: str
    epoch: int = JOINS
    owned: tuple[TopicPartition, ...] = ()
    assigned: tuple[TopicPartition, ...] = ()  # what it was told to own
    _heard_ms: int = -HEARTBEAT_MS

    @property
    def member_id(self) -> str:
        """Its own choice, for as long as the process lives (KIP-1082)."""
        return f"member-{self.app.process}"

    @property
    def to_revoke(self) -> tuple[TopicPartition, ...]:
        """What it owns and shall not."""
        return tuple(place for place in self.owned if place not in self.assigned)

    def heartbeat(self) -> Steps[None]:
        """The coordinator hears that the member lives, if it is time; its answer is taken in."""
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
        """It owns what it was told to, and no more; the coordinator hears of it at once."""
        if self.to_revoke:
            self.owned = tuple(place for place in self.owned if place in self.assigned)
            self._heard_ms = -HEARTBEAT_MS
            yield from self.heartbeat()

    def begin(self) -> tuple[TopicPartition, ...]:
        """What is new to it, which it owns from now on."""
        new = tuple(place for place in self.assigned if place not in self.owned)
        self.owned = tuple(sorted({*self.owned, *new}))
        return new

    def leave(self) -> Steps[None]:
        """The group goes on without this member."""
        request = ConsumerGroupHeartbeat(
            group=self.group, member_id=self.member_id, member_epoch=LEAVES
        )
        yield from self.brokers.call_coordinator(self.group, request)
        self.epoch, self.owned, self.assigned = JOINS, (), ()

    def commit(self, positions: Mapping[TopicPartition, Offset]) -> Steps[bool]:
        """Whether the group goes on from there; a member that is out is refused."""
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
        """How far the group is there; None: nothing was committed."""
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
