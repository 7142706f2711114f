"""KAFKA-15591: a leader accepts any sequence number from a producer that it does not know.

The leader refuses batch 0 of a new producer, because the ISR is too small. Batch 1 arrives when the
ISR is complete again, and is appended. The leader then refuses the retries of batch 0 as out of
order. After a time without batches, the leader forgets the producer, and accepts batch 0. So batch
0 comes after batch 1 in the log.

Source: KAFKA-15591; ProducerAppendInfo.checkSequence.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, java_send, lift, nothing, read, rules, to
from checkers.reproduce.checks import acknowledged, acted, done, partition, was_read
from checkers.reproduce.common_steps import two_replicas
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.proxies.rules import CLIENT, Hold, Match
from checkers.systems.system import Ability, Layout
from reference_impl.wire.messages.apis import Api

EXPIRY: Final = {
    "producer.id.expiration.ms": "20000",
    "producer.id.expiration.check.interval.ms": "1000",
}
LAYOUT: Final = Layout(brokers=2, proxied=True, settings=EXPIRY)
ONE_SEND: Final = Match(sender=CLIENT, receiver=1, api=Api.PRODUCE, count=1)


def _steps(*known: Step) -> tuple[Step, ...]:
    return (
        two_replicas(min_insync_replicas="2"),
        *known,
        Step("broker 2 is paused", to(Ability.PAUSE, 2), partition(leader=1, isr=(1,))),
        Step(
            "a is refused for the small ISR, and the answer is late",
            all_of(rules(answer=Hold(of=ONE_SEND, part="response")), java_send("a")),
            acted("answer", 1),
            within_s=60,
        ),
        Step(
            "b is sent, and the request is late",
            all_of(rules(request=Hold(of=ONE_SEND)), java_send("b", joins=True)),
            acted("request", 1),
        ),
        Step("the answer to a arrives: the producer sends a again", lift("answer"), done),
        Step("broker 2 resumes", to(Ability.RESUME, 2), partition(leader=1, isr=(1, 2))),
        Step("the request of b arrives", lift("request"), acknowledged("b")),
        Step("a is acknowledged", nothing, acknowledged("a"), within_s=90),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="reordered-batches",
    promise=(
        "Always: the records that an idempotent producer sends to a partition are appended in the"
        " order in which it sent them."
    ),
    because=(
        "A leader that does not know the producer accepts any first sequence, so the second of two"
        " batches is appended without the first."
    ),
    case=Case(about="the leader does not know the producer", layout=LAYOUT, steps=_steps()),
    control=Case(
        about="the leader knows the producer",
        layout=LAYOUT,
        steps=_steps(Step("z is acknowledged", java_send("z"), acknowledged("z"), within_s=60)),
    ),
    anomalies=("int-nonmonotonic-send",),
    page="reordered-batches",
    model=(
        Instance(
            spec="idempotence",
            variant="kip-360",
            settings=("batches=2", "leader_changes=0", "deletes=false", "gives_up=false"),
            claim="in_order_without_gaps",
        ),
    ),
)
