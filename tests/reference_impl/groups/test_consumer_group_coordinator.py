"""KIP-848 groups: heartbeats, timeouts, static members, and groups that were classic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from model.vocabulary import TopicPartition
from reference_impl.protocol.consumer_groups import (
    ConsumerGroupHeartbeated,
)
from reference_impl.protocol.controller import CreatePartitions
from reference_impl.protocol.groups import (
    HeartbeatGroup,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
)
from reference_impl.protocol.messages import ErrorCode
from tests.reference_impl.conftest import TIMEOUTS, InstantCluster
from tests.reference_impl.groups.consumer_member import (
    NONE,
    Member,
    StartCluster,
    described,
)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"owned": None}, ErrorCode.INVALID_REQUEST),
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": "", "names_itself": False, "member_epoch": 1}, ErrorCode.INVALID_REQUEST),
        ({"group": ""}, ErrorCode.INVALID_REQUEST),
        ({"assignor": "none"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
    ],
)
def test_a_malformed_heartbeat_is_rejected_without_a_member_id(
    start_cluster: StartCluster, fields: dict[str, Any], error: ErrorCode
) -> None:
    """The response to a malformed heartbeat has an error and no member id.

    Kafka: GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid.
    """
    member = Member(start_cluster(), "a")
    request = replace(member.request(), **fields)
    answer = member.cluster.call(request, member.at)
    assert answer == ConsumerGroupHeartbeated(error=error)


def test_a_partition_moves_after_heartbeats_of_both_members(
    cluster: InstantCluster,
) -> None:
    m, n = Member(cluster, "m"), Member(cluster, "n")
    assert (m.heartbeat(), m.epoch, m.part, described(m).state) == (NONE, 2, [0, 1], "Stable")
    assert (n.heartbeat(), n.epoch, n.part, described(m).state) == (NONE, 3, [], "Reconciling")
    assert (m.heartbeat(), m.epoch, m.part) == (NONE, 2, [0])  # it must revoke 1
    assert (n.heartbeat(), n.part) == (NONE, [])  # which is m's until m says so
    assert (m.heartbeat(), m.epoch) == (NONE, 3)
    assert (n.heartbeat(), n.part, described(m).state) == (NONE, [1], "Stable")
    assert m.call().assignment is None  # nothing is news
    assert m.call(member_epoch=-1).member_epoch == -1
    n.heartbeat()
    assert (n.epoch, n.part, described(n).group_epoch) == (4, [0, 1], 4)


def test_a_new_assignment_waits_for_the_interval(start_cluster: StartCluster) -> None:
    """Two target assignments of a group are at least one interval apart.

    A member that joins within group.consumer.assignment.interval.ms gets its partitions later.

    Kafka: GroupMetadataManager.maybeUpdateTargetAssignment.
    """
    cluster = start_cluster(broker_settings=replace(TIMEOUTS, member_assignment_ms=1_000))
    cluster.create("t", 2)
    m, n = Member(cluster, "m"), Member(cluster, "n")
    assert (m.heartbeat(), m.epoch, m.part) == (NONE, 2, [0, 1])  # the first one does not wait
    assert (n.heartbeat(), n.epoch, n.part) == (NONE, 2, [])
    assert (described(n).state, described(n).group_epoch, described(n).assignment_epoch) == (
        "Assigning", 3, 2,
    )  # fmt: skip
    cluster.pass_time(900)
    assert (n.heartbeat(), n.epoch) == (NONE, 2)
    cluster.pass_time(200)
    assert (n.heartbeat(), n.epoch, described(n).state) == (NONE, 3, "Reconciling")
    for member in (m, m, n):
        member.heartbeat()
    assert (m.part, n.part, described(n).state) == ([0], [1], "Stable")


def test_members_of_equal_weight_vote_for_the_default_assignor(cluster: InstantCluster) -> None:
    """If two assignors have equally many votes, the group uses the default assignor.

    Kafka: ConsumerGroup.computePreferredServerAssignor.
    """
    m, n = Member(cluster, "m"), Member(cluster, "n")
    m.heartbeat(assignor="range")
    assert described(m).assignor == "range"
    n.heartbeat(assignor="uniform")
    assert described(m).assignor == "uniform"


def test_a_member_that_still_revokes_may_leave_a_topic(cluster: InstantCluster) -> None:
    """A member that has partitions to revoke may unsubscribe from a topic.

    The member must then revoke the partitions of this topic too.

    Kafka: CurrentAssignmentBuilder.updateCurrentAssignment.
    """
    cluster.create("u", 2)
    m, n = Member(cluster, "m"), Member(cluster, "n")
    m.heartbeat(topics=("t", "u"))
    n.heartbeat(topics=("t", "u"))
    owned = m.owned
    m.heartbeat()
    assert len(m.owned) == 2  # half of them is to be revoked
    m.heartbeat(owned=owned, topics=("t",))
    assert {place.topic for place in m.owned} <= {"t"}


def test_a_member_without_an_id_gets_one(cluster: InstantCluster) -> None:
    m = Member(cluster, "")
    answer = m.call(names_itself=False)  # before version 1
    assert answer.member_id
    assert [member.member_id for member in described(m).members] == [answer.member_id]


def test_invalid_heartbeats_are_rejected(cluster: InstantCluster) -> None:
    m, n = Member(cluster, "m"), Member(cluster, "n")
    assert described(m).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert n.call(member_epoch=3).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert m.heartbeat() is NONE
    fields = {
        n.call(member_epoch=1).error: ErrorCode.UNKNOWN_MEMBER_ID,
        m.call(member_epoch=9).error: ErrorCode.FENCED_MEMBER_EPOCH,
        m.call(member_epoch=-2).error: ErrorCode.INVALID_REQUEST,
        m.call(assignor="sticky").error: ErrorCode.UNSUPPORTED_ASSIGNOR,
    }
    assert list(fields) == list(fields.values())
    assert m.heartbeat() is NONE


def test_a_heartbeat_with_the_previous_epoch_is_accepted(cluster: InstantCluster) -> None:
    m, n = Member(cluster, "m"), Member(cluster, "n")
    m.heartbeat()
    n.call()
    m.call(owned=(TopicPartition("t", 0),))  # it gives 1 up, and does not hear of epoch 3
    assert m.call().error is ErrorCode.FENCED_MEMBER_EPOCH  # it owns what is not its own
    m.owned = m.owned[:1]
    assert (m.heartbeat(), m.epoch) == (NONE, 3)


def test_topics_created_later_are_assigned(cluster: InstantCluster) -> None:
    m = Member(cluster, "m")
    m.heartbeat(topics=("t", "u"), assignor="range")
    assert (len(m.owned), described(m).assignor) == (2, "range")
    cluster.create("u", 3)
    m.heartbeat()
    assert (len(m.owned), m.epoch) == (5, 3)
    cluster.call(CreatePartitions(topic="u", topic_partitions=4))
    m.heartbeat()
    assert (len(m.owned), m.epoch) == (6, 4)
    m.heartbeat(topics=("u",))
    m.heartbeat()
    assert {place.topic for place in m.owned} == {"u"}


def test_a_member_without_heartbeats_is_removed_and_may_join_again(cluster: InstantCluster) -> None:
    m, n = Member(cluster, "m"), Member(cluster, "n")
    m.heartbeat()
    for _ in range(6):
        n.heartbeat()
        cluster.pass_time(8_000)
    assert [member.member_id for member in described(n).members] == ["n"]
    assert m.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    n.heartbeat()
    assert n.part == [0, 1]
    m.epoch, m.owned = 0, ()
    assert m.heartbeat() is NONE


def test_a_member_that_revokes_too_slowly_is_removed(cluster: InstantCluster) -> None:
    m, n = Member(cluster, "m", rebalance_timeout_ms=5_000), Member(cluster, "n")
    m.heartbeat()
    n.heartbeat()
    m.heartbeat()
    kept = m.owned = (TopicPartition("t", 0), TopicPartition("t", 1))
    cluster.pass_time(4_000)
    assert (m.heartbeat(), m.epoch) == (NONE, 2)  # it lives, and owns it still
    m.owned = kept
    cluster.pass_time(3_000)
    assert m.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    n.heartbeat()
    assert n.part == [0, 1]


def test_a_static_member_that_leaves_temporarily_keeps_its_assignment(
    cluster: InstantCluster,
) -> None:
    old, other = Member(cluster, "old", "one"), Member(cluster, "other")
    for member in (old, other, old, old, other):
        member.heartbeat()
    assert (old.part, other.part, old.epoch) == ([0], [1], 3)
    new = Member(cluster, "new", "one")
    assert new.heartbeat() is ErrorCode.UNRELEASED_INSTANCE_ID
    assert old.call(member_epoch=-2).error is NONE
    other.heartbeat()
    assert (other.part, described(other).group_epoch) == ([1], 3)
    assert (new.heartbeat(), new.part, new.epoch) == (NONE, [0], 3)
    assert old.call().error is ErrorCode.FENCED_INSTANCE_ID
    assert new.call(member_epoch=-2).error is NONE
    for _ in range(6):
        other.heartbeat()
        cluster.pass_time(8_000)
    other.heartbeat()
    assert other.part == [0, 1]  # the while was longer than its session


def test_a_group_with_members_keeps_its_protocol(cluster: InstantCluster) -> None:
    m = Member(cluster, "m")
    join = JoinGroup(group="g", protocols=(("range", b""),), needs_id_first=False)
    m.heartbeat()
    refused = JoinedGroup(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    assert cluster.answers.get(cluster.send(join, m.at)) == refused
    heartbeat = HeartbeatGroup(group="g", generation=1, member_id="m")
    assert cluster.call(heartbeat, m.at).error is ErrorCode.UNKNOWN_MEMBER_ID
    m.call(member_epoch=-1)
    number = cluster.send(join, m.at)
    cluster.pass_time(4_000)
    joined: Any = cluster.answers[number]
    m.epoch = 0
    assert (joined.error, m.heartbeat()) == (NONE, ErrorCode.GROUP_ID_NOT_FOUND)
    assert described(m).error is ErrorCode.GROUP_ID_NOT_FOUND
    leave = LeaveGroup(group="g", members=((joined.member_id, None),))
    assert cluster.call(leave, m.at).error is NONE
    assert (m.heartbeat(), m.part) == (NONE, [0, 1])
