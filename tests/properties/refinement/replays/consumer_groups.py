"""Counterexamples of buggy consumer groups, replayed on the broker's group with the same bug.

Each row has the spec and its variant (the spec with a seeded bug), the bug of the broker, and the
claim that the counterexample violates. The dots stand for `consumer-group`:

    spec and variant                          bug of the broker         claim
    consumer-group erases-what-comes-back     partition-epoch-erased    no_double_assignment
    ... leaves-empty-group-open               empty-group-unsettled     an_empty_group_is_settled
    ... refuses-return                        rejoin-refused            converges

The harness is one consumer group of the broker, and two consumers that send heartbeats. The whole
state of the spec is read from the group and the consumers.

The liveness property `converges` is evaluated ten rounds after the last action. In a round, every
member sends a heartbeat. If the coordinator refuses the heartbeat, the member drops its state, and
rejoins. Otherwise, the member revokes the partitions that are no longer assigned to it.

The model has one partition, and the model chooses the member that gets the partition. On the
broker, the uniform assignor chooses. So the harness has a topic of two partitions, and the first
member always subscribes to the topic. The topic's second partition stands for the partition of the
model. If the second member subscribes, it gets the second partition. Otherwise, the first member
gets both partitions.

Simplified: a member joins and gets its assignment by one heartbeat, while the model takes three
steps. Epochs increase more often than in the model. If the counterexample fences a member, the
member rejoins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from model.consumer_group.versions import ConsumerGroup as ConsumerGroupSpec
from model.language.interpreter import Cell, Value
from model.vocabulary import BrokerId, TopicPartition
from reference_impl.groups.consumer_group import (
    FIRST_EPOCH,
    ConsumerGroup,
    ConsumerMember,
    Epochs,
)
from reference_impl.groups.consumer_group_log import entries, replayed
from reference_impl.groups.heartbeat import heartbeat, without_members
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.node.context import Context
from reference_impl.node.settings import KAFKA_SETTINGS
from reference_impl.protocol.consumer_groups import ConsumerGroupHeartbeat, ConsumerGroupHeartbeated
from reference_impl.protocol.coordinators import Coordinators
from reference_impl.protocol.messages import ErrorCode
from tests.properties.refinement.replays.replay import (
    COORDINATOR,
    Effect,
    Reading,
    Replay,
    with_bug,
)

TOPIC: Final = "t"
PARTITION: Final = TopicPartition(TOPIC, 1)  # the one partition of the spec
PARTITIONS: Final = (TopicPartition(TOPIC, 0), PARTITION)
MEMBERS: Final = ("m0", "m1")
SECOND: Final = 1
ROUNDS: Final = 10
NOBODY: Final = ConsumerMember(member_id="")
EACH_TIME: Final = replace(KAFKA_SETTINGS, member_assignment_ms=0)  # each heartbeat may assign


@dataclass(slots=True)
class Consumer:
    """A member of a consumer group, with its own view of its epoch and its partitions."""

    topics: tuple[str, ...]
    epoch: int = 0
    assigned: frozenset[TopicPartition] = frozenset()
    owned: frozenset[TopicPartition] = frozenset()
    answer: ConsumerGroupHeartbeated | None = None  # sent and not received yet


def _consumers() -> tuple[Consumer, ...]:
    return (Consumer((TOPIC,)), Consumer(()))


@dataclass(slots=True, kw_only=True)
class ConsumerGroupHarness:
    bugs: Bugs
    group: ConsumerGroup = ConsumerGroup(group="g")  # noqa: RUF009 - a frozen value
    consumers: tuple[Consumer, ...] = field(default_factory=_consumers)

    def send_heartbeat_if_joined(self, m: int) -> None:
        """Sends a heartbeat of member `m`, if the member has read the response to its join."""
        consumer = self.consumers[m]
        if consumer.epoch > 0 or consumer.answer is None:
            self.send_heartbeat(m)

    def send_heartbeat(self, m: int) -> None:
        """Sends a heartbeat of member `m`. The response replaces an earlier response that the
        member has not read.
        """
        consumer = self.consumers[m]
        request = ConsumerGroupHeartbeat(
            group=self.group.group,
            member_id=MEMBERS[m],
            member_epoch=consumer.epoch,
            rebalance_timeout_ms=1_000,
            topics=consumer.topics,
            owned=tuple(sorted(consumer.owned)) if consumer.epoch else (),
        )
        after, consumer.answer = heartbeat(self.group, self._context(), request)
        self._write(after)

    def receive(self, m: int) -> None:
        """Makes member `m` adopt the epoch and the partitions of the response that it has not read
        yet.

        Raises ValueError if the member has no unread response with an assignment.
        """
        consumer = self.consumers[m]
        answer, consumer.answer = consumer.answer, None
        if answer is None or answer.assignment is None:
            raise ValueError(f"{MEMBERS[m]} has no response with an assignment")
        consumer.epoch, consumer.assigned = answer.member_epoch, frozenset(answer.assignment)
        consumer.owned |= consumer.assigned

    def revoke(self, m: int, _: int = 0) -> None:
        """Makes member `m` give up each partition that its latest response did not assign to it.

        The spec's action also names a partition, which is ignored.
        """
        self.consumers[m].owned &= self.consumers[m].assigned

    def rejoin(self, m: int) -> None:
        """Makes consumer `m` drop its partitions and its epoch. So its next heartbeat joins the
        group.
        """
        consumer = self.consumers[m]
        consumer.epoch, consumer.answer = 0, None
        consumer.assigned = consumer.owned = frozenset()

    def run_round(self) -> None:
        for m in [MEMBERS.index(id_) for id_ in self.group.members]:
            self.send_heartbeat(m)
            answer = self.consumers[m].answer
            if answer is not None and answer.error is not ErrorCode.NONE:
                self.rejoin(m)
            else:
                self.receive(m)
                self.revoke(m)

    def assign_to(self, _: int, owner: int) -> None:
        """Changes the subscription of the second member so that the assignor gives the spec's
        partition to member `owner`.
        """
        second = self.consumers[SECOND]
        second.topics = (TOPIC,) if owner == SECOND else ()
        known = self.group.members.get(MEMBERS[SECOND])
        if known is not None and known.topics != second.topics:
            self.send_heartbeat(SECOND)

    def expire(self, m: int) -> None:
        self._write(without_members(self.group, self._context(), MEMBERS[m]))

    def leave(self, m: int) -> None:
        self.expire(m)
        self.rejoin(m)

    def _write(self, after: ConsumerGroup) -> None:
        for entry in entries(self.group, after):
            self.group = replayed(self.group, entry, self.bugs)

    def _context(self) -> Context:
        coordinators = Coordinators(dict.fromkeys(PARTITIONS, BrokerId(1)))
        return replace(
            COORDINATOR, bugs=self.bugs, coordinators=coordinators, broker_settings=EACH_TIME
        )


EFFECTS: Final[Mapping[str, Effect]] = {
    "join": ConsumerGroupHarness.send_heartbeat,
    "compute_target": ConsumerGroupHarness.assign_to,
    "heartbeat": ConsumerGroupHarness.send_heartbeat_if_joined,
    "receive_response": ConsumerGroupHarness.receive,
    "revoke": ConsumerGroupHarness.revoke,
    "expire": ConsumerGroupHarness.expire,
    "leave": ConsumerGroupHarness.leave,
    "be_fenced": ConsumerGroupHarness.rejoin,
}
# `assign_to` changes the second member's subscription, in the step that chooses the owner.
BY_THEMSELVES: Final = frozenset({"init", "change_subscription"})


def _settle(harness: ConsumerGroupHarness) -> None:
    for _ in range(ROUNDS):
        harness.run_round()


def cells(harness: ConsumerGroupHarness) -> Mapping[Cell, Value]:
    """Returns the group and its consumers as a state of the spec.

    An epoch of the spec is the group's epoch minus the first epoch of a group.
    """
    group = harness.group
    owners = (m for m, id_ in enumerate(MEMBERS) if PARTITION in group.target.get(id_, ()))
    read: dict[Cell, Value] = {
        ("group_epoch", ()): _epoch(group.epoch),
        ("assignment_epoch", ()): _epoch(group.assignment_epoch),
        ("target", (0,)): next(owners, None),
        ("partition_epoch", (0,)): _partition_epoch(group.partition_epochs),
    }
    for m, id_ in enumerate(MEMBERS):
        member, consumer = group.members.get(id_, NOBODY), harness.consumers[m]
        read |= {
            ("member.joined", (m,)): id_ in group.members,
            ("member.epoch", (m,)): _epoch(member.epoch),
            ("member.previous_epoch", (m,)): _epoch(member.previous_epoch),
            ("member.assigned", (m, 0)): _partition_epoch(member.assigned),
            ("member.revoking", (m, 0)): _partition_epoch(member.revoking),
            ("consumer.epoch", (m,)): _epoch(consumer.epoch),
            ("consumer.answered", (m,)): consumer.answer is not None,
            ("consumer.assigned", (m, 0)): PARTITION in consumer.assigned,
            ("consumer.owns", (m, 0)): PARTITION in consumer.owned,
        }
    return read


def _epoch(epoch: int) -> int:
    return max(epoch - FIRST_EPOCH, 0)


def _partition_epoch(epochs: Epochs) -> int | None:
    return _epoch(epochs[PARTITION]) if PARTITION in epochs else None


def _read(harness: ConsumerGroupHarness) -> Reading:
    spec = ConsumerGroupSpec(members=len(MEMBERS), epochs=_epoch(harness.group.epoch))
    return Reading(spec, cells(harness))


_replay = partial(
    Replay[ConsumerGroupHarness],
    spec="consumer-group",
    start=lambda defect: ConsumerGroupHarness(bugs=defect.bugs),
    effects=EFFECTS,
    by_itself=BY_THEMSELVES,
    read=_read,
)
GROUP_REPLAYS: Final = (
    _replay(
        variant="erases-what-comes-back",
        claim="no_double_assignment",
        defect=with_bug(Bug.PARTITION_EPOCH_ERASED),
    ),
    _replay(
        variant="leaves-empty-group-open",
        claim="an_empty_group_is_settled",
        defect=with_bug(Bug.EMPTY_GROUP_UNSETTLED),
    ),
    _replay(
        variant="refuses-return",
        claim="converges",
        defect=with_bug(Bug.REJOIN_REFUSED),
        settle=_settle,
    ),
)
