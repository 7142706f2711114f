"""The committed offset of the group of a reproduction, and checks on it."""

from __future__ import annotations

from typing import Final

from checkers.reproduce.checks import Check
from checkers.reproduce.group_member import GROUP
from checkers.reproduce.reproduction import Seen
from checkers.reproduce.stage import Stage
from checkers.systems.administration import Refused, accept
from reference_impl.wire.messages.apis import Api

NO_OFFSET: Final = -1  # the committed offset of a group that has none


def coordinator(stage: Stage) -> int:
    """Returns the broker that coordinates the group. Raises Refused if no broker does."""
    body = {"key_type": 0, "coordinator_keys": (GROUP,)}
    (found,) = stage.call(Api.FIND_COORDINATOR, 4, body)["coordinators"]
    accept(found)
    return int(found["node_id"])


def committed_offset(stage: Stage, at: int) -> int:
    """Returns the committed offset of the group, from the broker `at`. It is -1 if the group has
    none.

    Raises Refused if the broker does not coordinate the group, or while a transaction with a newer
    offset is open.
    """
    topics = [{"name": stage.topic.name, "partition_indexes": (stage.index,)}]
    body = {"groups": [{"group_id": GROUP, "topics": topics}], "require_stable": True}
    (group,) = stage.call(Api.OFFSET_FETCH, 8, body, at)["groups"]
    accept(group)
    ((partition,),) = (topic["partitions"] for topic in group["topics"])
    accept(partition)
    return int(partition["committed_offset"])


def has_offset(offset: int | None, *, at: int) -> Check:
    """Returns a check that succeeds if the broker `at` returns `offset` as the committed offset of
    the group. If `offset` is None, the group must have no committed offset.
    """
    expected = NO_OFFSET if offset is None else offset

    def check(stage: Stage) -> Seen:
        found = committed_offset(stage, at)
        return Seen(reached=found == expected, text=f"committed offset {found}")

    return check


def refuses_offsets(*, at: int) -> Check:
    """Returns a check that succeeds if the broker `at` answers a fetch of the committed offset with
    the error that it does not coordinate the group.
    """

    def check(stage: Stage) -> Seen:
        try:
            found = committed_offset(stage, at)
        except Refused as error:
            return Seen(reached=error.error == "NOT_COORDINATOR", text=error.error)
        return Seen(reached=False, text=f"committed offset {found}")

    return check
