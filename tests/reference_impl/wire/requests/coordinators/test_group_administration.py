"""Administration of groups: they are listed, described and deleted, and so are their offsets."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.serving import Served
from tests.reference_impl.wire.single_requests import versions

Connection = Any  # of conftest
Connect = Callable[..., Connection]
Coordinator = Callable[[str, int], Connection]
GROUP = 0
NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND


@pytest.fixture(scope="module", autouse=True)
def topics(cluster: Served) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for name in ("read", "other"):
        admin.create_topics([NewTopic(name, 2, 3)])[name].result(10)


def joined(group: Connection, name: str, *, kind: str = "consumer", metadata: bytes = b"m") -> str:
    """Lets a client join a group as its only member; returns the member id.

    The member's assignment is the bytes `all`, in place of a list of partitions.
    """
    values = {
        "group_id": name,
        "session_timeout": 6000,
        "rebalance_timeout": 6000,
        "protocol_type": kind,
        "protocols": [{"name": "range", "metadata": metadata}],
    }
    first = group.call(Api.JOIN_GROUP, 5, **values, member_id="", group_instance_id=None)
    member = str(first.member_id)
    answer = group.call(Api.JOIN_GROUP, 5, **values, member_id=member, group_instance_id=None)
    parts = [{"member_id": member, "assignment": b"all"}]
    values = {"generation_id": answer.generation_id, "member_id": member, "assignments": parts}
    group.call(Api.SYNC_GROUP, 3, group_id=name, group_instance_id=None, **values)
    return member


def left(group: Connection, name: str, member: str) -> None:
    group.call(Api.LEAVE_GROUP, 2, group_id=name, member_id=member)


def committed(group: Connection, name: str, topic: str = "read") -> None:
    part = {"partition_index": 0, "committed_offset": 3, "committed_leader_epoch": -1}
    topics = [{"name": topic, "partitions": [{**part, "committed_metadata": ""}]}]
    answer = group.call(Api.OFFSET_COMMIT, 8, group_id=name, generation_id=-1, topics=topics)
    assert answer.topics[0].partitions[0].error_code == 0


def subscription(*topics: str) -> bytes:
    names = b"".join(struct.pack(">h", len(one)) + one.encode() for one in topics)
    return struct.pack(">hi", 1, len(topics)) + names + struct.pack(">i", -1)


@versions(Api.DESCRIBE_GROUPS)
def test_a_group_is_described_with_its_members(version: int, coordinator: Coordinator) -> None:
    name = f"described-{version}"
    group = coordinator(name, GROUP)
    member = joined(group, name)
    unknown = f"{name}-not"

    def described(wanted: str) -> Any:
        (found,) = (
            coordinator(wanted, GROUP).call(Api.DESCRIBE_GROUPS, version, groups=[wanted]).groups
        )
        return found

    found = described(name)
    assert (found.error_code, found.group_state, found.protocol_type, found.protocol_data) == (
        0, "Stable", "consumer", "range",
    )  # fmt: skip
    (one,) = found.members
    assert (one.member_id, one.client_id) == (member, "transcript")
    assert (one.member_metadata, one.member_assignment) == (b"m", b"all")
    left(group, name, member)
    assert (described(name).group_state, described(name).members) == ("Empty", ())
    error = NOT_FOUND if version >= 6 else ErrorCode.NONE
    assert (described(unknown).error_code, described(unknown).group_state) == (error, "Dead")


@versions(Api.LIST_GROUPS)
def test_groups_are_listed_by_state_and_type(
    version: int, cluster: Served, connect: Connect, coordinator: Coordinator
) -> None:
    idle, live = f"idle-{version}", f"live-{version}"
    committed(coordinator(idle, GROUP), idle)
    joined(coordinator(live, GROUP), live)

    def listed(**filters: Any) -> set[str]:
        found = set[str]()
        for place in range(3):
            broker = connect(cluster.bootstrap_servers, place)
            answer = broker.call(Api.LIST_GROUPS, version, **filters)
            assert answer.error_code == 0
            found |= {one.group_id for one in answer.groups}
        return found & {idle, live}

    assert listed() == {idle, live}
    if version >= 4:
        assert listed(states_filter=["empty"]) == {idle}
        assert listed(states_filter=["Stable", "Empty"]) == {idle, live}
    if version >= 5:
        assert listed(types_filter=["classic"]) == {idle, live}
        assert listed(types_filter=["Consumer"]) == set()


@versions(Api.DELETE_GROUPS)
def test_only_an_empty_group_is_deleted(version: int, coordinator: Coordinator) -> None:
    name = f"deleted-{version}"
    group = coordinator(name, GROUP)

    def deleted() -> int:
        (one,) = group.call(Api.DELETE_GROUPS, version, groups_names=[name]).results
        return int(one.error_code)

    assert deleted() == NOT_FOUND
    member = joined(group, name)
    assert deleted() == ErrorCode.NON_EMPTY_GROUP
    left(group, name, member)
    committed(group, name)
    assert [deleted(), deleted()] == [0, NOT_FOUND]
    (offsets,) = group.call(Api.OFFSET_FETCH, 8, groups=[{"group_id": name, "topics": None}]).groups
    assert offsets.topics == ()


def offsets_deleted(group: Connection, name: str, *topics: str, partition: int = 0) -> Any:
    parts = [{"partition_index": partition}]
    wanted = [{"name": topic, "partitions": parts} for topic in topics]
    answer = group.call(Api.OFFSET_DELETE, 0, group_id=name, topics=wanted)
    errors = {one.name: one.partitions[0].error_code for one in answer.topics}
    return answer.error_code, errors


def test_offsets_of_a_subscribed_topic_are_not_deleted(coordinator: Coordinator) -> None:
    """OffsetDelete keeps the offsets of each topic to which the group is subscribed.

    The offsets of other topics are deleted. Kafka: OffsetMetadataManager.deleteOffsets,
    ClassicGroup.isSubscribedToTopic.
    """
    name = "partly"
    group = coordinator(name, GROUP)
    committed(group, name, "read")
    committed(group, name, "other")
    joined(group, name, metadata=subscription("read"))
    assert offsets_deleted(group, name, "read", "other", "nowhere") == (
        0,
        {
            "read": ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
            "other": 0,
            "nowhere": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        },
    )
    (offsets,) = group.call(Api.OFFSET_FETCH, 8, groups=[{"group_id": name, "topics": None}]).groups
    assert [topic.name for topic in offsets.topics] == ["read"]


def test_offsets_of_other_groups_are_deleted_while_they_are_empty(coordinator: Coordinator) -> None:
    name = "connect"
    group = coordinator(name, GROUP)
    assert offsets_deleted(group, name, "read") == (NOT_FOUND, {})
    member = joined(group, name, kind="connect")
    assert offsets_deleted(group, name, "read") == (ErrorCode.NON_EMPTY_GROUP, {})
    left(group, name, member)
    assert offsets_deleted(group, name, "read") == (0, {"read": 0})
    assert offsets_deleted(group, "", "read")[0] in (
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.NOT_COORDINATOR,
    )


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka_administers_a_group(cluster: Served, protocol: str) -> None:
    config: dict[str, str | int | float | bool] = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "log_level": 0,
    }
    admin = AdminClient(config)
    name = f"of-librdkafka-{protocol}"
    consumer = Consumer({**config, "group.id": name, "group.protocol": protocol})
    consumer.subscribe(["read"])
    while len(consumer.assignment()) < 2:
        assert consumer.poll(0.1) is None
    consumer.commit(offsets=[TopicPartition("read", 0, 0)], asynchronous=False)

    listed = {one.group_id: one for one in admin.list_consumer_groups().result(10).valid}
    assert (listed[name].state.name, listed[name].type.name) == ("STABLE", protocol.upper())
    described = admin.describe_consumer_groups([name])[name].result(10)
    assert (described.state.name, len(described.members)) == ("STABLE", 1)
    assert len(described.members[0].assignment.topic_partitions) == 2
    with pytest.raises(KafkaException):
        admin.delete_consumer_groups([name])[name].result(10)
    consumer.close()

    admin.delete_consumer_groups([name])[name].result(10)
    wanted = [ConsumerGroupTopicPartitions(name, [TopicPartition("read", 0)])]
    (offset,) = admin.list_consumer_group_offsets(wanted)[name].result(10).topic_partitions
    assert offset.offset < 0
    assert name not in {one.group_id for one in admin.list_consumer_groups().result(10).valid}
