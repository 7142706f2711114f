"""After an election, consumers read another record at the offset of a deleted record.

1. Broker 1 leads and is cut off. It appends k0 at offset 0, but k0 is not acknowledged.
2. Broker 2 is elected, and appends k1 at offset 0. The record k1 is acknowledged, read by a
   consumer, and deleted. So the log of broker 2 starts at offset 1.
3. Broker 1 follows broker 2, and should truncate k0. But the epoch cache of broker 2 no longer has
   the leader epoch of k0. Broker 2 answers that this epoch ends at its log start, offset 1. So
   broker 1 sees no divergence, and joins the ISR with k0.
4. A fetch response would move the log start of broker 1 to offset 1, but all responses are lost.
   Broker 2 dies, broker 1 leads, and a consumer reads k0 at offset 0.

Source: LeaderEpochFileCache.endOffsetFor; Partition.isFollowerInSync; KIP-107.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import (
    all_of,
    delete_records,
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
from checkers.reproduce.checks import acknowledged, acted, done, partition, refused, was_read
from checkers.reproduce.common_steps import two_replicas
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.proxies.rules import Cut, Hold, Match
from checkers.systems.system import Ability, Layout
from reference_impl.wire.messages.apis import Api

LAYOUT: Final = Layout(brokers=2, proxied=True, settings={"replica.lag.time.max.ms": "6000"})
ANSWERS: Final = Hold(of=Match(sender=1, receiver=2, api=Api.FETCH), part="response")


def _steps(*, answers_lost: bool) -> tuple[Step, ...]:
    joined = partition(leader=2, isr=(1, 2), at=2)
    return (
        two_replicas(min_insync_replicas="1", unclean_leader_election_enable="false"),
        Step(
            "broker 2 becomes the preferred leader",
            reassign(2, 1),
            partition(leader=1, isr=(1, 2), preferred=2),
        ),
        Step(
            "brokers 1 and 2 receive nothing from each other",
            rules(one=Cut(sender=1, receiver=2), two=Cut(sender=2, receiver=1)),
            done,
        ),
        Step(
            "broker 1 appends k0 and does not acknowledge it",
            send_to(1, "k0"),
            refused("k0", "REQUEST_TIMED_OUT"),
        ),
        Step(
            "broker 2 is elected",
            elect_preferred(1),
            partition(leader=2, isr=(2,), at=2),
        ),
        Step("k1 is acknowledged with acks=all", send("k1"), acknowledged("k1")),
        Step("a consumer reads k1", read, was_read),
        Step("the records before offset 1 are deleted", delete_records(1, at=2), done),
        Step(
            "broker 1 fetches, and its requests arrive but no answers",
            all_of(rules(answers=ANSWERS), lift("one", "two")),
            acted("answers", 1),
        )
        if answers_lost
        else Step("broker 1 fetches, and answers arrive", lift("one", "two"), done),
        Step("broker 1 is in the ISR", nothing if answers_lost else pause_for(2), joined),
        Step(
            "broker 2 is killed: broker 1 leads",
            to(Ability.KILL, 2),
            partition(leader=1, isr=(1,), at=1),
            within_s=60,
        ),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="deleted-record-returns",
    promise="Always: an offset of a log identifies one record.",
    because=(
        "A leader that has deleted the records of an epoch does not notice that a follower's log"
        " diverges there, and lets the follower join the ISR."
    ),
    case=Case(
        about="answers to broker 1 are lost until it leads",
        layout=LAYOUT,
        steps=_steps(answers_lost=True),
    ),
    control=Case(
        about="answers to broker 1 arrive", layout=LAYOUT, steps=_steps(answers_lost=False)
    ),
    anomalies=("inconsistent-offsets",),
    model=(
        Instance(
            spec="retention",
            variant="kafka-4.3",
            claim="latest_values_are_kept",
        ),
    ),
    page="deleted-record-returns",
)
