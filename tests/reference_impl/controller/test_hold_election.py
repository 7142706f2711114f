"""HoldElection elects the first replica of a partition, if it is alive and in sync.

An unclean election is only for a partition without a leader, and may elect any live replica.

Kafka: ReplicationControlManager.electLeader.
"""

from __future__ import annotations

import pytest

from model.vocabulary import BrokerId, LeaderEpoch, PartitionEpoch, TopicPartition
from reference_impl.controller.cluster_state import ClusterState
from reference_impl.controller.requested_elections import hold_election
from reference_impl.protocol.controller import HoldElection, PartitionState
from reference_impl.protocol.messages import NO_BROKER, ErrorCode

TP = TopicPartition("orders", 0)
NONE = ErrorCode.NONE
NOT_NEEDED = ErrorCode.ELECTION_NOT_NEEDED
NOT_PREFERRED = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
NOBODY = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


def held(
    leader: int, isr: tuple[int, ...], alive: tuple[int, ...], *, unclean: bool
) -> tuple[ErrorCode, PartitionState | None]:
    """Holds an election among the replicas 2, 3 and 1; returns the error and the registration."""
    before = PartitionState(
        replicas=tuple(map(BrokerId, (2, 3, 1))),
        isr=tuple(map(BrokerId, isr)),
        leader=BrokerId(leader),
        leader_epoch=LeaderEpoch(5),
        partition_epoch=PartitionEpoch(9),
    )
    cluster = ClusterState(states={TP: before}, alive=tuple(map(BrokerId, alive)))
    request = HoldElection(topic_partition=TP, is_unclean=unclean)
    states, answer = hold_election(cluster, request)
    return answer.error, states.get(TP)


@pytest.mark.parametrize(
    ("leader", "isr", "alive", "error"),
    [
        (3, (3, 2), (2, 3), NONE),
        (NO_BROKER, (3, 2), (2, 3), NONE),
        (2, (3, 2), (2, 3), NOT_NEEDED),
        (3, (3, 1), (1, 2, 3), NOT_PREFERRED),  # the first replica is not in sync
        (3, (3, 2), (1, 3), NOT_PREFERRED),  # it is not alive
    ],
)
def test_the_first_replica_leads_if_it_is_alive_and_in_sync(
    leader: int, isr: tuple[int, ...], alive: tuple[int, ...], error: ErrorCode
) -> None:
    answer, after = held(leader, isr, alive, unclean=False)
    assert answer is error
    if error is NONE:
        assert after is not None
        assert (after.leader, after.isr) == (2, isr)
        assert (after.leader_epoch, after.partition_epoch) == (6, 10)
    else:
        assert after is None


@pytest.mark.parametrize(
    ("leader", "isr", "alive", "error", "elected"),
    [
        (NO_BROKER, (2,), (1, 3), NONE, 3),  # none of the ISR is alive
        (NO_BROKER, (1,), (1, 3), NONE, 1),  # a member of the ISR before others
        (NO_BROKER, (2,), (), NOBODY, None),
        (3, (3,), (1, 3), NOT_NEEDED, None),
        (1, (1,), (1, 2), NOT_NEEDED, None),  # any leader is enough
    ],
)
def test_an_unclean_election_is_only_for_a_partition_without_a_leader(
    leader: int,
    isr: tuple[int, ...],
    alive: tuple[int, ...],
    error: ErrorCode,
    elected: int | None,
) -> None:
    answer, after = held(leader, isr, alive, unclean=True)
    assert (answer, after and after.leader) == (error, elected)
    assert after is None or not after.unclean_leader_election  # the topic's setting stays


def test_an_unknown_partition_is_refused() -> None:
    states, answer = hold_election(
        ClusterState(states={}, alive=()), HoldElection(topic_partition=TP)
    )
    assert (states, answer.error) == ({}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
