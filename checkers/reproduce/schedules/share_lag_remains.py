"""The lag of a share group counts records that are deleted, although the group has finished every
other record.

1. The group receives a and b. It releases a, and accepts b. The share coordinator stores the start
   offset 0, and a count of one finished record.
2. DeleteRecords deletes a. At the next read, the leader moves its own start offset to the log
   start.
3. The leader writes its start offset only when the state of a record changes, and no record is
   left. So the group coordinator computes the lag from the start offset 0.

Source: KIP-1226; in Kafka 4.3: SharePartition.updateCacheAndOffsets, and
GroupCoordinatorService.describeShareGroupOffsets.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, create_topic, delete_all, send
from checkers.reproduce.checks import acknowledged, done, is_noted, partition
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.reproduce.schedules.accepted_record_returns import ONE_COORDINATOR
from checkers.reproduce.share_actions import (
    accept_record,
    await_answer,
    begin_release,
    configure_group,
    create_share_coordinator,
    describe_lag,
    join,
    receive,
)
from checkers.systems.system import Layout

LAYOUT: Final = Layout(brokers=1, settings=ONE_COORDINATOR)
BEGUN: Final = (
    Step("broker 1 is the share coordinator", create_share_coordinator(1), done),
    Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
    Step(
        "m1 and m2 join a share group that begins at the start of the log",
        all_of(
            configure_group(
                share_auto_offset_reset="earliest", share_record_lock_duration_ms="60000"
            ),
            join("m1", "m2"),
        ),
        done,
    ),
    Step("a and b are acknowledged", send("a", "b"), acknowledged("a", "b")),
    Step("m1 gets a", receive("m1"), is_noted("a, delivery 1")),
    Step("m2 gets b", receive("m2"), is_noted("b, delivery 1")),
    Step("m1 releases a", begin_release("m1", "a"), done),
    Step("the release of a is stored", await_answer("m1"), is_noted("NONE")),
)
ACCEPTED: Final = Step("m2 accepts b, which succeeds", accept_record("m2", "b"), is_noted("NONE"))
DELETED: Final = (
    Step("the record a is deleted", delete_all(1, at=1), is_noted("NONE, low watermark 1")),
    Step(
        "m1 polls for 30 s, and gets no record", receive("m1"), is_noted("no record"), within_s=60
    ),
)


def _lag(start: int, lag: int) -> Step:
    return Step(
        f"the group's lag is {lag}",
        describe_lag(1),
        is_noted(f"start offset {start}, lag {lag}"),
    )


REPRODUCTION: Final = Reproduction(
    name="share-lag-remains",
    promise=(
        "Always: the lag of a share group becomes 0 after the group has finished every record of"
        " the log."
    ),
    because=(
        "A leader stores the start offset of the group only when the state of a record changes, and"
        " not when the log start moves."
    ),
    case=Case(
        about="b is accepted before a is deleted",
        layout=LAYOUT,
        steps=(*BEGUN, ACCEPTED, *DELETED, _lag(0, 1)),
        breaks=True,
    ),
    control=Case(
        about="b is accepted after a is deleted",
        layout=LAYOUT,
        steps=(*BEGUN, *DELETED, ACCEPTED, _lag(1, 0)),
        breaks=False,
    ),
    since=(4, 2),
    page="share-lag-remains",
)
