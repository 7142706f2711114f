"""Builds requests on groups: classic groups, consumer groups and committed offsets.

A request can use values from the answers to earlier requests. These values have names: for the
member `a`, `a.member` is its member id, `a.epoch` is its member epoch, and `a.owned` is its
assigned partitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from checkers.conform.requests import commit_of, in_topic, of_topic
from checkers.conform.steps import Begin, Send, bound, if_same, raw
from reference_impl.wire.messages.apis import Api

SESSION_MS: Final = 30_000
REBALANCE_MS: Final = 20_000
Protocols = Sequence[tuple[str, bytes]]


def member_of(letter: str, member: Any = None, *, otherwise: str = "") -> Any:
    """Returns `member` if it is not None. Otherwise returns a placeholder for the member id that
    the coordinator assigned to the member `letter`.

    If no earlier answer contains the member id, the placeholder is replaced by the argument
    `otherwise`.
    """
    return bound(f"{letter}.member", otherwise=otherwise) if member is None else member


def generation(plus: int = 0) -> dict[str, Any]:
    return bound("generation", plus=plus)


def join(
    letter: str,
    group: str,
    *,
    version: int = 7,
    instance: str | None = None,
    protocols: Protocols = (("range", b"1"),),
    session_ms: int = SESSION_MS,
    rebalance_ms: int = REBALANCE_MS,
    protocol_type: str = "consumer",
    member: Any = None,
    note: str = "join",
) -> Begin:
    """Returns a JoinGroup request of the member `letter`. The request has the label `join LETTER`,
    by which a later step collects the answer.
    """
    send = Send(
        api=Api.JOIN_GROUP,
        version=version,
        body={
            "group_id": group,
            "session_timeout": session_ms,
            "rebalance_timeout": rebalance_ms,
            "member_id": member_of(letter, member),
            "group_instance_id": instance,
            "protocol_type": protocol_type,
            "protocols": [{"name": name, "metadata": raw(data)} for name, data in protocols],
            "reason": None,
        },
        to=f"group {group}",
        note=note,
        binds={
            f"{letter}.member": "member_id",
            "generation": "generation_id",
            "leader": "leader",
        },
    )
    return Begin(label=f"join {letter}", send=send)


def sync(
    letter: str,
    group: str,
    members: str,
    *,
    version: int = 5,
    instance: str | None = None,
    plus: int = 0,
    member: Any = None,
    protocol: str = "range",
    protocol_type: str = "consumer",
    note: str = "sync",
) -> Begin:
    """Returns a SyncGroup request of the member `letter`. The request contains an assignment for
    each of `members`.
    """
    assigned = [
        {"member_id": member_of(one), "assignment": raw(f"for {one}".encode())} for one in members
    ]
    mine = f"{letter}.member"
    send = Send(
        api=Api.SYNC_GROUP,
        version=version,
        body={
            "group_id": group,
            "generation_id": generation(plus),
            "member_id": member_of(letter, member),
            "group_instance_id": instance,
            "protocol_type": protocol_type,
            "protocol_name": protocol,
            "assignments": if_same("leader", mine, assigned, []),
        },
        to=f"group {group}",
        note=note,
    )
    return Begin(label=f"sync {letter}", send=send)


def heartbeat(
    note: str,
    letter: str,
    group: str,
    *,
    version: int = 4,
    instance: str | None = None,
    plus: int = 0,
    member: Any = None,
) -> Send:
    return Send(
        api=Api.HEARTBEAT,
        version=version,
        body={
            "group_id": group,
            "generation_id": generation(plus),
            "member_id": member_of(letter, member),
            "group_instance_id": instance,
        },
        to=f"group {group}",
        note=note,
    )


def leave(
    note: str,
    group: str,
    *members: tuple[Any, str | None],
    version: int = 4,
) -> Send:
    return Send(
        api=Api.LEAVE_GROUP,
        version=version,
        body={
            "group_id": group,
            "member_id": members[0][0],
            "members": [
                {"member_id": member, "group_instance_id": instance, "reason": None}
                for member, instance in members
            ],
        },
        to=f"group {group}",
        note=note,
    )


# ------------------------------------------------------------ committed offsets


def commit(
    note: str,
    group: str,
    topic: str,
    offset: int,
    *,
    version: int = 8,
    epoch: Any = -1,
    member: Any = "",
    instance: str | None = None,
    partition: int = 0,
    metadata: str | None = "m",
) -> Send:
    """Returns an OffsetCommit request. `epoch` is the generation of a classic group, or the member
    epoch of a consumer group.
    """
    return Send(
        api=Api.OFFSET_COMMIT,
        version=version,
        body={
            "group_id": group,
            "generation_id_or_member_epoch": epoch,
            "member_id": member,
            "group_instance_id": instance,
            "retention_time": -1,
            "topics": in_topic(topic, commit_of(partition, offset, metadata)),
        },
        to=f"group {group}",
        note=note,
    )


def committed(
    note: str,
    group: str,
    topic: str | None,
    *,
    version: int = 7,
    partition: int = 0,
    stable: bool = False,
    member: Any = None,
    epoch: Any = -1,
) -> Send:
    """Returns an OffsetFetch request for one topic partition. If `topic` is None, the request is
    for all partitions with committed offsets.
    """
    topics: list[Mapping[str, Any]] | None = None
    if topic is not None:
        topics = [{**of_topic(topic), "partition_indexes": [partition]}]
    one = {"group_id": group, "topics": topics, "member_id": member, "member_epoch": epoch}
    return Send(
        api=Api.OFFSET_FETCH,
        version=version,
        body={
            "group_id": group,
            "topics": topics,
            "groups": [one],
            "require_stable": stable,
        },
        to=f"group {group}",
        note=note,
    )


# ------------------------------------------------------------ consumer groups (KIP-848)


def consumer_heartbeat(
    note: str,
    letter: str,
    group: str,
    *,
    epoch: Any = None,
    topics: Sequence[str] | None = None,
    owned: Any = None,
    version: int = 1,
    instance: str | None = None,
    rebalance_ms: int = -1,
    assignor: str | None = None,
    regex: str | None = None,
    member: Any = None,
    keeps: bool = True,
    repeats: bool = False,
) -> Send:
    """Returns a ConsumerGroupHeartbeat request of the member `letter`.

    If `keeps` is True, later requests of the member use the member id, the epoch and the assignment
    in the answer.
    """
    body: dict[str, Any] = {
        "group_id": group,
        "member_id": member_of(letter, member, otherwise=f"~{letter}"),
        "member_epoch": bound(f"{letter}.epoch") if epoch is None else epoch,
        "instance_id": instance,
        "rack_id": None,
        "rebalance_timeout": rebalance_ms,
        "subscribed_topic_names": None if topics is None else list(topics),
        "subscribed_topic_regex": regex,
        "server_assignor": assignor,
        "topic_partitions": owned,
    }
    binds = {
        f"{letter}.member": "member_id",
        f"{letter}.epoch": "member_epoch",
        f"{letter}.owned": "assignment.topic_partitions",
    }
    return Send(
        api=Api.CONSUMER_GROUP_HEARTBEAT,
        version=version,
        body=body,
        to=f"group {group}",
        note=note,
        binds=binds if keeps else {},
        repeats=repeats,
    )


def owned_by(letter: str) -> dict[str, Any]:
    """Returns a placeholder for the newest assignment of the member `letter`. If no answer
    contained an assignment, the placeholder becomes an empty list.
    """
    return {"$bound": [f"{letter}.owned"], "plus": 0, "otherwise": []}


def describe(note: str, group: str, *, version: int = 1) -> Send:
    return Send(
        api=Api.CONSUMER_GROUP_DESCRIBE,
        version=version,
        body={"group_ids": [group], "include_authorized_operations": False},
        to=f"group {group}",
        note=note,
    )
