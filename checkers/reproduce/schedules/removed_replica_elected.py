"""Before Kafka 4.3, a replica that was removed and added again is elected without its log.

min.insync.replicas equals the number of replicas. So when a reassignment removes broker 1, the ISR
is too small, and broker 1 joins the ELR. Broker 1 deletes its log. After broker 2 has stopped,
broker 1 is added again. When broker 3 stops, too, the controller elects broker 1. This is a
counterexample of the spec `reassignment`, version `kafka-4.1`.

Source: PartitionChangeBuilder.maybePopulateTargetElr; KIP-966.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    create_topic,
    nothing,
    pause_for,
    read,
    reassign,
    send,
    to,
)
from checkers.reproduce.checks import acknowledged, folders, partition, was_read
from checkers.reproduce.common_steps import elr_case, end_throttle, throttle
from checkers.reproduce.partition_state import NO_LEADER
from checkers.reproduce.reproduction import Instance, Reproduction, Step
from checkers.reproduce.schedules.stale_elr_member import LARGE, VALUES
from checkers.systems.system import Ability


def _steps(*, elr: bool) -> tuple[Step, ...]:
    return (
        Step(
            "broker 1 leads, and brokers 2 and 3 are in the ISR",
            create_topic(1, 2, 3, min_insync_replicas="3", unclean_leader_election_enable="false"),
            partition(leader=1, isr=(1, 2, 3)),
        ),
        Step(
            "30 records are acknowledged with acks=all",
            send(*VALUES, key=LARGE),
            acknowledged(*VALUES),
        ),
        Step(
            "the partition is reassigned to brokers 2 and 3; broker 2 leads",
            reassign(2, 3),
            partition(leader=2, isr=(2, 3), elr=(1,) if elr else (), replicas=(2, 3)),
        ),
        Step("broker 1 deletes its replica", nothing, folders(1, r"t-0\..+-delete")),
        Step(
            "broker 2 stops cleanly: broker 3 leads",
            to(Ability.STOP, 2),
            partition(leader=3, isr=(3,), elr=(1, 2) if elr else ()),
        ),
        throttle(3),
        Step(
            "the partition is reassigned to all brokers; broker 1 copies slowly",
            all_of(reassign(1, 2, 3), pause_for(3)),
            partition(leader=3, isr=(3,), replicas=(1, 2, 3), elr_has=1 if elr else None),
        ),
        Step(
            "broker 3 stops cleanly: broker 1 is elected"
            if elr
            else "broker 3 stops cleanly: the partition has no leader",
            to(Ability.STOP, 3),
            partition(leader=1, isr=(1,)) if elr else partition(leader=NO_LEADER, isr=(3,)),
        ),
        Step(
            "the throttle ends, and brokers 3 and 2 return",
            all_of(end_throttle, to(Ability.START, 3, 2)),
            partition(leader=1 if elr else 3, isr=(1, 2, 3)),
            within_s=90,
        ),
        Step("one more record is acknowledged", send("after"), acknowledged("after")),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="removed-replica-elected",
    promise=(
        "Always: records that were acknowledged with acks=all and min.insync.replicas=3, unclean"
        " elections off, survive while no broker fails."
    ),
    because=(
        "A reassignment leaves a removed replica in the ELR, so it can be elected when it is added"
        " again, after its log was deleted."
    ),
    case=elr_case(1, _steps(elr=True)),
    control=elr_case(0, _steps(elr=False)),
    anomalies=("lost-write", "unseen"),
    model=(Instance(spec="reassignment", variant="kafka-4.1", claim="candidate_completeness"),),
    since=(4, 1),
    shown_on="4.1.0",
    page="stale-elr-member",
)
