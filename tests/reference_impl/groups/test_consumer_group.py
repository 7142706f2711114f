"""KIP-848 groups without a broker: the assignors, and the reconciliation of members."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.vocabulary import TopicPartition
from reference_impl.groups.assignors import ASSIGNORS, Assignment, uniform
from reference_impl.groups.consumer_group import ConsumerGroup, ConsumerMember, MemberState
from reference_impl.groups.heartbeat import heartbeat
from reference_impl.groups.reconciliation import TRANSITIONS, Finding, reconciled
from reference_impl.protocol.consumer_groups import ConsumerGroupHeartbeat
from reference_impl.protocol.messages import ErrorCode
from tests.reference_impl.contexts import BROKER_1

TOPICS = ("t", "u")
A, B = TopicPartition("t", 0), TopicPartition("t", 1)


# ---------------------------------------------------------------- assignors

subscriptions = st.dictionaries(
    st.sampled_from("abcde"), st.frozensets(st.sampled_from("tuv"), max_size=3), max_size=5
)
partition_counts = st.dictionaries(st.sampled_from("tuv"), st.integers(1, 5), max_size=3)


def all_of(topics: dict[str, int]) -> set[TopicPartition]:
    return {TopicPartition(topic, index) for topic, n in topics.items() for index in range(n)}


@given(subscriptions, partition_counts, subscriptions, st.sampled_from(sorted(ASSIGNORS)))
def test_each_subscribed_partition_has_one_owner_that_subscribes(
    members: dict[str, frozenset[str]],
    topics: dict[str, int],
    earlier: dict[str, frozenset[str]],
    name: str,
) -> None:
    before = ASSIGNORS[name](earlier, topics, {})
    parts = ASSIGNORS[name](members, topics, before)
    assert parts.keys() == members.keys()
    given_out = [place for part in parts.values() for place in part]
    wanted = {topic for wants in members.values() for topic in wants}
    assert sorted(given_out) == sorted(tp for tp in all_of(topics) if tp.topic in wanted)
    assert all(place.topic in members[id_] for id_, part in parts.items() for place in part)
    backwards = dict(reversed(members.items()))
    assert ASSIGNORS[name](backwards, topics, before) == parts


@given(subscriptions, partition_counts, subscriptions)
def test_uniform_is_balanced_and_stable(
    members: dict[str, frozenset[str]],
    topics: dict[str, int],
    earlier: dict[str, frozenset[str]],
) -> None:
    parts = uniform(members, topics, uniform(earlier, topics, {}))
    for one, part in parts.items():
        for other, theirs in parts.items():
            could_take = any(place.topic in members[other] for place in part)
            assert not could_take or len(part) <= len(theirs) + 1, (one, other)
    assert uniform(members, topics, parts) == parts


def test_with_more_members_than_partitions_some_are_idle() -> None:
    members = dict.fromkeys("abc", frozenset({"t"}))
    for assign in ASSIGNORS.values():
        assert sorted(len(part) for part in assign(members, {"t": 2}, {}).values()) == [0, 1, 1]


# ---------------------------------------------------------------- reconciliation


def group_of(target: Assignment, **members: ConsumerMember) -> ConsumerGroup:
    owners = {place: m.epoch for m in members.values() for place in m.owned}
    return ConsumerGroup(
        group="g", epoch=5, assignment_epoch=5, target=target, members=members,
        partition_epochs=owners,
    )  # fmt: skip


def member(id_: str, epoch: int, state: MemberState, *assigned: TopicPartition) -> ConsumerMember:
    return ConsumerMember(
        member_id=id_, topics=TOPICS, epoch=epoch, state=state, assigned=dict.fromkeys(assigned, 1)
    )


def test_a_member_revokes_before_its_epoch_advances_and_another_waits() -> None:
    m = member("m", 4, MemberState.STABLE, A, B)
    n = member("n", 4, MemberState.STABLE)
    group = group_of({"m": frozenset({A}), "n": frozenset({B})}, m=m, n=n)
    revoking = reconciled(m, group, (A, B))
    assert (revoking.state, revoking.epoch) == (MemberState.UNREVOKED, 4)
    assert (revoking.assigned, revoking.revoking) == ({A: 1}, {B: 1})
    group = group.with_member(revoking)
    waiting = reconciled(n, group, ())
    assert (waiting.state, waiting.epoch, waiting.assigned) == (MemberState.UNRELEASED, 5, {})
    assert reconciled(revoking, group, (A, B)) is revoking  # it still owns B
    assert reconciled(revoking, group, None) is revoking  # nothing has changed
    done = reconciled(revoking, group, (A,))
    assert (done.state, done.epoch, done.previous_epoch) == (MemberState.STABLE, 5, 4)
    group = replace(group.with_member(done), partition_epochs={A: 5})
    taken = reconciled(waiting, group, ())
    assert (taken.state, taken.assigned) == (MemberState.STABLE, {B: 5})


@pytest.mark.parametrize(("epoch", "members"), [(5, {"m": 5}), (-1, {})])
def test_a_member_stays_until_it_sends_the_epoch_with_which_it_leaves(
    epoch: int, members: dict[str, int]
) -> None:
    group = group_of({"m": frozenset({A})}, m=member("m", 5, MemberState.STABLE, A))
    request = ConsumerGroupHeartbeat(group="g", member_id="m", member_epoch=epoch)
    after, answer = heartbeat(group, BROKER_1, request)
    assert (answer.error, answer.member_epoch) == (ErrorCode.NONE, epoch)
    assert {id_: m.epoch for id_, m in after.members.items()} == members


def test_a_partition_being_revoked_may_be_kept_at_once() -> None:
    """A member keeps a partition that it is revoking if its new target contains this partition.

    The member still owns the partition, so no other member can have it (KAFKA-16147).
    """
    m = replace(member("m", 4, MemberState.UNREVOKED, A), revoking={B: 2})
    back = reconciled(m, group_of({"m": frozenset({A, B})}, m=m), (A,))
    assert (back.state, back.assigned, back.revoking) == (MemberState.STABLE, {A: 1, B: 5}, {})


epochs = st.dictionaries(st.sampled_from([A, B, TopicPartition("u", 0)]), st.integers(1, 4))


@given(st.sampled_from(MemberState), epochs, epochs, st.frozensets(st.sampled_from([A, B])), epochs)
def test_the_table_has_a_row_for_each_finding_of_a_heartbeat(
    state: MemberState,
    assigned: dict[TopicPartition, int],
    revoking: dict[TopicPartition, int],
    target: frozenset[TopicPartition],
    others: dict[TopicPartition, int],
) -> None:
    is_unrevoked = state is MemberState.UNREVOKED
    m = replace(member("m", 4, state), assigned=assigned, revoking=revoking if is_unrevoked else {})
    group = replace(group_of({"m": target}, m=m), partition_epochs=others | dict(m.owned))
    after = reconciled(m, group, (A,))
    assert after.state in {following for following, _ in TRANSITIONS.values()}
    assert after.epoch in {4, 5}
    assert (after.epoch == 4) == (after.state is MemberState.UNREVOKED)


def test_the_table_has_every_state_and_every_finding() -> None:
    assert {state for state, _ in TRANSITIONS} == set(MemberState)
    assert {finding for _, finding in TRANSITIONS} == set(Finding)
