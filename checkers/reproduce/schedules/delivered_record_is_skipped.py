"""A share group never gets a record again that a member had and did not acknowledge, because the
leader crashed.

1. A share group begins at the end of the log, which is the default. The record a is appended, and
   the member m1 gets it.
2. The leader crashes before any acknowledgement. So the share coordinator has no start offset.
3. The next leader chooses the end of the log as the start offset, which is after a.

In the control, m1 accepts an earlier record. This stores the start offset of the group.

Source: KIP-932, in Kafka 4.3: SharePartition.maybeInitialize,
SharePartition.startOffsetDuringInitialization.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import create_topic, to
from checkers.reproduce.checks import done, partition
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.reproduce.schedules.accepted_record_returns import ONE_COORDINATOR
from checkers.reproduce.schedules.share_group_skips_records import (
    ACCEPTED_BEFORE,
    BECAUSE,
    SKIPS_A,
    gets,
    gets_nothing,
    sent,
)
from checkers.reproduce.share_actions import create_share_coordinator
from checkers.systems.system import Ability, Layout

BEGUN: Final = (
    Step("broker 2 is the share coordinator", create_share_coordinator(2), done),
    Step("broker 1 leads", create_topic(1, 2), partition(leader=1, isr=(1, 2))),
    gets_nothing("m1"),
)
CRASH: Final = (
    sent("a"),
    gets("m1", "a", "m1 gets a"),
    Step("broker 1 is killed: broker 2 leads", to(Ability.KILL, 1), partition(leader=2)),
)
LAYOUT: Final = Layout(brokers=2, settings=ONE_COORDINATOR)


REPRODUCTION: Final = Reproduction(
    name="delivered-record-is-skipped",
    promise=(
        "Always: a share group gets a record again if a member had the record and did not"
        " acknowledge it."
    ),
    because=BECAUSE,
    case=Case(
        about="the group has acknowledged no record",
        layout=LAYOUT,
        steps=(
            *BEGUN,
            *CRASH,
            *SKIPS_A,
        ),
        breaks=True,
    ),
    control=Case(
        about="m1 has accepted a record before",
        layout=LAYOUT,
        steps=(
            *BEGUN,
            *ACCEPTED_BEFORE,
            *CRASH,
            gets("m2", "a", "m2 joins the share group, and gets a"),
        ),
        breaks=False,
    ),
    model=(
        Instance(
            spec="share-group",
            variant="start-offset-is-not-stored",
            settings=("members=1", "records=1", "max_failures=0", "max_deleted=0"),
            claim="no_record_is_skipped",
        ),
    ),
    since=(4, 2),
    page="share-group-skips-records",
)
