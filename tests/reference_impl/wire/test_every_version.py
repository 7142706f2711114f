"""Every supported request in each advertised version over TCP; the test client uses kio."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from model.vocabulary import ProducerEpoch, ProducerId, Sequence
from reference_impl.log.record_batch import Record, decode, encode
from reference_impl.wire.adapter import topic_id
from reference_impl.wire.apis import Api
from reference_impl.wire.serve import Served
from reference_impl.wire.topic_configs import CONFIGS
from reference_impl.wire.versions import VERSIONS
from tests.reference_impl.wire.single_requests import begun, versions

LATEST, EARLIEST = -1, -2
COORDINATOR_NOT_AVAILABLE = 15
Connection = Any  # of conftest


@pytest.fixture(scope="module")
def topics() -> set[str]:
    return set()


@pytest.fixture
def broker(
    cluster: Served, connect: Callable[..., Connection], topics: set[str]
) -> Callable[[str], Connection]:
    """Returns a function that creates a topic of one partition and connects to its leader."""

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
    if version >= 10:
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
    odd = {**new, "name": "odd", "configs": [{"name": "compression.type", "value": "zstd"}]}

    first = connection.call(Api.CREATE_TOPICS, version, topics=[new, odd], timeout=5000)
    second = connection.call(Api.CREATE_TOPICS, version, topics=[new], timeout=5000)

    assert [one.error_code for one in first.topics] == [0, 40]
    assert "compression.type" in first.topics[1].error_message
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
    assert grown(4, assignments=[{"broker_ids": [1, 2, 3]}]) == 39
    only = {"topics": [{"name": topic, "count": 4}], "timeout": 5000, "validate_only": True}
    assert connection.call(Api.CREATE_PARTITIONS, version, **only).results[0].error_code == 42


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
    assert altered("cleanup.policy", 2, "compact") == 40
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
    assert described(4, "1", None) == (42, {})


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


# ---------------------------------------------------------------- transactions and groups


def committed(version: int, topic: str, offset: int, *, by_id_since: int = 99) -> dict[str, Any]:
    values = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "why"}
    return {**named(version, by_id_since, topic), "partitions": [values]}


def fetched(connection: Connection, group: str, topic: str) -> tuple[int, str]:
    wanted = [{"name": topic, "partition_indexes": [0]}]
    answer = connection.call(Api.OFFSET_FETCH, 5, group_id=group, topics=wanted)
    (one,) = answer.topics[0].partitions
    return one.committed_offset, one.metadata


@versions(Api.ADD_PARTITIONS_TO_TXN)
def test_partitions_are_added_to_a_transaction(
    version: int,
    broker: Callable[[str], Connection],
    coordinator: Callable[[str, int], Connection],
) -> None:
    broker("added")
    connection = coordinator(f"add-{version}", 1)
    who = begun(connection, f"add-{version}")
    topics = [{"name": "added", "partitions": [0]}]
    if version >= 4:
        one = {**who, "verify_only": False, "topics": topics}
        answer = connection.call(Api.ADD_PARTITIONS_TO_TXN, version, transactions=[one])
        (result,) = answer.results_by_transaction[0].topic_results
    else:
        values = {
            f"v3_and_below_{name}": value for name, value in {**who, "topics": topics}.items()
        }
        answer = connection.call(Api.ADD_PARTITIONS_TO_TXN, version, **values)
        (result,) = answer.results_by_topic_v3_and_below
    assert result.name == "added"
    assert [one.partition_error_code for one in result.results_by_partition] == [0]


@versions(Api.END_TXN)
def test_end_txn_without_a_transaction_is_rejected_except_an_abort_in_v2(
    version: int, coordinator: Callable[[str, int], Connection]
) -> None:
    connection = coordinator(f"end-{version}", 1)
    who = begun(connection, f"end-{version}")
    assert connection.call(Api.END_TXN, version, **who, committed=True).error_code == 48
    answer = connection.call(Api.END_TXN, version, **who, committed=False)
    if version >= 5:
        assert (answer.error_code, answer.producer_epoch) == (0, who["producer_epoch"] + 1)
    else:
        assert answer.error_code == 48


@versions(Api.ADD_OFFSETS_TO_TXN)
def test_the_offsets_of_a_group_are_added_to_a_transaction(
    version: int, coordinator: Callable[[str, int], Connection]
) -> None:
    coordinator("any", 0)
    connection = coordinator(f"offsets-{version}", 1)
    who = begun(connection, f"offsets-{version}")
    assert connection.call(Api.ADD_OFFSETS_TO_TXN, version, **who, group_id="any").error_code == 0


@versions(Api.TXN_OFFSET_COMMIT)
def test_transactional_offsets_take_effect_once_committed(
    version: int,
    broker: Callable[[str], Connection],
    coordinator: Callable[[str, int], Connection],
) -> None:
    broker("consumed")
    name = f"pipeline-{version}"
    transactions, group = coordinator(name, 1), coordinator(name, 0)
    who = begun(transactions, name)
    if version < 5:
        added = transactions.call(Api.ADD_OFFSETS_TO_TXN, 3, **who, group_id=name)
        assert added.error_code == 0
    values = {"topics": [committed(version, "consumed", 7)], "generation_id": -1, "group_id": name}
    answer = group.call(Api.TXN_OFFSET_COMMIT, version, **who, **values)
    assert answer.topics[0].partitions[0].error_code == 0
    assert fetched(group, name, "consumed") == (-1, "")
    end = 5 if version >= 5 else 4
    assert transactions.call(Api.END_TXN, end, **who, committed=True).error_code == 0
    while fetched(group, name, "consumed") != (7, "why"):
        time.sleep(0.02)


@versions(Api.OFFSET_COMMIT)
def test_a_committed_offset_is_stored_with_its_metadata(
    version: int,
    broker: Callable[[str], Connection],
    coordinator: Callable[[str, int], Connection],
) -> None:
    broker("committed")
    group = coordinator(f"commits-{version}", 0)
    answer = group.call(
        Api.OFFSET_COMMIT,
        version,
        group_id=f"commits-{version}",
        generation_id=-1,
        generation_id_or_member_epoch=-1,
        topics=[committed(version, "committed", 5, by_id_since=10)],
    )
    assert answer.topics[0].partitions[0].error_code == 0
    assert fetched(group, f"commits-{version}", "committed") == (5, "why")


@versions(Api.OFFSET_FETCH)
def test_offsets_are_fetched_by_name_or_id_and_of_many_groups(
    version: int,
    broker: Callable[[str], Connection],
    coordinator: Callable[[str, int], Connection],
) -> None:
    broker("fetched-of")
    group = coordinator("fetches", 0)
    values = {"generation_id": -1, "topics": [committed(8, "fetched-of", 3)]}
    assert group.call(Api.OFFSET_COMMIT, 8, group_id="fetches", **values).topics
    wanted = [{**named(version, 10, "fetched-of"), "partition_indexes": [0, 1]}]
    if version >= 8:
        one = {"group_id": "fetches", "topics": wanted, "member_epoch": -1}
        (answer,) = group.call(Api.OFFSET_FETCH, version, groups=[one]).groups
    else:
        answer = group.call(Api.OFFSET_FETCH, version, group_id="fetches", topics=wanted)
    told_offsets = [one.committed_offset for one in answer.topics[0].partitions]
    assert told_offsets == [3, -1]


def joining(version: int, group: str, member_id: str) -> dict[str, Any]:
    return {
        "group_id": group,
        "session_timeout": 6000,
        "rebalance_timeout": 6000,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"m"}],
    }


def member_of(connection: Connection, version: int, group: str) -> Any:
    answer = connection.call(Api.JOIN_GROUP, version, **joining(version, group, ""))
    if answer.error_code == 79:  # MEMBER_ID_REQUIRED
        values = joining(version, group, answer.member_id)
        answer = connection.call(Api.JOIN_GROUP, version, **values)
    return answer


@versions(Api.JOIN_GROUP)
def test_a_single_member_is_group_leader(
    version: int, coordinator: Callable[[str, int], Connection]
) -> None:
    answer = member_of(coordinator(f"joins-{version}", 0), version, f"joins-{version}")
    assert (answer.error_code, answer.generation_id, answer.protocol_name) == (0, 1, "range")
    assert answer.leader == answer.member_id
    assert [(one.member_id, one.metadata) for one in answer.members] == [(answer.member_id, b"m")]


@versions(Api.SYNC_GROUP)
def test_the_leaders_assignment_is_returned(
    version: int, coordinator: Callable[[str, int], Connection]
) -> None:
    group = coordinator(f"syncs-{version}", 0)
    joined = member_of(group, 5, f"syncs-{version}")
    values = {"group_id": f"syncs-{version}", "generation_id": 1, "member_id": joined.member_id}
    if version >= 5:
        values |= {"protocol_type": "consumer", "protocol_name": "range"}
    parts = [{"member_id": joined.member_id, "assignment": b"all"}]
    answer = group.call(Api.SYNC_GROUP, version, **values, assignments=parts)
    assert (answer.error_code, answer.assignment) == (0, b"all")


@versions(Api.HEARTBEAT)
def test_a_heartbeat_of_another_generation_is_rejected(
    version: int, coordinator: Callable[[str, int], Connection]
) -> None:
    group = coordinator(f"beats-{version}", 0)
    joined = member_of(group, 5, f"beats-{version}")
    who = {"group_id": f"beats-{version}", "member_id": joined.member_id}
    assert group.call(Api.HEARTBEAT, version, **who, generation_id=1).error_code == 0
    assert group.call(Api.HEARTBEAT, version, **who, generation_id=2).error_code == 22


@versions(Api.LEAVE_GROUP)
def test_a_member_leaves_once(version: int, coordinator: Callable[[str, int], Connection]) -> None:
    group = coordinator(f"leaves-{version}", 0)
    member_id = member_of(group, 5, f"leaves-{version}").member_id
    values: dict[str, Any] = {"group_id": f"leaves-{version}", "member_id": member_id}
    if version >= 3:
        values["members"] = [{"member_id": member_id}]
    errors: list[int] = []
    for _ in range(2):
        answer = group.call(Api.LEAVE_GROUP, version, **values)
        errors.append(answer.members[0].error_code if version >= 3 else answer.error_code)
    assert errors == [0, 25]
