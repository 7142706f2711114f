"""A broker that lost one of two disks is elected "cleanly" without its log.

Broker 1 has its replica on one of its two disks, and this disk fails while broker 2 is down. The
operator removes the disk from log.dirs, and restarts broker 1. The other disk has the broker epoch
of the clean shutdown, so the controller leaves broker 1 in the ELR. When broker 2 returns with
every record, the controller elects broker 1 with an empty replica.

Source: LogManager.readBrokerEpochFromCleanShutdownFiles; ClusterControlManager.registerBroker;
KIP-966; KIP-858.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    fail_disk,
    lose_disk,
    nothing,
    read,
    send,
    to,
)
from checkers.reproduce.checks import acknowledged, done, folders, partition, was_read
from checkers.reproduce.failed_disks import LAYOUT, created
from checkers.reproduce.partition_state import NO_LEADER
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.system import Ability

VALUES: Final = tuple(f"v{number}" for number in range(10))


def _steps(*, listed: bool) -> tuple[Step, ...]:
    leads = 2 if listed else 1
    return (
        *created(1, 2),
        Step(
            "10 records are acknowledged with acks=all",
            send(*VALUES),
            acknowledged(*VALUES),
        ),
        Step(
            "broker 2 stops cleanly",
            to(Ability.STOP, 2),
            partition(leader=1, isr=(1,), elr=(2,)),
        ),
        Step(
            "the second disk of broker 1 fails: the partition has no leader",
            fail_disk(1),
            partition(leader=NO_LEADER, isr=(), elr=(1, 2)),
        ),
        Step(
            "broker 1 stops cleanly, and its second disk is "
            + ("replaced" if listed else "removed from log.dirs"),
            all_of(to(Ability.STOP, 1), lose_disk(1, listed=listed)),
            done,
        ),
        Step(
            "broker 1 returns and creates an empty replica",
            to(Ability.START, 1),
            folders(1, "t-0", disk=1),
            within_s=60,
        ),
        Step(
            f"broker 1 {'has left' if listed else 'is still in'} the ELR",
            nothing,
            partition(leader=NO_LEADER, isr=(), elr=(2,) if listed else (1, 2), at=3),
        ),
        Step(
            f"broker 2 returns with every record: broker {leads} is elected",
            to(Ability.START, 2),
            partition(leader=leads, isr=(1, 2)),
            within_s=60,
        ),
        Step("one more record is acknowledged", send("after"), acknowledged("after")),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="removed-disk",
    promise=(
        "Always: records that were acknowledged with acks=all and min.insync.replicas=2 survive"
        " the loss of one disk, when every broker stopped cleanly."
    ),
    because=(
        "Kafka ignores a directory that log.dirs no longer lists. So the shutdown counts as clean,"
        " and the broker stays in the ELR without its replica."
    ),
    case=Case(
        about="the failed disk is removed from log.dirs", layout=LAYOUT, steps=_steps(listed=False)
    ),
    control=Case(
        about="an empty disk replaces the failed one in log.dirs",
        layout=LAYOUT,
        steps=_steps(listed=True),
    ),
    anomalies=("lost-write", "unseen"),
    model=(
        Instance(
            spec="election",
            variant="keeps-lost-replica",
            claim="leader_completeness",
        ),
    ),
    since=(4, 3),  # before, AssignReplicasToDirs empties the ELR
    page="removed-disk",
)
