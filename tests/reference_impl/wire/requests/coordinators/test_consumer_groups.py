"""KIP-848 groups over TCP: single frames in every version, and librdkafka as a client."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from reference_impl.protocol.topic_id import topic_id
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS
from reference_impl.wire.serving.serving import Served

Connection = Any  # of conftest
BEATS = range(VERSIONS[Api.CONSUMER_GROUP_HEARTBEAT].last + 1)
DESCRIBES = range(VERSIONS[Api.CONSUMER_GROUP_DESCRIBE].last + 1)
GROUP_ID_NOT_FOUND = 69
FENCED_MEMBER_EPOCH = 110
INVALID_REGULAR_EXPRESSION = 128


def create(cluster: Served, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(topic, partitions, 3)])[topic].result()


@pytest.fixture
def coordinator(cluster: Served, connect: Callable[..., Connection]) -> Callable[[str], Connection]:
    def connected(group: str) -> Connection:
        while True:
            asked = connect(cluster.bootstrap_servers)
            found = asked.call(Api.FIND_COORDINATOR, 3, key=group, key_type=0)
            if found.error_code == 0:
                return connect(cluster.bootstrap_servers, found.node_id - 1)
            time.sleep(0.05)

    return connected


def joining(group: str, topic: str) -> dict[str, Any]:
    return {
        "group_id": group,
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout": 60_000,
        "subscribed_topic_names": (topic,),
        "topic_partitions": (),
    }


def beat(group: Connection, version: int, values: dict[str, Any]) -> Any:
    while True:
        answer = group.call(Api.CONSUMER_GROUP_HEARTBEAT, version, **values)
        if answer.error_code not in {14, 15}:
            return answer
        time.sleep(0.05)


@pytest.mark.parametrize("version", BEATS)
def test_a_member_joins_sends_heartbeats_is_fenced_and_leaves(
    version: int, cluster: Served, coordinator: Callable[[str], Connection]
) -> None:
    name = f"next-{version}"
    create(cluster, name, 2)
    group, values = coordinator(name), joining(name, name)
    joined = beat(group, version, values)
    assert (joined.error_code, joined.member_id, joined.member_epoch) == (0, "m", 2)
    (part,) = joined.assignment.topic_partitions
    assert (part.topic_id, part.partitions) == (topic_id(name), (0, 1))
    who = {"group_id": name, "member_id": "m", "topic_partitions": None}
    lives = beat(group, version, {**who, "member_epoch": 2})
    assert (lives.error_code, lives.assignment) == (0, None)
    assert beat(group, version, {**who, "member_epoch": 9}).error_code == FENCED_MEMBER_EPOCH
    left = beat(group, version, {**who, "member_epoch": -1})
    assert (left.error_code, left.member_epoch) == (0, -1)


def test_a_bad_regular_expression_is_rejected(coordinator: Callable[[str], Connection]) -> None:
    values = joining("by-bad-pattern", "t") | {"subscribed_topic_regex": "t(.*"}
    assert beat(coordinator("by-bad-pattern"), 1, values).error_code == INVALID_REGULAR_EXPRESSION


def test_a_regular_expression_subscribes_to_present_and_later_topics(
    cluster: Served, coordinator: Callable[[str], Connection]
) -> None:
    create(cluster, "pattern-1", 1)
    group = coordinator("by-pattern")
    by_name = joining("by-pattern", "none")
    pattern = {"subscribed_topic_names": None, "subscribed_topic_regex": "pattern-[12]"}
    joined = beat(group, 1, by_name | pattern)
    assert joined.error_code == 0
    assert {one.topic_id for one in joined.assignment.topic_partitions} == {topic_id("pattern-1")}
    create(cluster, "pattern-2", 1)
    create(cluster, "pattern-22", 1)
    stays = {"group_id": "by-pattern", "member_id": "m", "topic_partitions": None}
    deadline = time.monotonic() + 10
    while (
        later := beat(group, 1, {**stays, "member_epoch": joined.member_epoch})
    ).assignment is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert {one.topic_id for one in later.assignment.topic_partitions} == {
        topic_id("pattern-1"),
        topic_id("pattern-2"),
    }
    asked = {"group_ids": ("by-pattern",), "include_authorized_operations": False}
    (described,) = group.call(Api.CONSUMER_GROUP_DESCRIBE, 1, **asked).groups
    assert described.members[0].subscribed_topic_regex == "pattern-[12]"
    ended = {**stays, "member_epoch": later.member_epoch, "subscribed_topic_regex": ""}
    assert beat(group, 1, ended).error_code == 0


@pytest.mark.parametrize("version", DESCRIBES)
def test_a_group_is_described(
    version: int, cluster: Served, coordinator: Callable[[str], Connection]
) -> None:
    name = f"described-{version}"
    create(cluster, name, 1)
    group = coordinator(name)
    beat(group, 1, joining(name, name))
    asked = {"group_ids": (name, "none"), "include_authorized_operations": False}
    known, unknown = group.call(Api.CONSUMER_GROUP_DESCRIBE, version, **asked).groups
    assert (known.group_state, known.group_epoch, known.assignor_name) == ("Stable", 2, "uniform")
    (one,) = known.members
    assert (one.member_id, one.client_id) == ("m", "transcript")
    assert one.subscribed_topic_names == (name,)
    assert one.assignment == one.target_assignment
    assert [part.topic_name for part in one.assignment.topic_partitions] == [name]
    assert unknown.error_code in {GROUP_ID_NOT_FOUND, 16}


# ---------------------------------------------------------------- librdkafka


def member(cluster: Served, group: str, topic: str, **other: Any) -> Any:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
            **other,
        }
    )
    consumer.subscribe([topic])
    return consumer


def test_a_kip_848_group_of_librdkafka_shares_a_topic_and_resumes(
    cluster: Served,
) -> None:
    create(cluster, "next-shared", 4)
    first = member(cluster, "next-dividing", "next-shared")
    while len(first.assignment()) != 4:
        first.poll(0.1)
    members = [first, member(cluster, "next-dividing", "next-shared")]
    while sorted(len(one.assignment()) for one in members) != [2, 2]:
        for one in members:
            assert one.poll(0.1) is None
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    for number in range(40):
        producer.produce("next-shared", str(number).encode(), partition=number % 4)
    assert producer.flush(10) == 0
    seen: list[str] = []
    while len(seen) < 40:
        for one in members:
            seen += [str(m.value()) for m in one.consume(20, 0.1) if m.error() is None]
    assert len(set(seen)) == len(seen)
    for one in members:
        one.commit(asynchronous=False)
        one.close()
    again = member(cluster, "next-dividing", "next-shared")
    places = [TopicPartition("next-shared", index) for index in range(4)]
    while len(again.assignment()) != 4:
        again.poll(0.1)
    assert [place.offset for place in again.committed(places, timeout=10)] == [10] * 4
    again.close()
