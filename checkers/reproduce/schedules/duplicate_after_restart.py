"""An idempotent producer's records are appended twice when their leader restarts.

The leader appends two batches, but the responses are lost. The leader restarts from its producer
snapshot, which has only the last batch of each producer. So it does not detect that the first batch
is a retry, and reports a gap in the sequence numbers. The client moves to a new producer epoch and
sends both batches again.

Source: ProducerStateManager.writeSnapshot; ProducerAppendInfo.checkSequence.
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


def _steps(healed: Step) -> tuple[Step, ...]:
    return (
        Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
        Step("r0 is acknowledged", java_send("r0"), acknowledged("r0")),
        Step(
            "answers to produce requests are lost from here",
            rules(lost=DropResponse(of=SENDS, close=False)),
            done,
        ),
        Step("r1 is appended, its answer is lost", java_send("r1"), acted("lost", 1)),
        Step("r2 is appended, its answer is lost", java_send("r2"), acted("lost", 2)),
        healed,
        Step("r1 and r2 are acknowledged", nothing, acknowledged("r1", "r2"), within_s=90),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="duplicate-after-restart",
    promise=(
        "Always: a record that an idempotent producer sends with acks=all, and that is"
        " acknowledged, is in the log once, also through broker failure."
    ),
    because=(
        "The snapshot of a producer keeps only its newest batch, so after a restart the leader"
        " does not recognize the retry of an earlier batch."
    ),
    case=Case(
        about="the broker is killed and starts again",
        layout=LAYOUT,
        steps=_steps(
            Step(
                "the broker is killed and starts again; answers arrive again",
                all_of(lift("lost"), restart(Ability.KILL, 1)),
                partition(leader=1),
                within_s=60,
            )
        ),
    ),
    control=Case(
        about="the broker keeps running",
        layout=LAYOUT,
        steps=_steps(Step("answers arrive again", lift("lost"), done)),
    ),
    anomalies=("duplicate",),
    model=(
        Instance(
            spec="idempotence",
            variant="snapshot-keeps-newest",
            settings=("batches=2", "leader_changes=2", "deletes=false", "gives_up=false"),
            claim="at_most_once",
        ),
    ),
    page="duplicate-after-restart",
)
