"""AlterReplicaLogDirs on a broker with one log folder: only a move to this folder succeeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.serving import Served
from tests.reference_impl.wire.single_requests import versions

Connect = Callable[..., Any]


@pytest.fixture(scope="module")
def leader(cluster: Served) -> int:
    """Creates the topic `one` with one replica; returns its leader."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic("one", 1, 1)])["one"].result(10)
    return int(admin.list_topics("one", 10).topics["one"].partitions[0].leader)


@versions(Api.ALTER_REPLICA_LOG_DIRS)
@pytest.mark.parametrize(
    ("path", "topic", "is_at_leader", "error"),
    [
        ("memory", "one", True, "NONE"),
        ("/elsewhere", "one", True, "LOG_DIR_NOT_FOUND"),
        ("/elsewhere", "unknown", True, "LOG_DIR_NOT_FOUND"),
        ("memory", "unknown", True, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("memory", "one", False, "REPLICA_NOT_AVAILABLE"),
        ("/elsewhere", "x" * 249, True, "INVALID_TOPIC_EXCEPTION"),
    ],
)
def test_a_replica_moves_only_within_its_folder(
    cluster: Served,
    connect: Connect,
    leader: int,
    version: int,
    path: str,
    topic: str,
    is_at_leader: bool,
    error: str,
) -> None:
    """Kafka: ReplicaManager.alterReplicaLogDirs. The error is that of the first check that
    fails.
    """
    number = leader - 1 if is_at_leader else leader % 3
    folder = {"path": path, "topics": [{"name": topic, "partitions": [0]}]}
    answer = connect(cluster.bootstrap_servers, number).call(
        Api.ALTER_REPLICA_LOG_DIRS, version, dirs=[folder]
    )
    (result,) = answer.results
    assert result.topic_name == topic
    assert [ErrorCode(one.error_code).name for one in result.partitions] == [error]
