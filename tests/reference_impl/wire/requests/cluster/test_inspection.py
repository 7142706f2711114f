"""Inspection of brokers: producers, transactions, markers, log sizes, the quorum and elections."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from model.vocabulary import BrokerId, ProducerEpoch, ProducerId, Sequence
from reference_impl.log.record import Record
from reference_impl.log.record_batch import encode
from reference_impl.protocol.messages import ErrorCode
from reference_impl.wire.messages.apis import Api
from reference_impl.wire.serving.options import ServeOptions
from reference_impl.wire.serving.serving import Served, serving
from tests.reference_impl.wire.single_requests import begun, versions
from tests.reference_impl.wire.waiting import until

Connection = Any  # of conftest
Connect = Callable[..., Connection]
Coordinator = Callable[[str, int], Connection]
TRANSACTION = 1
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def created(broker: Connection, topic: str, *brokers: int) -> None:
    """Creates a topic of one partition on these brokers; the first one leads it."""
    new: dict[str, Any] = {"name": topic, "num_partitions": -1, "replication_factor": -1}
    new["assignments"] = [{"partition_index": 0, "broker_ids": [*brokers]}]
    answer = broker.call(Api.CREATE_TOPICS, 7, topics=[new], timeout=5000)
    assert answer.topics[0].error_code == 0
    while state(broker, topic)[0] < 0:
        time.sleep(0.01)


def state(broker: Connection, topic: str) -> tuple[int, set[int]]:
    """Returns the leader of the topic's partition, -1 if it has none, and its ISR."""
    (found,) = broker.call(Api.METADATA, 9, topics=[{"name": topic}]).topics
    if not found.partitions:
        return -1, set()
    return found.partitions[0].leader_id, set(found.partitions[0].isr_nodes)


def produced(leader: Connection, topic: str, who: dict[str, Any], sequence: int = 0) -> int:
    """Appends a transactional batch of V1; returns the error code."""
    records = encode(
        [Record(value=b"v", timestamp_ms=5)],
        producer_id=ProducerId(who["producer_id"]),
        producer_epoch=ProducerEpoch(who["producer_epoch"]),
        base_sequence=Sequence(sequence),
        transactional=True,
    )
    data = [{"name": topic, "partition_data": [{"index": 0, "records": records}]}]
    body = {"acks": -1, "timeout": 5000, "topic_data": data}
    answer = leader.call(Api.PRODUCE, 9, transactional_id=who["transactional_id"], **body)
    return int(answer.responses[0].partition_responses[0].error_code)


def opened(coordinator: Connection, name: str, topic: str) -> dict[str, Any]:
    """Opens a transaction that contains partition 0 of the topic."""
    who = begun(coordinator, name)
    fields = {f"v3_and_below_{field}": value for field, value in who.items()}
    topics = [{"name": topic, "partitions": [0]}]
    coordinator.call(Api.ADD_PARTITIONS_TO_TXN, 3, v3_and_below_topics=topics, **fields)
    return who


def producers(broker: Connection, topic: str, index: int = 0) -> Any:
    topics = [{"name": topic, "partition_indexes": [index]}]
    return broker.call(Api.DESCRIBE_PRODUCERS, 0, topics=topics).topics[0].partitions[0]


def test_an_open_transaction_is_seen_and_ended_by_a_marker(
    cluster: Served, connect: Connect, coordinator: Coordinator
) -> None:
    leader = connect(cluster.bootstrap_servers)
    created(leader, "hung", 1, 2)
    transactions = coordinator("hanging", TRANSACTION)
    who = opened(transactions, "hanging", "hung")
    assert produced(leader, "hung", who) == 0

    (one,) = producers(leader, "hung").active_producers
    assert (one.producer_id, one.producer_epoch) == (who["producer_id"], who["producer_epoch"])
    assert (one.last_sequence, one.last_timestamp, one.coordinator_epoch) == (0, 5, -1)
    assert one.current_txn_start_offset == 0
    follower = connect(cluster.bootstrap_servers, 1)
    until(lambda: len(producers(follower, "hung").active_producers) == 1)
    other = connect(cluster.bootstrap_servers, 2)
    assert producers(other, "hung").error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert producers(other, "nope").error_code == UNKNOWN
    assert producers(other, "a b").error_code == ErrorCode.INVALID_TOPIC_EXCEPTION

    def written(broker: Connection, epoch: int) -> int:
        topics = [{"name": "hung", "partition_indexes": [0]}]
        marker = {**who, "producer_epoch": epoch, "coordinator_epoch": 0, "topics": topics}
        answer = broker.call(Api.WRITE_TXN_MARKERS, 1, markers=[marker])
        return int(answer.markers[0].topics[0].partitions[0].error_code)

    epoch = who["producer_epoch"]
    assert written(other, epoch) == UNKNOWN
    assert written(follower, epoch) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert written(leader, epoch) == 0
    (one,) = producers(leader, "hung").active_producers
    assert (one.current_txn_start_offset, one.coordinator_epoch) == (-1, 0)


def test_a_transaction_is_described_by_its_coordinator(
    cluster: Served, connect: Connect, coordinator: Coordinator
) -> None:
    leader = connect(cluster.bootstrap_servers)
    created(leader, "described", 1)
    transactions = coordinator("narrated", TRANSACTION)

    def described(name: str) -> Any:
        answer = transactions.call(Api.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[name])
        return answer.transaction_states[0]

    assert described("narrated").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert described("").error_code == ErrorCode.INVALID_REQUEST
    who = begun(transactions, "narrated")
    transactions.send(Api.DESCRIBE_TRANSACTIONS, 0, transactional_ids=["narrated"])
    idle = transactions.receive_frame()  # kio reads no time before 1970, and Kafka has -1 here
    assert b"Empty" in idle
    assert b"\xff" * 8 in idle
    opened(transactions, "narrated", "described")
    open_ = described("narrated")
    assert (open_.transaction_state, open_.producer_id) == ("Ongoing", who["producer_id"])
    assert [(one.topic, one.partitions) for one in open_.topics] == [("described", (0,))]
    assert abs(open_.transaction_start_time.timestamp() - time.time()) < 60


@versions(Api.LIST_TRANSACTIONS)
def test_transactions_are_listed_by_state_producer_age_and_name(
    version: int, cluster: Served, connect: Connect, coordinator: Coordinator
) -> None:
    leader = connect(cluster.bootstrap_servers)
    topic, name = f"listed-{version}", f"list-{version}"
    created(leader, topic, 1)
    transactions = coordinator(name, TRANSACTION)
    who = opened(transactions, name, topic)

    def listed(**filters: Any) -> set[str]:
        answer = transactions.call(Api.LIST_TRANSACTIONS, version, **{
            "duration_filter": -1, **filters,
        })  # fmt: skip
        assert answer.error_code == 0
        return {one.transactional_id for one in answer.transaction_states} & {name}

    assert listed() == {name}
    assert listed(state_filters=["Ongoing"], producer_id_filters=[who["producer_id"]]) == {name}
    assert listed(state_filters=["Empty"]) == set()
    assert listed(producer_id_filters=[7]) == set()
    unknown = transactions.call(Api.LIST_TRANSACTIONS, version, state_filters=["Odd"])
    assert unknown.unknown_state_filters == ("Odd",)
    if version >= 1:
        assert listed(duration_filter=0) <= {name}
        assert listed(duration_filter=600_000) == set()
    if version >= 2:
        assert listed(transactional_id_pattern="list-.*") == {name}
        assert listed(transactional_id_pattern="list") == set()
        values = {"transactional_id_pattern": "(", "duration_filter": -1}
        odd = transactions.call(Api.LIST_TRANSACTIONS, version, **values)
        assert odd.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


@versions(Api.DESCRIBE_LOG_DIRS)
def test_log_sizes_are_described(version: int, cluster: Served, connect: Connect) -> None:
    broker = connect(cluster.bootstrap_servers)
    topic = f"sized-{version}"
    created(broker, topic, 1)
    records = encode([Record(value=b"v")])
    data = [{"name": topic, "partition_data": [{"index": 0, "records": records}]}]
    broker.call(Api.PRODUCE, 9, acks=-1, timeout=5000, topic_data=data)

    def sizes(topics: Any) -> dict[str, int]:
        (found,) = broker.call(Api.DESCRIBE_LOG_DIRS, version, topics=topics).results
        assert found.error_code == 0
        return {one.name: one.partitions[0].partition_size for one in found.topics}

    assert sizes([{"topic": topic, "partitions": [0, 7]}]) == {topic: len(records)}
    assert sizes([]) == {}
    assert sizes(None)[topic] == len(records)


@versions(Api.DESCRIBE_QUORUM)
def test_the_quorum_is_the_controller(version: int, cluster: Served, connect: Connect) -> None:
    broker = connect(cluster.bootstrap_servers)

    def described(topic: str) -> Any:
        topics = [{"topic_name": topic, "partitions": [{"partition_index": 0}]}]
        return broker.call(Api.DESCRIBE_QUORUM, version, topics=topics).topics[0].partitions[0]

    known = described("__cluster_metadata")
    assert [one.replica_id for one in known.current_voters] == [known.leader_id]
    assert [one.replica_id for one in known.observers] == [1, 2, 3]
    assert known.high_watermark > 0
    assert described("other").error_code == UNKNOWN


@versions(Api.ELECT_LEADERS)
def test_elections_that_are_not_needed_or_impossible_are_refused(
    version: int, cluster: Served, connect: Connect
) -> None:
    broker = connect(cluster.bootstrap_servers)
    topic = f"led-{version}"
    created(broker, topic, 1, 2)

    def elected(topic: str, **values: Any) -> int:
        wanted = {"topic_partitions": [{"topic": topic, "partitions": [0]}], **values}
        answer = broker.call(Api.ELECT_LEADERS, version, timeout=5000, **wanted)
        assert version == 0 or answer.error_code == 0
        return int(answer.replica_election_results[0].partition_result[0].error_code)

    assert elected(topic) == ErrorCode.ELECTION_NOT_NEEDED
    assert elected("nope") == UNKNOWN
    if version >= 1:
        assert elected(topic, election_type=1) == ErrorCode.ELECTION_NOT_NEEDED
        odd = broker.call(Api.ELECT_LEADERS, version, election_type=9, topic_partitions=None)
        assert odd.error_code == ErrorCode.INVALID_REQUEST
    every = broker.call(Api.ELECT_LEADERS, version, topic_partitions=None, timeout=5000)
    assert all(not one.partition_result for one in every.replica_election_results)


def test_the_preferred_leader_returns_on_request_and_an_unclean_one_is_forced(
    connect: Connect,
) -> None:
    with serving(ServeOptions(brokers=3)) as served:
        third = connect(served.bootstrap_servers, 2)
        created(third, "t", 1, 2)

        def elected(kind: int) -> int:
            wanted = [{"topic": "t", "partitions": [0]}]
            answer = third.call(Api.ELECT_LEADERS, 2, election_type=kind, topic_partitions=wanted)
            return int(answer.replica_election_results[0].partition_result[0].error_code)

        served.kill(BrokerId(1))
        until(lambda: state(third, "t") == (2, {2}))
        assert elected(0) == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        served.start(BrokerId(1))
        until(lambda: state(third, "t") == (2, {1, 2}))
        assert elected(0) == 0
        until(lambda: state(third, "t")[0] == 1)
        served.kill(BrokerId(2))
        until(lambda: state(third, "t") == (1, {1}))
        served.kill(BrokerId(1))
        until(lambda: state(third, "t")[0] == -1)
        assert elected(1) == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        served.start(BrokerId(2))
        until(lambda: elected(1) == 0)
        until(lambda: state(third, "t")[0] == 2)


@pytest.mark.parametrize("kind", ["list", "describe"])
def test_requests_with_nothing_in_them_get_empty_answers(
    kind: str, cluster: Served, connect: Connect
) -> None:
    broker = connect(cluster.bootstrap_servers)
    if kind == "list":
        assert broker.call(Api.WRITE_TXN_MARKERS, 2, markers=[]).markers == ()
    else:
        answer = broker.call(Api.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[])
        assert answer.transaction_states == ()
