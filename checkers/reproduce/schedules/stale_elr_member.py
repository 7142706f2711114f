"""The controller elects a replica whose log was deleted, although unclean elections are off.

A reassignment removes broker 1 from the replicas but not from the ELR. A second reassignment adds
broker 1 again, with an empty log. When the only other replica stops, the controller elects broker 1
as an eligible leader, and acknowledged records are lost.

Source: PartitionChangeBuilder.maybePopulateTargetElr; KIP-966.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, nothing, pause_for, read, reassign, send, to
from checkers.reproduce.checks import acknowledged, folders, partition, was_read
from checkers.reproduce.common_steps import elr_case, end_throttle, throttle, two_replicas
from checkers.reproduce.partition_state import NO_LEADER
from checkers.reproduce.reproduction import Instance, Reproduction, Step
from checkers.systems.system import Ability

VALUES: Final = tuple(f"v{number}" for number in range(30))
LARGE: Final = bytes(200_000)  # the key of each record: a throttled follower gets a part of the log


def _steps(*, elr: bool) -> tuple[Step, ...]:
    lost = Step(
        "broker 3 stops cleanly: broker 1 is elected",
        to(Ability.STOP, 3),
        partition(leader=1, isr=(1,)),
    )
    waits = Step(
        "broker 3 stops cleanly: the partition has no leader",
        to(Ability.STOP, 3),
        partition(leader=NO_LEADER, isr=(3,)),
    )
    return (
        two_replicas(min_insync_replicas="2", unclean_leader_election_enable="false"),
        Step(
            "30 records are acknowledged with acks=all",
            send(*VALUES, key=LARGE),
            acknowledged(*VALUES),
        ),
        Step(
            "broker 2 is killed",
            to(Ability.KILL, 2),
            partition(leader=1, isr=(1,), elr=(2,) if elr else ()),
        ),
        Step(
            "the partition is reassigned to brokers 2 and 3; broker 3 leads",
            reassign(2, 3),
            partition(leader=3, isr=(3,), elr=(1, 2) if elr else (), replicas=(2, 3)),
        ),
        Step("broker 1 deletes its replica", nothing, folders(1, r"t-0\..+-delete")),
        throttle(3),
        Step(
            "the partition is reassigned to brokers 1 and 3; broker 1 copies slowly",
            all_of(reassign(1, 3), pause_for(3)),
            partition(leader=3, isr=(3,), replicas=(1, 2, 3), elr_has=1 if elr else None),
        ),
        lost if elr else waits,
        Step(
            "the throttle ends, and broker 3 returns",
            all_of(end_throttle, to(Ability.START, 3)),
            partition(leader=1 if elr else 3, isr=(1, 3)),
            within_s=60,
        ),
        Step("one more record is acknowledged", send("after"), acknowledged("after")),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="stale-elr-member",
    promise=(
        "Always: records that were acknowledged with acks=all and min.insync.replicas=2, unclean"
        " elections off, survive while one replica has them."
    ),
    because=(
        "A reassignment leaves a removed replica in the ELR, so it can be elected later, after its"
        " log was deleted."
    ),
    case=elr_case(1, _steps(elr=True)),
    control=elr_case(0, _steps(elr=False)),
    anomalies=("lost-write", "unseen"),
    model=(
        Instance(
            spec="reassignment",
            variant="kafka-4.3",
            settings=("replicas=3", "changes_factor=false"),
            claim="leader_completeness",
        ),
    ),
    since=(4, 3),  # before, a reassignment waited for every target replica to join the ISR
    page="stale-elr-member",
)
