"""Handles JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit and OffsetFetch requests.

Source: KIP-62, KIP-345, KIP-394, KIP-447, KIP-516, KIP-709.
Simplified: An OffsetFetch for many groups is split into one request to the broker for each group.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from model.vocabulary import TopicPartition
from reference_impl.protocol.groups import (
    NO_GENERATION,
    CommitOffsets,
    CommittedOffset,
    CommittedOffsets,
    FetchedOffsets,
    FetchOffsets,
    HeartbeatedGroup,
    HeartbeatGroup,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
    LeftGroup,
    SyncedGroup,
    SyncGroup,
)
from reference_impl.protocol.messages import UNKNOWN_OFFSET, ErrorCode
from reference_impl.wire.messages.adapter import Call, milliseconds
from reference_impl.wire.requests.broker.served_broker import (
    UNKNOWN_TOPIC_ID,
    ServedBroker,
    existing_partitions,
    named_topics,
    naming,
    request_core,
    topic_ids,
)
from reference_impl.wire.requests.coordinators.transactions import offsets_of

ID_FIRST_SINCE: Final = 4  # JoinGroup: MEMBER_ID_REQUIRED
PROTOCOL_MAY_BE_NULL_SINCE: Final = 7  # JoinGroup
SKIPPING_SINCE: Final = 9  # JoinGroup: a leader that must not assign
PROTOCOL_REQUIRED_SINCE: Final = 5  # SyncGroup
MANY_MEMBERS_SINCE: Final = 3  # LeaveGroup
MANY_GROUPS_SINCE: Final = 8  # OffsetFetch
GROUP_ERROR_SINCE: Final = 2  # OffsetFetch: one error for the whole group
TOPIC_IDS_SINCE: Final = 10  # OffsetFetch: topic ids instead of names
MEMBER_EPOCHS_SINCE: Final = 9  # OffsetCommit: members of KIP-848 groups


async def join_group(broker: ServedBroker, call: Call) -> bytes:
    body = call.body
    # Version 0 has no rebalance timeout. Kafka: JoinGroupRequest.
    rebalance_timeout = getattr(body, "rebalance_timeout", body.session_timeout)
    request = JoinGroup(
        group=body.group_id,
        member_id=body.member_id,
        instance_id=getattr(body, "group_instance_id", None),
        client_id=call.client_id or "",
        session_timeout_ms=milliseconds(body.session_timeout),
        rebalance_timeout_ms=milliseconds(rebalance_timeout),
        protocol_type=body.protocol_type,
        protocols=tuple((one.name, one.metadata) for one in body.protocols),
        needs_id_first=call.version >= ID_FIRST_SINCE,
        knows_skipping=call.version >= SKIPPING_SINCE,
    )
    answer = await request_core(broker, request, JoinedGroup)
    may_be_null = call.version >= PROTOCOL_MAY_BE_NULL_SINCE
    return call.respond(
        error_code=answer.error,
        generation_id=answer.generation,
        protocol_type=answer.protocol_type or None,
        protocol_name=answer.protocol or (None if may_be_null else ""),
        leader=answer.leader,
        skip_assignment=answer.skips_assignment,
        member_id=answer.member_id,
        members=tuple(
            call.make(
                "JoinGroupResponseMember",
                member_id=member_id,
                group_instance_id=instance_id,
                metadata=metadata,
            )
            for member_id, instance_id, metadata in answer.members
        ),
    )


async def sync_group(broker: ServedBroker, call: Call) -> bytes:
    body = call.body
    protocol = (getattr(body, "protocol_type", None), getattr(body, "protocol_name", None))
    if call.version >= PROTOCOL_REQUIRED_SINCE and None in protocol:
        return call.respond(
            error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            protocol_type=None,
            protocol_name=None,
            assignment=b"",
        )
    request = SyncGroup(
        group=body.group_id,
        generation=body.generation_id,
        member_id=body.member_id,
        instance_id=getattr(body, "group_instance_id", None),
        protocol_type=protocol[0],
        protocol=protocol[1],
        assignments=tuple((one.member_id, one.assignment) for one in body.assignments),
    )
    answer = await request_core(broker, request, SyncedGroup)
    return call.respond(
        error_code=answer.error,
        protocol_type=answer.protocol_type or None,
        protocol_name=answer.protocol or None,
        assignment=answer.assignment,
    )


async def heartbeat(broker: ServedBroker, call: Call) -> bytes:
    body = call.body
    request = HeartbeatGroup(
        group=body.group_id,
        generation=body.generation_id,
        member_id=body.member_id,
        instance_id=getattr(body, "group_instance_id", None),
    )
    answer = await request_core(broker, request, HeartbeatedGroup)
    return call.respond(error_code=answer.error)


async def leave_group(broker: ServedBroker, call: Call) -> bytes:
    body = call.body
    many = call.version >= MANY_MEMBERS_SINCE
    leaving = (
        tuple((one.member_id, one.group_instance_id) for one in body.members)
        if many
        else ((body.member_id, None),)
    )
    answer = await request_core(broker, LeaveGroup(group=body.group_id, members=leaving), LeftGroup)
    alone = ErrorCode.NONE if many or not answer.members else answer.members[0][2]
    return call.respond(
        error_code=answer.error or alone,
        members=tuple(
            call.make(
                "MemberResponse",
                member_id=member_id,
                group_instance_id=instance_id,
                error_code=error,
            )
            for member_id, instance_id, error in answer.members
        )
        if many
        else (),
    )


async def offset_commit(broker: ServedBroker, call: Call) -> bytes:
    """Returns the response to OffsetCommit, after the offsets are replicated. Offsets of unknown
    topic partitions are not committed.
    """
    body = call.body
    topics = await named_topics(broker, body.topics)
    existing = await existing_partitions(broker)
    names = {at: name for at, (_, name) in enumerate(topics) if name is not None}
    offsets = tuple(one for one in offsets_of(body.topics, names) if one[0] in existing)
    epoch = getattr(body, "generation_id_or_member_epoch", getattr(body, "generation_id", -1))
    answer = CommittedOffsets()
    if offsets:
        request = CommitOffsets(
            group=body.group_id,
            offsets=offsets,
            generation=epoch,
            member_id=body.member_id,
            instance_id=getattr(body, "group_instance_id", None),
            knows_member_epochs=call.version >= MEMBER_EPOCHS_SINCE,
        )
        answer = await request_core(broker, request, CommittedOffsets)

    def result(name: str | None, index: int) -> int:
        if name is None:
            return UNKNOWN_TOPIC_ID
        place = TopicPartition(name, index)
        is_known = place in existing
        return answer.error_of(place) if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    return call.respond(
        topics=tuple(
            call.make(
                "OffsetCommitResponseTopic",
                **naming(topic),
                partitions=tuple(
                    call.make(
                        "OffsetCommitResponsePartition",
                        partition_index=one.partition_index,
                        error_code=result(name, one.partition_index),
                    )
                    for one in topic.partitions
                ),
            )
            for topic, name in topics
        )
    )


async def offset_fetch(broker: ServedBroker, call: Call) -> bytes:
    body = call.body
    if call.version < MANY_GROUPS_SINCE:
        error, topics = await _fetched(broker, call, body.group_id, body.topics)
        return call.respond(error_code=error, topics=topics)
    groups: list[Any] = []
    for group in body.groups:
        error, topics = await _fetched(broker, call, group.group_id, group.topics, member=group)
        made = call.make(
            "OffsetFetchResponseGroup", group_id=group.group_id, error_code=error, topics=topics
        )
        groups.append(made)
    return call.respond(groups=tuple(groups))


async def _fetched(
    broker: ServedBroker, call: Call, group: str, topics: Any, *, member: Any = None
) -> tuple[ErrorCode, tuple[Any, ...]]:
    # Before version 2, each partition has the error of the group.
    named = None if topics is None else await named_topics(broker, topics)
    wanted = (
        None
        if named is None
        else tuple(
            TopicPartition(name, index)
            for topic, name in named
            if name is not None
            for index in topic.partition_indexes
        )
    )
    request = FetchOffsets(
        group=group,
        topic_partitions=wanted,
        require_stable=getattr(call.body, "require_stable", False),
        member_id=getattr(member, "member_id", None),
        member_epoch=getattr(member, "member_epoch", NO_GENERATION),
    )
    answer = await request_core(broker, request, FetchedOffsets)
    if answer.error and call.version >= GROUP_ERROR_SINCE:
        return answer.error, ()
    found = {place: (committed, error) for place, committed, error in answer.offsets}
    if named is None:
        rows = await _all_topics(broker, call, found)
    else:
        named.sort(key=lambda one: one[1] is None)  # unknown topic ids come last, as in Kafka
        rows = [(naming(topic), name or "", topic.partition_indexes) for topic, name in named]
    many = "s" if call.version >= MANY_GROUPS_SINCE else ""
    answered = tuple(
        call.make(
            f"OffsetFetchResponseTopic{many}",
            **names,
            partitions=tuple(
                _offset(
                    call, many, index, *found.get(TopicPartition(name, index), _unknown(answer))
                )
                for index in indexes
            ),
        )
        for names, name, indexes in rows
    )
    return answer.error, answered


async def _all_topics(
    broker: ServedBroker, call: Call, found: Iterable[TopicPartition]
) -> list[tuple[dict[str, Any], str, list[int]]]:
    """Returns the topics of the partitions in `found`, each as (field, name, partitions).

    The field identifies the topic in the response. It is the topic's name, or in newer versions the
    topic's id.
    """
    by_name: dict[str, list[int]] = {}
    for place in found:
        by_name.setdefault(place.topic, []).append(place.index)
    if call.version < TOPIC_IDS_SINCE:
        return [({"name": name}, name, indexes) for name, indexes in by_name.items()]
    # a topic that no longer exists has no id
    ids = (await topic_ids(broker)).by_name
    return [
        ({"topic_id": ids[name]}, name, indexes) for name, indexes in by_name.items() if name in ids
    ]


def _unknown(answer: FetchedOffsets) -> tuple[None, int]:
    return None, answer.error or UNKNOWN_TOPIC_ID


def _offset(
    call: Call, many: str, index: int, committed: CommittedOffset | None, error: int
) -> Any:
    return call.make(
        f"OffsetFetchResponsePartition{many}",
        partition_index=index,
        committed_offset=UNKNOWN_OFFSET if committed is None else committed.offset,
        committed_leader_epoch=-1 if committed is None else committed.leader_epoch,
        metadata="" if committed is None else committed.metadata,
        error_code=error,
    )
