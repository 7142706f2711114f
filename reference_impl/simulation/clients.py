"""Common parts of all simulated clients: the search for the leader, and the recording of
operations.

A client is an immutable value, like a simulated broker. The clock of a client counts ns, so
operations within the same virtual ms have an order.
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
    """The leader of a topic partition, according to the newest metadata that the client has
    received.

    The client sends its metadata requests to all brokers in turn.
    """

    topic_partition: TopicPartition
    brokers: tuple[BrokerId, ...]
    leader: BrokerId = NO_BROKER
    leader_epoch: LeaderEpoch = LeaderEpoch(-1)  # noqa: RUF009 - an int by another name
    metadata_requests: int = 0

    def next_broker(self) -> tuple[Leadership, NodeId]:
        """Returns the broker for the next metadata request, and the state after this request.

        All brokers take turns.
        """
        broker = self.brokers[self.metadata_requests % len(self.brokers)]
        return replace(self, metadata_requests=self.metadata_requests + 1), NodeId(broker)

    def learn(self, image: MetadataImage) -> Leadership:
        """Returns the leadership according to `image`. If the leader epoch in `image` is older than
        the known one, nothing changes.
        """
        for topic_partition, state in image.topic_partitions:
            if topic_partition == self.topic_partition and state.leader_epoch >= self.leader_epoch:
                return replace(self, leader=state.leader, leader_epoch=state.leader_epoch)
        return self


def next_tick(now_ns: int) -> SetTimer:
    """Returns the timer for the client's next check of its requests, `TICK_MS` after `now_ns`."""
    return SetTimer(TICK, now_ns // NS_PER_MS + TICK_MS)
