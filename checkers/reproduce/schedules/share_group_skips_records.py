"""A share group skips the records that are appended while it has no member, as long as it has not
acknowledged a record.

1. A member joins a share group, and polls. The leader chooses the start offset of the group:
   `share.auto.offset.reset` is `latest` by default, so it is the end of the log. The leader does
   not write this start offset to the share coordinator.
2. The member leaves, and the leader forgets the start offset. The record a is appended.
3. Another member joins, and polls. The leader reads no start offset from the share coordinator. So
   it chooses a start offset again: the end of the log, which is after a.

In the control, a member accepts a record before it leaves. The first acknowledgement, release or
lock timeout stores the start offset.

Source: KIP-932, in Kafka 4.3: SharePartition.maybeInitialize,
SharePartition.startOffsetDuringInitialization, ShareGroupListenerImpl.onGroupEmpty.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import create_topic, send
from checkers.reproduce.checks import acknowledged, done, is_noted, partition
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.reproduce.schedules.accepted_record_returns import ONE_COORDINATOR
from checkers.reproduce.share_actions import (
    accept_record,
    create_share_coordinator,
    leave,
    receive,
)
from checkers.systems.system import Layout

BECAUSE: Final = (
    "The leader chooses the start offset of the group, and does not store it. As long as no"
    " acknowledgement has stored one, it is chosen again."
)


def sent(value: str) -> Step:
    return Step(f"{value} is acknowledged", send(value), acknowledged(value))


def gets(member: str, value: str, text: str) -> Step:
    return Step(text, receive(member), is_noted(f"{value}, delivery 1"))


def gets_nothing(member: str) -> Step:
    return Step(
        f"{member} joins the share group, polls for 30 s, and gets no record",
        receive(member),
        is_noted("no record"),
        within_s=60,
    )


ACCEPTED_BEFORE: Final = (
    sent("z"),
    gets("m1", "z", "m1 gets z"),
    Step("m1 accepts z, which succeeds", accept_record("m1", "z"), is_noted("NONE")),
)
BEGUN: Final = (
    Step("broker 1 is the share coordinator", create_share_coordinator(1), done),
    Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
    gets_nothing("m1"),
)
SKIPS_A: Final = (
    gets_nothing("m2"),
    sent("b"),
    gets("m2", "b", "m2 gets b, and a is skipped"),
)
NO_MEMBER: Final = (Step("m1 leaves the group", leave("m1"), done), sent("a"))
LAYOUT: Final = Layout(brokers=1, settings=ONE_COORDINATOR)


REPRODUCTION: Final = Reproduction(
    name="share-group-skips-records",
    promise=(
        "Always: a share group gets each record that is appended after the group has begun to read"
        " the partition."
    ),
    because=BECAUSE,
    case=Case(
        about="the group has acknowledged no record",
        layout=LAYOUT,
        steps=(
            *BEGUN,
            *NO_MEMBER,
            *SKIPS_A,
        ),
        breaks=True,
    ),
    control=Case(
        about="m1 has accepted a record before it leaves",
        layout=LAYOUT,
        steps=(
            *BEGUN,
            *ACCEPTED_BEFORE,
            *NO_MEMBER,
            gets("m2", "a", "m2 joins the share group, and gets a"),
        ),
        breaks=False,
    ),
    since=(4, 2),
    page="share-group-skips-records",
)
