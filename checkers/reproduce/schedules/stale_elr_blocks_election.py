"""A removed replica in the ELR prevents every election: a partition has no leader, although all its
replicas are up.

A reassignment removes broker 1 from the replicas but not from the ELR. Both remaining replicas are
killed and return. Their crashes remove them from the ELR. Broker 1 cannot be elected, because it is
not a replica. The last known leader cannot be elected either, because the ELR is not empty.

Source: PartitionChangeBuilder.maybePopulateTargetElr;
PartitionChangeBuilder.canElectLastKnownLeader; KIP-966.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import create_topic, pause_for, reassign, send, to
from checkers.reproduce.checks import acknowledged, partition
from checkers.reproduce.partition_state import NO_LEADER
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.systems.system import Ability, Layout

LAYOUT: Final = Layout(features={"eligible.leader.replicas.version": 1})
SETTINGS: Final = {"min_insync_replicas": "2", "unclean_leader_election_enable": "false"}
WAITED_S: Final = 15.0


def _crashes(*, stale: bool) -> tuple[Step, ...]:
    # With `stale`, the ELR still has the removed replica, so no broker can be elected.
    return (
        Step(
            "broker 3 is killed: the partition has no leader",
            to(Ability.KILL, 3),
            partition(leader=NO_LEADER, isr=(), at=1),
        ),
        Step(
            "brokers 2 and 3 return: no broker is elected"
            if stale
            else "brokers 2 and 3 return: broker 3 is elected",
            to(Ability.START, 2, 3),
            partition(leader=NO_LEADER, isr=(), elr=(1,), at=1)
            if stale
            else partition(leader=3, isr=(2, 3), at=1),
            within_s=90,
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="stale-elr-blocks-election",
    promise="Always: a partition has a leader after all of its replicas have returned.",
    because=(
        "A reassignment leaves a removed replica in the ELR, and the last known leader is elected"
        " only if the ELR is empty."
    ),
    case=Case(
        about="a reassignment removes broker 1 while broker 2 is down",
        layout=LAYOUT,
        steps=(
            Step("broker 1 leads", create_topic(1, 2, **SETTINGS), partition(leader=1, isr=(1, 2))),
            Step("a is acknowledged with acks=all", send("a"), acknowledged("a")),
            Step(
                "broker 2 is killed", to(Ability.KILL, 2), partition(leader=1, isr=(1,), elr=(2,))
            ),
            Step(
                "the partition is reassigned to brokers 2 and 3; broker 3 leads",
                reassign(2, 3),
                partition(leader=3, isr=(3,), elr=(1, 2), replicas=(2, 3)),
            ),
            *_crashes(stale=True),
            Step(
                f"after {WAITED_S:.0f} s more, the partition still has no leader",
                pause_for(WAITED_S),
                partition(leader=NO_LEADER, isr=(), elr=(1,), replicas=(2, 3), at=2),
            ),
        ),
        breaks=True,
    ),
    control=Case(
        about="the partition is on brokers 2 and 3 from the start",
        layout=LAYOUT,
        steps=(
            Step("broker 3 leads", create_topic(3, 2, **SETTINGS), partition(leader=3, isr=(2, 3))),
            Step("a is acknowledged with acks=all", send("a"), acknowledged("a")),
            Step(
                "broker 2 is killed", to(Ability.KILL, 2), partition(leader=3, isr=(3,), elr=(2,))
            ),
            *_crashes(stale=False),
        ),
        breaks=False,
    ),
    since=(4, 3),  # before, a reassignment waited for every target replica to join the ISR
    page="stale-elr-member",
)
