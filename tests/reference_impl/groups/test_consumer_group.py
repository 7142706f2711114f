"""KIP-848 groups without a broker: assignors, reconciliation, log records, and random runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from model.vocabulary import BrokerEpoch, BrokerId, TopicPartition
from reference_impl.groups import heartbeat
from reference_impl.groups.assignors import ASSIGNORS, Assignment, uniform
from reference_impl.groups.consumer_group import ConsumerGroup, ConsumerMember, MemberState
from reference_impl.groups.consumer_group_log import entries, replayed, tombstones
from reference_impl.groups.reconciliation import TRANSITIONS, Finding, reconciled
from reference_impl.log.coordinator_log import Entry
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.context import Context
from reference_impl.node.timeouts import KAFKA_TIMEOUTS
from reference_impl.protocol.consumer_groups import (
    LEAVES,
    LEAVES_FOR_A_WHILE,
    ConsumerGroupHeartbeat,
)
from reference_impl.protocol.coordinators import Coordinators
from reference_impl.protocol.messages import ErrorCode

TOPICS = ("t", "u")
A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def context(
    counts: dict[str, int], now_ms: int = 0, bugs: Bugs = NO_BUGS, interval_ms: int = 0
) -> Context:
    leaders = {
        TopicPartition(topic, index): BrokerId(1)
        for topic, count in counts.items()
        for index in range(count)
    }
    return Context(
        now_ms=now_ms,
        broker_id=BrokerId(1),
        broker_epoch=BrokerEpoch(1),
        brokers={},
        correlation=now_ms,
        timeouts=replace(KAFKA_TIMEOUTS, member_assignment_ms=interval_ms),
        bugs=bugs,
        coordinators=Coordinators(leaders),
    )


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


# ---------------------------------------------------------------- any run


@dataclass
class Client:
    member_id: str
    topics: tuple[str, ...] = TOPICS
    epoch: int = 0
    assigned: set[TopicPartition] = field(default_factory=set)
    owned: set[TopicPartition] = field(default_factory=set)

    def request(self) -> ConsumerGroupHeartbeat:
        return ConsumerGroupHeartbeat(
            group="g",
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id="static" if self.member_id.startswith("s") else None,
            rebalance_timeout_ms=1_000,
            topics=self.topics,
            owned=tuple(sorted(self.owned)) if self.epoch else (),
        )

    def forget(self) -> None:
        self.epoch, self.assigned, self.owned = 0, set(), set()


DYNAMIC = ("m1", "m2", "m3")
STATIC = ("s1", "s2")  # two processes of one instance
FENCES = {ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND}
who = st.sampled_from(DYNAMIC + STATIC)


class Groups(RuleBasedStateMachine):
    """A coordinator and its consumers; heartbeats and responses may be lost, repeated or late."""

    bugs: Bugs = NO_BUGS
    interval_ms = 3  # between assignments; each heartbeat takes a millisecond
    now_ms = 0

    @initialize(count=st.integers(1, 3))
    def begin(self, count: int) -> None:
        self.counts = {"t": count}
        self.group = ConsumerGroup(group="g")
        self.log: list[Entry] = []
        self.clients = {id_: Client(id_) for id_ in DYNAMIC + STATIC}
        self.late: list[ConsumerGroupHeartbeat] = []

    def context_now(self) -> Context:
        return context(self.counts, self.now_ms, self.bugs, self.interval_ms)

    def write(self, after: ConsumerGroup) -> None:
        """Applies the group's new records; asserts that their replay gives the new group."""
        before, records = self.group, entries(self.group, after)
        for entry in records:
            self.group = replayed(self.group, entry, self.bugs)
        self.log += records
        assert replace(self.group, partition_epochs={}) == replace(after, partition_epochs={})
        assert before.epoch <= after.epoch
        assert before.assignment_epoch <= after.assignment_epoch <= after.epoch
        for id_, known in before.members.items():
            moved = after.members.get(id_, known)
            assert moved.epoch >= known.epoch or moved.epoch == LEAVES_FOR_A_WHILE
            assert moved.epoch <= after.assignment_epoch

    def call(self, request: ConsumerGroupHeartbeat) -> Any:
        self.now_ms += 1
        after, answer = heartbeat.heartbeat(self.group, self.context_now(), request)
        self.write(after)
        return answer

    def hear(self, client: Client, answer: Any) -> None:
        if answer.error in FENCES:
            client.forget()
        elif answer.error is ErrorCode.NONE:
            client.epoch = answer.member_epoch
            if answer.assignment is not None:
                client.assigned = set(answer.assignment)
                client.owned |= client.assigned

    @rule(id_=who, lost=st.booleans(), kept=st.booleans())
    def beat(self, id_: str, *, lost: bool, kept: bool) -> None:
        request = self.clients[id_].request()
        answer = self.call(request)
        if kept:
            self.late = [*self.late[-1:], request]
        if not lost:
            self.hear(self.clients[id_], answer)

    @rule()
    def a_late_word_arrives(self) -> None:
        """Delivers a heartbeat a second time; the client ignores the response."""
        if self.late:
            self.call(self.late.pop(0))

    @rule(id_=who)
    def revoke(self, id_: str) -> None:
        self.clients[id_].owned &= self.clients[id_].assigned

    @rule(id_=who)
    def leave(self, id_: str) -> None:
        client = self.clients[id_]
        if client.epoch:
            epoch = LEAVES_FOR_A_WHILE if id_ in STATIC else LEAVES
            self.call(replace(client.request(), member_epoch=epoch))
        client.forget()

    @rule(id_=who)
    def expire(self, id_: str) -> None:
        if id_ in self.group.members:
            after = heartbeat.without_members(self.group, self.context_now(), id_)
            self.write(after)

    @rule(id_=who, topics=st.sampled_from([(), ("t",), TOPICS]))
    def subscribe(self, id_: str, topics: tuple[str, ...]) -> None:
        """Changes a subscription; no heartbeat with the earlier one arrives late any more. It could
        assign a partition again in a new epoch, and the owner could commit only after its response.
        """
        self.clients[id_].topics = topics
        self.late = [request for request in self.late if request.member_id != id_]

    @rule(topic=st.sampled_from(TOPICS))
    def grow(self, topic: str) -> None:
        self.counts[topic] = min(4, self.counts.get(topic, 0) + 1)

    @rule()
    def fail_over(self) -> None:
        """A new coordinator replays the log; asserts that it gets the same group."""
        anew = ConsumerGroup(group="g")
        for entry in self.log:
            anew = replayed(anew, entry, self.bugs)
        assert anew == self.group
        self.group = anew

    def is_heard(self, client: Client) -> bool:
        refused = heartbeat.heartbeat_error(self.group, client.request(), self.bugs)
        return refused is ErrorCode.NONE

    @invariant()
    def one_owner(self) -> None:
        owned = [place for m in self.group.members.values() for place in m.owned]
        assert len(owned) == len(set(owned))
        read = [place for c in self.clients.values() if self.is_heard(c) for place in c.owned]
        assert len(read) == len(set(read))

    @invariant()
    def books_are_right(self) -> None:
        """Asserts that the partition epochs equal those computed from the members."""
        owners = {p: m.epoch for m in self.group.members.values() for p in m.owned}
        assert self.group.partition_epochs == owners

    @invariant()
    def an_empty_group_is_settled(self) -> None:
        if not self.group.members:
            assert self.group.epoch == self.group.assignment_epoch

    @invariant()
    def owners_may_commit(self) -> None:
        for client in self.clients.values():
            known = self.group.members.get(client.member_id)
            if known is None or not self.is_heard(client) or not client.epoch:
                continue
            places = client.owned & known.owned.keys()
            error = self.group.commit_error(client.member_id, client.epoch, places, self.bugs)
            assert error is ErrorCode.NONE, (client, known)

    def teardown(self) -> None:
        """Asserts that without faults members reach their targets and own all partitions."""
        if not hasattr(self, "group"):
            return
        alive = [self.clients[id_] for id_ in DYNAMIC]
        for id_ in set(self.group.members) & set(STATIC):
            self.expire(id_)
        for _ in range(12):
            for client in alive:
                self.hear(client, self.call(client.request()))
                client.owned &= client.assigned
        assert self.group.state == "Stable"
        wanted = {topic for client in alive for topic in client.topics}
        read = sorted(place for client in alive for place in client.owned)
        assert read == sorted(tp for tp in all_of(self.counts) if tp.topic in wanted)
        # A member that subscribes to nothing changes no assignment, and may have none.
        target = self.group.target
        assert all(c.owned == target.get(c.member_id, frozenset()) for c in alive)


GroupsTest = Groups.TestCase
GroupsTest.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def a_partition_comes_back(run: Groups) -> None:
    """KAFKA-16147: m1 revokes t-1 for m2 and keeps t-1 when m2 leaves; then m3 joins."""
    run.beat("m1", lost=False, kept=False)
    run.beat("m2", lost=False, kept=False)
    run.beat("m1", lost=False, kept=False)
    run.leave("m2")
    run.revoke("m1")
    run.beat("m1", lost=False, kept=False)
    run.beat("m3", lost=False, kept=False)


def nobody_hears_that_it_joined(run: Groups) -> None:
    """KAFKA-19233: m1 joins, gets no response, and joins with epoch 0 again."""
    run.beat("m1", lost=True, kept=False)
    run.beat("m1", lost=False, kept=False)
    assert run.clients["m1"].epoch > 0


def the_last_one_leaves(run: Groups) -> None:
    """KAFKA-20442: the only member joins and leaves the group."""
    run.beat("m1", lost=False, kept=False)
    run.leave("m1")


def an_owner_is_an_epoch_behind(run: Groups) -> None:
    """KAFKA-20066: m2 joins, and m1 has not yet received the new epoch."""
    run.beat("m1", lost=False, kept=False)
    run.revoke("m1")
    run.subscribe("m2", ("u",))
    run.beat("m2", lost=False, kept=False)
    run.beat("m1", lost=True, kept=False)


PROGRAMS = {
    Bug.PARTITION_EPOCH_ERASED: (a_partition_comes_back, Groups.one_owner),
    Bug.REJOIN_REFUSED: (nobody_hears_that_it_joined, Groups.one_owner),
    Bug.EMPTY_GROUP_UNSETTLED: (the_last_one_leaves, Groups.an_empty_group_is_settled),
    Bug.EXACT_EPOCH_WANTED: (an_owner_is_an_epoch_behind, Groups.owners_may_commit),
}


@pytest.mark.parametrize("bug", PROGRAMS)
def test_a_short_run_shows_the_bug(bug: Bug) -> None:
    program, claim = PROGRAMS[bug]

    def run(bugs: Bugs) -> None:
        machine = Groups()
        machine.bugs, machine.interval_ms = bugs, 0
        machine.begin(2)
        program(machine)
        claim(machine)

    run(NO_BUGS)
    with pytest.raises(AssertionError):
        run(frozenset({bug}))


def test_random_runs_find_the_bug() -> None:
    class Buggy(Groups):
        bugs = frozenset({Bug.EMPTY_GROUP_UNSETTLED})

    found = settings(
        max_examples=200, deadline=None, database=None, derandomize=True, phases=[Phase.generate]
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Buggy, settings=found)


def test_an_expired_group_leaves_no_record() -> None:
    group = ConsumerGroup(group="g")
    request = Client("m1").request()
    after, _ = heartbeat.heartbeat(group, context({"t": 2}), request)
    assert tombstones(group) == []
    for entry in [*entries(group, after), *tombstones(after)]:
        group = replayed(group, entry)
    assert group == ConsumerGroup(group="g")
