"""Every request in every version that is advertised, over TCP, read with kio's other direction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from model.vocabulary import ProducerEpoch, ProducerId, Sequence
from reference_impl.record_batch import Record, decode, encode
from reference_impl.wire.adapter import topic_id
from reference_impl.wire.serve import Served
from reference_impl.wire.versions import VERSIONS, Api

LATEST, EARLIEST = -1, -2
Connection = Any  # of conftest


def versions(api: Api) -> pytest.MarkDecorator:
    first, last = VERSIONS[api].first_answered, VERSIONS[api].last
    return pytest.mark.parametrize("version", range(first, last + 1))


@pytest.fixture(scope="module")
def topics() -> set[str]:
    """Topics that exist already in the module's cluster."""
    return set()


@pytest.fixture
def broker(
    cluster: Served, connect: Callable[..., Connection], topics: set[str]
) -> Callable[[str], Connection]:
    """Creates a topic of one partition where it is new, and connects to its leader."""

    def leading(topic: str) -> Connection:
        asked = connect(cluster.bootstrap_servers)
        if topic not in topics:
            new = {"name": topic, "num_partitions": 1, "replication_factor": 3}
            created = asked.call(Api.CREATE_TOPICS, 7, topics=[new], timeout=5000)
            assert created.topics[0].error_code == 0
            topics.add(topic)
        while True:
            (found,) = asked.call(Api.METADATA, 12, topics=[{"name": topic}]).topics
            if found.error_code == 0 and found.partitions[0].leader_id > 0:
                return connect(cluster.bootstrap_servers, found.partitions[0].leader_id - 1)

    return leading


def named(version: int, by_id_since: int, topic: str, name: str = "name") -> dict[str, Any]:
    return {"topic_id": topic_id(topic)} if version >= by_id_since else {name: topic}


@versions(Api.API_VERSIONS)
def test_api_versions_tells_what_is_served(
    version: int, cluster: Served, connect: Callable[..., Connection]
) -> None:
    answer = connect(cluster.bootstrap_servers).call(
        Api.API_VERSIONS, version, client_software_name="t", client_software_version="1"
    )

    told = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
    assert answer.error_code == 0
    assert told == {api: (served.first, served.last) for api, served in VERSIONS.items()}


@versions(Api.METADATA)
def test_metadata_names_brokers_leaders_and_what_is_unknown(
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
    if version >= 10:
        by_id = [{"topic_id": known.topic_id, "name": None}]
        assert connection.call(Api.METADATA, version, topics=by_id).topics[0].name == "described"


@versions(Api.CREATE_TOPICS)
def test_a_topic_is_created_once(
    version: int, cluster: Served, connect: Callable[..., Connection]
) -> None:
    connection = connect(cluster.bootstrap_servers)
    new = {"name": f"new-{version}", "num_partitions": 2, "replication_factor": 2}
    odd = {**new, "name": "odd", "configs": [{"name": "cleanup.policy", "value": "compact"}]}

    first = connection.call(Api.CREATE_TOPICS, version, topics=[new, odd], timeout=5000)
    second = connection.call(Api.CREATE_TOPICS, version, topics=[new], timeout=5000)

    assert [one.error_code for one in first.topics] == [0, 40]
    assert "cleanup.policy" in first.topics[1].error_message
    assert [one.error_code for one in second.topics] == [36]


@versions(Api.PRODUCE)
def test_an_appended_batch_gets_its_offset_and_a_retry_the_same(
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
def test_offsets_are_listed_by_place_and_by_time(
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
    assert listed(-5) == (35, -1)


@versions(Api.OFFSET_FOR_LEADER_EPOCH)
def test_the_end_of_the_leader_epoch_is_told(
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
def test_producer_ids_are_fresh_and_transactional_ids_refused(
    version: int, cluster: Served, connect: Callable[..., Connection]
) -> None:
    connection = connect(cluster.bootstrap_servers)

    def initialised(transactional_id: str | None) -> Any:
        asked = {"transactional_id": transactional_id, "transaction_timeout": 1000}
        return connection.call(Api.INIT_PRODUCER_ID, version, **asked)

    one, two, refused = initialised(None), initialised(None), initialised("pipeline")
    assert (one.error_code, one.producer_epoch, refused.error_code) == (0, 0, 42)
    assert one.producer_id != two.producer_id


@versions(Api.FIND_COORDINATOR)
def test_groups_are_refused_in_words(
    version: int, cluster: Served, connect: Callable[..., Connection]
) -> None:
    asked = {"coordinator_keys": ["g"]} if version >= 4 else {"key": "g"}
    answer = connect(cluster.bootstrap_servers).call(Api.FIND_COORDINATOR, version, **asked)

    said = answer.coordinators[0] if version >= 4 else answer
    assert said.error_code == 42
    if version >= 1:
        assert "no groups" in said.error_message
