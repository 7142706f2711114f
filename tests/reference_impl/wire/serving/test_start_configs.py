"""A broker is started with settings of Kafka; a cluster of one broker has defaults of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.cimpl import NewTopic

from model.faults import InputFault
from reference_impl.node.settings import BrokerSettings
from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.topic_settings import TopicSettings
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.nodes.host import SERVED
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving
from reference_impl.wire.serving.start_configs import started_with
from tests.reference_impl.wire.single_requests import begun

HEARTBEAT = "group.consumer.heartbeat.interval.ms"


@pytest.fixture(scope="module")
def alone() -> Iterator[Served]:
    options = ServeOptions(brokers=1, broker_settings=started_with([f"{HEARTBEAT}=123"]))
    with serving(options) as served:
        yield served


@pytest.fixture
def admin(alone: Served) -> AdminClient:
    return AdminClient({"bootstrap.servers": alone.bootstrap_servers, "log_level": 0})


def test_the_last_value_of_a_setting_wins() -> None:
    assert started_with([]) == SERVED
    found = started_with([f"{HEARTBEAT}=7", f"{HEARTBEAT}=9"], BrokerSettings())
    assert found == BrokerSettings(member_heartbeat_ms=9)


@pytest.mark.parametrize(
    ("texts", "retention_ms", "segment_ms"),
    [
        ([], None, None),
        (["log.retention.hours=2", "log.roll.hours=3"], 7_200_000, 10_800_000),
        (["log.retention.hours=2", "log.retention.minutes=5"], 300_000, None),
        (["log.retention.ms=-1", "log.retention.minutes=5", "log.roll.ms=7"], -1, 7),
    ],
)
def test_milliseconds_replace_minutes_which_replace_hours(
    texts: list[str], retention_ms: int | None, segment_ms: int | None
) -> None:
    found = started_with(texts).topic_defaults
    assert found == TopicSettings(retention_ms=retention_ms, segment_ms=segment_ms)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("group.consumer.hartbeat.interval.ms=1", f"the nearest settings are {HEARTBEAT}"),
        ("=1", "cannot start with 'no name'"),
        (HEARTBEAT, "the value must be a number of milliseconds, 1 to 2147483647"),
        (f"{HEARTBEAT}=0", "the value must be a number of milliseconds"),
        (f"{HEARTBEAT}=2147483648", "the value must be a number of milliseconds"),
        ("num.partitions=0", "num.partitions=0: the value must be a number, 1 to 2147483647"),
        (f"{HEARTBEAT}=45000", "member_session_ms must be longer than member_heartbeat_ms"),
        ("log.retention.ms=soon", "the value must be a number of at least -1"),
        ("log.retention.ms=0", "the value must be -1, or at least 1"),
        ("log.segment.bytes=100", "the value must be a number of at least 1048576"),
        ("log.cleanup.policy=keep", "the value must be delete or compact"),
        ("log.cleaner.max.compaction.lag.ms=1 ", "must be a number"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_next_step(given: str, why: str) -> None:
    with pytest.raises(InputFault) as caught:
        started_with([given])
    assert str(caught.value).startswith("--broker-config")
    assert why in str(caught.value)


def test_contradicting_defaults_are_refused() -> None:
    lags = (f"log.cleaner.{name}.compaction.lag.ms" for name in ("min", "max"))
    with pytest.raises(InputFault, match=r"min\.compaction\.lag\.ms \(6\) > max"):
        started_with([f"{name}={ms}" for name, ms in zip(lags, (6, 5), strict=True)])


def described(admin: AdminClient, kind: str, name: str) -> dict[str, str | None]:
    resource = ConfigResource(ConfigResource.Type[kind], name)
    (future,) = admin.describe_configs([resource]).values()
    return {one.name: one.value for one in future.result(10).values()}


def test_a_broker_describes_the_settings_of_its_start(admin: AdminClient) -> None:
    assert described(admin, "BROKER", "1")[HEARTBEAT] == "123"


def test_a_cluster_of_one_broker_has_one_replica_by_default(admin: AdminClient) -> None:
    (made,) = admin.create_topics([NewTopic("default", 1)]).values()
    made.result(10)
    (partition,) = admin.list_topics("default", timeout=10).topics["default"].partitions.values()
    assert partition.replicas == [1]
    settings = described(admin, "BROKER", "1")
    assert settings["default.replication.factor"] == settings["min.insync.replicas"] == "1"
    (refused,) = admin.create_topics([NewTopic("three", 1, 3)]).values()
    with pytest.raises(KafkaException, match="INVALID_REPLICATION_FACTOR"):
        refused.result(10)


def test_groups_and_transactions_work_on_one_broker(alone: Served, admin: AdminClient) -> None:
    (made,) = admin.create_topics([NewTopic("records", 1)]).values()
    made.result(10)
    servers = {"bootstrap.servers": alone.bootstrap_servers, "log_level": 0}
    producer = Producer({**servers, "transactional.id": "alone"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("records", b"one")
    producer.commit_transaction(20)
    consumer = Consumer({**servers, "group.id": "alone", "auto.offset.reset": "earliest"})
    consumer.subscribe(["records"])
    messages = consumer.consume(1, 20)
    assert [one.value() for one in messages] == [b"one"]
    consumer.commit(asynchronous=False)
    consumer.close()
    topics = admin.list_topics(timeout=10).topics
    for internal in ("__consumer_offsets", "__transaction_state"):
        replicas = {tuple(one.replicas) for one in topics[internal].partitions.values()}
        assert replicas == {(1,)}, internal


def test_a_group_is_added_to_a_transaction_before_any_group_exists(
    connect: Callable[..., Any],
) -> None:
    with serving(ServeOptions(brokers=1)) as served:
        at = connect(served.bootstrap_servers)
        while at.call(Api.FIND_COORDINATOR, 3, key="first", key_type=1).error_code:
            time.sleep(0.02)
        who = begun(at, "first")
        deadline = time.monotonic() + 10
        while error := at.call(Api.ADD_OFFSETS_TO_TXN, 3, **who, group_id="g").error_code:
            assert error == ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_the_features_of_groups_and_transactions_are_listed(
    alone: Served, connect: Callable[..., Any]
) -> None:
    names = {"client_software_name": "transcript", "client_software_version": "1"}
    answer = connect(alone.bootstrap_servers).call(Api.API_VERSIONS, 4, **names)
    levels = {one.name: one.max_version_level for one in answer.finalized_features}
    assert levels == {"group.version": 1, "transaction.version": 2}
    assert {one.name: one.max_version for one in answer.supported_features} == levels


LIMITS = {
    "num.partitions": "3",
    "transaction.max.timeout.ms": "5000",
    "group.max.size": "1",
    "group.consumer.max.size": "1",
    "max.incremental.fetch.session.cache.slots": "2",
}


@pytest.fixture(scope="module")
def limited() -> Iterator[Served]:
    """Yields a broker that was started with low limits."""
    broker_settings = started_with([f"{name}={value}" for name, value in LIMITS.items()])
    with serving(
        ServeOptions(brokers=1, broker_settings=broker_settings, auto_creates_topics=True)
    ) as served:
        yield served


def test_a_topic_without_a_number_of_partitions_has_the_default(limited: Served) -> None:
    admin = AdminClient({"bootstrap.servers": limited.bootstrap_servers, "log_level": 0})
    settings = described(admin, "BROKER", "1")
    assert {name: settings[name] for name in LIMITS} == LIMITS
    admin.create_topics([NewTopic("created")])["created"].result(10)
    Producer({"bootstrap.servers": limited.bootstrap_servers}).list_topics("automatic", 10)
    deadline = time.monotonic() + 10
    while len(admin.list_topics("automatic", 10).topics["automatic"].partitions) != 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert len(admin.list_topics("created", 10).topics["created"].partitions) == 3


def test_a_transaction_has_at_most_the_longest_timeout(
    limited: Served, connect: Callable[..., Any]
) -> None:
    at = connect(limited.bootstrap_servers)
    while at.call(Api.FIND_COORDINATOR, 3, key="t", key_type=1).error_code:
        time.sleep(0.02)

    def error(timeout_ms: int) -> int:
        fields: dict[str, Any] = {"transactional_id": "t", "transaction_timeout": timeout_ms}
        answer = at.call(Api.INIT_PRODUCER_ID, 4, **fields, producer_id=-1, producer_epoch=-1)
        return int(answer.error_code)

    while (found := error(5_000)) in {ErrorCode.NOT_COORDINATOR, ErrorCode(14)}:
        time.sleep(0.02)
    assert (found, error(5_001)) == (ErrorCode.NONE, ErrorCode.INVALID_TRANSACTION_TIMEOUT)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_full_group_admits_no_other_member(
    limited: Served, connect: Callable[..., Any], protocol: str
) -> None:
    admin = AdminClient({"bootstrap.servers": limited.bootstrap_servers, "log_level": 0})
    topic = f"full-{protocol}"
    admin.create_topics([NewTopic(topic)])[topic].result(10)
    servers = {"bootstrap.servers": limited.bootstrap_servers, "log_level": 0}
    consumer = Consumer({**servers, "group.id": protocol, "group.protocol": protocol})
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.1)
    at = connect(limited.bootstrap_servers)
    if protocol == "classic":
        one = {"name": "range", "metadata": b""}
        fields: dict[str, Any] = {"group_id": protocol, "session_timeout": 10_000}
        fields |= {"rebalance_timeout": 10_000, "member_id": "", "protocol_type": "consumer"}
        answer = at.call(Api.JOIN_GROUP, 5, **fields, protocols=[one])
    else:
        fields = {"group_id": protocol, "member_id": "new", "member_epoch": 0}
        fields |= {"rebalance_timeout": 10_000, "subscribed_topic_names": [topic]}
        answer = at.call(Api.CONSUMER_GROUP_HEARTBEAT, 1, **fields, topic_partitions=[])
    assert (answer.error_code, answer.member_id or "") == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    consumer.close()


def test_a_full_cache_opens_no_other_fetch_session(
    limited: Served, connect: Callable[..., Any]
) -> None:
    """A session younger than two minutes is not replaced by one of the same size.

    Kafka: FetchSessionCache.maybeCreateSession.
    """
    admin = AdminClient({"bootstrap.servers": limited.bootstrap_servers, "log_level": 0})
    admin.create_topics([NewTopic("fetched", 1)])["fetched"].result(10)
    at = connect(limited.bootstrap_servers)
    part = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1_000}
    body: dict[str, Any] = {"max_wait": 0, "min_bytes": 0, "max_bytes": 1_000, "session_epoch": 0}
    body["topics"] = [{"topic": "fetched", "partitions": [part]}]
    opened = [at.call(Api.FETCH, 11, **body).session_id for _ in range(3)]
    assert [bool(one) for one in opened] == [True, True, False]
