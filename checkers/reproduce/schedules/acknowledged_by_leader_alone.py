"""acks=1: a record is acknowledged by the leader alone, and lost with a clean election.

Source: Kafka documentation, acks.
"""

from __future__ import annotations

from typing import Final

from checkers.record.client_config import Acks
from checkers.reproduce.actions import begin_send, create_topic, nothing, read, send, to
from checkers.reproduce.checks import acknowledged, done, partition, unanswered, was_read
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.system import Ability, Layout

# a paused broker must still be in the ISR when it resumes
LAYOUT: Final = Layout(
    brokers=2, settings={"replica.lag.time.max.ms": "15000", "broker.session.timeout.ms": "15000"}
)


def _steps(acks: Acks) -> tuple[Step, ...]:
    return (
        Step(
            "broker 1 leads, and broker 2 is in the ISR",
            create_topic(1, 2, min_insync_replicas="1", unclean_leader_election_enable="false"),
            partition(leader=1, isr=(1, 2)),
        ),
        Step("a is acknowledged with acks=all", send("a"), acknowledged("a")),
        Step("broker 2 is paused", to(Ability.PAUSE, 2), done),
        Step(
            f"b is sent with acks={acks}",
            begin_send("b", acks=acks),
            acknowledged("b") if acks == "1" else unanswered("b"),
        ),
        Step("broker 1 is killed", to(Ability.KILL, 1), done),
        Step(
            "broker 2 resumes: it is elected from the ISR",
            to(Ability.RESUME, 2),
            partition(leader=2, isr=(2,)),
            within_s=60,
        ),
        Step("b is acknowledged", nothing, acknowledged("b")),
        Step("c is acknowledged", send("c"), acknowledged("c")),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="acknowledged-by-leader-alone",
    promise="Always: an acknowledged record survives the death of the leader.",
    because="With acks=1 the leader acknowledges a record that no follower has.",
    case=Case(about="acks=1", layout=LAYOUT, steps=_steps("1")),
    control=Case(about="acks=all", layout=LAYOUT, steps=_steps("all")),
    anomalies=("lost-write",),
    model=(
        Instance(
            spec="election",
            variant="trusts-one-ack",
            settings=("max_unclean=0",),
            claim="leader_completeness",
        ),
    ),
)
