"""A group keeps the committed offset of a deleted topic, and skips records of the new one.

The group coordinator deletes the committed offsets of a topic when its broker learns of the
deletion. It never compares the offsets with the topics that exist.

1. A pipeline commits the offset 2 in a transaction. Broker 2 coordinates the group.
2. Broker 2 is killed. Before its session expires, the topic is deleted and created again. Broker 1
   learns of the deletion, but it does not coordinate the group, so it deletes no offset.
3. Broker 1 takes over the group, and reads the offset 2 from `__consumer_offsets`. A commit in a
   transaction has no topic id, and neither has a fetch by name, so the offset counts for the new
   topic.
4. The pipeline starts again, at the third record of the new topic.

Source: in Kafka 4.3: GroupCoordinatorService.handleTopicsDeletion,
OffsetMetadataManager.isMismatchedTopicId, OffsetMetadataManager.commitTransactionalOffset.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import create_topic, delete_topic, nothing, send, to
from checkers.reproduce.checks import acknowledged, deleted, done, is_noted, partition
from checkers.reproduce.committed_offset import has_offset
from checkers.reproduce.group_actions import (
    commit_in_transaction,
    consume,
    coordinates_group,
    create_group_coordinator,
    join_group,
    leave_group,
)
from checkers.reproduce.reproduction import Case, Reproduction, Step
from checkers.systems.apache_kafka.settings import replicated
from checkers.systems.system import Ability, Layout

LAYOUT: Final = Layout(brokers=2, settings={**replicated(2), "offsets.topic.num.partitions": "1"})
BEGUN: Final = (
    Step(
        "broker 2 is the group coordinator",
        create_group_coordinator(2, 1),
        coordinates_group(2, at=1),
    ),
    Step("broker 1 leads the topic", create_topic(1), partition(leader=1)),
    Step("a and b are acknowledged", send("a", "b"), acknowledged("a", "b")),
    Step("the consumer c1 joins the group", join_group("c1"), done),
    Step("c1 receives a", consume("c1"), is_noted("a")),
    Step("c1 receives b", consume("c1"), is_noted("b")),
    Step("c1 commits its position in a transaction", commit_in_transaction("c1"), done),
    Step("the group has the offset 2", nothing, has_offset(2, at=2)),
    Step("c1 leaves the group", leave_group("c1"), done),
)
KILLED: Final = Step("broker 2 is killed", to(Ability.KILL, 2), coordinates_group(2, at=1))
DELETED: Final = Step("the topic is deleted", delete_topic, deleted(at=1))
AGAIN: Final = Step(
    "the topic is created again", create_topic(1), partition(leader=1, replicas=(1,), at=1)
)
RECORDS: Final = Step(
    "c, d and e are acknowledged", send("c", "d", "e"), acknowledged("c", "d", "e")
)
TAKES_OVER: Final = Step("broker 1 is the group coordinator", nothing, coordinates_group(1, at=1))
JOINED: Final = Step("the consumer c2 joins the group", join_group("c2"), done)


REPRODUCTION: Final = Reproduction(
    name="offset-of-deleted-topic",
    promise=(
        "Always: the committed offsets of a deleted topic are deleted, so a group that begins with"
        " the earliest record receives every record of a new topic of this name."
    ),
    because=(
        "A coordinator deletes the offsets of a deleted topic when it learns of the deletion, and"
        " a coordinator that takes over later compares no offset with the topics that exist."
    ),
    case=Case(
        about="the topic is deleted before broker 1 takes over the group",
        layout=LAYOUT,
        steps=(
            *BEGUN,
            KILLED,
            DELETED,
            AGAIN,
            Step("broker 1 does not coordinate yet", nothing, coordinates_group(2, at=1)),
            TAKES_OVER,
            RECORDS,
            Step("the group still has the offset 2", nothing, has_offset(2, at=1)),
            JOINED,
            Step("c2 receives e, and neither c nor d", consume("c2"), is_noted("e")),
        ),
        breaks=True,
    ),
    control=Case(
        about="the topic is deleted after broker 1 has taken over the group",
        layout=LAYOUT,
        steps=(
            *BEGUN,
            KILLED,
            TAKES_OVER,
            Step("broker 1 has loaded the group", nothing, has_offset(2, at=1)),
            DELETED,
            AGAIN,
            RECORDS,
            Step("the group has no offset", nothing, has_offset(None, at=1)),
            JOINED,
            Step("c2 receives c", consume("c2"), is_noted("c")),
        ),
        breaks=False,
    ),
    since=(4, 0),
    page="offset-of-deleted-topic",
)
