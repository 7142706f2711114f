"""A counterexample of a buggy controller, run on the broker's controller with that bug.

    election elects-the-dead    dead-leader-returns    leader_is_alive_and_in_isr

As in `plans`, an action of the counterexample is something done; but the stage is no cluster. It is
the controller alone, and what two brokers say to it: that they live, or that they live again. Read
are the cells of the spec that are the controller's, which are all that the claim speaks of, and it
is the spec's own formula.

Simplified: that a broker died is that it registers as somebody new; until its session ends, at the
moment that the plan names, its last heartbeats arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from model.election.versions import Election
from model.language.interpreter import Cell, Interpreter, Value
from model.vocabulary import BrokerId, TopicPartition
from reference_impl.controller.controller import Controller
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.step import Input, RequestReceived, Timer, TimerFired, TimerKind
from reference_impl.node.timeouts import KAFKA_TIMEOUTS
from reference_impl.protocol.controller import (
    BrokerHeartbeat,
    CreateTopic,
    PartitionState,
    RegisterBroker,
)
from reference_impl.protocol.messages import FIRST_CLIENT, NO_BROKER, NodeId
from reference_impl.protocol.requests import Request

TOPIC_PARTITION: Final = TopicPartition("orders", 0)
BROKERS: Final = (BrokerId(1), BrokerId(2))  # the replicas of the model, the preferred first


@dataclass(slots=True)
class Stage:
    """A controller of two brokers, on which a plan is carried out."""

    controller: Controller
    now_ms: int = 0
    lives: dict[int, int] = field(default_factory=dict[int, int])

    @classmethod
    def of(cls, bugs: Bugs) -> Stage:
        """The topic partition is on both brokers, and the preferred one leads."""
        controller, _ = Controller.start(0, timeouts=KAFKA_TIMEOUTS, bugs=bugs)
        stage = cls(controller)
        for r in range(len(BROKERS)):
            stage.register(r)
            stage.beat(r)
        topic = TOPIC_PARTITION.topic
        stage.ask(FIRST_CLIENT, CreateTopic(topic=topic, replication_factor=len(BROKERS)))
        return stage

    @property
    def state(self) -> PartitionState:
        """What the controller has decided."""
        return self.controller.topic_partitions[TOPIC_PARTITION]

    def register(self, r: int) -> None:
        """The broker begins a life, and does not tell of a clean end of the one before."""
        self.lives[r] = self.lives.get(r, 0) + 1
        request = RegisterBroker(broker_id=BROKERS[r], incarnation=self.lives[r])
        self.ask(NodeId(BROKERS[r]), request)

    def beat(self, r: int) -> None:
        """The broker says that it lives, and knows what there is to know."""
        known = self.controller.brokers[BROKERS[r]]
        request = BrokerHeartbeat(
            broker_id=BROKERS[r],
            broker_epoch=known.broker_epoch,
            metadata_version=self.controller.version,
        )
        self.ask(NodeId(BROKERS[r]), request)

    def end_session(self, r: int) -> None:
        """The broker is not heard for a session; who is not fenced yet is."""
        self.now_ms += KAFKA_TIMEOUTS.session_timeout_ms
        for other, broker in enumerate(BROKERS):
            if other != r and not self.controller.brokers[broker].fenced:
                self.beat(other)
        self._tell(TimerFired(Timer(TimerKind.SESSIONS)))

    def ask(self, sender: NodeId, request: Request) -> None:
        """The controller has a request; what it answers shows in its state."""
        self._tell(RequestReceived(sender, 1, request))

    def _tell(self, told: Input) -> None:
        self.controller, _ = self.controller.step(self.now_ms, told)


DEEDS: Final[Mapping[str, Callable[..., None]]] = {
    "init": lambda _: None,
    "kill": lambda _, _r: None,  # nobody knows yet
    "expire_session": Stage.end_session,
    "detect_crash": Stage.end_session,
    "register": Stage.register,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionReplay:
    """A variant of `election`, the switch of the broker, and the claim that both break."""

    variant: str
    bug: Bug
    claim: str

    def carried_out(
        self, actions: Iterable[tuple[str, tuple[Any, ...]]], *, with_bug: bool
    ) -> Stage:
        """The controller at the end of the plan that the actions make."""
        stage = Stage.of(frozenset({self.bug}) if with_bug else NO_BUGS)
        for action, values in actions:
            DEEDS[action](stage, *values)
        return stage

    def holds(self, stage: Stage) -> bool:
        """Whether the claim is true there."""
        spec = Election(replicas=len(BROKERS), min_isr=1)
        (formula,) = (c.formula for c in spec.claims if c.name == self.claim)
        return Interpreter.of(spec).holds(formula, cells(stage))


def cells(stage: Stage) -> Mapping[Cell, Value]:
    """The controller's part of the state of the spec."""
    state = stage.state
    read: dict[Cell, Value] = {
        ("partition_registration.leader", ()): None
        if state.leader == NO_BROKER
        else BROKERS.index(state.leader),
        ("partition_registration.leader_epoch", ()): state.leader_epoch,
    }
    for r, broker in enumerate(BROKERS):
        read |= {
            ("partition_registration.isr", (r,)): broker in state.isr,
            ("partition_registration.elr", (r,)): broker in state.elr,
            ("partition_registration.last_known", (r,)): broker == state.last_known_leader,
            ("registration.broker_epoch", (r,)): stage.lives[r] - 1,
            ("registration.fenced", (r,)): stage.controller.brokers[broker].fenced,
        }
    return read


ELECTION_REPLAYS: Final = (
    ElectionReplay(
        variant="elects-the-dead",
        bug=Bug.DEAD_LEADER_RETURNS,
        claim="leader_is_alive_and_in_isr",
    ),
)
