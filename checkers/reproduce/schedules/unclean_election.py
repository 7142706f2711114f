"""An unclean election loses records that were acknowledged with acks=all.

Source: Kafka documentation, unclean.leader.election.enable; KIP-106.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import read, send, to
from checkers.reproduce.checks import acknowledged, done, partition, was_read
from checkers.reproduce.common_steps import two_replicas
from checkers.reproduce.partition_state import NO_LEADER
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.system import Ability, Layout

LAYOUT: Final = Layout(brokers=2)


def _steps(*, unclean: bool) -> tuple[Step, ...]:
    allowed = "true" if unclean else "false"
    return (
        two_replicas(min_insync_replicas="1", unclean_leader_election_enable=allowed),
        Step("a is acknowledged with acks=all", send("a"), acknowledged("a")),
        Step("broker 2 is killed", to(Ability.KILL, 2), partition(leader=1, isr=(1,))),
        Step("b is acknowledged with acks=all", send("b"), acknowledged("b")),
        Step("broker 1 is killed", to(Ability.KILL, 1), done),
        Step(
            "broker 2 returns: it is elected without b",
            to(Ability.START, 2),
            partition(leader=2, isr=(2,)),
            within_s=60,
        )
        if unclean
        else Step(
            "broker 2 returns: it is not elected",
            to(Ability.START, 2),
            partition(leader=NO_LEADER),
            within_s=60,
        ),
        Step(
            "broker 1 returns",
            to(Ability.START, 1),
            partition(leader=2 if unclean else 1, isr=(1, 2)),
            within_s=60,
        ),
        Step("c is acknowledged", send("c"), acknowledged("c")),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="unclean-election",
    promise="Always: a record acknowledged with acks=all is kept, as long as no disk is lost.",
    because="A replica outside the ISR becomes leader, and the records that it lacks are lost.",
    case=Case(
        about="unclean.leader.election.enable=true", layout=LAYOUT, steps=_steps(unclean=True)
    ),
    control=Case(
        about="unclean.leader.election.enable=false", layout=LAYOUT, steps=_steps(unclean=False)
    ),
    anomalies=("lost-write",),
    model=(
        Instance(
            spec="election",
            variant="elects-anybody",
            settings=("max_unclean=0", "min_isr=1"),
            claim="leader_completeness",
        ),
    ),
)
