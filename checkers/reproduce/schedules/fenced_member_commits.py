"""A fenced Java consumer joins its group again in the background, and then commits inputs that
another consumer has processed. The outputs of these inputs are committed twice.

1. The consumer m1 has the record a. Its process is paused, and its session expires. The consumer m2
   gets the partition, and commits the outputs of a and b with the offset 2.
2. The process of m1 goes on. Its background thread learns that it is fenced, and joins the group
   again. This needs no poll if the application has no ConsumerRebalanceListener.
3. The application of m1 has not polled, so it does not know this. It commits the output of a with
   the offset 1 and `groupMetadata()`, which has the new member epoch. The coordinator compares only
   the epoch, and not the partitions of the member.

Source: KIP-447; KIP-848; AbstractMembershipManager.transitionToFenced;
ConsumerGroup.validateOffsetCommit.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, create_topic, nothing, pause_for, send
from checkers.reproduce.checks import acknowledged, done, is_noted, partition
from checkers.reproduce.java_group_actions import (
    OUTPUTS,
    output,
    pause_consumer,
    poll,
    received,
    results,
    resume_consumer,
    start_consumer,
)
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.reproduce.topics import create
from checkers.systems.system import Layout

SHORT_SESSIONS: Final = {
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
}
LAYOUT: Final = Layout(brokers=1, settings=SHORT_SESSIONS)
PIPELINE: Final = {"group_protocol": "consumer", "enable_auto_commit": "false"}


def _steps(*last: Step, **settings: str) -> tuple[Step, ...]:
    return (
        Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
        Step(
            "a, b and c are acknowledged",
            all_of(create(OUTPUTS, 1), send("a", "b", "c")),
            acknowledged("a", "b", "c"),
        ),
        Step(
            "m1 starts, and gets a",
            all_of(start_consumer("m1", transactional_id="x1", **PIPELINE, **settings), poll("m1")),
            received("m1", "a"),
        ),
        Step("m1 is paused", pause_consumer("m1"), done),
        Step(
            "m2 starts, and gets a when the session of m1 has expired",
            all_of(start_consumer("m2", transactional_id="x2", **PIPELINE), poll("m2")),
            received("m2", "a"),
        ),
        Step("m2 gets b", poll("m2"), received("m2", "b")),
        Step(
            "m2 commits the outputs of a and b, with the offset 2",
            output("m2", "a", "b", offset=2),
            is_noted("NONE"),
        ),
        Step("both are in effect", nothing, results("a", "b", offset=2)),
        Step(
            "m1 goes on, and works 10 s on a",
            all_of(resume_consumer("m1"), pause_for(10)),
            done,
        ),
        *last,
    )


REPRODUCTION: Final = Reproduction(
    name="fenced-member-commits",
    promise=(
        "Always: the outputs of a record are committed once, if the application commits its outputs"
        " and its offsets in one transaction, with its group metadata."
    ),
    because=(
        "A fenced consumer joins again in the background, and the coordinator accepts the offset of"
        " any partition from a member with the current epoch."
    ),
    case=Case(
        about="the application has no ConsumerRebalanceListener",
        layout=LAYOUT,
        steps=_steps(
            Step(
                "m1 commits the output of a, with the offset 1",
                output("m1", "a", offset=1),
                is_noted("NONE"),
            ),
            Step("the output of a is there twice", nothing, results("a", "b", "a", offset=1)),
        ),
        breaks=True,
    ),
    control=Case(
        about="the application has a ConsumerRebalanceListener",
        layout=LAYOUT,
        steps=_steps(
            Step(
                "m1 cannot commit the output of a",
                output("m1", "a", offset=1),
                is_noted("CommitFailedException"),
            ),
            Step("the output of a is there once", nothing, results("a", "b", offset=2)),
            listener="true",
        ),
        breaks=False,
    ),
    model=(
        Instance(
            spec="group-offsets",
            variant="rejoins-in-background",
            claim="each_input_once",
        ),
    ),
    since=(4, 0),
    page="fenced-member-commits",
)
