"""What simulated clients have in common: they look for the leader, and tell what they observed.

A client is a value with a step, like a broker. Its time comes in ns, so that the operations of one
virtual ms keep the order in which they happened.
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
TICK_MS: Final = 25  # how often a client looks after its requests


class Observed(NamedTuple):
    """An operation is complete, for the history."""

    operation: Operation


ClientEffects = tuple[Effect | Observed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """Who leads a topic partition, as far as a client knows, and whom it asks next."""

    topic_partition: TopicPartition
    brokers: tuple[BrokerId, ...]
    leader: BrokerId = NO_BROKER
    leader_epoch: LeaderEpoch = LeaderEpoch(-1)  # noqa: RUF009 - an int by another name
    asked: int = 0

    def ask(self) -> tuple[Leadership, NodeId]:
        """The next broker to ask for metadata: all of them in turn."""
        broker = self.brokers[self.asked % len(self.brokers)]
        return replace(self, asked=self.asked + 1), NodeId(broker)

    def learn(self, image: MetadataImage) -> Leadership:
        """What an image tells, unless it is older than what is known."""
        for topic_partition, state in image.topic_partitions:
            if topic_partition == self.topic_partition and state.leader_epoch >= self.leader_epoch:
                return replace(self, leader=state.leader, leader_epoch=state.leader_epoch)
        return self


def next_tick(now_ns: int) -> SetTimer:
    """The client looks after its requests again in a while."""
    return SetTimer(TICK, now_ns // NS_PER_MS + TICK_MS)
