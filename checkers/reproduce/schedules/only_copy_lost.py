"""With min.insync.replicas=1, a record is acknowledged while it has only one copy, and the disk
with this copy is lost.

Source: Kafka documentation, min.insync.replicas.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, begin_send, create_topic, nothing, read, send, to
from checkers.reproduce.checks import acknowledged, done, partition, unanswered, was_read
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.systems.system import Ability, Layout

LAYOUT: Final = Layout(brokers=2, features={"eligible.leader.replicas.version": 1})


def _steps(minimum: str) -> tuple[Step, ...]:
    alone = minimum == "1"
    return (
        Step(
            f"broker 1 leads, and broker 2 is in the ISR, with min.insync.replicas={minimum}",
            create_topic(1, 2, min_insync_replicas=minimum, unclean_leader_election_enable="false"),
            partition(leader=1, isr=(1, 2)),
        ),
        Step("a is acknowledged with acks=all", send("a"), acknowledged("a")),
        Step(
            "broker 2 stops cleanly",
            to(Ability.STOP, 2),
            partition(leader=1, isr=(1,), elr=() if alone else (2,)),
        ),
        Step(
            "b is sent with acks=all",
            begin_send("b", acks="all"),
            acknowledged("b") if alone else unanswered("b"),
        ),
        Step(
            "broker 1 is killed and loses its disk",
            all_of(to(Ability.KILL, 1), to(Ability.WIPE, 1)),
            done,
        ),
        Step(
            "brokers 1 and 2 return",
            to(Ability.START, 2, 1),
            partition(leader=1 if alone else 2, isr=(1, 2)),
            within_s=90,
        ),
        Step("b is acknowledged", nothing, acknowledged("b")),
        Step("c is acknowledged", send("c"), acknowledged("c")),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="only-copy-lost",
    promise="Always: a record that was acknowledged with acks=all survives the loss of one disk.",
    because="With min.insync.replicas=1 the leader acknowledges a record that it alone has.",
    case=Case(about="min.insync.replicas=1", layout=LAYOUT, steps=_steps("1")),
    control=Case(about="min.insync.replicas=2", layout=LAYOUT, steps=_steps("2")),
    anomalies=("lost-write",),
    since=(4, 0),
)
