"""Simulated applications in a classic group: assignment, positions, and rejected requests."""

from __future__ import annotations

from model.histories import Assigned, CommitOffset, FetchOffset, Operation, Poll, Rebalanced
from model.vocabulary import Offset, TopicPartition
from reference_impl.protocol.messages import NodeId
from reference_impl.simulation.broker_client import BrokerClient
from reference_impl.simulation.classic_member import SESSION_MS, rotating
from reference_impl.simulation.cluster import TOPIC_PARTITION, Cluster
from reference_impl.simulation.programs import Application, Pause, Program
from reference_impl.simulation.subscription import OffsetReset, Subscription

HERE = str(TOPIC_PARTITION)
ONE, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


class Billing:
    """A group whose members take 2 ms for each record and then commit."""

    def __init__(self) -> None:
        self.cluster = Cluster(min_insync_replicas=2)
        self.producer = self.cluster.add_producer()
        self.processed: list[tuple[int, str]] = []
        self.members: list[Subscription] = []
        self.held: set[int] = set()

    def join(self) -> NodeId:
        number = len(self.members)

        def program(app: Application) -> Program:
            member = Subscription(app=app, brokers=BrokerClient(app=app), group="g", topic="orders")
            self.members.append(member)
            return self._processes(number, member)

        client = self.cluster.run_program(program)
        self.cluster.run_for(250)
        return client

    def _processes(self, number: int, member: Subscription) -> Program:
        while True:
            for record in (yield from member.poll()):
                self.processed.append((number, record.value))
                yield Pause(2)
                while number in self.held:
                    yield Pause(20)
                yield from member.member.heartbeat()
            yield from member.commit()

    def send(self, *values: str) -> None:
        self.cluster.send(self.producer, *values)
        self.cluster.run_for(100)

    def operations(self, f: str) -> list[Operation]:
        return [operation for operation in self.cluster.history() if operation.f == f]


def test_a_member_is_assigned_reads_and_commits() -> None:
    group = Billing()
    group.join()
    group.send("a", "b")
    assert group.processed == [(0, "a"), (0, "b")]
    assert group.operations("subscribe")[0].did == (Assigned(HERE),)
    assert group.operations("fetch_offset")[0].did == (FetchOffset(HERE, None),)
    assert [did for o in group.operations("poll") for did in o.did] == [
        Poll(HERE, 0, "a"),
        Poll(HERE, 1, "b"),
    ]
    assert group.operations("commit_offset")[-1].did == (CommitOffset(HERE, 2),)
    assert {o.group for o in group.cluster.history() if o.f != "send"} == {"g"}


def test_a_rebalance_moves_the_partition_and_both_members_record_it() -> None:
    group = Billing()
    group.join()
    group.send("a")
    group.join()
    group.send("b")
    assert [member.member.owned for member in group.members] in (
        [(TOPIC_PARTITION,), ()],
        [(), (TOPIC_PARTITION,)],
    )
    assert [value for _, value in group.processed] == ["a", "b"]
    assert any(Rebalanced(HERE) in o.did for o in group.operations("poll"))


def test_the_next_member_resumes_at_the_committed_offset_of_a_killed_one() -> None:
    group = Billing()
    killed = group.join()
    group.send("a")
    group.cluster.kill(killed)
    group.send("b")
    group.join()
    group.cluster.run_for(400)  # the session of the killed one ends first
    assert group.processed == [(0, "a"), (1, "b")]
    assert group.operations("fetch_offset")[-1].did == (FetchOffset(HERE, 1),)


def test_the_commit_of_a_removed_member_is_rejected_and_it_joins_again() -> None:
    group = Billing()
    group.join()
    group.held.add(0)
    group.send("a")
    group.join()
    group.cluster.run_for(400)
    assert group.processed == [(0, "a"), (1, "a")]
    group.held.clear()
    group.cluster.run_for(500)
    (refused,) = [o for o in group.operations("commit_offset") if o.outcome != "ok"]
    assert (refused.outcome, refused.error) == ("info", "UNKNOWN_MEMBER_ID")
    group.send("b")
    assert [value for _, value in group.processed] == ["a", "a", "b"]
    assert group.members[0].member.generation == group.members[1].member.generation


def test_members_continue_after_the_death_of_their_coordinator() -> None:
    group = Billing()
    group.join()
    group.send("a")
    (coordinator,) = group.members[0].brokers.coordinators.values()
    group.cluster.crash(group.cluster.broker_ids[coordinator - 1])
    group.cluster.run_for(1_500)
    group.send("b")
    group.cluster.recover()
    group.cluster.run_for(300)
    assert sorted({value for _, value in group.processed}) == ["a", "b"]
    assert group.members[0].positions == {TOPIC_PARTITION: 2}


def test_a_rebalance_does_not_wait_for_a_member_that_left() -> None:
    cluster = Cluster(min_insync_replicas=2)
    left: list[int] = []

    def joins_and_leaves(app: Application) -> Program:
        member = Subscription(
            app=app, brokers=BrokerClient(app=app), group="g", topic="orders"
        ).member
        yield from member.join()
        assert member.generation > 0
        yield from member.leave()
        left.append(app.now_ms)

    program = cluster.run_program(joins_and_leaves)
    assert cluster.run_until(lambda: cluster.is_over(program), 1_000)
    after = cluster.run_program(joins_and_leaves)
    assert cluster.run_until(lambda: cluster.is_over(after), 1_000)
    assert left[1] - left[0] < SESSION_MS


def test_a_group_without_offsets_begins_at_auto_offset_reset() -> None:
    def position(offset_reset: OffsetReset) -> Offset:
        cluster = Cluster()
        producer = cluster.add_producer()
        cluster.send(producer, "a", "b")
        cluster.run_for(100)
        reading: list[Subscription] = []

        def reads(app: Application) -> Program:
            reading.append(
                Subscription(
                    app=app,
                    brokers=BrokerClient(app=app),
                    group="g",
                    topic="orders",
                    offset_reset=offset_reset,
                )
            )
            yield from reading[0].ensure_membership()

        program = cluster.run_program(reads)
        assert cluster.run_until(lambda: cluster.is_over(program), 1_000)
        return reading[0].positions[TOPIC_PARTITION]

    assert (position("earliest"), position("latest")) == (0, 2)


def test_the_rotating_assignor_assigns_each_partition_once_and_moves_it() -> None:
    assert rotating(0, ["b", "a"], [ONE, OTHER]) == {"a": (ONE,), "b": (OTHER,)}
    assert rotating(1, ["b", "a"], [ONE, OTHER]) == {"a": (OTHER,), "b": (ONE,)}
    assert rotating(3, ["a", "b", "c"], [ONE]) == {"a": (ONE,), "b": (), "c": ()}
