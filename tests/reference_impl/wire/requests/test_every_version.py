"""Requests for topics and records work in each advertised version; the test client uses kio."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from model.vocabulary import ProducerEpoch, ProducerId, Sequence
from reference_impl.log.record import Record
from reference_impl.log.record_batch import decode, encode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.messages.versions import VERSIONS
from reference_impl.wire.requests.configs.topic_configs import CONFIGS
from reference_impl.wire.serving.serving import Served
from tests.reference_impl.wire.single_requests import named, versions

LATEST, EARLIEST = -1, -2
COORDINATOR_NOT_AVAILABLE = 15
Connection = Any  # of conftest


@versions(Api.API_VERSIONS)
def test_api_versions_lists_the_supported_requests(
    version: int, cluster: Served, connect: Callable[..., Connection]
) -> None:
    answer = connect(cluster.bootstrap_servers).call(
        Api.API_VERSIONS, version, client_software_name="t", client_software_version="1"
    )

    values = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
    assert answer.error_code == 0
    assert values == {api: (served.first, served.last) for api, served in VERSIONS.items()}


@versions(Api.METADATA)
def test_metadata_lists_brokers_leaders_and_unknown_topics(
    version: int, cluster: Served, broker: Callable[[str], Connection]
) -> None:
    connection = broker("described")
    answer = connection.call(
        Api.METADATA, version, topics=[{"name": "described"}, {"name": "nope"}]
    )

    ports = [int(server.split(":")[1]) for server in cluster.bootstrap_servers.split(",")]
    assert [(one.node_id, one.port) for one in answer.brokers] == [*enumerate(ports, 1)]
    known, unknown = answer.topics
    assert (known.name, known.error_code, unknown.name, unknown.error_code) == (
        "described", 0, "nope", 3,
    )  # fmt: skip
    assert sorted(known.partitions[0].replica_nodes) == [1, 2, 3]
    if version >= 12:  # before, a topic id is an invalid request
        by_id = [{"topic_id": known.topic_id, "name": None}]
        assert connection.call(Api.METADATA, version, topics=by_id).topics[0].name == "described"


@versions(Api.CREATE_TOPICS)
def test_a_topic_is_created_once(
    version: int, cluster: Served, connect: Callable[..., Connection]
) -> None:
    connection = connect(cluster.bootstrap_servers)
    setting = {"name": "retention.ms", "value": "7"}
    new = {"name": f"new-{version}", "num_partitions": 2, "replication_factor": 2}
    new |= {"configs": [setting]}
    odd = {**new, "name": "odd", "configs": [{"name": "preallocate", "value": "true"}]}

    first = connection.call(Api.CREATE_TOPICS, version, topics=[new, odd], timeout=5000)
    second = connection.call(Api.CREATE_TOPICS, version, topics=[new], timeout=5000)

    assert [one.error_code for one in first.topics] == [0, 40]
    assert "preallocate" in first.topics[1].error_message
    assert [one.error_code for one in second.topics] == [36]
    if version >= 5:  # the Java client needs a list, even beside an error (KIP-525)
        configs = {one.name: (one.value, one.config_source) for one in first.topics[0].configs}
        assert configs.keys() == CONFIGS.keys()
        assert configs["retention.ms"] == ("7", 1)
        assert configs["segment.bytes"] == ("1073741824", 5)
        assert (first.topics[1].configs, second.topics[0].configs) == ((), ())


@versions(Api.CREATE_PARTITIONS)
def test_a_topic_grows_and_never_shrinks(version: int, broker: Callable[[str], Connection]) -> None:
    topic = f"grows-{version}"
    connection = broker(topic)

    def grown(count: int, **values: Any) -> int:
        wanted = {"name": topic, "count": count, **values}
        answer = connection.call(
            Api.CREATE_PARTITIONS, version, topics=[wanted], timeout=5000, validate_only=False
        )
        (said,) = answer.results
        assert said.name == topic
        return int(said.error_code)

    assert [grown(3), grown(3), grown(2)] == [0, 37, 37]
    assert grown(4, assignments=[{"broker_ids": [1, 2]}]) == 39  # the topic has three replicas
    assert grown(5, assignments=[{"broker_ids": [1, 2, 3]}]) == 39  # of one partition only
    only = {"topics": [{"name": topic, "count": 4}], "timeout": 5000, "validate_only": True}
    assert connection.call(Api.CREATE_PARTITIONS, version, **only).results[0].error_code == 0
    assert grown(4, assignments=[{"broker_ids": [3, 1, 2]}]) == 0


@versions(Api.INCREMENTAL_ALTER_CONFIGS)
def test_a_configuration_is_changed_setting_by_setting(
    version: int, broker: Callable[[str], Connection]
) -> None:
    topic = f"altered-{version}"
    connection = broker(topic)

    def altered(name: str, operation: int, value: str | None, **of: Any) -> int:
        change = {"name": name, "config_operation": operation, "value": value}
        values = {"resource_type": 2, "resource_name": topic, "configs": [change], **of}
        answer = connection.call(
            Api.INCREMENTAL_ALTER_CONFIGS, version, resources=[values], validate_only=False
        )
        return int(answer.responses[0].error_code)

    assert altered("retention.ms", 0, "7") == 0
    assert altered("retention.ms", 1, None) == 0
    assert altered("retention.ms", 0, "soon") == 40
    assert altered("retention.ms", 2, "7") == 40
    assert altered("retention.ms", 0, "7", resource_name="nope") == 3
    assert altered("retention.ms", 0, "7", resource_type=4) == 42


@versions(Api.DESCRIBE_CONFIGS)
def test_a_configuration_is_described(version: int, broker: Callable[[str], Connection]) -> None:
    connection = broker("described-configs")

    def described(kind: int, name: str, keys: list[str] | None) -> Any:
        values = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
        (answer,) = connection.call(Api.DESCRIBE_CONFIGS, version, resources=[values]).results
        return answer.error_code, {one.name: one.value for one in answer.configs}

    assert described(2, "described-configs", ["retention.ms"]) == (0, {"retention.ms": "604800000"})
    assert described(2, "described-configs", None)[1].keys() == CONFIGS.keys()
    assert described(2, "nope", None) == (3, {})
    assert described(32, "1", None) == (42, {})


@versions(Api.DELETE_RECORDS)
def test_deleted_records_are_not_read(version: int, broker: Callable[[str], Connection]) -> None:
    topic = f"deleted-{version}"
    connection = broker(topic)
    records = encode([Record(value=b"a")])
    data = {"name": topic, "partition_data": [{"index": 0, "records": records}]}
    for _ in range(2):
        connection.call(Api.PRODUCE, 9, acks=-1, timeout=5000, topic_data=[data])

    def deleted(before: int, index: int = 0) -> tuple[int, int]:
        wanted = {"name": topic, "partitions": [{"partition_index": index, "offset": before}]}
        answer = connection.call(Api.DELETE_RECORDS, version, topics=[wanted], timeout=5000)
        (said,) = answer.topics[0].partitions
        return said.error_code, said.low_watermark

    assert deleted(1) == (0, 1)
    assert deleted(3) == (1, -1)
    assert deleted(-1) == (0, 2)
    assert deleted(0, index=7) == (3, -1)


@versions(Api.PRODUCE)
def test_a_retry_of_an_appended_batch_gets_the_same_offset(
    version: int, broker: Callable[[str], Connection]
) -> None:
    topic = f"produced-{version}"
    connection = broker(topic)
    batch = encode(
        [Record(value=b"a"), Record(value=b"b")],
        producer_id=ProducerId(7), producer_epoch=ProducerEpoch(0), base_sequence=Sequence(0),
    )  # fmt: skip
    data = {**named(version, 13, topic), "partition_data": [{"index": 0, "records": batch}]}

    for _ in range(2):
        answer = connection.call(Api.PRODUCE, version, acks=-1, timeout=5000, topic_data=[data])
        (said,) = answer.responses[0].partition_responses
        assert (said.error_code, said.base_offset) == (0, 0)

    next_ = encode([Record(value=b"c")])
    data["partition_data"] = [{"index": 0, "records": next_}]
    answer = connection.call(Api.PRODUCE, version, acks=-1, timeout=5000, topic_data=[data])
    assert answer.responses[0].partition_responses[0].base_offset == 2


@versions(Api.FETCH)
def test_a_fetch_from_the_middle_of_a_batch_gets_the_whole_batch(
    version: int, broker: Callable[[str], Connection]
) -> None:
    topic = "fetched"
    connection = broker(topic)
    records = [Record(value=b"a"), Record(value=b"b")]
    data = {"name": topic, "partition_data": [{"index": 0, "records": encode(records)}]}
    said = connection.call(Api.PRODUCE, 9, acks=-1, timeout=5000, topic_data=[data])
    base = said.responses[0].partition_responses[0].base_offset

    wanted = {"partition": 0, "fetch_offset": base + 1, "partition_max_bytes": 1000}
    topics = [{**named(version, 13, topic, "topic"), "partitions": [wanted]}]
    answer = connection.call(Api.FETCH, version, max_wait=5000, min_bytes=1, topics=topics)

    (found,) = answer.responses[0].partitions
    assert (found.error_code, found.high_watermark, found.last_stable_offset) == (
        0, base + 2, base + 2,
    )  # fmt: skip
    assert decode(found.records) == ((base, records[0]), (base + 1, records[1]))


@versions(Api.LIST_OFFSETS)
def test_offsets_are_listed_by_position_and_by_time(
    version: int, broker: Callable[[str], Connection]
) -> None:
    topic = f"listed-{version}"
    connection = broker(topic)
    batch = encode([Record(value=b"a", timestamp_ms=10), Record(value=b"b", timestamp_ms=20)])
    data = {"name": topic, "partition_data": [{"index": 0, "records": batch}]}
    connection.call(Api.PRODUCE, 9, acks=-1, timeout=5000, topic_data=[data])

    def listed(timestamp: int) -> tuple[int, int]:
        asked = [{"partition_index": 0, "timestamp": timestamp}]
        topics = [{"name": topic, "partitions": asked}]
        answer = connection.call(Api.LIST_OFFSETS, version, replica_id=-1, topics=topics)
        (said,) = answer.topics[0].partitions
        return said.error_code, said.offset

    assert listed(EARLIEST) == (0, 0)
    assert listed(LATEST) == (0, 2)
    assert listed(20) == (0, 1)
    assert listed(21) == (0, -1)
    assert listed(-7) == (35, -1)


@versions(Api.OFFSET_FOR_LEADER_EPOCH)
def test_the_end_of_the_leader_epoch_is_returned(
    version: int, broker: Callable[[str], Connection]
) -> None:
    topic = f"epoch-{version}"
    connection = broker(topic)
    data = {"name": topic, "partition_data": [{"index": 0, "records": encode([Record(value=b"")])}]}
    connection.call(Api.PRODUCE, 9, acks=-1, timeout=5000, topic_data=[data])
    metadata = connection.call(Api.METADATA, 9, topics=[{"name": topic}])
    leader_epoch = metadata.topics[0].partitions[0].leader_epoch

    asked = {"partition": 0, "current_leader_epoch": leader_epoch, "leader_epoch": leader_epoch}
    answer = connection.call(
        Api.OFFSET_FOR_LEADER_EPOCH, version, topics=[{"topic": topic, "partitions": [asked]}]
    )

    (said,) = answer.topics[0].partitions
    assert (said.error_code, said.leader_epoch, said.end_offset) == (0, leader_epoch, 1)


@versions(Api.INIT_PRODUCER_ID)
def test_producer_ids_are_unique(
    version: int, cluster: Served, connect: Callable[..., Connection]
) -> None:
    connection = connect(cluster.bootstrap_servers)
    asked = {"transactional_id": None, "transaction_timeout": 1000}
    one, two = (connection.call(Api.INIT_PRODUCER_ID, version, **asked) for _ in range(2))
    assert (one.error_code, one.producer_epoch) == (0, 0)
    assert one.producer_id != two.producer_id


@versions(Api.FIND_COORDINATOR)
def test_a_coordinator_is_found_and_an_unknown_key_type_is_rejected(
    version: int, cluster: Served, connect: Callable[..., Connection]
) -> None:
    connection = connect(cluster.bootstrap_servers)

    def found(kind: int) -> Any:
        asked = {"coordinator_keys": ["g"]} if version >= 4 else {"key": "g"}
        answer = connection.call(Api.FIND_COORDINATOR, version, key_type=kind, **asked)
        return answer.coordinators[0] if version >= 4 else answer

    while (said := found(0)).error_code == COORDINATOR_NOT_AVAILABLE:
        time.sleep(0.02)
    assert said.error_code == 0
    host, port = cluster.bootstrap_servers.split(",")[said.node_id - 1].split(":")
    assert (said.host, said.port) == (host, int(port))
    if version >= 1:
        assert found(9).error_code == 42
