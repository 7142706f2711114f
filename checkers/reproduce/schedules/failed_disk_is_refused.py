"""A broker cannot report a failed disk, and each attempt makes the active controller resign.

The controller has an index of the partitions in each log directory. When a topic is deleted while
the ISR of its partition is empty, the partition stays in the index. Later a disk of broker 1 fails,
and the broker reports the failure in a heartbeat. The controller does not find the topic, throws a
RuntimeException, and resigns. So the leader on the failed disk is not replaced.

Source: ReplicationControlManager.handleDirectoriesOffline;
ReplicationControlManager.generateLeaderAndIsrUpdates; KIP-858; KIP-966.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    create_topic,
    delete_topic,
    fail_disk,
    nothing,
    pause_for,
    prefer_disk,
    to,
)
from checkers.reproduce.checks import deleted, folders, logged, partition, registered
from checkers.reproduce.failed_disks import LAYOUT
from checkers.reproduce.partition_state import NO_LEADER
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.systems.apache_kafka.addresses import CONTROLLER
from checkers.systems.system import Ability

WAITED_S: Final = 10.0  # a broker that cannot report its disk ends itself after 30 s
THROWN: Final = r"RuntimeException: Topic ID .* existed in isrMembers, but not in the topics map"


def _created(first: str) -> Step:
    return Step(
        f"{first}: broker 1 leads, with its replica on its second disk",
        all_of(prefer_disk(1, 2), create_topic(1, 2, min_insync_replicas="1")),
        folders(1, "t-0", disk=2),
    )


def _steps(*, stopped: bool) -> tuple[Step, ...]:
    return (
        _created("a topic"),
        Step("broker 2 is in the ISR", nothing, partition(leader=1, isr=(1, 2))),
        *(
            (
                Step(
                    "brokers 2 and 1 stop cleanly: the ISR is empty",
                    to(Ability.STOP, 2, 1),
                    partition(leader=NO_LEADER, isr=(), at=3),
                ),
                Step("the topic is deleted", delete_topic, deleted()),
                Step(
                    "brokers 1 and 2 return",
                    to(Ability.START, 1, 2),
                    registered(1, 2, 3, at=3),
                    within_s=60,
                ),
            )
            if stopped
            else (Step("the topic is deleted", delete_topic, deleted()),)
        ),
        _created("another topic"),
        Step("broker 2 is in its ISR", nothing, partition(leader=1, isr=(1, 2))),
        Step(
            "the second disk of broker 1 fails: the controller throws an exception",
            fail_disk(1),
            logged(CONTROLLER, THROWN),
        )
        if stopped
        else Step(
            "the second disk of broker 1 fails: broker 2 leads",
            fail_disk(1),
            partition(leader=2, isr=(2,)),
        ),
        *(
            (
                Step(
                    f"after {WAITED_S:.0f} s more, broker 1 still leads",
                    pause_for(WAITED_S),
                    partition(leader=1, isr=(1, 2), at=3),
                ),
            )
            if stopped
            else ()
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="failed-disk-is-refused",
    promise="Always: a partition gets another leader when the disk of its leader fails.",
    because=(
        "Deleting a topic whose ISR is empty leaves it in the controller's index of directories,"
        " and the controller throws an exception when it looks for it."
    ),
    case=Case(
        about="a topic was deleted while its ISR was empty",
        layout=LAYOUT,
        steps=_steps(stopped=True),
        breaks=True,
    ),
    control=Case(
        about="the topic was deleted while its brokers were up",
        layout=LAYOUT,
        steps=_steps(stopped=False),
        breaks=False,
    ),
    since=(4, 0),
    page="failed-disk-is-refused",
)
