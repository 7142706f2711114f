"""Errors of requests to coordinators over TCP, version by version as in Apache Kafka 4.3.

Each test names the method of Kafka whose rule it checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from reference_impl.protocol.messages import ErrorCode
from reference_impl.protocol.topic_id import topic_id
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.serving import Served
from tests.reference_impl.wire.single_requests import begun, versions

Connection = Any  # of conftest
UNKNOWN_PARTITION = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
OPERATION_NOT_ATTEMPTED = 55
GROUP, TRANSACTION = 0, 1


@pytest.fixture(scope="module")
def topic(cluster: Served) -> str:
    """Creates the topic `in` with one partition, which every broker knows afterwards."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic("in", 1, 3)])["in"].result()
    return "in"


def added(connection: Connection, version: int, who: dict[str, Any], **places: list[int]) -> Any:
    """Sends AddPartitionsToTxn; returns the error of each topic partition."""
    topics = [{"name": name, "partitions": indexes} for name, indexes in places.items()]
    fields = {**who, "topics": topics}
    if version < 4:
        old = {f"v3_and_below_{name}": value for name, value in fields.items()}
        answer = connection.call(Api.ADD_PARTITIONS_TO_TXN, version, **old)
        results = answer.results_by_topic_v3_and_below
    else:
        one = {**fields, "verify_only": False}
        answer = connection.call(Api.ADD_PARTITIONS_TO_TXN, version, transactions=[one])
        results = answer.results_by_transaction[0].topic_results
    return {
        (topic.name, one.partition_index): one.partition_error_code
        for topic in results
        for one in topic.results_by_partition
    }


# ---------------------------------------------------------------- transactions


@versions(Api.ADD_PARTITIONS_TO_TXN)
def test_no_partition_is_added_if_one_does_not_exist(
    version: int, topic: str, coordinator: Callable[[str, int], Connection]
) -> None:
    """AddPartitionsToTxn adds no topic partition if one of them does not exist.

    The existing ones get OPERATION_NOT_ATTEMPTED. Kafka: KafkaApis.handleAddPartitionsToTxnRequest.
    """
    connection = coordinator(f"adds-{version}", TRANSACTION)
    who = begun(connection, f"adds-{version}")
    assert added(connection, version, who, **{topic: [0, 7], "nowhere": [0]}) == {
        (topic, 0): OPERATION_NOT_ATTEMPTED,
        (topic, 7): UNKNOWN_PARTITION,
        ("nowhere", 0): UNKNOWN_PARTITION,
    }
    committing = connection.call(Api.END_TXN, 4, **who, committed=True)
    assert committing.error_code == ErrorCode.INVALID_TXN_STATE
    assert set(added(connection, version, who, **{topic: [0]}).values()) == {0}


def test_old_clients_get_an_invalid_epoch_error(
    topic: str, coordinator: Callable[[str, int], Connection]
) -> None:
    """A fenced producer gets INVALID_PRODUCER_EPOCH if its client is old, else PRODUCER_FENCED.

    Old means InitProducerId before version 4, and EndTxn, AddPartitionsToTxn and AddOffsetsToTxn
    before version 2.

    Kafka: KafkaApis.handleInitProducerIdRequest, handleEndTxnRequest,
    handleAddPartitionsToTxnRequest and handleAddOffsetsToTxnRequest.
    """
    fenced, invalid = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH
    connection = coordinator("fenced", TRANSACTION)
    coordinator("g", GROUP)
    zombie = begun(connection, "fenced")
    begun(connection, "fenced")
    again = {**zombie, "producer_epoch": 7, "transaction_timeout": 60_000}
    for version, error in ((3, invalid), (4, fenced)):
        answer = connection.call(Api.INIT_PRODUCER_ID, version, **again)
        assert answer.error_code == error
    for version, error in ((1, invalid), (2, fenced)):
        ended = connection.call(Api.END_TXN, version, **zombie, committed=True)
        offsets = connection.call(Api.ADD_OFFSETS_TO_TXN, version, **zombie, group_id="g")
        places = added(connection, version, zombie, **{topic: [0]})
        assert (ended.error_code, offsets.error_code, *places.values()) == (error, error, error)


def test_an_empty_transactional_id_is_rejected(
    topic: str, coordinator: Callable[[str, int], Connection]
) -> None:
    """A request with an empty transactional id gets INVALID_REQUEST.

    Kafka: TransactionCoordinator.handleInitProducerId, handleAddPartitionsToTransaction and
    endTransaction.
    """
    connection = coordinator("any", TRANSACTION)
    who = {"transactional_id": "", "producer_id": 1, "producer_epoch": 0}
    invalid = ErrorCode.INVALID_REQUEST
    init = connection.call(Api.INIT_PRODUCER_ID, 4, **who, transaction_timeout=60_000)
    ended = connection.call(Api.END_TXN, 5, **who, committed=True)
    offsets = connection.call(Api.ADD_OFFSETS_TO_TXN, 3, **who, group_id="g")
    places = added(connection, 4, who, **{topic: [0]})
    assert [init.error_code, ended.error_code, offsets.error_code] == [invalid] * 3
    assert places == {(topic, 0): invalid}


def test_a_producer_id_without_an_epoch_is_rejected(
    cluster: Served, connect: Callable[..., Connection]
) -> None:
    """InitProducerId is rejected if it has a producer id without an epoch, or the reverse.

    Kafka: KafkaApis.handleInitProducerIdRequest.
    """
    connection = connect(cluster.bootstrap_servers)
    for number, epoch in ((1, -1), (-1, 0)):
        producer = {"producer_id": number, "producer_epoch": epoch}
        answer = connection.call(Api.INIT_PRODUCER_ID, 4, transaction_timeout=1, **producer)
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert (answer.producer_id, answer.producer_epoch) == (-1, -1)


# ---------------------------------------------------------------- offsets


def offset(index: int) -> dict[str, Any]:
    return {"partition_index": index, "committed_offset": 5, "committed_metadata": "why"}


@versions(Api.OFFSET_COMMIT)
def test_offsets_of_unknown_partitions_are_not_committed(
    version: int, topic: str, coordinator: Callable[[str, int], Connection]
) -> None:
    """An offset of an unknown partition is not committed; the other offsets of the request are.

    Kafka: KafkaApis.handleOffsetCommitRequest.
    """
    name = f"commits-{version}"
    group = coordinator(name, GROUP)
    names = ("in", "nowhere")
    fields = [{"topic_id": topic_id(n)} if version >= 10 else {"name": n} for n in names]
    topics = [{**one, "partitions": [offset(0), offset(7)]} for one in fields]
    answer = group.call(
        Api.OFFSET_COMMIT,
        version,
        group_id=name,
        generation_id=-1,
        generation_id_or_member_epoch=-1,
        topics=topics,
    )
    errors = [[one.error_code for one in found.partitions] for found in answer.topics]
    unknown = 100 if version >= 10 else UNKNOWN_PARTITION
    assert errors == [[0, UNKNOWN_PARTITION], [unknown, unknown]]
    everything = group.call(Api.OFFSET_FETCH, 5, group_id=name, topics=None)
    assert [(found.name, len(found.partitions)) for found in everything.topics] == [(topic, 1)]


def test_an_offset_with_too_much_metadata_is_not_committed(
    topic: str, coordinator: Callable[[str, int], Connection]
) -> None:
    """An offset is not committed if its metadata exceeds offset.metadata.max.bytes (4096).

    Kafka: OffsetMetadataManager.isMetadataInvalid.
    """
    group = coordinator("talkative", GROUP)
    for characters, error in ((4_096, 0), (4_097, ErrorCode.OFFSET_METADATA_TOO_LARGE)):
        one = offset(0) | {"committed_metadata": "x" * characters}
        answer = group.call(
            Api.OFFSET_COMMIT,
            8,
            group_id="talkative",
            generation_id_or_member_epoch=-1,
            generation_id=-1,
            topics=[{"name": topic, "partitions": [one]}],
        )
        assert answer.topics[0].partitions[0].error_code == error
    (found,) = group.call(Api.OFFSET_FETCH, 5, group_id="talkative", topics=None).topics
    assert len(found.partitions[0].metadata) == 4_096


def test_a_member_of_version_0_has_its_session_to_join_again(
    coordinator: Callable[[str, int], Connection],
) -> None:
    """For a member with JoinGroup version 0, the session timeout is also the rebalance timeout.

    This version has no field for a rebalance timeout. Before version 4, a new member joins with one
    request: the error MEMBER_ID_REQUIRED does not exist yet (KIP-394).

    Kafka: JoinGroupRequest.maybeOverrideRebalanceTimeout.
    """
    group = coordinator("oldest", GROUP)
    protocol = {"name": "range", "metadata": b""}
    joined = group.call(
        Api.JOIN_GROUP,
        0,
        group_id="oldest",
        session_timeout=10_000,
        protocol_type="consumer",
        protocols=[protocol],
    )
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
    assert joined.leader == joined.member_id


def test_transactional_offsets_of_unknown_partitions_are_not_committed(
    topic: str, coordinator: Callable[[str, int], Connection]
) -> None:
    """A transactional offset of an unknown partition is not committed; the others are.

    Kafka: KafkaApis.handleTxnOffsetCommitRequest.
    """
    transactions, group = coordinator("pipe", TRANSACTION), coordinator("pipe", GROUP)
    who = begun(transactions, "pipe")
    topics = [
        {"name": topic, "partitions": [offset(0), offset(7)]},
        {"name": "nowhere", "partitions": [offset(0)]},
    ]
    answer = group.call(
        Api.TXN_OFFSET_COMMIT, 5, **who, group_id="pipe", generation_id=-1, topics=topics
    )
    errors = [[one.error_code for one in found.partitions] for found in answer.topics]
    assert errors == [[0, UNKNOWN_PARTITION], [UNKNOWN_PARTITION]]


def test_an_unknown_group_is_reported_as_the_version_knows_it(
    topic: str, coordinator: Callable[[str, int], Connection]
) -> None:
    """A commit to an unknown group gets GROUP_ID_NOT_FOUND since OffsetCommit version 9.

    Before version 9 the error is ILLEGAL_GENERATION. Kafka:
    OffsetMetadataManager.validateOffsetCommit.
    """
    group = coordinator("unknown", GROUP)
    topics = [{"name": topic, "partitions": [offset(0)]}]
    expected = {8: ErrorCode.ILLEGAL_GENERATION, 9: ErrorCode.GROUP_ID_NOT_FOUND}
    for version, error in expected.items():
        answer = group.call(
            Api.OFFSET_COMMIT,
            version,
            group_id="unknown",
            member_id="m",
            generation_id=3,
            generation_id_or_member_epoch=3,
            topics=topics,
        )
        assert answer.topics[0].partitions[0].error_code == error


@pytest.mark.parametrize("version", [8, 9, 10])
def test_all_offsets_of_a_classic_group_are_fetched_by_name_or_topic_id(
    version: int, topic: str, coordinator: Callable[[str, int], Connection]
) -> None:
    """OffsetFetch without topics returns all offsets of a classic group.

    Topics are identified by their names, since version 10 by their ids. The request may contain any
    member id, because a classic group does not check it; franz-go sends one.

    Kafka: KafkaApis.fetchAllOffsetsForGroup, ClassicGroup.validateOffsetFetch.
    """
    name = f"classic-{version}"
    group = coordinator(name, GROUP)
    topics = [{"name": topic, "partitions": [offset(0)]}]
    group.call(Api.OFFSET_COMMIT, 8, group_id=name, generation_id=-1, topics=topics)
    wanted: dict[str, Any] = {"group_id": name, "topics": None}
    if version >= 9:
        wanted |= {"member_id": "of the classic group", "member_epoch": 3}
    (answer,) = group.call(Api.OFFSET_FETCH, version, groups=[wanted]).groups
    (found,) = answer.topics
    assert answer.error_code == 0
    assert (found.topic_id if version >= 10 else found.name) == (
        topic_id(topic) if version >= 10 else topic
    )
    assert [(one.partition_index, one.committed_offset) for one in found.partitions] == [(0, 5)]
