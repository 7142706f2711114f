"""A fetch that waits at a follower ends at once when the follower has a new record.

The fetch also ends if the topic is deleted, the replica moves, or another leader is elected.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from model.vocabulary import BrokerId
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.faults.cluster_faults import carry_out
from reference_impl.wire.faults.rule import Elect, Reassign
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.serving import Served
from tests.reference_impl.wire.one_topic import produce
from tests.reference_impl.wire.requests.cluster.test_inspection import created
from tests.reference_impl.wire.waiting import until

Connect = Callable[..., Any]
WAIT_MS = 20_000
AT_ONCE_S = 5.0


def appended(cluster: Served, leader: Any, topic: str) -> None:
    del cluster
    leader.call(Api.PRODUCE, 9, **produce(topic, b"a"))


def topic_deleted(cluster: Served, leader: Any, topic: str) -> None:
    del cluster
    leader.call(Api.DELETE_TOPICS, 5, topic_names=[topic], timeout=5000)


def replica_moved(cluster: Served, leader: Any, topic: str) -> None:
    del leader
    fault = Reassign(topic=topic, partition=0, replicas=(BrokerId(1), BrokerId(2)))
    cluster._run(carry_out(cluster._cluster, fault))


def other_leader_elected(cluster: Served, leader: Any, topic: str) -> None:
    del leader
    fault = Elect(topic=topic, partition=0, broker=BrokerId(2))
    cluster._run(carry_out(cluster._cluster, fault))


@pytest.mark.parametrize(
    ("happens", "error"),
    [
        (appended, ErrorCode.NONE),
        (topic_deleted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (replica_moved, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (other_leader_elected, ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
def test_a_fetch_that_waits_at_a_follower_ends_with_an_event(
    happens: Callable[[Served, Any, str], None],
    error: ErrorCode,
    cluster: Served,
    connect: Connect,
) -> None:
    """Kafka: ReplicaManager.completeDelayedOperationsWhenNotPartitionLeader."""
    topic = happens.__name__
    leader, follower = (connect(cluster.bootstrap_servers, place) for place in (0, 2))
    created(leader, topic, 1, 2, 3)
    wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    topics = [{"topic": topic, "partitions": [{**wanted, "current_leader_epoch": 0}]}]

    def fetched(wait_ms: int) -> ErrorCode:
        follower.send(Api.FETCH, 12, max_wait=wait_ms, min_bytes=1, max_bytes=1000, topics=topics)
        answer = follower.answer(Api.FETCH, 12)
        return ErrorCode(answer.responses[0].partitions[0].error_code)

    until(lambda: fetched(0) is ErrorCode.NONE)
    follower.send(Api.FETCH, 12, max_wait=WAIT_MS, min_bytes=1, max_bytes=1000, topics=topics)
    time.sleep(0.1)
    begun = time.monotonic()
    happens(cluster, leader, topic)
    answer = follower.answer(Api.FETCH, 12)
    assert answer.responses[0].partitions[0].error_code == error
    assert time.monotonic() - begun < AT_ONCE_S
