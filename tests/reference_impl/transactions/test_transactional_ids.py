"""Transactional ids: their expiry, and the effects of late and failed requests on an id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from model.vocabulary import TopicPartition
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.settings import BrokerSettings
from reference_impl.node.step import RequestReceived
from reference_impl.protocol.messages import ErrorCode, InitProducerId, NodeId
from reference_impl.protocol.transactions import (
    EndTxn,
    TransactionVersion,
    TxnResult,
    WriteTxnMarker,
)
from reference_impl.transactions.coordinator import TransactionCoordinator
from reference_impl.transactions.metadata import TxnState
from tests.reference_impl.transactional import Client, state

InstantCluster = Any  # of conftest
StartCluster = Callable[..., InstantCluster]
A = TopicPartition("a", 0)
COMMIT, ABORT = TxnResult.COMMIT, TxnResult.ABORT
V1, V2 = TransactionVersion.V1, TransactionVersion.V2
NONE = ErrorCode.NONE
A_MINUTE = BrokerSettings(
    replica_lag_ms=600, retention_check_ms=1_000, transactional_id_expiration_ms=60_000
)


def begun(start_cluster: StartCluster, brokers: int = 1, **how: Any) -> InstantCluster:
    cluster = start_cluster(brokers=brokers, **how)
    cluster.create("a")
    return cluster


def known_ids(cluster: InstantCluster) -> set[str]:
    return {
        id_
        for node in cluster.nodes.values()
        for role in getattr(getattr(node, "local_coordinators", None), "roles", {}).values()
        if isinstance(role, TransactionCoordinator)
        for id_ in role.transactions
    }


# ---------------------------------------------------------------- expiry


@pytest.mark.parametrize("result", TxnResult)
def test_an_inactive_transactional_id_expires(
    start_cluster: StartCluster, result: TxnResult
) -> None:
    cluster = begun(start_cluster, broker_settings=A_MINUTE)
    client = Client(cluster, V2).begin()
    client.send(A, "one")
    client.end(result)
    cluster.pass_time(50_000)
    assert known_ids(cluster) == {"t"}
    client.send(A, "two")  # what it does counts
    client.end(result)
    cluster.pass_time(50_000)
    assert known_ids(cluster) == {"t"}
    cluster.pass_time(15_000)
    assert known_ids(cluster) == set()
    assert client.add(A) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert client.end(COMMIT).error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    before = client.producer
    assert client.begin().producer[0] != before[0]


def test_an_expired_id_is_unknown_to_a_new_coordinator(start_cluster: StartCluster) -> None:
    cluster = begun(start_cluster, brokers=3, broker_settings=A_MINUTE)
    client = Client(cluster).begin()
    cluster.pass_time(70_000)
    assert known_ids(cluster) == set()
    cluster.nodes.pop(NodeId(client.coordinator()))
    cluster.pass_time(15_000)
    assert known_ids(cluster) == set()


def test_an_id_with_an_open_or_prepared_transaction_does_not_expire(
    start_cluster: StartCluster,
) -> None:
    cluster = begun(start_cluster, brokers=3, broker_settings=A_MINUTE)
    client = Client(cluster).begin(timeout_ms=300_000)
    client.send(A, "one")
    cluster.pass_time(90_000)
    assert state(cluster, client.coordinator()).state is TxnState.ONGOING
    assert cluster.leader(A) != client.coordinator()  # what a broker says to itself can't be lost
    cluster.is_dropped = lambda _to, message: (
        isinstance(message, RequestReceived) and isinstance(message.request, WriteTxnMarker)
    )
    assert client.end(COMMIT).error is NONE
    cluster.pass_time(90_000)
    assert state(cluster, client.coordinator()).state is TxnState.PREPARE_COMMIT
    cluster.is_dropped = lambda _to, _told: False
    cluster.pass_time(40_000)
    assert cluster.committed(A) == ["one"]


def test_a_zombie_of_an_expired_id_returns_if_its_client_initializes_again(
    start_cluster: StartCluster,
) -> None:
    """After a transactional id has expired, a fenced instance can get a new producer id.

    The broker then has no state by which to fence it, so the client itself must not initialize
    again (KAFKA-18019).
    """
    cluster = begun(start_cluster, broker_settings=A_MINUTE)
    zombie = Client(cluster).begin()
    newer = Client(cluster).begin()
    assert zombie.add(A) is ErrorCode.PRODUCER_FENCED
    newer.send(A, "5")
    newer.end(COMMIT)
    cluster.pass_time(70_000)
    assert zombie.add(A) is ErrorCode.INVALID_PRODUCER_ID_MAPPING  # fatal, in a client of 4.0
    zombie.begin()
    zombie.send(A, "5")
    zombie.end(COMMIT)
    assert cluster.committed(A) == ["5", "5"]


# ---------------------------------------------------------------- seeded bugs


@pytest.mark.parametrize(
    ("bugs", "raised"), [(NO_BUGS, (0, 0, 0)), (frozenset({Bug.FAILED_FENCE_COUNTS}), (1, 2, 3))]
)
def test_bug_failed_fence_counts_uses_an_epoch_for_each_attempt(
    start_cluster: StartCluster, bugs: Bugs, raised: tuple[int, ...]
) -> None:
    cluster = begun(start_cluster, brokers=3, bugs=bugs)
    client = Client(cluster, V2).begin()
    client.send(A, "one")
    at = client.coordinator()
    before = state(cluster, at).producer_epoch
    # Too few replicas are in sync: nothing can be written to the log of the coordinator.
    for number in {1, 2, 3} - {at}:
        cluster.nodes.pop(NodeId(number))
    cluster.pass_time(20_000)
    request = InitProducerId(transactional_id="t")
    for by in raised:
        assert cluster.call(request, at).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert state(cluster, at).producer_epoch - before == by


@pytest.mark.parametrize("bugs", [NO_BUGS, frozenset({Bug.DELAYED_END_ACCEPTED})])
@pytest.mark.parametrize("result", TxnResult)
def test_bug_delayed_end_accepted_ends_the_next_transaction(
    start_cluster: StartCluster, bugs: Bugs, result: TxnResult
) -> None:
    cluster = begun(start_cluster, bugs=bugs)
    client = Client(cluster, V2).begin()
    client.send(A, "one")
    delayed = EndTxn(**client.who, result=result, version=V2)
    client.end(result)
    client.send(A, "two")
    cluster.call(delayed, client.coordinator())
    last = ABORT if result is COMMIT else COMMIT
    client.end(last)
    expected = ["one"] if result is COMMIT else ["two"]
    torn = ["one", "two"] if result is COMMIT else []  # what was aborted is read, or not
    assert cluster.committed(A) == (expected if bugs == NO_BUGS else torn)


@pytest.mark.parametrize(
    ("bugs", "unstable"), [(NO_BUGS, 0), (frozenset({Bug.LATE_PRODUCE_ACCEPTED}), 1)]
)
def test_bug_late_produce_accepted_opens_a_hanging_transaction(
    start_cluster: StartCluster, bugs: Bugs, unstable: int
) -> None:
    cluster = begun(start_cluster, bugs=bugs)
    client = Client(cluster, V1).begin(timeout_ms=5_000)
    client.send(A, "one")
    client.end(ABORT)
    late = client.send(A, "late", added=False)  # as a copy that was on its way for long
    assert (late is NONE) == bool(unstable)
    cluster.pass_time(60_000)
    assert cluster.unstable(A) == unstable
