"""What all simulated clients share: finding the leader, and recording operations.

A client is an immutable value, like a broker; its time is in ns, so that operations within one
virtual ms keep their order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from model.histories import Operation
from model.vocabulary import BrokerId, LeaderEpoch, TopicPartition
from reference_impl.node.step import Effect, SetTimer, Timer, TimerKind
from reference_impl.protocol.controller import MetadataImage
from reference_impl.protocol.messages import NO_BROKER, NodeId

NS_PER_MS: Final = 1_000_000
TICK: Final = Timer(TimerKind.CLIENT)
TICK_MS: Final = 25  # interval at which a client checks its requests


class Observed(NamedTuple):
    """An effect that adds a completed operation to the history."""

    operation: Operation


ClientEffects = tuple[Effect | Observed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """The leader as the client knows it; metadata requests go to each broker in turn."""

    topic_partition: TopicPartition
    brokers: tuple[BrokerId, ...]
    leader: BrokerId = NO_BROKER
    leader_epoch: LeaderEpoch = LeaderEpoch(-1)  # noqa: RUF009 - an int by another name
    metadata_requests: int = 0

    def next_broker(self) -> tuple[Leadership, NodeId]:
        """The broker for the next metadata request; all brokers take turns."""
        broker = self.brokers[self.metadata_requests % len(self.brokers)]
        return replace(self, metadata_requests=self.metadata_requests + 1), NodeId(broker)

    def learn(self, image: MetadataImage) -> Leadership:
        """An image with an older leader epoch changes nothing."""
        for topic_partition, state in image.topic_partitions:
            if topic_partition == self.topic_partition and state.leader_epoch >= self.leader_epoch:
                return replace(self, leader=state.leader, leader_epoch=state.leader_epoch)
        return self


def next_tick(now_ns: int) -> SetTimer:
    """The timer of the client's next check of its requests."""
    return SetTimer(TICK, now_ns // NS_PER_MS + TICK_MS)
