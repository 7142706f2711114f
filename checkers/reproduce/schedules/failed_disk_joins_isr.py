"""A replica joins the ISR after its disk has failed, and then no other replica can be elected.

Broker 1 returns and catches up, and the leader asks the controller to add it to the ISR. Before the
request arrives, a disk of broker 1 fails, and broker 1 reports this to the controller. Broker 1 is
not in the ISR then, so the controller removes nothing. Later the controller accepts the leader's
request. When the leader stops, broker 1 is the whole ISR, and cannot be elected.

Source: ReplicationControlManager.ineligibleReplicasForIsr, which compares no directories;
ReplicationControlManager.handleDirectoriesOffline; KIP-858.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    fail_disk,
    lift,
    nothing,
    pause_for,
    rules,
    send,
    to,
)
from checkers.reproduce.checks import (
    acknowledged,
    acted,
    logged,
    partition,
    registered,
)
from checkers.reproduce.failed_disks import PROXIED, REPORTED, created
from checkers.reproduce.partition_state import NO_LEADER
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.apache_kafka.addresses import CONTROLLER
from checkers.systems.proxies.rules import Hold, Match
from checkers.systems.system import Ability
from reference_impl.wire.messages.apis import Api

REQUESTS: Final = Hold(of=Match(sender=2, receiver=CONTROLLER, api=Api.ALTER_PARTITION))


def _steps(*, late: bool) -> tuple[Step, ...]:
    return (
        *created(2, 1),
        Step("a is acknowledged with acks=all", send("a"), acknowledged("a")),
        Step(
            "broker 1 stops cleanly, and leaves the ISR",
            to(Ability.STOP, 1),
            partition(leader=2, isr=(2,), elr=(1,), at=3),
        ),
        Step(
            "broker 1 returns, and the request of broker 2 to add it to the ISR is held",
            all_of(rules(request=REQUESTS), to(Ability.START, 1)),
            acted("request", 1),
            within_s=60,
        )
        if late
        else Step(
            "broker 1 returns, and joins the ISR",
            to(Ability.START, 1),
            partition(leader=2, isr=(1, 2), at=3),
            within_s=60,
        ),
        Step(
            "the second disk of broker 1 fails, and broker 1 reports this to the controller",
            fail_disk(1),
            logged(CONTROLLER, REPORTED),
            within_s=60,
        ),
        Step(
            "the request arrives: broker 1 joins the ISR, although its disk has failed",
            lift(),
            partition(leader=2, isr=(1, 2), at=3),
        )
        if late
        else Step("broker 1 leaves the ISR", nothing, partition(leader=2, isr=(2,), at=3)),
        Step(
            "broker 2 stops cleanly: the partition has no leader",
            to(Ability.STOP, 2),
            partition(leader=NO_LEADER, isr=(1,) if late else (), at=3),
        ),
        Step(
            "broker 2 returns",
            to(Ability.START, 2),
            registered(1, 2, 3, at=3),
            within_s=60,
        ),
        Step(
            "after 10 s, the partition still has no leader",
            pause_for(10),
            partition(leader=NO_LEADER, isr=(1,), elr=(2,), at=3),
        )
        if late
        else Step("broker 2 leads", nothing, partition(leader=2, isr=(2,), at=3)),
    )


REPRODUCTION: Final = Reproduction(
    name="failed-disk-joins-isr",
    promise="Always: a live broker of the ISR or the ELR is elected, if its disk has not failed.",
    because=(
        "The controller accepts a replica on a failed disk into the ISR, and elects no other"
        " replica while the ISR is not empty."
    ),
    case=Case(
        about="the request to add the replica arrives after its disk has failed",
        layout=PROXIED,
        steps=_steps(late=True),
        breaks=True,
    ),
    control=Case(
        about="the request arrives before the disk fails",
        layout=PROXIED,
        steps=_steps(late=False),
        breaks=False,
    ),
    model=(
        Instance(spec="election", variant="accepts-failed-replica", claim="candidates_are_elected"),
    ),
    since=(4, 0),
    page="failed-disk-joins-isr",
)
