"""Served partitions move to other brokers with their records, even if brokers restart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.vocabulary import BrokerId
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving
from tests.reference_impl.wire.one_topic import fetch, produce, values
from tests.reference_impl.wire.requests.cluster.test_inspection import created, state
from tests.reference_impl.wire.single_requests import versions
from tests.reference_impl.wire.waiting import until

Connection = Any  # of conftest
Connect = Callable[..., Connection]
THIRD = BrokerId(3)
QUICK = replace(SERVED, heartbeat_ms=50, session_timeout_ms=400)


def moved(
    broker: Connection, topic: str, replicas: list[int] | None, version: int = 1, **body: Any
) -> tuple[int, str | None]:
    """Requests a reassignment of partition 0; returns the error code and the message."""
    partition = {"partition_index": 0, "replicas": replicas}
    wanted = [{"name": topic, "partitions": [partition]}]
    answer = broker.call(Api.ALTER_PARTITION_REASSIGNMENTS, version, topics=wanted, **body)
    assert (answer.error_code, answer.error_message) == (0, None)
    (found,) = answer.responses[0].partitions
    return found.error_code, found.error_message


def moving(broker: Connection, topics: Any = None) -> list[tuple[str, Any, Any, Any]]:
    """Returns (topic, replicas, adding, removing) of each partition that is being reassigned."""
    answer = broker.call(Api.LIST_PARTITION_REASSIGNMENTS, 0, topics=topics)
    return [
        (topic.name, one.replicas, one.adding_replicas, one.removing_replicas)
        for topic in answer.topics
        for one in topic.partitions
    ]


def replicas(broker: Connection, topic: str) -> tuple[int, ...]:
    (found,) = broker.call(Api.METADATA, 9, topics=[{"name": topic}]).topics
    return tuple(found.partitions[0].replica_nodes)


def described(broker: Connection, topic: str) -> tuple[int, ...]:
    answer = broker.call(
        Api.DESCRIBE_TOPIC_PARTITIONS,
        0,
        topics=[{"name": topic}],
        response_partition_limit=9,
        cursor=None,
    )
    return tuple(answer.topics[0].partitions[0].replica_nodes)


def sent(leader: Connection, topic: str, value: bytes) -> None:
    answer = leader.call(Api.PRODUCE, 9, **produce(topic, value))
    assert answer.responses[0].partition_responses[0].error_code == 0


def read(leader: Connection, topic: str) -> list[bytes | None]:
    return values(leader.call(Api.FETCH, 12, **fetch(topic, 0, max_wait=1000)))


def test_a_partition_moves_to_another_broker_with_its_records(connect: Connect) -> None:
    with serving(ServeOptions(brokers=3)) as served:
        first = connect(served.bootstrap_servers)
        created(first, "t", 1, 2)
        sent(first, "t", b"a")
        assert moved(first, "t", [3]) == (0, None)
        until(lambda: state(first, "t") == (3, {3}))
        assert replicas(first, "t") == described(first, "t") == (3,)
        assert moving(first) == []
        third = connect(served.bootstrap_servers, 2)
        assert read(third, "t") == [b"a"]
        assert moved(first, "t", [1, 3]) == (0, None)
        until(lambda: state(first, "t") == (3, {1, 3}))
        assert replicas(first, "t") == (1, 3)


def test_a_reassignment_waits_for_a_dead_broker_and_is_listed_and_cancelled(
    connect: Connect,
) -> None:
    with serving(ServeOptions(brokers=3, broker_settings=QUICK)) as served:
        first = connect(served.bootstrap_servers)
        created(first, "t", 1, 2)
        created(first, "calm", 1)
        served.kill(THIRD)
        assert moved(first, "t", [3, 2]) == (0, None)
        ongoing = [("t", (3, 2, 1), (3,), (1,))]
        assert moving(first) == ongoing
        assert moving(first, [{"name": "t", "partition_indexes": [0, 7]}]) == ongoing
        assert moving(first, [{"name": "calm", "partition_indexes": [0]}]) == []
        until(lambda: replicas(first, "t") == (3, 2, 1))
        sent(first, "t", b"a")
        assert moved(first, "t", None) == (0, None)
        assert moving(first) == []
        until(lambda: replicas(first, "t") == (2, 1))
        assert read(first, "t") == [b"a"]


@versions(Api.ALTER_PARTITION_REASSIGNMENTS)
def test_wrong_requests_have_the_errors_of_kafka(
    version: int, connect: Connect, cluster: Any
) -> None:
    broker = connect(cluster.bootstrap_servers)
    topic = f"refused-{version}"
    created(broker, topic, 1)

    def error(name: str, replicas: list[int] | None, **body: Any) -> int:
        return moved(broker, name, replicas, version, **body)[0]

    assert error(topic, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert error(topic, []) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert error(topic, [1, 1]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert error(topic, [9]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert error("absent", [1]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if version >= 1:
        changed = error(topic, [1, 2], allow_replication_factor_change=False)
        assert changed == ErrorCode.INVALID_REPLICATION_FACTOR
    nothing = broker.call(Api.ALTER_PARTITION_REASSIGNMENTS, version, topics=[])
    assert (nothing.error_code, nothing.error_message, nothing.responses) == (0, "", ())
    assert broker.call(Api.LIST_PARTITION_REASSIGNMENTS, 0, topics=[]).topics == ()


def folders(data: Path, topic: str) -> list[int]:
    """Returns the brokers that have a folder of the topic's partition 0."""
    return [number for number in (1, 2, 3) if (data / f"broker-{number}" / f"{topic}-0").exists()]


@pytest.mark.parametrize("stops", ["cleanly", "crash"])
def test_a_restart_continues_a_reassignment_and_removed_replicas_delete_their_files(
    stops: str, connect: Connect, tmp_path: Path
) -> None:
    options = ServeOptions(brokers=3, data_dir=tmp_path, broker_settings=QUICK)
    with serving(options) as served:
        first = connect(served.bootstrap_servers)
        created(first, "t", 1, 2)
        sent(first, "t", b"a")
        served.kill(THIRD)
        assert moved(first, "t", [3]) == (0, None)
        until(lambda: replicas(first, "t") == (3, 1, 2))
        if stops == "crash":
            served.kill(BrokerId(1))
            served.kill(BrokerId(2))
        assert folders(tmp_path, "t") == [1, 2]
    with serving(options) as served:
        first = connect(served.bootstrap_servers)
        until(lambda: state(first, "t") == (3, {3}))
        assert replicas(first, "t") == (3,)
        until(lambda: folders(tmp_path, "t") == [3])
        assert read(connect(served.bootstrap_servers, 2), "t") == [b"a"]
