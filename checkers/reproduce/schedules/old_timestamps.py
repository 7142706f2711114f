"""A leader forgets an idempotent producer whose records have old timestamps, and appends a retry
again.

A leader forgets a producer when `producer.id.expiration.ms`, a day by default, has passed since the
timestamp of its last batch. The client chooses this timestamp, so the leader may forget a producer
seconds after its batch. A leader that restarts does not load such a producer from its snapshot. It
accepts any sequence of an unknown producer, so it appends the retry of a batch that it has.

Source: ProducerStateManager.isProducerExpired; ProducerAppendInfo.checkSequence.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    create_topic,
    java_send,
    lift,
    nothing,
    read,
    restart,
    rules,
)
from checkers.reproduce.checks import acknowledged, acted, done, partition, was_read
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.proxies.rules import CLIENT, DropResponse, Match
from checkers.systems.system import Ability, Layout
from reference_impl.wire.messages.apis import Api

SENDS: Final = Match(sender=CLIENT, receiver=1, api=Api.PRODUCE)
LAYOUT: Final = Layout(brokers=1, proxied=True)


def _steps(hours_old: int) -> tuple[Step, ...]:
    return (
        Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
        Step(
            "answers to produce requests are lost from here",
            rules(lost=DropResponse(of=SENDS, close=False)),
            done,
        ),
        Step(
            f"r0, whose timestamp is {hours_old} hours old, is appended, its answer is lost",
            java_send("r0", hours_old=hours_old),
            acted("lost", 1),
            within_s=90,  # the producer starts
        ),
        Step(
            "the broker is stopped and starts again; answers arrive again",
            all_of(lift("lost"), restart(Ability.STOP, 1)),
            partition(leader=1),
            within_s=60,
        ),
        Step("r0 is acknowledged", nothing, acknowledged("r0"), within_s=90),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="old-timestamps",
    promise=(
        "Always: a record that an idempotent producer sends with acks=all, and that is"
        " acknowledged, is in the log once, also through broker failure."
    ),
    because=(
        "A leader forgets a producer a day after the timestamp of its last record, which the client"
        " chooses, and accepts any sequence of a producer that it does not know."
    ),
    case=Case(about="the timestamp is two days old", layout=LAYOUT, steps=_steps(48)),
    control=Case(about="the timestamp is an hour old", layout=LAYOUT, steps=_steps(1)),
    anomalies=("duplicate",),
    model=(
        Instance(
            spec="idempotence",
            variant="expires",
            settings=("batches=2", "leader_changes=0", "deletes=false", "gives_up=false"),
            claim="at_most_once",
        ),
    ),
    page="old-timestamps",
)
