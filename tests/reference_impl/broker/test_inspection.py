"""A broker describes producers and transactions to administrators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from model.vocabulary import BrokerId, LeaderEpoch, TopicPartition
from reference_impl.broker import inspection
from reference_impl.broker.coordinators import Loading, LocalCoordinators
from reference_impl.partition.leader import Leader
from reference_impl.protocol.coordinators import TRANSACTION_STATE
from reference_impl.protocol.inspection import (
    DescribedProducers,
    DescribeProducers,
    DescribeTransaction,
    ListedTransactions,
    ListTransactions,
    ProducerDescription,
)
from reference_impl.protocol.messages import UNKNOWN_OFFSET, ErrorCode
from tests.reference_impl.log.transactional_leader import (
    ABORT,
    COORDINATOR,
    TP,
    after,
    batch,
    context,
    leading,
    marker,
)
from tests.reference_impl.transactional import Client


def described(leader: Leader | None, place: TopicPartition = TP) -> DescribedProducers:
    here = {} if leader is None else {TP: leader}
    leaders = {**COORDINATOR.leaders, TP: BrokerId(2)}
    around = replace(context(), coordinators=replace(COORDINATOR, leaders=leaders))
    request = DescribeProducers(topic_partition=place)
    answer = inspection.answer(request, around, here, LocalCoordinators())
    assert isinstance(answer, DescribedProducers)
    return answer


def only(answer: DescribedProducers) -> ProducerDescription:
    (one,) = answer.producers
    return one


def test_a_producer_is_described_with_its_last_batch_and_its_open_transaction() -> None:
    """Kafka: ProducerStateManager.activeProducers, UnifiedLog.activeProducers."""
    open_ = after(leading(), batch("a"), batch("b", 1))
    one = only(described(open_))
    assert (one.producer_id, one.producer_epoch, one.last_sequence) == (7, 0, 1)
    assert (one.transaction_start, one.coordinator_epoch) == (0, -1)
    one = only(described(after(open_, marker(ABORT, coordinator_epoch=4))))
    assert (one.transaction_start, one.coordinator_epoch) == (UNKNOWN_OFFSET, 4)
    assert one.last_sequence == 1
    # A marker alone: the producer has an epoch, and no batch.
    one = only(described(after(leading(), marker(ABORT, epoch=5))))
    assert (one.producer_epoch, one.last_sequence) == (5, -1)


@pytest.mark.parametrize(
    ("place", "error"),
    [
        (TP, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (TopicPartition("nowhere", 0), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_partition_that_is_not_here_has_no_producers(
    place: TopicPartition, error: ErrorCode
) -> None:
    assert described(None, place) == DescribedProducers(error=error)


def test_transactions_are_not_listed_while_a_coordinator_loads() -> None:
    """Kafka: TransactionStateManager.listTransactionStates."""
    loads = Loading(coordinator_epoch=LeaderEpoch(0), until_ms=9)
    loading = LocalCoordinators(loading={TopicPartition(TRANSACTION_STATE, 0): loads})
    answer = inspection.answer(ListTransactions(), context(), {}, loading)
    assert answer == ListedTransactions(error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


def test_a_transaction_is_described_by_its_coordinator_only(
    start_cluster: Callable[..., Any],
) -> None:
    cluster = start_cluster(brokers=2)
    cluster.create("a")
    a = TopicPartition("a", 0)
    client = Client(cluster).begin(timeout_ms=5_000)
    client.add(a)

    here = client.coordinator()
    answer = cluster.call(DescribeTransaction(transactional_id="t"), here)
    assert answer.error is ErrorCode.NONE
    found = answer.transaction
    assert (found.transactional_id, found.state, found.topic_partitions) == ("t", "Ongoing", (a,))
    assert ((found.producer_id, found.producer_epoch), found.timeout_ms) == (client.producer, 5_000)
    assert 0 < found.started_ms <= cluster.now_ms
    assert cluster.call(ListTransactions(), here).transactions == (found,)
    assert cluster.call(ListTransactions(), 3 - here).transactions == ()

    for transactional_id, broker, error in (
        ("t", 3 - here, ErrorCode.NOT_COORDINATOR),
        ("another", here, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND),
        ("", here, ErrorCode.INVALID_REQUEST),
    ):
        request = DescribeTransaction(transactional_id=transactional_id)
        assert cluster.call(request, broker).error is error
