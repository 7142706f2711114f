"""Transactions from end to end: the coordinator, the leaders and the producers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from model.vocabulary import ProducerId, TopicPartition
from reference_impl.node.bugs import Bug
from reference_impl.node.step import RequestReceived, ResponseReceived
from reference_impl.protocol.coordinators import CONSUMER_OFFSETS, TRANSACTION_STATE, java_hash
from reference_impl.protocol.messages import ErrorCode, InitProducerId
from reference_impl.protocol.transactions import (
    AddOffsetsToTxn,
    EndTxn,
    TransactionVersion,
    TxnResult,
    WriteTxnMarker,
    WrittenTxnMarker,
)
from reference_impl.transactions.metadata import PREDECESSORS, TransactionMetadata, TxnState
from tests.reference_impl.transactional import Client, state

InstantCluster = Any  # of conftest
StartCluster = Callable[..., InstantCluster]
A, B = TopicPartition("a", 0), TopicPartition("b", 0)
COMMIT, ABORT = TxnResult.COMMIT, TxnResult.ABORT
V1, V2 = TransactionVersion.V1, TransactionVersion.V2
NONE = ErrorCode.NONE


@pytest.fixture
def cluster(start_cluster: StartCluster) -> InstantCluster:
    cluster = start_cluster()
    for topic in ("a", "b"):
        cluster.create(topic)
    return cluster


both = pytest.mark.parametrize("version", TransactionVersion)


@both
def test_a_transaction_is_visible_on_all_its_topic_partitions_or_on_none(
    cluster: InstantCluster, version: TransactionVersion
) -> None:
    client = Client(cluster, version).begin()
    assert (client.send(A, "a1"), client.send(B, "b1")) == (NONE, NONE)
    assert (cluster.committed(A), cluster.committed(B)) == ([], [])
    assert state(cluster).state is TxnState.ONGOING
    assert client.end(COMMIT).error is NONE
    assert (cluster.committed(A), cluster.committed(B)) == (["a1"], ["b1"])
    assert state(cluster).state is TxnState.COMPLETE_COMMIT
    client.send(A, "a2")
    client.send(B, "b2")
    assert client.end(ABORT).error is NONE
    assert (cluster.committed(A), cluster.committed(B)) == (["a1"], ["b1"])
    assert (cluster.unstable(A), cluster.unstable(B)) == (0, 0)


def test_in_v1_the_epoch_stays_and_in_v2_each_transaction_has_its_own(
    cluster: InstantCluster,
) -> None:
    for version, epochs in ((V1, [0, 0, 0]), (V2, [1, 2, 3])):
        client = Client(cluster, version).begin()
        seen = [client.producer[1]]
        for _ in range(2):
            client.send(A, "x")
            client.end(COMMIT)
            seen.append(client.producer[1])
        assert seen == epochs


@both
def test_adding_no_partition_begins_a_transaction(
    cluster: InstantCluster, version: TransactionVersion
) -> None:
    client = Client(cluster, version).begin()
    assert client.end(COMMIT).error is ErrorCode.INVALID_TXN_STATE
    assert client.add() is NONE
    assert state(cluster).state is TxnState.ONGOING
    assert client.end(COMMIT).error is NONE


def test_a_new_instance_fences_the_old_one_and_aborts_its_transaction(
    cluster: InstantCluster,
) -> None:
    zombie = Client(cluster).begin()
    zombie.send(A, "left")
    heir = Client(cluster).begin()
    assert heir.producer[1] == zombie.producer[1] + 2  # no client gets the epoch of the fence
    assert zombie.send(A, "late", added=False) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert zombie.add(B) is ErrorCode.PRODUCER_FENCED
    assert zombie.end(COMMIT).error is ErrorCode.PRODUCER_FENCED
    heir.send(A, "mine")
    heir.end(COMMIT)
    assert cluster.committed(A) == ["mine"]


def test_bug_zombie_not_fenced_lets_two_instances_write(start_cluster: StartCluster) -> None:
    cluster = start_cluster(bugs=frozenset({Bug.ZOMBIE_NOT_FENCED}))
    cluster.create("a")
    zombie, heir = Client(cluster).begin(), Client(cluster).begin()
    assert zombie.send(A, "late") is NONE
    assert heir.end(COMMIT).error is NONE
    assert cluster.committed(A) == ["late"]


@both
def test_a_partition_outside_the_transaction_is_rejected(
    cluster: InstantCluster, version: TransactionVersion
) -> None:
    """A leader rejects a record if its topic partition was not added to the transaction.

    If the leader appended the record, no marker would ever end the transaction in this partition.
    """
    client = Client(cluster, version).begin()
    client.send(A, "a1")
    late = Client(cluster, V1)
    late.producer, late.sequences = client.producer, {A: 1}
    client.end(ABORT)
    refused = late.send(A, "late", added=False)
    assert refused is (
        ErrorCode.INVALID_TXN_STATE if version is V1 else ErrorCode.INVALID_PRODUCER_EPOCH
    )
    assert cluster.unstable(A) == 0


def test_without_verification_a_late_batch_opens_a_hanging_transaction(
    start_cluster: StartCluster,
) -> None:
    cluster = start_cluster(config={"verifies_transactions": False})
    cluster.create("a")
    client = Client(cluster).begin()
    client.send(A, "a1")
    client.end(ABORT)
    assert client.send(A, "late", added=False) is NONE
    cluster.pass_time(200_000)
    assert cluster.unstable(A) == 1


def test_in_v1_a_delayed_end_ends_the_next_transaction_and_in_v2_it_is_a_retry(
    cluster: InstantCluster,
) -> None:
    """In V1 a delayed EndTxn request commits the next transaction; in V2 it is only a retry.

    A V1 request does not identify its transaction (KAFKA-17754).
    """
    for version, place, seen in ((V1, A, ["one", "two"]), (V2, B, ["one"])):
        client = Client(cluster, version).begin()
        client.send(place, "one")
        delayed = EndTxn(**client.who, result=COMMIT, version=version)
        client.end(COMMIT)
        client.send(place, "two")
        cluster.call(delayed, client.coordinator())
        client.end(ABORT)
        assert cluster.committed(place) == seen


def test_a_retried_end_txn_gets_the_same_response(cluster: InstantCluster) -> None:
    client = Client(cluster, V2).begin()
    client.send(A, "one")
    request = EndTxn(**client.who, result=COMMIT, version=V2)
    first = client.end(COMMIT)
    assert cluster.call(request, client.coordinator()) == first
    other = replace(request, result=ABORT)
    assert cluster.call(other, client.coordinator()).error is ErrorCode.INVALID_TXN_STATE


@both
def test_an_overdue_transaction_is_aborted_and_its_producer_fenced(
    cluster: InstantCluster, version: TransactionVersion
) -> None:
    client = Client(cluster, version).begin(timeout_ms=3_000)
    client.send(A, "slow")
    cluster.pass_time(2_900)
    assert cluster.unstable(A) == 1
    cluster.pass_time(2_000)
    assert (cluster.unstable(A), cluster.committed(A)) == (0, [])
    assert state(cluster).state is TxnState.COMPLETE_ABORT
    assert client.send(A, "on", added=False) is ErrorCode.INVALID_PRODUCER_EPOCH
    # In V2 an end with the epoch before the abort is a retry, but of an abort, not of a commit.
    refusal = ErrorCode.PRODUCER_FENCED if version is V1 else ErrorCode.INVALID_TXN_STATE
    assert client.end(COMMIT).error is refusal


def test_an_exhausted_producer_id_is_replaced(cluster: InstantCluster) -> None:
    client = Client(cluster, V2).begin()
    first = client.producer[0]
    (place,) = [p for p, r in cluster.nodes[1].local_coordinators.roles.items() if r.transactions]
    role = cluster.nodes[1].local_coordinators.roles[place]
    exhausted = 32_766
    object.__setattr__(role.transactions["t"], "producer_epoch", exhausted)
    client.producer = (first, exhausted)
    assert client.send(A, "last") is NONE
    assert client.end(COMMIT).error is NONE
    second, epoch = client.producer
    assert second != first
    assert epoch == 0
    assert client.send(A, "first") is NONE
    assert client.end(COMMIT).error is NONE
    assert cluster.committed(A) == ["last", "first"]


def test_the_offsets_of_a_group_are_part_of_a_transaction(cluster: InstantCluster) -> None:
    client = Client(cluster).begin()
    cluster.coordinator("g", transactional=False)
    request = AddOffsetsToTxn(**client.who, group="g")
    assert cluster.call(request, client.coordinator()).error is NONE
    assert [place.topic for place in state(cluster).topic_partitions] == [CONSUMER_OFFSETS]


@pytest.mark.parametrize(
    ("timeout_ms", "error"),
    [(0, ErrorCode.INVALID_TRANSACTION_TIMEOUT), (900_001, ErrorCode.INVALID_TRANSACTION_TIMEOUT)],
)
def test_a_timeout_has_a_maximum(
    cluster: InstantCluster, timeout_ms: int, error: ErrorCode
) -> None:
    at = cluster.coordinator("t", transactional=True)
    request = InitProducerId(transactional_id="t", timeout_ms=timeout_ms)
    assert cluster.call(request, at).error is error


# ---------------------------------------------------------------- failover and lost messages


def test_a_new_coordinator_completes_prepared_transactions(start_cluster: StartCluster) -> None:
    cluster = start_cluster(brokers=3)
    cluster.create("a")
    client = Client(cluster).begin()
    client.send(A, "one")
    first = client.coordinator()

    def markers(_to: int, message: object) -> bool:
        return isinstance(message, RequestReceived) and isinstance(message.request, WriteTxnMarker)

    assert cluster.leader(A) != first  # what a broker says to itself can't be lost
    cluster.is_dropped = markers
    assert client.end(COMMIT).error is NONE
    assert cluster.committed(A) == []
    del cluster.nodes[first]
    cluster.is_dropped = lambda _to, _told: False
    cluster.pass_time(15_000)
    (place,) = {
        place
        for n in (1, 2, 3)
        if n in cluster.nodes
        for place, role in cluster.nodes[n].local_coordinators.roles.items()
        if getattr(role, "transactions", {})
    }
    assert place.topic == TRANSACTION_STATE
    assert cluster.committed(A) == ["one"]


def test_a_marker_without_a_response_is_written_again(start_cluster: StartCluster) -> None:
    cluster = start_cluster(brokers=3)
    cluster.create("a")
    client = Client(cluster, V2).begin()
    client.send(A, "one")
    lost: list[object] = []

    def first_answer(_to: int, message: object) -> bool:
        is_answer = isinstance(message, ResponseReceived) and isinstance(
            message.response, WrittenTxnMarker
        )
        if is_answer and not lost:
            lost.append(message)
            return True
        return False

    cluster.is_dropped = first_answer
    assert client.end(COMMIT).error is NONE
    at = client.coordinator()
    if lost:
        assert state(cluster, at).state is TxnState.PREPARE_COMMIT
    cluster.pass_time(40_000)
    assert state(cluster, at).state is TxnState.COMPLETE_COMMIT
    assert cluster.committed(A) == ["one"]


def test_bug_marker_on_one_partition_tears_a_transaction(start_cluster: StartCluster) -> None:
    cluster = start_cluster(bugs=frozenset({Bug.MARKER_ON_ONE_PARTITION}))
    for topic in ("a", "b"):
        cluster.create(topic)
    client = Client(cluster).begin()
    client.send(A, "a1")
    client.send(B, "b1")
    client.end(COMMIT)
    assert (cluster.committed(A), cluster.committed(B)) == (["a1"], [])


# ---------------------------------------------------------------- the table


def test_states_change_only_by_the_table() -> None:
    for before in TxnState:
        known = TransactionMetadata(
            transactional_id="t", producer_id=ProducerId(1), timeout_ms=1, state=before
        )
        for after in TxnState:
            if before in PREDECESSORS[after]:
                assert known.moved(after).state is after
            else:
                with pytest.raises(ValueError, match=f"{before.value} -> {after.value}"):
                    known.moved(after)


def test_transaction_metadata_is_read_from_the_log_as_written() -> None:
    known = TransactionMetadata(
        transactional_id="t",
        producer_id=ProducerId(7),
        timeout_ms=1,
        state=TxnState.ONGOING,
        topic_partitions=(A, B),
        version=V2,
    )
    assert TransactionMetadata.of(known.entry()) == known


def test_a_key_has_the_same_partition_as_in_java() -> None:
    keys = ("", "a", "hello", "polygenelubricants", "\U0001f600")
    assert [java_hash(key) for key in keys] == [0, 97, 99162322, 0, 1772899]
