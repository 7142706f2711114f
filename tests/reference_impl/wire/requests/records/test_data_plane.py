"""Produce, Fetch and ListOffsets over TCP: their limits and errors, as in Kafka."""

from __future__ import annotations

import time
from typing import Any

import pytest

from model.vocabulary import ProducerEpoch, ProducerId, Sequence
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import serving
from tests.reference_impl.wire.one_topic import create, fetch, leader, produce, values

Connect = Any  # the fixture `connect` of conftest


def test_a_topic_partition_that_occurs_twice_is_appended_once(connect: Connect) -> None:
    """If a topic partition occurs twice in a request, only its last batch is appended.

    Kafka: KafkaApis.handleProduceRequest.
    """
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        body = produce("t", b"first")
        body["topic_data"] += produce("t", b"second")["topic_data"]
        (responses,) = connection.call(Api.PRODUCE, 9, **body).responses
        assert [one.base_offset for one in responses.partition_responses] == [0]
        assert values(connection.call(Api.FETCH, 12, **fetch("t", 0, max_wait=100))) == [b"second"]


@pytest.mark.parametrize(
    ("transactional_id", "error"),
    [
        (None, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ("", ErrorCode.INVALID_REQUEST),
    ],
)
def test_transactional_records_need_a_transactional_id(
    connect: Connect, transactional_id: str | None, error: ErrorCode
) -> None:
    """Transactional records are rejected if the request has no transactional id or an empty one.

    Kafka: KafkaApis.handleProduceRequest; for an empty id
    TransactionCoordinator.handleVerifyPartitionsInTransaction.
    """
    records = encode(
        [Record(value=b"v")],
        producer_id=ProducerId(1), producer_epoch=ProducerEpoch(0),
        base_sequence=Sequence(0), transactional=True,
    )  # fmt: skip
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        connection.call(Api.FIND_COORDINATOR, 3, key="x", key_type=1)
        while connection.call(Api.FIND_COORDINATOR, 3, key="x", key_type=1).error_code:
            time.sleep(0.01)
        body = produce("t", b"") | {"transactional_id": transactional_id}
        body["topic_data"][0]["partition_data"][0]["records"] = records
        (response,) = connection.call(Api.PRODUCE, 9, **body).responses
        assert response.partition_responses[0].error_code == error


@pytest.mark.parametrize(("max_bytes", "found"), [(1, [b"a"]), (10_000, [b"a", b"b"])])
def test_the_limit_of_a_fetch_applies_to_its_first_topic_partition_too(
    connect: Connect, max_bytes: int, found: list[bytes]
) -> None:
    """The size limit of a whole fetch also limits its first topic partition.

    With a limit of one byte the response has only the first batch. Kafka:
    ReplicaManager.readFromLog.
    """
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        for sequence, value in enumerate((b"a", b"b")):
            connection.call(Api.PRODUCE, 9, **produce("t", value, sequence=sequence))
        body = fetch("t", 0, max_wait=100) | {"max_bytes": max_bytes}
        assert values(connection.call(Api.FETCH, 12, **body)) == found


def test_a_fetch_of_many_partitions_is_limited_after_the_first_batch(connect: Connect) -> None:
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        for topic in ("a", "b"):
            create(connection, topic)
            connection.call(Api.PRODUCE, 9, **produce(topic, b"x" * 100))
        both = fetch("a", 0, max_wait=0)
        both["topics"] += fetch("b", 0, max_wait=0)["topics"]
        small = connection.call(Api.FETCH, 12, max_bytes=10, **both)
        large = connection.call(Api.FETCH, 12, max_bytes=10_000, **both)

    def sizes(answer: Any) -> list[int]:
        return [len(one.partitions[0].records) for one in answer.responses]

    assert sizes(small) == [sizes(large)[0], 0]
    assert all(sizes(large))
    assert [one.partitions[0].high_watermark for one in small.responses] == [1, 1]


def test_a_follower_serves_consumers_since_version_11(connect: Connect) -> None:
    """A follower serves consumers from Fetch version 11 on.

    With an older version the error is NOT_LEADER_OR_FOLLOWER.

    Kafka: FetchParams.fetchOnlyLeader, KIP-392.
    """
    with serving(ServeOptions(brokers=3)) as cluster:
        connections = [connect(cluster.bootstrap_servers, place) for place in range(3)]
        create(connections[0], "t", replicas=3)
        at = leader(connections[0], "t") - 1
        connections[at].call(Api.PRODUCE, 9, **produce("t", b"a"))
        follower = connections[(at + 1) % 3]
        old = follower.call(Api.FETCH, 10, **fetch("t", 0, max_wait=0))
        assert old.responses[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert values(follower.call(Api.FETCH, 11, **fetch("t", 0, max_wait=5_000))) == [b"a"]


def test_a_fetch_response_with_an_error_has_no_offsets(connect: Connect) -> None:
    """A fetch response with an error has -1 as each of its offsets, and no list of aborted
    transactions.

    Kafka: ReplicaManager.createLogReadResult for an OffsetOutOfRangeException.
    """
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        answer = connection.call(Api.FETCH, 12, **fetch("t", 9, max_wait=0), isolation_level=1)
        (found,) = answer.responses[0].partitions
        assert found.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert (found.high_watermark, found.last_stable_offset, found.log_start_offset) == (-1,) * 3
        assert found.aborted_transactions is None


@pytest.mark.parametrize(("timestamp", "since"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 12)])
def test_a_query_of_list_offsets_has_a_first_version(
    connect: Connect, timestamp: int, since: int
) -> None:
    """Each special timestamp of ListOffsets is supported from a certain version on.

    In an earlier version the error is UNSUPPORTED_VERSION. Kafka:
    ReplicaManager.isListOffsetsTimestampUnsupported.
    """
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        wanted = [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": timestamp}]
        body = {"replica_id": -1, "topics": [{"name": "t", "partitions": wanted}]}
        for version in (since - 1, since):
            if version not in VERSIONS[Api.LIST_OFFSETS]:
                continue
            answer = connection.call(Api.LIST_OFFSETS, version, **body)
            error = answer.topics[0].partitions[0].error_code
            assert error == (ErrorCode.NONE if version >= since else ErrorCode.UNSUPPORTED_VERSION)


def test_a_topic_partition_that_is_listed_twice_is_an_invalid_request(connect: Connect) -> None:
    """ListOffsets for a topic partition that occurs twice in the request gets INVALID_REQUEST.

    Kafka: ReplicaManager.fetchOffset.
    """
    with serving(ServeOptions(brokers=1)) as cluster:
        connection = connect(cluster.bootstrap_servers)
        create(connection, "t")
        wanted = [{"partition_index": 0, "timestamp": query} for query in (-1, -2)]
        body = {"replica_id": -1, "topics": [{"name": "t", "partitions": wanted}]}
        (topic,) = connection.call(Api.LIST_OFFSETS, 8, **body).topics
        (found,) = topic.partitions
        assert (found.error_code, found.offset) == (ErrorCode.INVALID_REQUEST, -1)
