"""A raised min.insync.replicas makes an election lose records that were acknowledged before.

The controller applies the new minimum, 2, at once. The leader applies it later, when it receives
the metadata. Before that, the leader removes broker 2 from the ISR, and the controller puts broker
2 into the ELR. With the old minimum, 1, the leader acknowledges a record that only the leader has.
When the leader dies, broker 2 is elected without this record.

Source: PartitionChangeBuilder.maybePopulateTargetElr; Partition.maybeIncrementLeaderHW; KIP-966.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    begin_send,
    lift,
    nothing,
    pause_for,
    read,
    rules,
    send,
    set_config,
    to,
)
from checkers.reproduce.checks import acknowledged, done, partition, unanswered, was_read
from checkers.reproduce.common_steps import two_replicas
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.administration import TOPIC_RESOURCE
from checkers.systems.apache_kafka.addresses import CONTROLLER
from checkers.systems.proxies.rules import Cut, Hold, Match
from checkers.systems.system import Ability, Layout
from reference_impl.wire.messages.apis import Api

LAYOUT: Final = Layout(
    brokers=2,
    proxied=True,
    features={"eligible.leader.replicas.version": 1},
    settings={
        "replica.lag.time.max.ms": "2000",
        # a broker waits for late metadata, instead of a new request to the controller
        "controller.quorum.request.timeout.ms": "60000",
        "controller.quorum.fetch.timeout.ms": "60000",
    },
)
METADATA: Final = Hold(of=Match(sender=1, receiver=CONTROLLER, api=Api.FETCH), part="response")


def _steps(*, late: bool) -> tuple[Step, ...]:
    return (
        two_replicas(min_insync_replicas="1", unclean_leader_election_enable="false"),
        Step("a is acknowledged with acks=all", send("a"), acknowledged("a")),
        Step(
            "broker 1 receives no more metadata",
            all_of(rules(metadata=METADATA), pause_for(2)),  # a request that waits is answered
            done,
        )
        if late
        else Step("broker 1 receives metadata", nothing, done),
        Step(
            "min.insync.replicas is raised to 2",
            all_of(set_config(TOPIC_RESOURCE, "t", "min.insync.replicas", "2"), pause_for(1)),
            partition(isr=(1, 2), at=2),
        ),
        Step(
            "broker 1 appends b, and broker 2 cannot fetch: it leaves the ISR, and is eligible",
            all_of(
                rules(one=Cut(sender=1, receiver=2), two=Cut(sender=2, receiver=1)),
                begin_send("b"),
            ),
            partition(leader=1, isr=(1,), elr=(2,), at=2),
        ),
        Step("broker 1 acknowledges b", nothing, acknowledged("b"))
        if late
        else Step("broker 1 does not acknowledge b", nothing, unanswered("b", for_s=3.0)),
        Step(
            "broker 1 is killed: broker 2 is elected",
            to(Ability.KILL, 1),
            partition(leader=2, isr=(2,), at=2),
        ),
        Step(
            "broker 1 returns",
            all_of(lift(), to(Ability.START, 1)),
            partition(leader=2, isr=(1, 2), at=2),
            within_s=60,
        ),
        Step("one more record is acknowledged", send("after"), acknowledged("after")),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="raised-min-isr",
    promise=(
        "Always: a record that was acknowledged with acks=all, unclean elections off, survives"
        " while one member of the ISR has it."
    ),
    because=(
        "The controller fills the ELR by the new minimum while the leader still acknowledges by the"
        " old one."
    ),
    case=Case(
        about="the leader hears late that the minimum was raised",
        layout=LAYOUT,
        steps=_steps(late=True),
    ),
    control=Case(about="the leader hears it at once", layout=LAYOUT, steps=_steps(late=False)),
    anomalies=("lost-write", "unseen"),
    model=(
        Instance(
            spec="election",
            variant="answers-without-min-isr",
            claim="leader_completeness",
            settings=("min_isr=1", "other_min_isr=2", "max_changes=1"),
        ),
    ),
    since=(4, 0),
    page="raised-min-isr",
)
