"""KIP-848 groups: heartbeats, offsets, timeouts, failovers, and groups that were classic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.vocabulary import Offset, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.groups.consumer_group import ConsumerGroup
from reference_impl.groups.coordinator import GroupCoordinator
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.protocol.consumer_groups import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribed,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeated,
)
from reference_impl.protocol.controller import CreatePartitions
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffset,
    FetchedOffsets,
    FetchOffsets,
    HeartbeatGroup,
    JoinGroup,
    LeaveGroup,
)
from reference_impl.protocol.messages import ErrorCode, InitProducerId, NodeId
from reference_impl.protocol.transactions import AddOffsetsToTxn
from tests.reference_impl.conftest import TIMEOUTS, InstantCluster

StartCluster = Callable[..., InstantCluster]
NONE = ErrorCode.NONE


class Member:
    def __init__(
        self,
        cluster: InstantCluster,
        name: str,
        instance: str | None = None,
        rebalance_timeout_ms: int = 10_000,
    ) -> None:
        self.cluster, self.name, self.instance = cluster, name, instance
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.at = cluster.coordinator("g", transactional=False)
        self.epoch = 0
        self.owned: tuple[TopicPartition, ...] = ()

    def request(self, **other: Any) -> ConsumerGroupHeartbeat:
        fields: dict[str, Any] = {"member_epoch": self.epoch, "owned": self.owned} | other
        if fields["member_epoch"] == 0:
            fields |= {"rebalance_timeout_ms": self.rebalance_timeout_ms, "owned": ()}
            fields.setdefault("topics", ("t",))
        return ConsumerGroupHeartbeat(
            group="g", member_id=self.name, instance_id=self.instance, **fields
        )

    def call(self, **other: Any) -> ConsumerGroupHeartbeated:
        answer = self.cluster.call(self.request(**other), self.at)
        assert isinstance(answer, ConsumerGroupHeartbeated)
        return answer

    def heartbeat(self, **other: Any) -> ErrorCode:
        """Sends a heartbeat and applies the response, including the partitions to revoke."""
        answer = self.call(**other)
        if answer.error is NONE:
            self.epoch = answer.member_epoch
            self.owned = self.owned if answer.assignment is None else answer.assignment
        return answer.error

    @property
    def part(self) -> list[int]:
        return [place.index for place in self.owned]

    def commit(self, offset: int, index: int = 0, **other: Any) -> ErrorCode:
        place = TopicPartition("t", index)
        who: dict[str, Any] = {"member_id": self.name, "generation": self.epoch} | other
        request = CommitOffsets(
            group="g", offsets=((place, CommittedOffset(offset=Offset(offset))),), **who
        )
        return ErrorCode(self.cluster.call(request, self.at).error)

    def offset(self, index: int = 0, **other: Any) -> int | ErrorCode | None:
        request = FetchOffsets(group="g", topic_partitions=(TopicPartition("t", index),), **other)
        answer = self.cluster.call(request, self.at)
        assert isinstance(answer, FetchedOffsets)
        if answer.error:
            return answer.error
        ((_, committed, _),) = answer.offsets
        return None if committed is None else committed.offset


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


def described(member: Member) -> ConsumerGroupDescribed:
    answer = member.cluster.call(ConsumerGroupDescribe(group="g"), member.at)
    assert isinstance(answer, ConsumerGroupDescribed)
    return answer


def group_at(cluster: InstantCluster, broker: int) -> ConsumerGroup | None:
    node = cluster.nodes[NodeId(broker)]
    assert isinstance(node, Broker)
    for place, role in node.local_coordinators.roles.items():
        if isinstance(role, GroupCoordinator):
            known = role.consumers.caught_up(node.replicas[place].log, NO_BUGS).groups
            if "g" in known:
                return known["g"]
    return None


@pytest.fixture
def cluster(start_cluster: StartCluster) -> InstantCluster:
    cluster = start_cluster()
    cluster.create("t", 2)
    return cluster


# ---------------------------------------------------------------- a member's life


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
    cluster = start_cluster(timeouts=replace(TIMEOUTS, member_assignment_ms=1_000))
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


def test_the_interval_outlives_the_coordinator(start_cluster: StartCluster) -> None:
    """The log stores the time of the last assignment.

    Kafka: ConsumerGroupTargetAssignmentMetadataValue.
    """
    cluster = start_cluster(brokers=3, timeouts=replace(TIMEOUTS, member_assignment_ms=60_000))
    cluster.create("t", 2)
    m, n = Member(cluster, "m"), Member(cluster, "n")
    m.heartbeat()
    moved_to_another(cluster, m)
    n.at = m.at
    n.heartbeat()
    assert (n.epoch, n.part, described(n).state) == (2, [], "Assigning")


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


# ---------------------------------------------------------------- time


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


# ---------------------------------------------------------------- static members


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


# ---------------------------------------------------------------- offsets


def test_commits_and_fetches_need_a_valid_member_epoch(cluster: InstantCluster) -> None:
    m = Member(cluster, "m")
    assert m.commit(1, member_id="", generation=-1) is NONE  # the group has no members
    m.heartbeat()
    assert m.commit(2) is NONE
    assert m.commit(3, generation=0) is ErrorCode.STALE_MEMBER_EPOCH
    assert m.commit(3, member_id="n") is ErrorCode.UNKNOWN_MEMBER_ID
    assert m.commit(3, member_id="", generation=-1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert m.offset(member_id="m", member_epoch=2) == 2
    assert m.offset(member_id="m", member_epoch=0) is ErrorCode.STALE_MEMBER_EPOCH
    assert m.offset(member_id="n", member_epoch=1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert m.offset() == 2


@pytest.mark.parametrize(
    ("bugs", "error"),
    [
        (NO_BUGS, NONE),
        (frozenset({Bug.EXACT_EPOCH_WANTED}), ErrorCode.STALE_MEMBER_EPOCH),
    ],
)
def test_only_an_owner_may_commit_with_an_earlier_epoch(
    start_cluster: StartCluster, bugs: Bugs, error: ErrorCode
) -> None:
    cluster = start_cluster(bugs=bugs)
    cluster.create("t", 2)
    m, n = Member(cluster, "m"), Member(cluster, "n")
    m.heartbeat()
    n.heartbeat()
    m.call(owned=(TopicPartition("t", 0),))
    m.call(owned=(TopicPartition("t", 0),))  # it is in epoch 3, and has heard of 2
    assert m.commit(5, index=0) is error
    n.heartbeat()
    assert m.commit(5, index=1) is ErrorCode.STALE_MEMBER_EPOCH  # n has it now


def test_transactional_offsets_need_a_valid_member_epoch(cluster: InstantCluster) -> None:
    m = Member(cluster, "m")
    m.heartbeat()
    at = cluster.coordinator("x", transactional=True)
    response = cluster.call(InitProducerId(transactional_id="x"), at)
    who = {
        "transactional_id": "x",
        "producer_id": response.producer_id,
        "producer_epoch": response.producer_epoch,
    }
    assert cluster.call(AddOffsetsToTxn(**who, group="g"), at).error is NONE
    assert m.commit(5, **who) is NONE
    assert m.commit(5, generation=0, **who) is ErrorCode.ILLEGAL_GENERATION


# ---------------------------------------------------------------- the log


def moved_to_another(cluster: InstantCluster, member: Member) -> None:
    cluster.restart(member.at)
    cluster.pass_time(15_000)
    member.at = cluster.coordinator("g", transactional=False)


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


# ---------------------------------------------------------------- beside the classic protocol


def test_a_group_with_members_keeps_its_protocol(cluster: InstantCluster) -> None:
    m = Member(cluster, "m")
    join = JoinGroup(group="g", protocols=(("range", b""),), needs_id_first=False)
    m.heartbeat()
    assert cluster.call(join, m.at).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
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
