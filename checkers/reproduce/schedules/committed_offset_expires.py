"""A consumer group of KIP-848 loses a committed offset as soon as the group has no members.

1. A consumer commits its offset. It stays a member of the group for longer than the retention time
   of offsets, and commits nothing more, because its partition gets no record.
2. The consumer leaves. The coordinator counts the retention time from the commit. So the next
   cleanup deletes the committed offset.
3. The next consumer of the group begins at `auto.offset.reset`: it reads old records again, or
   skips new ones.

In the control, the group has the classic protocol. Its retention time begins when the group loses
its last member.

Source: KIP-211; Kafka documentation, offsets.retention.minutes; in Kafka 4.3:
ConsumerGroup.offsetExpirationCondition, ClassicGroup.offsetExpirationCondition,
OffsetMetadataManager.cleanupExpiredOffsets.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, create_topic, pause_for, send
from checkers.reproduce.checks import acknowledged, done, is_noted, partition
from checkers.reproduce.committed_offset import has_offset
from checkers.reproduce.group_actions import (
    commit,
    consume,
    join_group,
    leave_group,
)
from checkers.reproduce.group_member import GroupProtocol
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.systems.system import Layout

LAYOUT: Final = Layout(
    brokers=1,
    settings={"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "500"},
)


def _offset(text: str, offset: int | None, after_s: float) -> Step:
    return Step(text, pause_for(after_s), has_offset(offset, at=1), within_s=0)


def _steps(protocol: GroupProtocol, after: Step, received: Step) -> tuple[Step, ...]:
    return (
        Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
        Step("a is acknowledged", send("a"), acknowledged("a")),
        Step(
            "c1 joins the group, and gets a",
            all_of(join_group("c1", protocol=protocol), consume("c1")),
            is_noted("a"),
        ),
        Step("c1 commits its offset", commit("c1"), done),
        _offset("70 s later, the committed offset is 1", 1, after_s=70),
        Step("c1 leaves the group", leave_group("c1"), done),
        after,
        Step("b is acknowledged", send("b"), acknowledged("b")),
        Step(
            received.text,
            all_of(join_group("c2", protocol=protocol), received.do),
            received.happened,
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="committed-offset-expires",
    promise=(
        "Always: a consumer group keeps its committed offsets for offsets.retention.minutes after"
        " it has lost its last member."
    ),
    because=(
        "The coordinator counts the retention time of a committed offset from the commit, and not"
        " from the moment when the group became empty."
    ),
    case=Case(
        about="the group protocol of KIP-848",
        layout=LAYOUT,
        steps=_steps(
            "consumer",
            _offset("10 s later, the group has no committed offset", None, after_s=10),
            Step("c2 joins the group, and gets a again", consume("c2"), is_noted("a")),
        ),
        breaks=True,
    ),
    control=Case(
        about="the classic group protocol",
        layout=LAYOUT,
        steps=_steps(
            "classic",
            _offset("10 s later, the committed offset is still 1", 1, after_s=10),
            Step("c2 joins the group, and gets b", consume("c2"), is_noted("b")),
        ),
        breaks=False,
    ),
    since=(4, 0),
    page="committed-offset-expires",
)
