"""A broker cannot register again, and each attempt makes the active controller resign.

Broker 2 crashes while it is in the ELR of a topic. A change of min.insync.replicas clears the ELR,
but the topic stays in the controller's index of ELR members, even after the topic is deleted. When
broker 2 registers, the controller does not find the topic's partitions, throws a RuntimeException,
and resigns.

Source: ReplicationControlManager.removeTopicElrs; ReplicationControlManager.handleBrokerShutdown;
ReplicationControlManager.generateLeaderAndIsrUpdates; KIP-966.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, delete_topic, nothing, pause_for, set_config, to
from checkers.reproduce.checks import deleted, done, logged, partition, registered
from checkers.reproduce.common_steps import two_replicas
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.systems.administration import TOPIC_RESOURCE
from checkers.systems.apache_kafka.addresses import CONTROLLER
from checkers.systems.system import Ability, Layout

LAYOUT: Final = Layout(features={"eligible.leader.replicas.version": 1})
THROWN: Final = r"RuntimeException: Topic ID .* existed in isrMembers, but not in the topics map"
WAITED_S: Final = 20.0


def _steps(*, changed: bool) -> tuple[Step, ...]:
    return (
        two_replicas(min_insync_replicas="2"),
        Step("broker 2 is killed", to(Ability.KILL, 2), partition(leader=1, isr=(1,), elr=(2,))),
        Step(
            "min.insync.replicas of the topic is set to 1",
            all_of(set_config(TOPIC_RESOURCE, "t", "min.insync.replicas", "1"), pause_for(1)),
            partition(leader=1, isr=(1,), elr=()),
        )
        if changed
        else Step("no configuration is changed", nothing, done),
        Step("the topic is deleted", delete_topic, deleted()),
        *(
            (
                Step(
                    "broker 2 starts: the controller throws an exception",
                    to(Ability.START, 2),
                    logged(CONTROLLER, THROWN),
                    within_s=60,
                ),
                Step(
                    f"after {WAITED_S:.0f} s more, broker 2 is not registered",
                    pause_for(WAITED_S),
                    registered(1, 3, at=1),
                ),
            )
            if changed
            else (
                Step(
                    "broker 2 starts and is registered",
                    to(Ability.START, 2),
                    registered(1, 2, 3, at=1),
                    within_s=60,
                ),
            )
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="broker-cannot-return",
    promise="Always: a broker that crashed and starts again becomes a part of its cluster.",
    because=(
        "A change of min.insync.replicas clears the ELR but not the controller's index of ELR"
        " members, and deleting the topic leaves it there."
    ),
    case=Case(
        about="min.insync.replicas is changed before the topic is deleted",
        layout=LAYOUT,
        steps=_steps(changed=True),
        breaks=True,
    ),
    control=Case(
        about="no configuration is changed",
        layout=LAYOUT,
        steps=_steps(changed=False),
        breaks=False,
    ),
    since=(4, 0),
    page="broker-cannot-return",
)
