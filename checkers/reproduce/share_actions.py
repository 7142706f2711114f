"""Actions on a share group, for reproductions on real brokers. A member joins the group at its
first action.
"""

from __future__ import annotations

from typing import Final

from checkers.reproduce.actions import Do
from checkers.reproduce.share_member import GROUP, WITHIN_S
from checkers.reproduce.stage import Stage
from checkers.reproduce.topics import create
from checkers.systems.administration import GROUP_RESOURCE, accept
from reference_impl.wire.messages.apis import Api

SHARE_GROUP_STATE: Final = "__share_group_state"


def create_share_coordinator(broker: int) -> Do:
    """Returns an action that creates the topic `__share_group_state` on one broker. So this
    broker is the share coordinator.
    """
    return create(SHARE_GROUP_STATE, broker)


def join(*members: str) -> Do:
    def do(stage: Stage) -> None:
        for member in members:
            stage.share_member(member)

    return do


def leave(member: str) -> Do:
    """Returns an action that closes a member. The member leaves the share group."""
    return lambda stage: stage.close_share_member(member)


def configure_group(**configs: str) -> Do:
    """Returns an action that sets configurations of the share group. In the names, `_` stands
    for `.`.
    """

    def do(stage: Stage) -> None:
        for name, value in configs.items():
            stage.administration().configure(GROUP_RESOURCE, GROUP, name.replace("_", "."), value)

    return do


def receive(member: str) -> Do:
    """Returns an action that polls until the member receives a record, for at most 30 s. It
    stores the record, or `no record`, in `stage.noted`.
    """

    def do(stage: Stage) -> None:
        stage.noted = stage.share_member(member).poll()

    return do


def accept_record(member: str, value: str) -> Do:
    """Returns an action that accepts a record that the member has received. It stores the
    broker's response in `stage.noted`.
    """

    def do(stage: Stage) -> None:
        stage.share_member(member).accept(value)
        stage.noted = stage.share_member(member).answer

    return do


def begin_release(member: str, value: str) -> Do:
    """Returns an action that releases a record that the member has received. It does not wait
    for the response.
    """
    return lambda stage: stage.share_member(member).begin_release(value)


def await_answer(member: str, within_s: float = WITHIN_S) -> Do:
    """Returns an action that waits for the response to the member's latest acknowledgement. It
    stores the response in `stage.noted`, or `NO_ANSWER` after `within_s` seconds without a
    response.
    """

    def do(stage: Stage) -> None:
        stage.share_member(member).await_answer(within_s)
        stage.noted = stage.share_member(member).answer

    return do


def describe_lag(at: int) -> Do:
    """Returns an action that sends DescribeShareGroupOffsets to the broker `at`, the group
    coordinator. It stores the start offset and the lag of the share group in `stage.noted`.

    The lag is the number of records that the group has not finished (KIP-1226).
    """

    def do(stage: Stage) -> None:
        topic = {"topic_name": stage.topic.name, "partitions": (stage.index,)}
        body = {"groups": [{"group_id": GROUP, "topics": [topic]}]}
        group = stage.call(Api.DESCRIBE_SHARE_GROUP_OFFSETS, 1, body, at)["groups"][0]
        (partition,) = group["topics"][0]["partitions"]
        accept(partition)
        stage.noted = f"start offset {partition['start_offset']}, lag {partition['lag']}"

    return do
