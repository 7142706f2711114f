"""Every replica acknowledges a record that is only in its page cache, and all machines lose power.

Source: Kafka documentation, "Application vs. OS Flush Management" and log.flush.interval.messages.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, create_topic, read, send, to
from checkers.reproduce.checks import acknowledged, lost, partition, was_read
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.systems.system import Ability, Layout

VALUES: Final = tuple(f"v{number}" for number in range(10))
LATER: Final = tuple(f"w{number}" for number in range(10))


def _steps(*, flushes: bool) -> tuple[Step, ...]:
    return (
        Step(
            "broker 1 leads, and all three brokers are in the ISR",
            create_topic(1, 2, 3, min_insync_replicas="2", unclean_leader_election_enable="false"),
            partition(leader=1, isr=(1, 2, 3)),
        ),
        Step("10 records are acknowledged with acks=all", send(*VALUES), acknowledged(*VALUES)),
        Step(
            "all brokers lose power",
            all_of(*(to(Ability.LOSE_POWER, broker) for broker in (1, 2, 3))),
            lost(0 if flushes else len(VALUES), 1, 2, 3),
        ),
        Step(
            "all brokers return",
            to(Ability.START, 1, 2, 3),
            partition(isr=(1, 2, 3)),
            within_s=90,
        ),
        Step("10 more records are acknowledged", send(*LATER), acknowledged(*LATER)),
        Step("a consumer reads the partition to its end", read, was_read),
    )


REPRODUCTION: Final = Reproduction(
    name="unflushed-records",
    promise=(
        "Always: a record that was acknowledged with acks=all by three replicas survives the loss"
        " of power on all machines."
    ),
    because=(
        "By default a broker acknowledges a record before it is flushed to the disk, and replicas"
        " that lose power together lose it together."
    ),
    case=Case(about="default flush settings", layout=Layout(), steps=_steps(flushes=False)),
    control=Case(
        about="log.flush.interval.messages=1",
        layout=Layout(settings={"log.flush.interval.messages": "1"}),
        steps=_steps(flushes=True),
    ),
    anomalies=("lost-write",),
)
