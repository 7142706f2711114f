"""KIP-848 groups in the log: replication, rejected appends, and new coordinators."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.protocol.consumer_groups import (
    ConsumerGroupHeartbeated,
)
from reference_impl.protocol.messages import ErrorCode, NodeId
from tests.reference_impl.conftest import TIMEOUTS, InstantCluster
from tests.reference_impl.groups.consumer_member import (
    NONE,
    Member,
    StartCluster,
    described,
    group_at,
    moved_to_another,
)


def test_the_interval_outlives_the_coordinator(start_cluster: StartCluster) -> None:
    """The log stores the time of the last assignment. So a new coordinator waits for the rest of
    the interval between two assignments.

    Kafka: ConsumerGroupTargetAssignmentMetadataValue.
    """
    cluster = start_cluster(
        brokers=3, broker_settings=replace(TIMEOUTS, member_assignment_ms=60_000)
    )
    cluster.create("t", 2)
    m, n = Member(cluster, "m"), Member(cluster, "n")
    m.heartbeat()
    moved_to_another(cluster, m)
    n.at = m.at
    n.heartbeat()
    assert (n.epoch, n.part, described(n).state) == (2, [], "Assigning")


def test_a_new_coordinator_continues_with_the_same_group(start_cluster: StartCluster) -> None:
    cluster = start_cluster(brokers=3)
    cluster.create("t", 2)
    m, n = Member(cluster, "m"), Member(cluster, "n", "one")
    m.heartbeat()
    n.heartbeat()
    m.heartbeat()
    before, first = group_at(cluster, m.at), m.at
    moved_to_another(cluster, m)
    n.at = m.at
    assert m.at != first
    assert group_at(cluster, m.at) == before
    assert (m.heartbeat(), n.heartbeat(), m.epoch, m.part, n.part) == (NONE, NONE, 3, [0], [1])


def test_no_response_is_sent_before_its_records_are_replicated(start_cluster: StartCluster) -> None:
    cluster = start_cluster(brokers=3)
    cluster.create("t", 2)
    m = Member(cluster, "m")
    m.heartbeat()
    leader = m.at
    cluster.is_dropped = lambda to, message: (
        to == leader and getattr(message, "sender", 0) in {1, 2, 3} - {leader}
    )
    n = cluster.send(Member(cluster, "n").request(), leader)
    again = cluster.send(m.request(owned=None), leader)
    assert (cluster.answers.get(n), cluster.answers.get(again)) == (None, None)
    written = group_at(cluster, leader)
    assert written is not None
    assert written.epoch == 3  # the coordinator goes on from there
    cluster.is_dropped = lambda _to, _told: False
    cluster.pass_time(31_000)  # the followers fetch again
    joined, heard = cluster.answers[n], cluster.answers[again]
    assert isinstance(joined, ConsumerGroupHeartbeated)
    assert isinstance(heard, ConsumerGroupHeartbeated)
    assert joined.error in {NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert heard.error is joined.error


def test_a_rejected_append_changes_nothing(start_cluster: StartCluster) -> None:
    cluster = start_cluster(brokers=2)
    cluster.create("t", 2)
    m = Member(cluster, "m")
    m.heartbeat()
    before = group_at(cluster, m.at)
    n = Member(cluster, "n")
    del cluster.nodes[NodeId(3 - m.at)]
    cluster.pass_time(12_000)  # one replica is in sync, and two are wanted
    assert n.heartbeat() is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert group_at(cluster, m.at) == before
    assert m.heartbeat() is NONE  # nothing is to be written


words = st.tuples(
    st.sampled_from(["beat", "beat", "beat", "leave", "silence", "fail"]), st.sampled_from("mno")
)


@settings(max_examples=8, deadline=None)
@given(st.lists(words, min_size=4, max_size=14))
def test_after_any_run_a_new_coordinator_has_the_same_group(
    messages: list[tuple[str, str]],
) -> None:
    cluster = InstantCluster(brokers=2)
    cluster.create("t", 3)
    members = {name: Member(cluster, name) for name in "mno"}
    for word, name in messages:
        member = members[name]
        if word == "beat" and member.heartbeat() is not NONE:
            member.epoch, member.owned = 0, ()
        elif word == "leave" and member.epoch:
            member.call(member_epoch=-1)
            member.epoch, member.owned = 0, ()
        elif word == "silence":
            cluster.pass_time(46_000)
        elif word == "fail":
            before, at = group_at(cluster, member.at), member.at
            cluster.restart(at)
            cluster.pass_time(12_000)
            for other in members.values():
                other.at = cluster.coordinator("g", transactional=False)
            assert group_at(cluster, member.at) == before
    for _ in range(8):
        for member in members.values():
            if member.heartbeat() is not NONE:
                member.epoch, member.owned = 0, ()
    assert described(members["m"]).state == "Stable"
    assert sorted(len(member.part) for member in members.values()) == [1, 1, 1]
