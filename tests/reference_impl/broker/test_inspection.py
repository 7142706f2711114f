"""A broker describes the producers of a topic partition to administrators (DescribeProducers)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.broker import inspection
from reference_impl.broker.coordinators import LocalCoordinators
from reference_impl.partition.leader import Leader
from reference_impl.protocol.inspection import (
    DescribedProducers,
    DescribeProducers,
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
