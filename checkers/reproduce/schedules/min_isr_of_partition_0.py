"""The controller limits min.insync.replicas by the number of replicas of partition 0.

The topic has min.insync.replicas=2. Partition 0 has one replica, and partition 1 has two. So the
controller uses the minimum 1 for both partitions, and partition 1 gets no eligible leader replicas.
Broker 2 stops cleanly with every record of partition 1. Broker 1 is now the last member of the ISR,
and it loses its disk. When both brokers return, broker 1 leads with an empty log, and broker 2
truncates its log.

Source: ReplicationControlManager.getTopicEffectiveMinIsr; KIP-966.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import create_topic, nothing, read, reassign, send
from checkers.reproduce.checks import acknowledged, partition, was_read
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.reproduce.schedules.last_replica_standing import VALUES, broker_1_loses_its_disk
from checkers.systems.system import Layout

LAYOUT: Final = Layout(brokers=2, features={"eligible.leader.replicas.version": 1})


def _steps(*, smaller: bool) -> tuple[Step, ...]:
    return (
        Step(
            "broker 1 leads both partitions, and broker 2 is in the ISR",
            create_topic(1, 2, min_insync_replicas="2", unclean_leader_election_enable="false"),
            partition(leader=1, isr=(1, 2)),
        ),
        Step(
            "partition 0 is reassigned to broker 2 alone",
            reassign(2, partition=0),
            partition(index=0, leader=2, isr=(2,), replicas=(2,)),
        )
        if smaller
        else Step("partition 0 keeps both replicas", nothing, partition(index=0, isr=(1, 2))),
        Step(
            "10 records of partition 1 are acknowledged with acks=all",
            send(*VALUES),
            acknowledged(*VALUES),
        ),
        *broker_1_loses_its_disk(elr=not smaller),
        Step("a consumer reads both partitions to their ends", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="min-isr-of-partition-0",
    promise=(
        "Always: records that were acknowledged with acks=all and min.insync.replicas=2 survive"
        " the loss of one disk, when the other replica stopped cleanly."
    ),
    because=(
        "The controller limits min.insync.replicas by the replicas of partition 0, so a partition"
        " with more replicas gets no eligible leader replicas."
    ),
    case=Case(
        about="partition 0 has one replica, partition 1 has two",
        layout=LAYOUT,
        steps=_steps(smaller=True),
        partitions=2,
    ),
    control=Case(
        about="both partitions have two replicas",
        layout=LAYOUT,
        steps=_steps(smaller=False),
        partitions=2,
    ),
    anomalies=("lost-write", "unseen"),
    model=(
        Instance(spec="election", variant="min-isr-of-partition-0", claim="leader_completeness"),
    ),
    since=(4, 0),
    page="min-isr-of-partition-0",
)
