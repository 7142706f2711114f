"""A static member whose join got no response cannot join again, and its consumer fails.

A consumer with a group.instance.id joins a group. The coordinator adds the member, but the response
is lost. The consumer sends the same request again, with its member id and epoch 0. The coordinator
takes it for another process that wants the place of a static member in use, and answers
UNRELEASED_INSTANCE_ID, which is fatal for the consumer. Until the session of the member expires, no
consumer with this group.instance.id can join, and nobody reads the partitions of the member.
Kafka's pull request 23542 corrects this.

Source: KIP-848; GroupMetadataManager.getOrMaybeSubscribeStaticConsumerGroupMember.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import all_of, create_topic, rules, send
from checkers.reproduce.checks import acknowledged, acted, is_noted, partition
from checkers.reproduce.group_actions import consume, join_group
from checkers.reproduce.reproduction import Case, Instance, Reproduction, Step
from checkers.systems.proxies.rules import CLIENT, DropResponse, Match
from checkers.systems.system import Layout
from reference_impl.wire.messages.apis import Api

LAYOUT: Final = Layout(brokers=1, proxied=True)
JOINS: Final = Match(sender=CLIENT, receiver=1, api=Api.CONSUMER_GROUP_HEARTBEAT, count=1)
REFUSED: Final = "The instance ID is still used by another member in the consumer group"


def _joined(instance: str | None) -> tuple[Step, ...]:
    return (
        Step("broker 1 leads", create_topic(1), partition(leader=1, isr=(1,))),
        Step("a is acknowledged", send("a"), acknowledged("a")),
        Step(
            "a consumer joins the group: the response is lost",
            all_of(rules(lost=DropResponse(of=JOINS)), join_group("c1", instance)),
            acted("lost", 1),
        ),
    )


REPRODUCTION: Final = Reproduction(
    name="static-member-refused",
    promise=(
        "Always: a member of a consumer group that repeats its join, because the response was lost,"
        " gets its partitions."
    ),
    because=(
        "The coordinator compares the group.instance.id of a process that joins with that of the"
        " members, and not its member id."
    ),
    case=Case(
        about="the consumer has a group.instance.id",
        layout=LAYOUT,
        steps=(
            *_joined("i"),
            Step("the consumer joins again, and fails", consume("c1"), is_noted(REFUSED)),
            Step(
                "a new process with the same group.instance.id fails, too",
                all_of(join_group("c2", "i"), consume("c2")),
                is_noted(REFUSED),
            ),
        ),
        breaks=True,
    ),
    control=Case(
        about="the consumer has no group.instance.id",
        layout=LAYOUT,
        steps=(
            *_joined(None),
            Step("the consumer joins again, and reads a", consume("c1"), is_noted("a")),
        ),
        breaks=False,
    ),
    model=(
        Instance(
            spec="consumer-group",
            variant="refuses-own-instance",
            claim="who_is_fenced_comes_back",
        ),
    ),
    since=(4, 0),
    page="static-member-refused",
)
