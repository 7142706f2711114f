"""A counterexample of a buggy spec, replayed on the reference controller with the same bug.

The row has the spec and its variant (the spec with a seeded bug), the bug of the controller, and
the claim that the counterexample violates:

    spec and variant            bug of the controller    claim
    election elects-the-dead    dead-leader-returns      leader_is_alive_and_in_isr

The harness is one controller of `reference_impl`, which receives the heartbeats and registrations
of two brokers. The replay needs no brokers, because the claim depends only on variables of the
controller.

Simplified: the action `kill` does nothing. The heartbeats of the killed broker end only in the
action `detect_crash`. In the action `register`, the broker registers with a new incarnation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from model.election.versions import Election
from model.language.interpreter import Cell, Value
from model.vocabulary import BrokerId, TopicPartition
from reference_impl.controller.controller import Controller
from reference_impl.node.bugs import Bug, Bugs
from reference_impl.node.settings import KAFKA_SETTINGS
from reference_impl.node.step import Input, RequestReceived, Timer, TimerFired, TimerKind
from reference_impl.protocol.controller import (
    BrokerHeartbeat,
    CreateTopic,
    PartitionState,
    RegisterBroker,
)
from reference_impl.protocol.messages import FIRST_CLIENT, NO_BROKER, NodeId
from reference_impl.protocol.requests import Request
from tests.properties.refinement.replays.replay import Effect, Reading, Replay, with_bug

TOPIC_PARTITION: Final = TopicPartition("orders", 0)
BROKERS: Final = (BrokerId(1), BrokerId(2))  # the replicas of the spec, the preferred leader first


@dataclass(slots=True)
class ControllerHarness:
    """The controller of a cluster with two brokers and one topic partition."""

    controller: Controller
    now_ms: int = 0
    lives: dict[int, int] = field(default_factory=dict[int, int])

    @classmethod
    def of(cls, bugs: Bugs) -> ControllerHarness:
        controller, _ = Controller.start(0, broker_settings=KAFKA_SETTINGS, bugs=bugs)
        harness = cls(controller)
        for r in range(len(BROKERS)):
            harness.register(r)
            harness.send_heartbeat(r)
        topic = TOPIC_PARTITION.topic
        harness.request(FIRST_CLIENT, CreateTopic(topic=topic, replication_factor=len(BROKERS)))
        return harness

    @property
    def state(self) -> PartitionState:
        return self.controller.topic_partitions[TOPIC_PARTITION]

    def register(self, r: int) -> None:
        """Registers broker `r` with a new incarnation id, as the broker does after an unclean
        shutdown.
        """
        self.lives[r] = self.lives.get(r, 0) + 1
        request = RegisterBroker(broker_id=BROKERS[r], incarnation=self.lives[r])
        self.request(NodeId(BROKERS[r]), request)

    def send_heartbeat(self, r: int) -> None:
        """Sends a heartbeat of broker `r`, which reports that the broker has received all
        metadata.
        """
        known = self.controller.brokers[BROKERS[r]]
        request = BrokerHeartbeat(
            broker_id=BROKERS[r],
            broker_epoch=known.broker_epoch,
            metadata_version=self.controller.version,
        )
        self.request(NodeId(BROKERS[r]), request)

    def end_session(self, r: int) -> None:
        """Lets the session of broker `r` expire. Before the sessions are checked, each other broker
        that is not fenced sends a heartbeat.
        """
        self.now_ms += KAFKA_SETTINGS.session_timeout_ms
        for other, broker in enumerate(BROKERS):
            if other != r and not self.controller.brokers[broker].fenced:
                self.send_heartbeat(other)
        self._step(TimerFired(Timer(TimerKind.SESSIONS)))

    def request(self, sender: NodeId, request: Request) -> None:
        self._step(RequestReceived(sender, 1, request))

    def _step(self, event: Input) -> None:
        self.controller, _ = self.controller.step(self.now_ms, event)


EFFECTS: Final[Mapping[str, Effect | tuple[()]]] = {
    "kill": (),  # the controller does not know yet
    "expire_session": ControllerHarness.end_session,
    "detect_crash": ControllerHarness.end_session,
    "register": ControllerHarness.register,
}


def cells(harness: ControllerHarness) -> Mapping[Cell, Value]:
    state = harness.state
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
            ("registration.broker_epoch", (r,)): harness.lives[r] - 1,
            ("registration.fenced", (r,)): harness.controller.brokers[broker].fenced,
        }
    return read


ELECTION_REPLAYS: Final = (
    Replay(
        spec="election",
        variant="elects-the-dead",
        claim="leader_is_alive_and_in_isr",
        defect=with_bug(Bug.DEAD_LEADER_RETURNS),
        start=lambda defect: ControllerHarness.of(defect.bugs),
        effects=EFFECTS,
        read=lambda harness: Reading(Election(replicas=len(BROKERS), min_isr=1), cells(harness)),
    ),
)
