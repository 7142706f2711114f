"""Steps and cases that several reproductions share."""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, create_topic, pause_for, set_config
from checkers.reproduce.checks import done, partition
from checkers.reproduce.reproduction import Case, Step
from checkers.systems.administration import BROKER_RESOURCE, TOPIC_RESOURCE
from checkers.systems.system import Layout

THROTTLED: Final = "leader.replication.throttled.replicas"
RATE: Final = "leader.replication.throttled.rate"


def two_replicas(**configs: str) -> Step:
    """Returns the step that creates the topic with replicas on the brokers 1 and 2, and waits until
    both are in the ISR.
    """
    return Step(
        "broker 1 leads, and broker 2 is in the ISR",
        create_topic(1, 2, **configs),
        partition(leader=1, isr=(1, 2)),
    )


def throttle(leader: int) -> Step:
    """Returns the step after which the followers of a broker copy almost nothing, until the action
    `end_throttle`.
    """
    return Step(
        f"broker {leader} gives its followers one byte a second",
        all_of(
            set_config(TOPIC_RESOURCE, "t", THROTTLED, "*"),
            set_config(BROKER_RESOURCE, str(leader), RATE, "1"),
            pause_for(1),
        ),
        done,
    )


end_throttle: Final = set_config(TOPIC_RESOURCE, "t", THROTTLED, "")


def elr_case(
    version: int, steps: tuple[Step, ...], *, brokers: int = 3, breaks: bool | None = None
) -> Case:
    """Returns a case with the steps `steps`. Its cluster uses eligible leader replicas (ELR) if
    `version` is 1, and does not use them if `version` is 0. `breaks` has the same meaning as in
    `Case`.
    """
    new = ", as in a new cluster" if version else ""
    return Case(
        about=f"eligible.leader.replicas.version={version}{new}",
        layout=Layout(brokers=brokers, features={"eligible.leader.replicas.version": version}),
        steps=steps,
        breaks=breaks,
    )
