"""A leader that was replaced and elected again acknowledges a record that no other replica has.

1. Broker 1 leads and appends the record b. Broker 3 copies b, but broker 2 does not.
2. Broker 2 is elected, and appends the record c. Broker 3 truncates b and copies c. Broker 1 does
   not receive this metadata.
3. Broker 2 dies, and broker 1 is elected. Broker 1 now receives both elections in one delta of the
   metadata. It led before and leads after this delta, so it does not reset the fetch offsets
   of its followers. It still believes that broker 3 has b.
4. Broker 1 advances its high watermark, and acknowledges b. After that, broker 1 dies, broker
   3 is elected, and b is lost.

Source: Partition.makeLeader; Replica.resetReplicaState; KAFKA-7164.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    begin_send,
    create_topic,
    elect_preferred,
    lift,
    nothing,
    pause_for,
    read,
    reassign,
    rules,
    send,
    send_to,
    to,
)
from checkers.reproduce.checks import (
    acknowledged,
    copied,
    done,
    partition,
    was_read,
)
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.systems.apache_kafka.addresses import CONTROLLER
from checkers.systems.proxies.rules import Hold, Match
from checkers.systems.system import Ability, Layout
from reference_impl.wire.messages.apis import Api

LAYOUT: Final = Layout(
    brokers=3,
    proxied=True,
    settings={
        "replica.lag.time.max.ms": "60000",  # no replica leaves the ISR because it is slow
        # a broker waits for late metadata, instead of asking the controller again
        "controller.quorum.request.timeout.ms": "60000",
        "controller.quorum.fetch.timeout.ms": "60000",
    },
)
METADATA: Final = Hold(of=Match(sender=1, receiver=CONTROLLER, api=Api.FETCH), part="response")
FETCHES_OF_2: Final = Hold(of=Match(sender=2, receiver=1, api=Api.FETCH), part="request")
FETCHES_OF_3: Final = Hold(of=Match(sender=3, receiver=1, api=Api.FETCH), part="request")

B_IS_SENT_AGAIN: Final = Step(
    "broker 1 follows broker 2, and the client sends b to broker 2", nothing, acknowledged("b")
)


def _steps(*, late: bool) -> tuple[Step, ...]:
    return (
        Step(
            "broker 1 leads, and all brokers are in the ISR",
            create_topic(1, 2, 3, min_insync_replicas="2", unclean_leader_election_enable="false"),
            partition(leader=1, isr=(1, 2, 3)),
        ),
        Step(
            "broker 2 becomes the preferred leader",
            reassign(2, 1, 3),
            partition(leader=1, isr=(1, 2, 3), preferred=2),
        ),
        Step("a is acknowledged with acks=all", send("a"), acknowledged("a")),
        Step(
            "broker 1 receives no more metadata, and broker 2 copies no more"
            if late
            else "broker 2 copies no more",
            all_of(
                rules(metadata=METADATA) if late else nothing,
                rules(two=FETCHES_OF_2),
                pause_for(2),  # requests that wait are answered
            ),
            done,
        ),
        Step("broker 1 appends b, and broker 3 copies it", begin_send("b"), copied("b", 1, 3)),
        Step(
            "broker 2 is elected, and broker 3 follows it",
            elect_preferred(2),
            partition(leader=2, isr=(1, 2, 3), at=3),
        ),
        Step(
            "broker 2 appends c, and broker 3 copies it",
            send_to(2, "c"),
            copied("c", 2, 3),
        ),
        *(() if late else (B_IS_SENT_AGAIN,)),
        Step(
            "broker 2 is killed: broker 1 is elected",
            all_of(rules(three=FETCHES_OF_3), to(Ability.KILL, 2)),
            partition(leader=1, isr=(1, 3), at=3),
        ),
        Step(
            "broker 1 learns of both elections, and acknowledges b",
            lift("metadata"),
            acknowledged("b"),
        )
        if late
        else Step("broker 1 leads", nothing, partition(leader=1, at=1)),
        Step(
            "broker 1 is killed: broker 3 is elected",
            to(Ability.KILL, 1),
            partition(leader=3, at=3),
            within_s=60,
        ),
        Step(
            "brokers 1 and 2 return",
            all_of(lift(), to(Ability.START, 1, 2)),
            partition(isr=(1, 2, 3), at=3),
            within_s=90,
        ),
        Step("one more record is acknowledged", send("after"), acknowledged("after")),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="leader-trusts-old-fetches",
    promise=(
        "Always: a record that was acknowledged with acks=all, unclean elections off, survives"
        " while one member of the ISR has it."
    ),
    because=(
        "A leader that learns of its replacement and of its next election at once keeps the fetched"
        " offsets of its followers, which truncated their logs in between."
    ),
    case=Case(
        about="broker 1 learns of both elections at once",
        layout=LAYOUT,
        steps=_steps(late=True),
    ),
    control=Case(about="broker 1 learns of each election", layout=LAYOUT, steps=_steps(late=False)),
    anomalies=("inconsistent-offsets", "lost-write", "unseen"),
    since=(3, 9),
    page="leader-trusts-old-fetches",
)
