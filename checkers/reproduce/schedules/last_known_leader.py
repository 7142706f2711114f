"""The last known leader is elected with an empty disk, although another replica has every record.

Source: PartitionChangeBuilder; KAFKA-15584.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import nothing, read, send, to
from checkers.reproduce.checks import acknowledged, done, partition, was_read
from checkers.reproduce.common_steps import two_replicas
from checkers.reproduce.partition_state import NO_LEADER
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.system import Ability, Layout

VALUES: Final = tuple(f"v{number}" for number in range(10))
LAYOUT: Final = Layout(brokers=2, features={"eligible.leader.replicas.version": 1})


def _steps(*, disk_lost: bool) -> tuple[Step, ...]:
    return (
        two_replicas(min_insync_replicas="2", unclean_leader_election_enable="false"),
        Step("10 records are acknowledged with acks=all", send(*VALUES), acknowledged(*VALUES)),
        Step("broker 1 is killed: broker 2 leads", to(Ability.KILL, 1), partition(leader=2)),
        Step("broker 2 is killed", to(Ability.KILL, 2), done),
        Step("broker 2 loses its disk", to(Ability.WIPE, 2), done)
        if disk_lost
        else Step("broker 2 keeps its disk", nothing, done),
        Step(
            "broker 1 returns with all records, and is not elected",
            to(Ability.START, 1),
            partition(leader=NO_LEADER),
            within_s=60,
        ),
        Step(
            "broker 2 returns: it is elected as the last known leader",
            to(Ability.START, 2),
            partition(leader=2, isr=(1, 2)),
            within_s=60,
        ),
        Step("one more record is acknowledged", send("after"), acknowledged("after")),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="last-known-leader",
    promise=(
        "Always: records that were acknowledged with acks=all and min.insync.replicas=2 survive"
        " the loss of one disk."
    ),
    because=(
        "When no eligible replica is left, the controller elects the last known leader, whatever"
        " its disk has, although another replica has every record."
    ),
    case=Case(about="broker 2 loses its disk", layout=LAYOUT, steps=_steps(disk_lost=True)),
    control=Case(about="broker 2 keeps its disk", layout=LAYOUT, steps=_steps(disk_lost=False)),
    anomalies=("lost-write", "unseen"),
    model=(
        Instance(
            spec="election",
            variant="trusts-last-leader",
            settings=("max_unclean=2",),
            claim="leader_completeness",
        ),
    ),
    since=(4, 0),
    page="last-known-leader",
)
