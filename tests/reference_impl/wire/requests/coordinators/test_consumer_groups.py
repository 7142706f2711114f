"""KIP-848 groups over TCP: single frames in every version, and librdkafka as a client."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from reference_impl.protocol.topic_id import topic_id
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS
from reference_impl.wire.serving.serving import Served
from tests.reference_impl.wire.group_members import committed, member, share

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


def next_member(cluster: Served, group: str, topic: str, **other: Any) -> Any:
    return member(cluster, group, topic, **{"group.protocol": "consumer", **other})


def test_a_kip_848_group_of_librdkafka_shares_a_topic_and_resumes(
    cluster: Served,
) -> None:
    create(cluster, "next-shared", 4)
    first = next_member(cluster, "next-dividing", "next-shared")
    while len(first.assignment()) != 4:
        first.poll(0.1)
    members = [first, next_member(cluster, "next-dividing", "next-shared")]
    share(cluster, "next-shared", members)
    again = next_member(cluster, "next-dividing", "next-shared")
    while len(again.assignment()) != 4:
        again.poll(0.1)
    assert committed(again, "next-shared") == [10] * 4
    again.close()
