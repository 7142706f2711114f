"""Reassignments begin, complete and are cancelled as in Kafka 4.3; each refusal has its error.

A partition is written as its replicas, ISR, leader, and what is added and removed.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from model.vocabulary import BrokerId, LeaderEpoch, PartitionEpoch, TopicPartition
from reference_impl.controller import elections
from reference_impl.controller.cluster_state import ClusterState
from reference_impl.controller.reassignments import alter_reassignment, list_reassignments
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.protocol.controller import PartitionState
from reference_impl.protocol.messages import NO_BROKER, ErrorCode
from reference_impl.protocol.reassignment import (
    AlterReassignment,
    ListReassignments,
    Reassignment,
)

PLACE = TopicPartition("orders", 0)
ALL = (1, 2, 3, 4)
Members = tuple[int, ...]


def ids(members: Members) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, members))


def of(
    replicas: Members,
    isr: Members | None = None,
    leader: int | None = None,
    *,
    adding: Members = (),
    removing: Members = (),
    elr: Members = (),
    unclean: bool = False,
) -> PartitionState:
    members = replicas if isr is None else isr
    return PartitionState(
        replicas=ids(replicas),
        isr=ids(members),
        leader=BrokerId(members[0] if leader is None else leader),
        leader_epoch=LeaderEpoch(5),
        partition_epoch=PartitionEpoch(9),
        min_insync_replicas=2,
        elr=ids(elr),
        adding=ids(adding),
        removing=ids(removing),
        unclean_leader_election=unclean,
    )


def cluster(state: PartitionState, *, alive: Members = ALL, bugs: Bugs = NO_BUGS) -> ClusterState:
    return ClusterState(
        states={PLACE: state}, alive=ids(alive), registered=frozenset(ids(ALL)), bugs=bugs
    )


def request(target: Members | None, *, any_factor: bool = True) -> AlterReassignment:
    replicas = None if target is None else ids(target)
    return AlterReassignment(
        topic_partition=PLACE, replicas=replicas, allows_factor_change=any_factor
    )


def altered(
    state: PartitionState,
    target: Members | None,
    *,
    alive: Members = ALL,
    bugs: Bugs = NO_BUGS,
) -> PartitionState:
    changes, answer = alter_reassignment(cluster(state, alive=alive, bugs=bugs), request(target))
    assert answer.error is ErrorCode.NONE
    return changes.get(PLACE, state)


def joined(state: PartitionState, isr: Members, *, alive: Members = ALL) -> PartitionState:
    return elections.partition_change(state, ids(isr), alive.__contains__, elr=True)


def what(state: PartitionState) -> tuple[Members, Members, int, Members, Members]:
    return state.replicas, state.isr, state.leader, state.adding, state.removing


def test_a_reassignment_begins_and_completes_when_the_added_replica_is_in_sync() -> None:
    begun = altered(of((1, 2)), (3, 2))
    assert what(begun) == ((3, 2, 1), (2, 1), 1, (3,), (1,))
    assert (begun.leader_epoch, begun.partition_epoch) == (5, 10)

    done = joined(begun, (1, 2, 3))
    assert what(done) == ((3, 2), (3, 2), 3, (), ())
    assert (done.leader_epoch, done.partition_epoch) == (6, 11)


def test_a_change_that_removes_a_follower_begins_a_leader_epoch_of_the_same_leader() -> None:
    done = altered(of((1, 2, 3)), (1, 2))
    assert what(done) == ((1, 2), (1, 2), 1, (), ())
    assert done.leader_epoch == 6


def test_another_order_completes_at_once_and_no_change_changes_nothing() -> None:
    assert what(altered(of((1, 2)), (2, 1))) == ((2, 1), (2, 1), 1, (), ())
    changes, answer = alter_reassignment(cluster(of((1, 2))), request((1, 2)))
    assert (changes, answer.error) == ({}, ErrorCode.NONE)


def test_fewer_replicas_wait_until_all_that_stay_are_in_sync() -> None:
    waiting = altered(of((1, 2, 3), (1, 3)), (1, 2))
    assert what(waiting) == ((1, 2, 3), (1, 3), 1, (), (3,))
    assert what(joined(waiting, (1, 2, 3))) == ((1, 2), (1, 2), 1, (), ())


def test_as_many_replicas_wait_only_for_the_added_ones() -> None:
    begun = altered(of((1, 2), (1,)), (2, 3))
    assert what(joined(begun, (1, 3))) == ((2, 3), (3,), 3, (), ())


def test_a_cancelled_reassignment_keeps_the_removed_replicas_alone() -> None:
    begun = altered(of((1, 2)), (3, 2))
    back = altered(begun, None)
    assert what(back) == ((2, 1), (2, 1), 1, (), ())
    assert back.leader_epoch == 6  # the added replica is removed


def test_a_cancellation_that_would_empty_the_isr_needs_an_unclean_election() -> None:
    moving = of((3, 1, 2), (3,), adding=(3,), removing=(1,))
    changes, answer = alter_reassignment(cluster(moving), request(None))
    assert (changes, answer.error) == ({}, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    assert "would require an unclean leader election" in answer.message
    back = altered(replace(moving, unclean_leader_election=True), None)
    assert what(back) == ((1, 2), (1,), 1, (), ())


def test_a_new_reassignment_replaces_the_one_in_progress() -> None:
    begun = altered(of((1, 2)), (3, 2))
    assert what(altered(begun, (4, 2))) == ((4, 2, 1, 3), (2, 1), 1, (4,), (1, 3))


def test_as_in_kafka_a_reassignment_back_to_the_old_replicas_still_waits_for_the_added_one() -> (
    None
):
    begun = altered(of((1, 2)), (3, 2))
    back = altered(begun, (1, 2))
    assert what(back) == ((1, 2, 3), (1, 2), 1, (3,), (3,))
    assert joined(back, (1, 2, 3)).is_reassigned  # 3 is to be added and to be removed
    assert what(altered(back, None)) == ((1, 2), (1, 2), 1, (), ())


def test_a_removed_replica_stays_eligible_as_in_kafka() -> None:
    """After a reassignment the ELR may contain a removed replica.

    This is a defect of Kafka: docs/findings/stale-elr-member.md.
    """
    done = joined(altered(of((1, 2), (1,), elr=(2,)), (1, 3)), (1, 3))
    assert (what(done), done.elr) == (((1, 3), (1, 3), 1, (), ()), ())
    alone = joined(altered(of((1, 2), (1,)), (2, 3)), (1, 3))
    assert (what(alone), alone.elr) == (((2, 3), (3,), 3, (), ()), (1,))


def test_the_replicas_of_partition_0_limit_the_minimum_as_in_kafka() -> None:
    """Partition 0's number of replicas limits min.insync.replicas of all partitions of a topic.

    This is a defect of Kafka: docs/findings/min-isr-of-partition-0.md.
    """
    second = TopicPartition("orders", 1)
    states = {PLACE: of((1,)), second: of((1, 2))}
    assert [elections.effective_min_isr(states, place) for place in states] == [1, 1]
    assert elections.effective_min_isr({second: states[second]}, second) == 2


@pytest.mark.parametrize(
    ("target", "any_factor", "error", "message"),
    [
        (None, True, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in"),
        ((), True, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "includes an empty replica list."),
        ((1, 9), True, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "includes broker 9, but no such"),
        ((1, 1), True, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "the broker 1 more than once."),
        ((1, 2, 3), False, ErrorCode.INVALID_REPLICATION_FACTOR, "is changed from 2 to 3"),
    ],
)
def test_a_refused_request_changes_nothing(
    target: Members | None, any_factor: bool, error: ErrorCode, message: str
) -> None:
    changes, answer = alter_reassignment(
        cluster(of((1, 2))), request(target, any_factor=any_factor)
    )
    assert (changes, answer.error) == ({}, error)
    assert message in answer.message


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (TopicPartition("orders", 7), "Unable to find partition orders:7."),
        (TopicPartition("none", 0), "Unable to find a topic named none."),
    ],
)
def test_an_unknown_partition_is_refused(place: TopicPartition, message: str) -> None:
    unknown = replace(request((1, 2)), topic_partition=place)
    changes, answer = alter_reassignment(cluster(of((1, 2))), unknown)
    assert (changes, answer.error) == ({}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert answer.message == message


def test_the_factor_of_a_moving_partition_is_that_of_its_target() -> None:
    moving = altered(of((1, 2)), (3, 2))
    refused = alter_reassignment(cluster(moving), request((1, 2, 3), any_factor=False))[1]
    assert refused.message == "The replication factor is changed from 2 to 3"
    taken = alter_reassignment(cluster(moving), request((4, 2), any_factor=False))[1]
    assert taken.error is ErrorCode.NONE


def test_an_added_replica_in_the_elr_is_an_unexpected_error_as_in_kafka() -> None:
    leaderless = of((1, 2), (), NO_BROKER, elr=(3,))
    changes, answer = alter_reassignment(cluster(leaderless), request((1, 2, 3)))
    assert (changes, answer.error) == ({}, ErrorCode.UNKNOWN_SERVER_ERROR)


def test_the_list_has_reassignments_in_progress_alone() -> None:
    moving = altered(of((1, 2)), (3, 2))
    second = TopicPartition("orders", 1)
    states = {second: of((1, 2)), PLACE: moving}
    here = ClusterState(states=states, alive=ids(ALL), registered=frozenset(ids(ALL)))
    found = Reassignment(
        topic_partition=PLACE, replicas=ids((3, 2, 1)), adding=ids((3,)), removing=ids((1,))
    )
    for wanted in (None, (PLACE,), (second, PLACE, TopicPartition("none", 0))):
        changes, listed = list_reassignments(here, ListReassignments(topic_partitions=wanted))
        assert (changes, listed.reassignments) == ({}, (found,))
    assert list_reassignments(here, ListReassignments(topic_partitions=()))[1].reassignments == ()


def test_with_the_seeded_bug_an_added_replica_counts_as_in_sync_at_once() -> None:
    bugs = frozenset({Bug.ADDED_REPLICA_COUNTS})
    assert what(altered(of((1, 2)), (3,), bugs=bugs)) == ((3,), (3,), 3, (), ())
