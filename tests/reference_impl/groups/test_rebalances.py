"""Classic groups: cooperative rebalances (KIP-429), and static members (KIP-345) under faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from model.vocabulary import BrokerId, Offset, TopicPartition
from reference_impl.broker.broker import Broker
from reference_impl.groups.assignors import uniform
from reference_impl.groups.classic_group import ClassicGroup
from reference_impl.groups.coordinator import GroupCoordinator
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.protocol.groups import (
    CommitOffsets,
    CommittedOffset,
    HeartbeatGroup,
    JoinedGroup,
    JoinGroup,
    LeaveGroup,
    SyncGroup,
)
from reference_impl.protocol.messages import ErrorCode, NodeId
from tests.reference_impl.conftest import InstantCluster

StartCluster = Callable[..., InstantCluster]
NONE = ErrorCode.NONE
BEGAN_REBALANCE = ErrorCode.REBALANCE_IN_PROGRESS


class Member:
    def __init__(self, cluster: InstantCluster, name: str, instance: str | None = None) -> None:
        self.cluster, self.name, self.instance = cluster, name, instance
        self.at = cluster.coordinator("g", transactional=False)
        self.joined = JoinedGroup()
        self.owned: tuple[int, ...] = ()
        self.asked = 0

    def join(self, member_id: str | None = None) -> None:
        request = JoinGroup(
            group="g",
            member_id=self.joined.member_id if member_id is None else member_id,
            instance_id=self.instance,
            client_id=self.name,
            session_timeout_ms=30_000,
            protocols=(("cooperative", json.dumps(self.owned).encode()),),
            needs_id_first=False,
        )
        self.asked = self.cluster.send(request, self.at)

    def hear(self) -> ErrorCode:
        answer = self.cluster.answers[self.asked]
        assert isinstance(answer, JoinedGroup)
        self.joined = answer
        return answer.error

    def sync(self) -> None:
        """Sends SyncGroup; if this member is the group leader, the request contains an assignment.

        The assignment gives a member only partitions that no other member owns.
        """
        assignments: list[tuple[str, bytes]] = []
        owned = {id_: json.loads(data) for id_, _, data in self.joined.members}
        before = {
            id_: frozenset(TopicPartition("t", n) for n in numbers)
            for id_, numbers in owned.items()
        }
        target = uniform(dict.fromkeys(owned, frozenset({"t"})), {"t": 2}, before)
        for id_, part in target.items():
            others = {n for other, numbers in owned.items() if other != id_ for n in numbers}
            mine = sorted({place.index for place in part} - others)
            assignments.append((id_, json.dumps(mine).encode()))
        request = SyncGroup(
            group="g",
            generation=self.joined.generation,
            member_id=self.joined.member_id,
            instance_id=self.instance,
            assignments=tuple(assignments),
        )
        self.asked = self.cluster.send(request, self.at)

    def take(self) -> bool:
        answer: Any = self.cluster.answers[self.asked]
        before, self.owned = self.owned, tuple(json.loads(answer.assignment))
        return not set(before) <= set(self.owned)

    def heartbeat(self) -> ErrorCode:
        request = HeartbeatGroup(
            group="g",
            generation=self.joined.generation,
            member_id=self.joined.member_id,
            instance_id=self.instance,
        )
        answer: Any = self.cluster.call(request, self.at)
        return ErrorCode(answer.error)

    def commit(self) -> ErrorCode:
        request = CommitOffsets(
            group="g",
            offsets=((TopicPartition("t", 0), CommittedOffset(offset=Offset(1))),),
            generation=self.joined.generation,
            member_id=self.joined.member_id,
        )
        answer: Any = self.cluster.call(request, self.at)
        return ErrorCode(answer.error)


def rebalanced(*members: Member) -> None:
    for member in members:
        assert member.hear() is NONE
    for member in members:
        member.sync()


def group_at(cluster: InstantCluster, broker: int) -> ClassicGroup:
    node = cluster.nodes[NodeId(BrokerId(broker))]
    assert isinstance(node, Broker)
    roles = [r for r in node.local_coordinators.roles.values() if isinstance(r, GroupCoordinator)]
    return next(role.groups["g"] for role in roles if "g" in role.groups)


# ---------------------------------------------------------------- cooperative


def test_a_partition_moves_in_two_generations_and_no_other_is_revoked(
    start_cluster: StartCluster,
) -> None:
    cluster = start_cluster()
    m, n = Member(cluster, "m"), Member(cluster, "n")
    m.join()
    cluster.pass_time(4_000)
    rebalanced(m)
    assert (m.take(), m.owned) == (False, (0, 1))
    n.join()
    assert m.heartbeat() is BEGAN_REBALANCE
    assert m.commit() is NONE  # it owns both still, and goes on
    m.join()
    rebalanced(m, n)
    gives_up = m.take()
    n.take()
    assert (gives_up, m.owned, n.owned) == (True, (0,), ())  # 1 has no owner in this generation
    m.join()
    assert n.heartbeat() is BEGAN_REBALANCE
    n.join()
    rebalanced(m, n)
    assert (m.take(), n.take(), m.owned, n.owned) == (False, False, (0,), (1,))
    assert (m.joined.generation, m.heartbeat(), n.heartbeat()) == (3, NONE, NONE)


def test_an_empty_group_continues_its_generation_numbers(start_cluster: StartCluster) -> None:
    cluster = start_cluster(brokers=3)
    m = Member(cluster, "m")
    m.join()
    cluster.pass_time(4_000)
    rebalanced(m)
    leaving = LeaveGroup(group="g", members=((m.joined.member_id, None),))
    cluster.call(leaving, m.at)
    cluster.restart(m.at)
    cluster.pass_time(15_000)
    n = Member(cluster, "n")
    n.join()
    cluster.pass_time(4_000)
    assert (n.hear(), n.joined.generation) == (NONE, 3)  # 2 was the empty one


# ---------------------------------------------------------------- static members


def of_instance(cluster: InstantCluster, broker: int) -> list[str]:
    members = group_at(cluster, broker).members.values()
    return [member.member_id for member in members if member.instance_id == "one"]


@pytest.mark.parametrize(
    ("bugs", "how_many"), [(NO_BUGS, 1), (frozenset({Bug.STATIC_REPLACED_WHEN_STABLE}), 2)]
)
def test_an_instance_is_one_member_during_a_rebalance_too(
    start_cluster: StartCluster, bugs: Bugs, how_many: int
) -> None:
    """Two processes with the same instance id join during a rebalance; only the second stays.

    The first process gets FENCED_INSTANCE_ID. The seeded bug STATIC_REPLACED_WHEN_STABLE keeps both
    (KAFKA-8500).
    """
    cluster = start_cluster(bugs=bugs)
    old, new = Member(cluster, "old", "one"), Member(cluster, "new", "one")
    old.join()
    new.join()
    cluster.pass_time(4_000)
    assert len(of_instance(cluster, new.at)) == how_many
    assert new.hear() is NONE
    assert old.hear() is (ErrorCode.FENCED_INSTANCE_ID if how_many == 1 else NONE)


@pytest.mark.parametrize(
    ("bugs", "of_new", "of_old"),
    [
        (NO_BUGS, NONE, ErrorCode.FENCED_INSTANCE_ID),
        (frozenset({Bug.STATIC_REPLACEMENT_NOT_KEPT}), ErrorCode.FENCED_INSTANCE_ID, NONE),
    ],
)
def test_a_new_coordinator_has_the_current_process_of_an_instance(
    start_cluster: StartCluster, bugs: Bugs, of_new: ErrorCode, of_old: ErrorCode
) -> None:
    """After a failover the new process of a static member stays, and the old one is fenced.

    The seeded bug STATIC_REPLACEMENT_NOT_KEPT does not write the replacement to the log, so the new
    coordinator fences the new process (KAFKA-10284).
    """
    cluster = start_cluster(brokers=3, bugs=bugs)
    old, new = Member(cluster, "old", "one"), Member(cluster, "new", "one")
    old.join()
    cluster.pass_time(4_000)
    rebalanced(old)
    new.join()
    cluster.pass_time(1_000)
    assert (new.hear(), new.joined.generation, new.heartbeat()) == (NONE, 1, NONE)
    assert old.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    cluster.restart(new.at)
    cluster.pass_time(12_000)
    old.at = new.at = cluster.coordinator("g", transactional=False)
    assert (new.heartbeat(), old.heartbeat()) == (of_new, of_old)


def test_a_replacement_gets_its_response_once_it_is_replicated(start_cluster: StartCluster) -> None:
    cluster = start_cluster(brokers=3)
    old, new = Member(cluster, "old", "one"), Member(cluster, "new", "one")
    old.join()
    cluster.pass_time(4_000)
    rebalanced(old)
    leader = old.at
    cluster.is_dropped = lambda to, message: (
        to == leader and getattr(message, "sender", 0) in {1, 2, 3} - {leader}
    )
    new.join()
    assert new.asked not in cluster.answers
    cluster.is_dropped = lambda _to, _told: False
    cluster.pass_time(31_000)  # the followers fetch again
    assert new.asked in cluster.answers
