"""The controller elects a broker whose disk has failed, in the heartbeat that reports the failure.

The heartbeats of broker 1 are lost, and the controller fences it. Then a disk of broker 1 fails.
The next heartbeat that arrives unfences the broker and also reports the disk. The controller first
elects the broker, because the registration still lists the directory. Then it handles the failed
directory with the state of the partition from before the election, and changes nothing.

Source: ReplicationControlManager.processBrokerHeartbeat, handleBrokerUnfenced and
handleDirectoriesOffline; KIP-858.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    fail_disk,
    lift,
    nothing,
    pause_for,
    rules,
    send,
    to,
)
from checkers.reproduce.checks import acknowledged, logged, partition, registered
from checkers.reproduce.failed_disks import PROXIED, REPORTED, created
from checkers.reproduce.partition_state import NO_LEADER
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.apache_kafka.addresses import CONTROLLER
from checkers.systems.proxies.rules import DropRequest, Match
from checkers.systems.system import Ability
from reference_impl.wire.messages.apis import Api

HEARTBEATS: Final = DropRequest(of=Match(sender=1, receiver=CONTROLLER, api=Api.BROKER_HEARTBEAT))
NOTICED: Final = r"Stopped serving replicas in dir"


def _steps(*, fenced: bool) -> tuple[Step, ...]:
    fails = Step("the second disk of broker 1 fails", fail_disk(1), logged(1, NOTICED), within_s=60)
    reports = Step(
        "the heartbeats arrive: broker 1 is elected, and reports its disk",
        lift(),
        logged(CONTROLLER, REPORTED),
        within_s=60,
    )
    returns = Step(
        "broker 2 returns with every record",
        to(Ability.START, 2),
        registered(1, 2, 3, at=3),
        within_s=60,
    )
    return (
        *created(1, 2),
        Step("a is acknowledged with acks=all", send("a"), acknowledged("a")),
        Step(
            "broker 2 stops cleanly",
            to(Ability.STOP, 2),
            partition(leader=1, isr=(1,), elr=(2,), at=3),
        ),
        Step(
            "the heartbeats of broker 1 are lost: the partition has no leader",
            rules(heartbeats=HEARTBEATS),
            partition(leader=NO_LEADER, isr=(), elr=(1, 2), at=3),
        ),
        *(
            (
                fails,
                Step(
                    "10 s pass",  # the broker repeats an old heartbeat until then
                    pause_for(10),
                    partition(leader=NO_LEADER, isr=(), elr=(1, 2), at=3),
                ),
                reports,
                Step(
                    "broker 1 leads, although its disk has failed",
                    nothing,
                    partition(leader=1, isr=(1,), elr=(2,), at=3),
                ),
                returns,
                Step(
                    "after 10 s, broker 1 still leads",
                    pause_for(10),
                    partition(leader=1, isr=(1,), elr=(2,), at=3),
                ),
            )
            if fenced
            else (
                Step(
                    "the heartbeats arrive: broker 1 is elected",
                    lift(),
                    partition(leader=1, isr=(1,), elr=(2,), at=3),
                    within_s=60,
                ),
                fails,
                Step(
                    "broker 1 reports its disk: the partition has no leader",
                    nothing,
                    partition(leader=NO_LEADER, isr=(), elr=(1, 2), at=3),
                ),
                returns,
                Step("broker 2 leads", nothing, partition(leader=2, isr=(2,), elr=(1,), at=3)),
            )
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="failed-disk-is-elected",
    promise="Always: the controller elects no broker that has reported a failed disk.",
    because=(
        "The controller unfences the broker before it handles the failed directory of the same"
        " heartbeat, and handles the directory with the state from before the election."
    ),
    case=Case(
        about="the disk fails while the broker is fenced",
        layout=PROXIED,
        steps=_steps(fenced=True),
        breaks=True,
    ),
    control=Case(
        about="the disk fails after the broker was unfenced",
        layout=PROXIED,
        steps=_steps(fenced=False),
        breaks=False,
    ),
    model=(
        Instance(
            spec="election",
            variant="reports-too-late",
            claim="failed_is_out_of_sync",
            settings=("max_disruptions=2",),
        ),
    ),
    since=(4, 0),
    page="failed-disk-is-elected",
)
