"""A reassignment back to the old replicas never ends: a broker is both added and removed.

An operator moves a replica from broker 1 to broker 3, which is down. After that, the operator
requests the old replicas again. The second request removes broker 3 and adds no broker, so the
controller does not change the added brokers of the first request. Since 4.3.0, a reassignment
completes only when the ISR has all added brokers, and a broker that is to be removed does not count
as a member. So the condition is never true of broker 3.

Source: ReplicationControlManager.changePartitionReassignment;
PartitionReassignmentReplicas.maybeCompleteReassignment; KAFKA-19975.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, nothing, pause_for, reassign, send, to
from checkers.reproduce.checks import acknowledged, partition
from checkers.reproduce.common_steps import two_replicas
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.systems.system import Ability, Layout

LAYOUT: Final = Layout(brokers=3)


def _steps(*, ends: bool) -> tuple[Step, ...]:
    return (
        two_replicas(),
        Step("broker 3 stops", to(Ability.STOP, 3), partition(leader=1, isr=(1, 2))),
        Step(
            "the operator moves the replica of broker 1 to broker 3",
            reassign(3, 2),
            partition(leader=1, isr=(1, 2), replicas=(1, 2, 3)),
        ),
        Step("the operator requests brokers 1 and 2 again", reassign(1, 2), partition(leader=1)),
        Step("broker 3 starts", all_of(to(Ability.START, 3), pause_for(20)), partition(leader=1)),
        Step("a record is acknowledged", send("a"), acknowledged("a")),
        Step("the reassignment has ended", nothing, partition(isr=(1, 2), replicas=(1, 2)))
        if ends
        else Step(
            "20 seconds later, broker 3 is in sync and still a replica",
            nothing,
            partition(isr=(1, 2, 3), replicas=(1, 2, 3)),
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="reassignment-never-ends",
    promise="Always: a reassignment whose brokers are up and in sync ends.",
    because="The controller keeps a broker among the added ones when it is removed again.",
    case=Case(about="since 4.3.0", layout=LAYOUT, steps=_steps(ends=False), breaks=True),
    control=Case(
        about="before 4.3.0",
        layout=LAYOUT,
        steps=_steps(ends=True),
        version="4.2.0",
        breaks=False,
    ),
    since=(4, 3),
    page="reassignment-never-ends",
)
