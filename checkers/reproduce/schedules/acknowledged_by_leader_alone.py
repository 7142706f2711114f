"""With acks=1, a leader acknowledges a record that no other replica has. A clean election then
loses the record.

Source: Kafka documentation, acks; KAFKA-20554.
"""

from __future__ import annotations

from typing import Final

from checkers.client_config import Acks
from checkers.reproduce.actions import begin_send, nothing, read, rules, send, to
from checkers.reproduce.checks import acknowledged, acted, done, partition, unanswered, was_read
from checkers.reproduce.common_steps import two_replicas
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.proxies.rules import DropResponse, Match
from checkers.systems.system import Ability, Layout
from reference_impl.wire.messages.apis import Api

# broker 2 receives nothing for some seconds and must still be in the ISR
LAYOUT: Final = Layout(brokers=2, proxied=True, settings={"replica.lag.time.max.ms": "15000"})
FETCHES: Final = Match(sender=2, receiver=1, api=Api.FETCH)


def _steps(acks: Acks) -> tuple[Step, ...]:
    return (
        two_replicas(min_insync_replicas="1", unclean_leader_election_enable="false"),
        Step("a is acknowledged with acks=all", send("a"), acknowledged("a")),
        Step(
            "answers to the fetches of broker 2 are lost",
            rules(lost=DropResponse(of=FETCHES)),
            acted("lost", 1),
        ),
        Step(
            f"b is sent with acks={acks}",
            begin_send("b", acks=acks),
            acknowledged("b") if acks == "1" else unanswered("b"),
        ),
        Step("broker 1 is killed", to(Ability.KILL, 1), done),
        Step("broker 2 is elected from the ISR", nothing, partition(leader=2, isr=(2,))),
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
