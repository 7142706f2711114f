"""Counterexamples of buggy groups, run on the broker's group with that bug: the same claim breaks.

    consumer-group erases-what-comes-back      partition-epoch-erased    no_double_assignment
    ... leaves-empty-group-open               empty-group-unsettled     an_empty_group_is_settled
    ... refuses-return                        rejoin-refused            converges

As in `plans`, an action of the counterexample is something done; but the stage is no cluster. It is
one group of a coordinator, whose changes go through its records, and the consumers that talk to it.
The cells of the spec are read from both in full, and the claim is the spec's own formula. Of what
must happen in the end, `converges`, it is the goal, read when the plan is over and the members have
gone on by themselves for some rounds: they beat, hear, revoke, and join again when refused.

Which member has the partition is the model's to choose. Here it is the second of two partitions of
a topic to which the first member always subscribes: the uniform assignor gives it to the second
member while that subscribes too, and else to the first.

Simplified: a member joins and is assigned by one heartbeat, which the model does in three steps;
epochs count more than in the model. A member that the plan has fenced is one that begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from model.consumer_group.versions import ConsumerGroup as ConsumerGroupSpec
from model.language.interpreter import Cell, Interpreter, Value
from model.vocabulary import BrokerEpoch, BrokerId, TopicPartition
from reference_impl.groups.consumer_group import ConsumerGroup, ConsumerMember
from reference_impl.groups.consumer_group_log import entries, replayed
from reference_impl.groups.heartbeat import heartbeat, removed
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.context import Context
from reference_impl.node.timeouts import KAFKA_TIMEOUTS
from reference_impl.protocol.consumer_groups import ConsumerGroupHeartbeat, ConsumerGroupHeartbeated
from reference_impl.protocol.coordinators import Coordinators
from reference_impl.protocol.messages import ErrorCode

TOPIC: Final = "t"
PARTITION: Final = TopicPartition(TOPIC, 1)  # the model's one
PARTITIONS: Final = (TopicPartition(TOPIC, 0), PARTITION)
MEMBERS: Final = ("m0", "m1")
SECOND: Final = 1
ROUNDS: Final = 10
NOBODY: Final = ConsumerMember(member_id="")


@dataclass(slots=True)
class Consumer:
    """A member, and what it knows of itself."""

    topics: tuple[str, ...]
    epoch: int = 0
    told: frozenset[TopicPartition] = frozenset()
    owned: frozenset[TopicPartition] = frozenset()
    answer: ConsumerGroupHeartbeated | None = None  # on its way


def _consumers() -> tuple[Consumer, ...]:
    return (Consumer((TOPIC,)), Consumer(()))


@dataclass(slots=True, kw_only=True)
class Stage:
    """A group and its consumers, on which a plan is carried out."""

    bugs: Bugs
    group: ConsumerGroup = ConsumerGroup(group="g")  # noqa: RUF009 - a frozen value
    consumers: tuple[Consumer, ...] = field(default_factory=_consumers)

    def go_on_beating(self, m: int) -> None:
        """A heartbeat, unless it is the one by which the member has just joined."""
        consumer = self.consumers[m]
        if consumer.epoch > 0 or consumer.answer is None:
            self.beat(m)

    def beat(self, m: int) -> None:
        """A heartbeat is heard; its answer, in the place of an older one, is on its way."""
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

    def hear(self, m: int) -> None:
        """The answer arrives; raises ValueError if it is none, or a refusal."""
        consumer = self.consumers[m]
        answer, consumer.answer = consumer.answer, None
        if answer is None or answer.assignment is None:
            raise ValueError(f"{MEMBERS[m]} has no assignment to hear of")
        consumer.epoch, consumer.told = answer.member_epoch, frozenset(answer.assignment)
        consumer.owned |= consumer.told

    def revoke(self, m: int) -> None:
        """The consumer gives up what it is not told to have."""
        self.consumers[m].owned &= self.consumers[m].told

    def begin_anew(self, m: int) -> None:
        """The consumer drops what it has, and will join again."""
        consumer = self.consumers[m]
        consumer.epoch, consumer.answer = 0, None
        consumer.told = consumer.owned = frozenset()

    def go_on(self) -> None:
        """The members do what they do when nothing changes any more."""
        for m in [MEMBERS.index(id_) for id_ in self.group.members]:
            self.beat(m)
            answer = self.consumers[m].answer
            if answer is not None and answer.error is not ErrorCode.NONE:
                self.begin_anew(m)
            else:
                self.hear(m)
                self.revoke(m)

    def aim(self, owner: int) -> None:
        """The second member subscribes to the topic if the partition shall be its own."""
        second = self.consumers[SECOND]
        second.topics = (TOPIC,) if owner == SECOND else ()
        known = self.group.members.get(MEMBERS[SECOND])
        if known is not None and known.topics != second.topics:
            self.beat(SECOND)

    def expire(self, m: int) -> None:
        """The session of a member ends."""
        self._write(removed(self.group, self._context(), MEMBERS[m]))

    def _write(self, after: ConsumerGroup) -> None:
        """The group is what its records say."""
        for entry in entries(self.group, after):
            self.group = replayed(self.group, entry, self.bugs)

    def _context(self) -> Context:
        return Context(
            now_ms=0,
            broker_id=BrokerId(1),
            broker_epoch=BrokerEpoch(1),
            brokers={},
            correlation=0,
            timeouts=KAFKA_TIMEOUTS,
            bugs=self.bugs,
            coordinators=Coordinators(dict.fromkeys(PARTITIONS, BrokerId(1))),
        )


DEEDS: Final[Mapping[str, Callable[..., None]]] = {
    "join": Stage.beat,
    "compute_target": Stage.aim,
    "heartbeat": Stage.go_on_beating,
    "hear": Stage.hear,
    "revoke": Stage.revoke,
    "expire": Stage.expire,
    "be_fenced": Stage.begin_anew,
    # the subscription that changes is the second member's, when it is known whose the target is
    "change_subscription": lambda _: None,
    "init": lambda _: None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReplay:
    """A variant of `consumer-group`, the switch of the broker, and the claim that both break."""

    variant: str
    bug: Bug
    claim: str

    def replayed(self, actions: Iterable[tuple[str, tuple[Any, ...]]], *, with_bug: bool) -> bool:
        """Whether the claim is true at the end of the plan that the actions make, or soon after."""
        stage = Stage(bugs=frozenset({self.bug}) if with_bug else NO_BUGS)
        for action, values in actions:
            DEEDS[action](stage, *values)
        spec = ConsumerGroupSpec(members=len(MEMBERS), epochs=stage.group.epoch)
        said = {c.name: c.formula for c in spec.claims}
        in_the_end = {c.name: c.goal for c in spec.liveness_properties}
        for _ in range(ROUNDS if self.claim in in_the_end else 0):
            stage.go_on()
        formula = {**said, **in_the_end}[self.claim]
        return Interpreter.of(spec).holds(formula, cells(stage))


def cells(stage: Stage) -> Mapping[Cell, Value]:
    """The state of the spec, as the group's books and its consumers have it.

    A member has had no epoch before its first: -1 there, 0 in the model.
    """
    group = stage.group
    owners = (m for m, id_ in enumerate(MEMBERS) if PARTITION in group.target.get(id_, ()))
    read: dict[Cell, Value] = {
        ("group_epoch", ()): group.epoch,
        ("assignment_epoch", ()): group.assignment_epoch,
        ("target", ()): next(owners, None),
        ("partition_epoch", ()): group.partition_epochs.get(PARTITION),
    }
    for m, id_ in enumerate(MEMBERS):
        member, consumer = group.members.get(id_, NOBODY), stage.consumers[m]
        read |= {
            ("member.joined", (m,)): id_ in group.members,
            ("member.epoch", (m,)): member.epoch,
            ("member.previous_epoch", (m,)): max(member.previous_epoch, 0),
            ("member.assigned", (m,)): member.assigned.get(PARTITION),
            ("member.revoking", (m,)): member.revoking.get(PARTITION),
            ("consumer.epoch", (m,)): consumer.epoch,
            ("consumer.answered", (m,)): consumer.answer is not None,
            ("consumer.told", (m,)): PARTITION in consumer.told,
            ("consumer.owns", (m,)): PARTITION in consumer.owned,
        }
    return read


GROUP_REPLAYS: Final = (
    GroupReplay(
        variant="erases-what-comes-back",
        bug=Bug.PARTITION_EPOCH_ERASED,
        claim="no_double_assignment",
    ),
    GroupReplay(
        variant="leaves-empty-group-open",
        bug=Bug.EMPTY_GROUP_UNSETTLED,
        claim="an_empty_group_is_settled",
    ),
    GroupReplay(variant="refuses-return", bug=Bug.REJOIN_REFUSED, claim="converges"),
)
