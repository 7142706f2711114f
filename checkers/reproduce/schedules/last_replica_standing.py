"""The last member of the ISR loses its disk, and is still elected, with an empty log.

Two replicas have every acknowledged record. One replica stops cleanly. The second replica is now
the last member of the ISR, and it loses its disk. Without eligible leader replicas (ELR), the
controller can elect only the last member of the ISR. So the replica that stopped cleanly has to
truncate its log.

Source: KIP-966, "Motivation".
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, read, send, to
from checkers.reproduce.checks import acknowledged, done, partition, was_read
from checkers.reproduce.common_steps import two_replicas
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.system import Ability, Layout

VALUES: Final = tuple(f"v{number}" for number in range(10))


def _steps(*, elr: bool) -> tuple[Step, ...]:
    return (
        two_replicas(min_insync_replicas="2", unclean_leader_election_enable="false"),
        Step("10 records are acknowledged with acks=all", send(*VALUES), acknowledged(*VALUES)),
        *broker_1_loses_its_disk(elr=elr),
        Step("a consumer reads the partition to its end", read, was_read),
    )


def broker_1_loses_its_disk(*, elr: bool) -> tuple[Step, ...]:
    """Returns the steps in which broker 2 stops cleanly, broker 1 loses its disk, and both brokers
    start again. The last step sends one more record.

    If `elr` is true, the cluster has eligible leader replicas, and broker 2 must be elected.
    Otherwise, broker 1 must be elected.
    """
    # Broker 2 stops cleanly before the loss. It can be elected only if it is an eligible leader
    # replica.
    leads = 2 if elr else 1
    return (
        Step(
            "broker 2 stops cleanly",
            to(Ability.STOP, 2),
            partition(leader=1, isr=(1,), elr=(2,) if elr else ()),
        ),
        Step(
            "broker 1 is killed and loses its disk",
            all_of(to(Ability.KILL, 1), to(Ability.WIPE, 1)),
            done,
        ),
        Step(
            f"brokers 1 and 2 return: broker {leads} is elected",
            to(Ability.START, 2, 1),
            partition(leader=leads, isr=(1, 2)),
            within_s=90,
        ),
        Step("one more record is acknowledged", send("after"), acknowledged("after")),
    )


REPRODUCTION: Final = Reproduction(
    name="last-replica-standing",
    promise=(
        "Always: records that were acknowledged with acks=all and min.insync.replicas=2 survive"
        " the loss of one disk."
    ),
    because=(
        "Without eligible leader replicas only the last member of the ISR can lead, and it leads"
        " with an empty disk."
    ),
    case=Case(
        about="eligible.leader.replicas.version=0, as before Kafka 4.1",
        layout=Layout(brokers=2, features={"eligible.leader.replicas.version": 0}),
        steps=_steps(elr=False),
    ),
    control=Case(
        about="eligible.leader.replicas.version=1",
        layout=Layout(brokers=2, features={"eligible.leader.replicas.version": 1}),
        steps=_steps(elr=True),
    ),
    anomalies=("lost-write", "unseen"),
    model=(Instance(spec="election", variant="before-elr", claim="leader_completeness"),),
    since=(4, 0),
)
