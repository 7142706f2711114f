"""Administration of topics: creation with replicas, deletion, and what is left afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from model.vocabulary import BrokerId
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving
from tests.reference_impl.wire.single_requests import versions
from tests.reference_impl.wire.waiting import until

Connection = Any  # of conftest
Connect = Callable[..., Connection]
NO_ERROR, INVALID = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.fixture
def broker(cluster: Served, connect: Connect) -> Connection:
    return connect(cluster.bootstrap_servers)


@pytest.fixture
def admin(cluster: Served) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers})


def created(broker: Connection, *topics: dict[str, Any], **values: Any) -> Any:
    new = [{"num_partitions": 1, "replication_factor": 3, **topic} for topic in topics]
    return broker.call(Api.CREATE_TOPICS, 7, topics=new, timeout=5000, **values).topics


def metadata(broker: Connection, topic: str) -> Any:
    (found,) = broker.call(Api.METADATA, 12, topics=[{"name": topic}]).topics
    return found


# ---------------------------------------------------------------- deletion


@versions(Api.DELETE_TOPICS)
def test_a_deleted_topic_is_unknown(version: int, broker: Connection) -> None:
    name = f"gone-{version}"
    (new,) = created(broker, {"name": name})

    def deleted(*names: str) -> list[tuple[str, int]]:
        topics = [{"name": one} for one in names]
        values = {"topics": topics} if version >= 6 else {"topic_names": list(names)}
        found = broker.call(Api.DELETE_TOPICS, version, timeout=5000, **values).responses
        if version >= 6 and names == (name,) and found[0].error_code == 0:
            assert found[0].topic_id == new.topic_id
        return sorted((one.name, one.error_code) for one in found)

    assert deleted(name, "nope", "nope") == [(name, 0), ("nope", INVALID)]
    assert deleted(name) == [(name, UNKNOWN)]
    assert metadata(broker, name).error_code == UNKNOWN


def test_a_topic_is_deleted_by_its_id_and_has_another_one_when_it_is_created_again(
    broker: Connection,
) -> None:
    (first,) = created(broker, {"name": "again"})

    def deleted(name: str | None, topic_id: Any) -> tuple[str | None, int]:
        wanted = [{"name": name, "topic_id": topic_id}]
        (one,) = broker.call(Api.DELETE_TOPICS, 6, topics=wanted, timeout=5000).responses
        return one.name, one.error_code

    assert deleted("again", first.topic_id) == ("again", INVALID)
    assert deleted(None, None) == (None, INVALID)
    assert deleted(None, first.topic_id) == ("again", NO_ERROR)
    assert deleted(None, first.topic_id) == (None, ErrorCode.UNKNOWN_TOPIC_ID)
    (second,) = created(broker, {"name": "again"})
    assert second.topic_id not in (first.topic_id, None)
    assert metadata(broker, "again").topic_id == second.topic_id
    by_id = [{"topic_id": first.topic_id, "name": None}]
    (stale,) = broker.call(Api.METADATA, 12, topics=by_id).topics
    assert stale.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def used(cluster: Served, admin: AdminClient, topic: str) -> None:
    """Creates a topic, uses the topic once, and deletes it.

    At first the topic must have no record and no committed offset. Then a client writes one record
    and commits one offset.
    """
    servers = cluster.bootstrap_servers
    admin.create_topics([NewTopic(topic, 1, 3)])[topic].result(10)
    until(lambda: topic in admin.list_topics(timeout=10).topics)
    consumer = Consumer({
        "bootstrap.servers": servers, "group.id": "reader", "enable.auto.commit": False,
    })  # fmt: skip
    place = TopicPartition(topic, 0)
    assert consumer.get_watermark_offsets(place, 10, cached=False) == (0, 0)
    until(lambda: consumer.committed([place], 10)[0].offset < 0)
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(topic, b"v")
    assert producer.flush(10) == 0
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    consumer.close()
    admin.delete_topics([topic])[topic].result(10)
    until(lambda: topic not in admin.list_topics(timeout=10).topics)


def test_librdkafka_deletes_a_topic_and_its_records_and_offsets_are_gone(
    cluster: Served, admin: AdminClient
) -> None:
    used(cluster, admin, "short")
    used(cluster, admin, "short")
    with pytest.raises(KafkaException):
        admin.delete_topics(["short"])["short"].result(10)


def test_requests_that_wait_at_a_deleted_partition_end(
    broker: Connection, cluster: Served, connect: Connect
) -> None:
    created(broker, {"name": "waiting", "replication_factor": 1})
    place = metadata(broker, "waiting").partitions[0].leader_id - 1
    leader = connect(cluster.bootstrap_servers, place)
    wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    topics = [{"topic": "waiting", "partitions": [wanted]}]
    leader.send(Api.FETCH, 12, max_wait=15_000, min_bytes=1, topics=topics)
    begun = time.monotonic()
    broker.call(Api.DELETE_TOPICS, 5, topic_names=["waiting"], timeout=5000)
    answer = leader.answer(Api.FETCH, 12)
    assert answer.responses[0].partitions[0].error_code == UNKNOWN
    assert time.monotonic() - begun < 10


def test_a_broker_that_was_down_drops_the_log_of_a_topic_that_was_created_again(
    connect: Connect,
) -> None:
    with serving(ServeOptions(brokers=3)) as served:
        servers = served.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        topic = NewTopic("twice", 1, replica_assignment=[[2, 1, 3]])
        admin.create_topics([topic])["twice"].result(10)
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
        producer.produce("twice", b"old")
        assert producer.flush(10) == 0
        served.kill(BrokerId(3))
        first = connect(servers, 0)
        first.call(Api.DELETE_TOPICS, 5, topic_names=["twice"], timeout=5000)
        assignments = [{"partition_index": 0, "broker_ids": [3, 1, 2]}]
        again = {"name": "twice", "num_partitions": -1, "replication_factor": -1}
        created(first, {**again, "assignments": assignments})
        served.start(BrokerId(3))
        served.await_calm()

        def in_sync() -> int:
            return len(metadata(first, "twice").partitions[0].isr_nodes)

        until(lambda: in_sync() == 3)
        served.kill(BrokerId(1))
        served.kill(BrokerId(2))
        third = connect(servers, 2)
        until(lambda: metadata(third, "twice").partitions[0].leader_id == 3)
        wanted = [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}]
        topics = [{"name": "twice", "partitions": wanted}]
        (end,) = third.call(Api.LIST_OFFSETS, 5, replica_id=-1, topics=topics).topics[0].partitions
        assert (end.error_code, end.offset) == (0, 0)


# ---------------------------------------------------------------- creation


def test_a_client_chooses_the_replicas_of_a_new_topic(admin: AdminClient) -> None:
    new = NewTopic("placed", 2, replica_assignment=[[2, 1], [3, 1]])
    admin.create_topics([new])["placed"].result(10)
    admin.create_partitions([NewPartitions("placed", 3, replica_assignment=[[1, 3]])])[
        "placed"
    ].result(10)
    until(lambda: len(admin.list_topics("placed", 10).topics["placed"].partitions) == 3)
    found = admin.list_topics("placed", timeout=10).topics["placed"].partitions
    assert [(one.leader, one.replicas) for _, one in sorted(found.items())] == [
        (2, [2, 1]),
        (3, [3, 1]),
        (1, [1, 3]),
    ]


@pytest.mark.parametrize(
    ("assignments", "values", "error"),
    [
        ([(0, [1, 2])], {"replication_factor": 2}, INVALID),
        ([(0, [1, 2])], {"num_partitions": 1}, INVALID),
        ([(0, [1]), (0, [2])], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([(0, [1]), (2, [2])], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([(0, [1, 1])], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([(0, [])], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([(0, [7])], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([(0, [1]), (1, [1, 2])], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_an_invalid_assignment_is_rejected(
    broker: Connection,
    assignments: list[tuple[int, list[int]]],
    values: dict[str, int],
    error: ErrorCode,
) -> None:
    """A topic with an invalid replica assignment is rejected and not created.

    Kafka: ReplicationControlManager.validateManualPartitionAssignment.
    """
    parts = [{"partition_index": index, "broker_ids": ids} for index, ids in assignments]
    topic = {"name": "misplaced", "num_partitions": -1, "replication_factor": -1, **values}
    (refused,) = created(broker, {**topic, "assignments": parts})
    assert refused.error_code == error
    assert metadata(broker, "misplaced").error_code == UNKNOWN


def test_a_validated_topic_is_not_created(broker: Connection) -> None:
    (checked,) = created(broker, {"name": "checked"}, validate_only=True)
    assert (checked.error_code, checked.num_partitions, len(checked.configs) > 0) == (0, 1, True)
    assert metadata(broker, "checked").error_code == UNKNOWN
    created(broker, {"name": "real"})
    (exists,) = created(broker, {"name": "real"}, validate_only=True)
    assert exists.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_topic_that_occurs_twice_in_a_request_is_not_created(broker: Connection) -> None:
    results = created(broker, {"name": "once"}, {"name": "twins"}, {"name": "twins"})
    assert {one.name: one.error_code for one in results} == {"once": 0, "twins": INVALID}


def test_metadata_creates_a_topic_if_the_option_is_on(connect: Connect) -> None:
    with serving(ServeOptions(brokers=1, auto_creates_topics=True)) as served:
        broker = connect(served.bootstrap_servers)
        refused = [{"name": "no"}]
        broker.call(Api.METADATA, 12, topics=refused, allow_auto_topic_creation=False)
        assert metadata_of(broker, "a b", creates=True).error_code == 17
        assert metadata_of(broker, "yes", creates=True).error_code == UNKNOWN
        until(lambda: metadata_of(broker, "yes", creates=False).error_code == NO_ERROR)
        names = [one.name for one in broker.call(Api.METADATA, 12, topics=None).topics]
        assert names == ["yes"]


def metadata_of(broker: Connection, topic: str, *, creates: bool) -> Any:
    values = {"topics": [{"name": topic}], "allow_auto_topic_creation": creates}
    (found,) = broker.call(Api.METADATA, 12, **values).topics
    return found


# ---------------------------------------------------------------- settings


@versions(Api.ALTER_CONFIGS)
def test_settings_are_replaced_as_a_whole(version: int, broker: Connection) -> None:
    name = f"replaced-{version}"
    created(broker, {"name": name, "configs": [{"name": "retention.ms", "value": "7"}]})

    def replaced(configs: dict[str, str], **values: Any) -> int:
        settings = [{"name": key, "value": value} for key, value in configs.items()]
        resource = {"resource_type": 2, "resource_name": name, "configs": settings, **values}
        body = {"resources": [resource], "validate_only": values.pop("validate_only", False)}
        return int(broker.call(Api.ALTER_CONFIGS, version, **body).responses[0].error_code)

    def set_here() -> dict[str, str]:
        resource = {"resource_type": 2, "resource_name": name, "configuration_keys": None}
        (found,) = broker.call(Api.DESCRIBE_CONFIGS, 4, resources=[resource]).results
        return {one.name: one.value for one in found.configs if one.config_source == 1}

    assert replaced({"segment.bytes": "1000"}, validate_only=True) == 0
    assert set_here() == {"retention.ms": "7"}
    assert replaced({"segment.bytes": "1000"}) == 0
    until(lambda: set_here() == {"segment.bytes": "1000"})
    assert replaced({"retention.ms": "soon"}) == ErrorCode.INVALID_CONFIG
    assert replaced({}, resource_name="nope") == UNKNOWN
    assert replaced({}, resource_type=4) == INVALID


@versions(Api.LIST_CONFIG_RESOURCES)
def test_brokers_and_topics_have_settings(version: int, broker: Connection) -> None:
    created(broker, {"name": "listed"})

    def listed(*types: int) -> Any:
        answer = broker.call(Api.LIST_CONFIG_RESOURCES, version, resource_types=list(types))
        return answer.error_code, {one.resource_name for one in answer.config_resources}

    if version == 0:
        assert listed() == (0, set())  # client metrics
        return
    assert listed(4) == (0, {"1", "2", "3"})
    assert {"listed", "1"} <= listed()[1]
    assert listed(2, 7) == (ErrorCode.UNSUPPORTED_VERSION, set())


# ---------------------------------------------------------------- descriptions


@versions(Api.DESCRIBE_CLUSTER)
def test_the_cluster_is_described(version: int, broker: Connection, cluster: Served) -> None:
    answer = broker.call(Api.DESCRIBE_CLUSTER, version, endpoint_type=1)
    ports = [int(server.split(":")[1]) for server in cluster.bootstrap_servers.split(",")]
    assert [(one.broker_id, one.port) for one in answer.brokers] == [*enumerate(ports, 1)]
    assert answer.cluster_id == "urteil-reference-broker"
    if version >= 1:
        other = broker.call(Api.DESCRIBE_CLUSTER, version, endpoint_type=2)
        assert other.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
        assert other.brokers == ()


def test_partitions_are_described_page_by_page(broker: Connection) -> None:
    created(broker, {"name": "p1", "num_partitions": 3}, {"name": "p2"})
    cursor, pages = None, list[list[tuple[str, int, list[int]]]]()
    while True:
        answer = broker.call(
            Api.DESCRIBE_TOPIC_PARTITIONS,
            0,
            topics=[{"name": "p2"}, {"name": "p1"}, {"name": "none"}],
            response_partition_limit=2,
            cursor=cursor,
        )
        rows = answer.topics
        pages.append([
            (one.name, one.error_code, [part.partition_index for part in one.partitions])
            for one in rows
        ])  # fmt: skip
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert pages == [
        [("none", UNKNOWN, []), ("p1", 0, [0, 1])],
        [("p1", 0, [2]), ("p2", 0, [0])],
    ]
