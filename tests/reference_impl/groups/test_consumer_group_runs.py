"""Random runs of KIP-848 groups without a broker, and short runs in which a bug breaks a claim."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from model.vocabulary import BrokerId, TopicPartition
from reference_impl.groups import heartbeat
from reference_impl.groups.consumer_group import ConsumerGroup
from reference_impl.groups.consumer_group_log import entries, replayed, tombstones
from reference_impl.log.coordinator_records import Entry
from reference_impl.node.bugs import NO_BUGS, Bug, Bugs
from reference_impl.node.context import Context
from reference_impl.node.settings import KAFKA_SETTINGS
from reference_impl.protocol.consumer_groups import (
    LEAVES,
    LEAVES_FOR_A_WHILE,
    ConsumerGroupHeartbeat,
)
from reference_impl.protocol.coordinators import Coordinators
from reference_impl.protocol.messages import ErrorCode
from tests.reference_impl.contexts import BROKER_1

TOPICS = ("t", "u")


def context(
    counts: dict[str, int], now_ms: int = 0, bugs: Bugs = NO_BUGS, interval_ms: int = 0
) -> Context:
    leaders = {
        TopicPartition(topic, index): BrokerId(1)
        for topic, count in counts.items()
        for index in range(count)
    }
    return replace(
        BROKER_1,
        now_ms=now_ms,
        correlation=now_ms,
        broker_settings=replace(KAFKA_SETTINGS, member_assignment_ms=interval_ms),
        bugs=bugs,
        coordinators=Coordinators(leaders),
    )


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
    def a_late_heartbeat_arrives(self) -> None:
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
        """Changes the topics of a member, and drops its late heartbeats with the earlier topics.

        A late heartbeat could make the coordinator assign a partition to the member in a new epoch.
        Before the member knows this epoch, it could not commit offsets of the partition, and
        `owners_may_commit` would fail.
        """
        self.clients[id_].topics = topics
        self.late = [request for request in self.late if request.member_id != id_]

    @rule(topic=st.sampled_from(TOPICS))
    def grow(self, topic: str) -> None:
        self.counts[topic] = min(4, self.counts.get(topic, 0) + 1)

    @rule()
    def fail_over(self) -> None:
        """A new coordinator replays the log. It must get the same group."""
        restored = ConsumerGroup(group="g")
        for entry in self.log:
            restored = replayed(restored, entry, self.bugs)
        assert restored == self.group
        self.group = restored

    def is_heard(self, client: Client) -> bool:
        refused = heartbeat.heartbeat_error(self.group, client.request(), self.bugs, 100)
        return refused is ErrorCode.NONE

    @invariant()
    def one_owner(self) -> None:
        owned = [place for m in self.group.members.values() for place in m.owned]
        assert len(owned) == len(set(owned))
        read = [place for c in self.clients.values() if self.is_heard(c) for place in c.owned]
        assert len(read) == len(set(read))

    @invariant()
    def partition_epochs_match_members(self) -> None:
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
        """Asserts that, without faults, the members reach their targets and own all partitions."""
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
        assert read == sorted(
            TopicPartition(topic, index)
            for topic, count in self.counts.items()
            for index in range(count)
            if topic in wanted
        )
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
