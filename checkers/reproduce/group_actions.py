"""Actions on members of a consumer group (KIP-848), for reproductions on real brokers."""

from __future__ import annotations

from checkers.reproduce.actions import Do
from checkers.reproduce.group_member import GroupMember
from checkers.reproduce.stage import Stage


def join_group(name: str, instance: str | None = None) -> Do:
    """Returns an action that starts a consumer, which joins the group. `instance` is its
    group.instance.id, or None for a dynamic member.
    """

    def do(stage: Stage) -> None:
        stage.group_members[name] = GroupMember.join(stage.servers, stage.topic.name, instance)

    return do


def consume(name: str) -> Do:
    """Returns an action that polls until the consumer receives a record or fails, for at most 30 s.
    It stores the record, the fatal error, or `no record` in `stage.noted`.
    """

    def do(stage: Stage) -> None:
        stage.noted = stage.group_members[name].poll()

    return do
