"""Details of brokers' responses are as in Apache Kafka 4.3, in each version of an API.

Examples: a response names the current leader, a size limit cuts the last batch, an old version
rejects zstd. The reference broker got each detail wrong until `urteil conform` found it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from model.vocabulary import ProducerEpoch, ProducerId, Sequence
from reference_impl.log.consecutive_batches import whole_batches
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.protocol.messages import DEBUGGING_CONSUMER, ErrorCode
from reference_impl.protocol.topic_id import topic_id
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.serving import Served
from tests.reference_impl.wire.single_requests import begun

Connection = Any  # of conftest
Connect = Callable[..., Connection]
TWO_HOURS_MS = 7_200_000
VALUE = b"v" * 50


@pytest.fixture(scope="module")
def leads(cluster: Served) -> int:
    """Creates the topics `t` and `compacted`; returns the id of the broker that leads `t`."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic("t", 1, 3)])["t"].result()
    admin.create_topics([NewTopic("compacted", 1, 3, config={"cleanup.policy": "compact"})])[
        "compacted"
    ].result()
    return int(admin.list_topics("t").topics["t"].partitions[0].leader)


@pytest.fixture
def leader(leads: int, cluster: Served, connect: Connect) -> Connection:
    return connect(cluster.bootstrap_servers, leads - 1)


@pytest.fixture
def follower(leads: int, cluster: Served, connect: Connect) -> Connection:
    return connect(cluster.bootstrap_servers, leads % 3)


def produced(connection: Connection, version: int, batch: bytes, topic: str = "t") -> Any:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}]
    body: dict[str, Any] = {"acks": -1, "timeout": 5000, "topic_data": data}
    answer = connection.call(Api.PRODUCE, version, **body)
    return answer, answer.responses[0].partition_responses[0]


def fetched(connection: Connection, version: int, offset: int, **fields: Any) -> Any:
    part = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 10_000, **fields}
    body: dict[str, Any] = {"max_wait": 0, "min_bytes": 1, "max_bytes": 10_000}
    body["topics"] = [{"topic": "t", "partitions": [part]}]
    answer = connection.call(Api.FETCH, version, **body)
    return answer, answer.responses[0].partitions[0]


@pytest.mark.parametrize(
    ("version", "name", "error"),
    [
        (2, "", ErrorCode.NONE),
        (3, "", ErrorCode.INVALID_REQUEST),
        (3, "two words", ErrorCode.INVALID_REQUEST),
        (4, "apache-kafka-java", ErrorCode.NONE),
    ],
)
def test_a_client_needs_a_valid_name_as_kip_511_requires(
    cluster: Served, connect: Connect, version: int, name: str, error: ErrorCode
) -> None:
    """Since version 3, ApiVersions is rejected without a valid client name (KIP-511).

    Kafka: ApiVersionsRequest.isValid.
    """
    answer = connect(cluster.bootstrap_servers).call(
        Api.API_VERSIONS, version, client_software_name=name, client_software_version="1"
    )
    assert answer.error_code == error
    assert bool(answer.api_keys) is (error is ErrorCode.NONE)


@pytest.mark.parametrize("version", [9, 10, 12])
def test_a_follower_names_the_leader_to_a_producer(
    leads: int, follower: Connection, version: int
) -> None:
    """If a follower rejects a Produce request of version 10 or later, the response names the
    leader.

    Kafka: KafkaApis.handleProduceRequest (KIP-951).
    """
    answer, one = produced(follower, version, encode([Record(value=b"v")]))
    assert one.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if version < 10:
        assert not hasattr(one, "current_leader")
    else:
        assert one.current_leader.leader_id == leads
        assert [end.node_id for end in answer.node_endpoints] == [leads]
        assert answer.node_endpoints[0].port > 0


@pytest.mark.parametrize("version", [15, 16])
def test_a_response_without_such_an_error_has_no_hint(
    leads: int, follower: Connection, version: int
) -> None:
    """A Fetch response with UNKNOWN_LEADER_EPOCH does not name the leader.

    Only a response with NOT_LEADER_OR_FOLLOWER names the leader. Since version 11 of Fetch, a
    follower also serves consumers, so it does not respond with NOT_LEADER_OR_FOLLOWER.
    """
    del leads
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1, "current_leader_epoch": 9}
    answer = follower.call(
        Api.FETCH, version, max_wait=0, topics=[{"topic_id": topic_id("t"), "partitions": [part]}]
    )
    (one,) = answer.responses[0].partitions
    assert one.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert one.current_leader.leader_id == -1
    assert not getattr(answer, "node_endpoints", ())


@pytest.mark.parametrize(("version", "error"), [(6, 76), (7, 0)])
def test_zstd_needs_produce_7(leader: Connection, version: int, error: int) -> None:
    """A batch that is compressed with zstd is rejected before Produce version 7.

    Kafka: ProduceRequest.validateRecords (KIP-110).
    """
    _, one = produced(leader, version, encode([Record(value=b"v")], compression="zstd"))
    assert one.error_code == error
    assert (one.base_offset >= 0) is (error == 0)


def test_a_response_names_the_refused_records(
    leads: int, connect: Connect, cluster: Served
) -> None:
    """A Produce response names the refused records since version 8.

    Kafka: LogValidator.processRecordErrors (KIP-467).
    """
    now_ms = round(time.time() * 1000)
    records = [
        Record(key=b"k", value=b"v", timestamp_ms=now_ms + TWO_HOURS_MS),
        Record(key=b"k", value=b"v", timestamp_ms=now_ms),
        Record(value=b"v", timestamp_ms=now_ms),
    ]
    del leads
    for version, refused in ((7, None), (8, [0, 2]), (12, [0, 2])):
        found = set[int]()
        for place in range(3):
            connection = connect(cluster.bootstrap_servers, place)
            _, one = produced(connection, version, encode(records), "compacted")
            found.add(one.error_code)
            if one.error_code == ErrorCode.INVALID_TIMESTAMP and refused is not None:
                assert [error.batch_index for error in one.record_errors] == refused
        assert found == {ErrorCode.INVALID_TIMESTAMP, ErrorCode.NOT_LEADER_OR_FOLLOWER}


def test_the_limit_of_a_fetch_cuts_the_last_batch_and_never_the_first(leader: Connection) -> None:
    """The size limit of a fetch may cut the last batch, but never the first one.

    Consumers ignore a cut batch. Kafka: LogSegment.read.
    """
    _, first = produced(leader, 9, encode([Record(value=VALUE)]))
    produced(leader, 9, encode([Record(value=VALUE)]))
    size = len(encode([Record(value=VALUE)]))
    for limit, length, whole in (
        (0, size, 1),
        (1, size, 1),
        (size, size, 1),
        (size + 20, size + 20, 1),
        (2 * size - 1, 2 * size - 1, 1),
        (2 * size, 2 * size, 2),
    ):
        _, one = fetched(leader, 12, first.base_offset, partition_max_bytes=limit)
        assert len(one.records) == length
        assert len([*whole_batches(one.records)]) == whole


def test_a_follower_answers_a_debugging_consumer(leader: Connection, follower: Connection) -> None:
    """A follower answers ListOffsets of a debugging consumer with its log end offset.

    Other consumers get NOT_LEADER_OR_FOLLOWER. Kafka: ReplicaManager.fetchOffset.
    """
    _, last = produced(leader, 9, encode([Record(value=b"v")]))
    parts = [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}]
    topics = [{"name": "t", "partitions": parts}]
    offsets: dict[int, tuple[int, int]] = {}
    for replica in (-1, int(DEBUGGING_CONSUMER)):
        answer = follower.call(Api.LIST_OFFSETS, 5, replica_id=replica, topics=topics)
        (one,) = answer.topics[0].partitions
        offsets[replica] = (one.error_code, one.offset)
    assert offsets == {-1: (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1), -2: (0, last.base_offset + 1)}


def test_an_abort_at_once_after_a_commit_is_not_fenced(
    leader: Connection, coordinator: Callable[[str, int], Connection]
) -> None:
    """An abort that the client sends right after a commit is never fenced.

    The abort has the producer epoch after the commit. It gets CONCURRENT_TRANSACTIONS until the
    markers of the commit are written, and the client sends it again. franz-go sends such aborts.
    Kafka: TransactionCoordinator.endTransaction checks first whether a transition is in progress.
    """
    transactions = coordinator("hasty", 1)
    producer = begun(transactions, "hasty")
    found = set[int]()
    for _ in range(10):
        identity = producer["producer_id"], producer["producer_epoch"]
        records = encode([Record(value=b"v")], **named(identity), transactional=True)
        data = [{"topic_id": topic_id("t"), "partition_data": [{"index": 0, "records": records}]}]
        body = {"acks": -1, "timeout": 5000, "topic_data": data, "transactional_id": "hasty"}
        answer = leader.call(Api.PRODUCE, 13, **body)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        for commits in (True, False):
            while (
                ended := transactions.call(Api.END_TXN, 5, **producer, committed=commits)
            ).error_code == ErrorCode.CONCURRENT_TRANSACTIONS:
                found.add(ended.error_code)
            found.add(ended.error_code)
            producer |= {"producer_id": ended.producer_id, "producer_epoch": ended.producer_epoch}
    assert found <= {ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS}


def named(identity: tuple[int, int]) -> dict[str, Any]:
    """Returns the producer's fields of a batch; the first sequence number is 0."""
    return {
        "producer_id": ProducerId(identity[0]),
        "producer_epoch": ProducerEpoch(identity[1]),
        "base_sequence": Sequence(0),
    }
